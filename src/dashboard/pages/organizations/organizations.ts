import { acrChoices, acrLabel, organizationRoleChoices } from '../../parts/forms/choices.js';
import { subjectOf, type FieldSpec, type Presentation } from '../../parts/records/presentation.js';
import { relatedIds } from '../../parts/records/objects.js';
import type { ResourceObject } from '../../../management/documents.js';
import { code, json, stack, quiet, state, tags, text, time, words } from '../../parts/values.js';
import { terms } from '../../parts/words.js';
import { brandingSections } from '../branding/branding-fields.js';
import { brandingPreview } from '../branding/branding-preview.js';
import { uploadParts } from '../branding/upload-parts.js';
import { organizationTabs } from './organization-tabs.js';

const memberships = [
  { value: 'none', label: 'Nobody', hint: 'Only invitations, administrators and the directory add members.' },
  { value: 'connection', label: 'People who sign in through its connections' },
  { value: 'domain', label: 'Also people with a verified address in its domains' },
];
const requirements = [
  { value: 'nobody', label: 'Nobody' },
  { value: 'domains', label: 'People with an address in its domains' },
  { value: 'everyone', label: 'Everyone' },
];
const labelOf = (choices: readonly { value: string; label: string }[], value: unknown) =>
  text(choices.find((one) => one.value === (value ?? ''))?.label);

const organizationState = (record: ResourceObject) =>
  record.attributes['status'] === 'enabled' ? state('good', terms.enabled) : state('quiet', terms.disabled);

const looks = brandingSections('Shown instead of the organization’s name.', 'organizations', []);

const general: readonly FieldSpec[] = [
  { name: 'display_name', label: terms.name, hint: 'What people see.', attributes: { maxlength: 100 } },
  {
    name: 'name',
    label: 'Slug',
    on: 'create',
    hint: 'What applications send and receive: lowercase letters, digits and hyphens. It can’t be changed.',
    attributes: { maxlength: 63, autocapitalize: 'none', spellcheck: 'false' },
  },
  { name: 'external_id', label: terms.external_id, hint: 'The organization’s ID in your own system.', attributes: { maxlength: 255 } },
  { name: 'status', label: terms.status, on: 'update', hint: 'Disabled: nobody signs in for it, and its tokens stop working.' },
];
const signIn: readonly FieldSpec[] = [
  {
    name: 'auto_membership',
    label: 'Becomes a member by signing in',
    kind: 'radios',
    initial: 'connection',
    choices: async () => memberships,
    hint: 'New members get the default roles. People who were removed stay out.',
  },
  {
    name: 'default_roles',
    label: terms.default_roles,
    relationship: 'many',
    optional: true,
    choices: organizationRoleChoices,
    hint: 'For new members. Create roles of the kind “organization” first.',
  },
  {
    name: 'require_sso',
    label: 'Must sign in through its connections',
    kind: 'radios',
    initial: 'nobody',
    choices: async () => requirements,
  },
  {
    name: 'required_acr',
    label: 'Required sign-in strength',
    kind: 'select',
    choices: async () => acrChoices(['2', 'phr']),
    optional: true,
  },
  { name: 'max_authentication_age', label: 'Sign in again after', hint: 'Empty: no limit of its own.' },
];

export const organizationsPresentation: Presentation = {
  path: 'organizations',
  title: terms.organizations,
  navigation: {
    group: 'People',
    icon: ['M3.5 17V5.5l6.5-3 6.5 3V17', 'M2.5 17h15M7 8h.1M10 8h.1M13 8h.1M7 11h.1M10 11h.1M13 11h.1M8.5 17v-3h3v3'],
  },
  one: 'organization',
  lead: 'Your business customers: their people, domains, connections and roles.',
  empty: {
    title: 'No organizations yet',
    text: 'Create one for each company that uses your product. Its people sign in with their company’s provider, and its administrators manage them.',
  },
  columns: [
    {
      label: terms.organization,
      sort: 'display_name',
      value: ({ attributes: a }) => stack(text(a['display_name']), quiet(words(a['name']))),
    },
    { label: terms.status, value: organizationState },
    { label: 'Must use its connections', value: (record) => labelOf(requirements, record.attributes['require_sso']) },
    { label: terms.created, sort: 'created_at', value: (record, { now }) => time(record.attributes['created_at'], now) },
  ],
  filters: [
    { name: 'search', label: terms.name_or_id, kind: 'search' },
    { name: 'status', label: terms.status },
    { name: 'domain', label: terms.domain, kind: 'text' },
  ],
  recordInclude: 'default_roles',
  name: (record) => words(record.attributes['display_name']),
  state: organizationState,
  summary: (record, { now }, included) => {
    const { attributes: a } = record;
    const ids = new Set(relatedIds(record, 'default_roles'));
    const roles = included.filter((one) => one.type === 'role' && ids.has(one.id)).map((role) => role.attributes['name']);
    return [
      { label: 'Slug', value: code(a['name'], true) },
      { label: terms.external_id, value: code(a['external_id'], true) },
      { label: 'Becomes a member by signing in', value: labelOf(memberships, a['auto_membership']) },
      { label: terms.default_roles, value: tags(roles, 100) },
      { label: 'Must sign in through its connections', value: labelOf(requirements, a['require_sso']) },
      {
        label: 'Required sign-in strength',
        value: text(a['required_acr'] === null ? 'As the environment requires' : acrLabel(a['required_acr'])),
      },
      { label: 'Metadata', value: json(a['metadata']) },
      { label: terms.created, value: time(a['created_at'], now) },
    ];
  },
  fields: [
    ...general,
    ...signIn,
    ...looks.flatMap(({ fields }) => fields),
    { name: 'metadata', label: 'Metadata', optional: true, on: 'update' },
  ],
  subjects: [
    { name: 'general', title: 'General', fields: general },
    { name: 'sign_in', title: terms.sign_in, fields: signIn },
    subjectOf({ name: 'branding', title: terms.branding }, looks),
    { name: 'advanced', title: 'Advanced', fields: [{ name: 'metadata', label: 'Metadata', optional: true, on: 'update' }] },
  ],
  create: { label: 'Create organization', title: 'Create an organization' },
  edit: {},
  preview: (entries, { attributes: a }) => brandingPreview(entries, words(a['display_name'])),
  formParts: (req, record) => {
    const isBranding = record !== null && req.params['subject'] === 'branding';
    return { above: [], below: isBranding ? uploadParts({ req, now: req.call.ctx.clock.now() }, 'organizations', record) : [] };
  },
  tabs: organizationTabs,
  remove: {
    label: 'Delete organization',
    text: 'Its memberships, invitations, domains, connections, directory and set-up links are deleted. People keep their accounts. Disable it first while it has active members.',
    typed: (record) => words(record.attributes['name']),
  },
};
