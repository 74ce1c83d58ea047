import type { Presentation, ViewContext } from '../../parts/records/presentation.js';
import { healthExtras } from '../../parts/health.js';
import { eventGroups } from '../../../domain/events/catalogue.js';
import { environmentKindChoices, eventGroupLabel } from '../../parts/forms/choices.js';
import type { Row, Value } from '../../parts/page-parts.js';
import type { ResourceObject } from '../../../management/documents.js';
import { subscriptionCounts, subscribers } from '../webhooks/subscriptions.js';
import { dnsRecords } from '../../parts/dns-records.js';
import { code, duration, inWords, json, nothing, quiet, stack, state, text, time, yesNo, words, statusStates } from '../../parts/values.js';
import { terms } from '../../parts/words.js';

const domainStates = statusStates({
  pending: ['info', terms.pending],
  verified: ['good', terms.verified],
  failed: ['bad', terms.record_not_found],
});
const domainState = (record: ResourceObject): Value =>
  record.attributes['missing_since'] !== null ? state('warning', terms.dns_record_missing) : domainStates(record);

const originOf = (record: ResourceObject) => `https://${words(record.attributes['domain'])}`;
const isPast = (iso: unknown, now: Date) => typeof iso !== 'string' || new Date(iso) <= now;

/** What the domain is for: "Sign-in pages, earlier issuer"; nothing while it waits. */
function purposes(record: ResourceObject, { req, now }: ViewContext): Value {
  const { attributes: a } = record;
  const { passkey_origins } = req.ctx.environment;
  const found = [
    ...(a['status'] === 'verified' ? ['Sign-in pages'] : []),
    ...(a['is_primary'] === true ? [terms.issuer] : isPast(a['issuer_until'], now) ? [] : ['Earlier issuer']),
    ...(a['status'] === 'verified' && (a['accepts_passkeys'] === true || passkey_origins.includes(originOf(record)))
      ? [terms.passkeys]
      : []),
  ];
  return text(inWords(found.join(', ').toLowerCase()));
}

function domainSummary(record: ResourceObject, view: ViewContext): Row[] {
  const { attributes: a } = record;
  const { now } = view;
  return [
    { label: 'Used for', value: purposes(record, view) },
    { label: terms.primary, value: yesNo(a['is_primary']) },
    ...(isPast(a['issuer_until'], now) ? [] : [{ label: 'Its tokens are accepted until', value: time(a['issuer_until'], now) }]),
    { label: terms.verified, value: time(a['verified_at'], now) },
    { label: terms.last_checked, value: time(a['last_checked_at'], now) },
    { label: 'Certificate valid until', value: time(a['certificate_expires_at'], now) },
    { label: terms.failure_reason, value: text(a['failure_reason']) },
    ...(a['missing_since'] === null ? [] : [{ label: terms.dns_record_missing_since, value: time(a['missing_since'], now) }]),
    { label: terms.added, value: time(a['created_at'], now) },
  ];
}

export const customDomainsPresentation: Presentation = {
  path: 'custom_domains',
  title: 'Custom domains',
  under: 'advanced',
  one: 'custom domain',
  lead: 'Your own domains for this environment. The primary domain is used for the issuer.',
  empty: {
    title: 'No custom domains yet',
    text: 'Add one to let people sign in at a domain such as login.example.com. A DNS record proves that it’s yours.',
  },
  columns: [
    { label: terms.domain, sort: 'domain', value: (record) => text(record.attributes['domain']) },
    { label: terms.status, value: (record, _view, { extras }) => extras?.get(record.id) ?? domainState(record) },
    { label: 'Used for', value: (record, view) => purposes(record, view) },
    { label: terms.last_checked, value: (record, { now }) => time(record.attributes['last_checked_at'], now) },
  ],
  filters: [{ name: 'status', label: terms.status }],
  name: (record) => words(record.attributes['domain']),
  state: domainState,
  attention: 'custom_domains',
  extras: healthExtras('custom_domains'),
  summary: domainSummary,
  more: async (_view, record) => [dnsRecords(record)],
  fields: [
    {
      name: 'domain',
      label: terms.domain,
      on: 'create',
      hint: 'A lowercase host name such as login.example.com.',
      attributes: { maxlength: 253, autocapitalize: 'none', spellcheck: 'false' },
    },
    {
      name: 'is_primary',
      label: terms.primary,
      hint: 'Used for the issuer and for links in emails. Clients must be configured with the new issuer. Requires a verified domain and every permission; all administrators are notified by email.',
      on: 'update',
    },
    {
      name: 'accepts_passkeys',
      label: terms.passkeys,
      hint: 'Lets people create and use passkeys there. Choose it only for domains you control: whoever controls their DNS can ask people for passkeys. Requires every permission. The issuer and base URL always accept passkeys.',
      on: 'update',
    },
    {
      name: 'issuer_until',
      label: 'Its tokens are accepted until (UTC)',
      hint: 'Tokens issued while the domain was the issuer are accepted until then. Set automatically when the issuer changes. Leave empty to refuse them immediately. Requires every permission.',
      on: 'update',
    },
  ],
  edit: { guarded: true },
  create: { label: terms.add_domain, title: 'Add a custom domain' },
  remove: {
    label: terms.remove_domain,
    text: 'The environment no longer answers there. Links and clients that use the domain stop working.',
    typed: (record) => words(record.attributes['domain']),
  },
  actions: {
    verify: {
      label: terms.verify_domain,
      confirm: [
        'Looks for the DNS record now. Once verified, people can sign in at the domain. Requires every permission; all administrators are notified by email.',
      ],
      guarded: true,
      done: 'checked',
    },
  },
};

const environmentKind = (record: ResourceObject): Value => text(inWords(words(record.attributes['kind'])));

export const environmentsPresentation: Presentation = {
  path: 'environments',
  title: 'Environments',
  under: 'advanced',
  one: 'environment',
  lead: 'Each environment has its own users, clients, keys, address and dashboard.',
  empty: { title: 'No environments', text: 'There is always at least this one.' },
  columns: [
    { label: terms.name, sort: 'name', value: ({ attributes: a }) => stack(text(a['name']), quiet(words(a['slug']))) },
    { label: terms.environment_type, value: environmentKind },
    { label: terms.dashboard, value: (record) => ({ kind: 'web', text: `${words(record.attributes['base_url'])}/dashboard` }) },
    { label: terms.created, sort: 'created_at', value: (record, { now }) => time(record.attributes['created_at'], now) },
  ],
  filters: [{ name: 'kind', label: terms.environment_type }],
  name: (record) => words(record.attributes['name']),
  summary: ({ attributes: a }, { now }) => [
    { label: terms.environment_type, value: environmentKind({ attributes: a } as ResourceObject) },
    { label: terms.slug, value: code(a['slug']) },
    { label: terms.issuer, value: code(a['issuer'], true) },
    ...(a['issuer'] === a['base_url'] || isPast(a['base_url_issuer_until'], now)
      ? []
      : [{ label: 'Earlier issuer', value: stack(code(a['base_url'], true), time(a['base_url_issuer_until'], now)) }]),
    { label: terms.dashboard, value: { kind: 'web', text: `${words(a['base_url'])}/dashboard` } },
    { label: terms.session_lifetime, value: duration(a['session_lifetime']) },
    { label: terms.self_service_registration, value: text(a['registration_enabled'] === true ? terms.open : 'Closed') },
    { label: terms.created, value: time(a['created_at'], now) },
  ],
  fields: [
    { name: 'name', label: terms.name, attributes: { maxlength: 100 } },
    {
      name: 'slug',
      label: terms.slug,
      on: 'create',
      hint: 'Part of its URL: lowercase letters, digits and hyphens.',
      attributes: { maxlength: 63, autocapitalize: 'none', spellcheck: 'false' },
    },
    { name: 'kind', label: terms.environment_type, choices: environmentKindChoices },
  ],
  create: {
    label: 'Create environment',
    title: 'Create an environment',
    lead: 'A client for its Management API is created as well; its secret is shown once.',
    guarded: true,
  },
  remove: {
    label: 'Delete environment',
    text: 'Everything in it is deleted: users, clients, keys, webhooks. This can’t be undone.',
    when: (record) => record.attributes['is_default'] !== true,
    typed: (record) => words(record.attributes['slug']),
  },
  secrets: {
    create: {
      title: 'Save the management client',
      label: terms.client_secret,
      text: 'Use it with the client ID to get a token for the new environment’s Management API (client credentials).',
    },
  },
};

export const eventTypesPresentation: Presentation = {
  path: 'event_types',
  title: 'Event types',
  under: 'webhooks',
  one: 'event type',
  lead: 'What webhooks can subscribe to, with the schema of each payload.',
  empty: { title: 'No event types', text: 'There is nothing to subscribe to.' },
  columns: [
    { label: terms.event, value: (record) => code(record.attributes['name']) },
    { label: terms.description, value: (record) => text(record.attributes['description']) },
    { label: 'About', value: (record) => quiet(eventGroupLabel(words(record.attributes['group']))) },
    { label: terms.webhooks, numeric: true, value: (record, _view, { extras }) => extras?.get(record.id) ?? nothing },
  ],
  extras: subscriptionCounts,
  more: async (view, record) => subscribers(view, words(record.attributes['name'])),
  filters: [
    {
      name: 'group',
      label: 'About',
      choices: async () => eventGroups.map((value) => ({ value, label: eventGroupLabel(value) })),
      blank: eventGroups.join(','),
    },
  ],
  name: (record) => words(record.attributes['name']),
  showsId: false,
  summary: ({ attributes: a }) => [
    { label: terms.description, value: text(a['description']) },
    { label: 'About', value: text(eventGroupLabel(words(a['group']))) },
    { label: 'JSON Schema of data', value: json(a['payload_schema']) },
  ],
};
