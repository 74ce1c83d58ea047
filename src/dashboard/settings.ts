import type { Request, Response } from 'express';
import { holdsEverything } from '../domain/reach/reach.js';
import { updateRecord } from '../management/operations.js';
import { notFound } from '../management/problems.js';
import {
  allSigningAlgorithmChoices,
  breachedPasswordChoices,
  dpopNonceChoices,
  environmentKindChoices,
  languageChoices,
} from './choices.js';
import { arrivalSections } from './arrival-sections.js';
import { brandingFields } from './branding-fields.js';
import { brandingPreview } from './branding-preview.js';
import { exposureNotice } from './exposure-notice.js';
import { factorNotice } from './factor-notice.js';
import { type BoundField, boundFields, fieldSections, initialEntries, sentEntries, type Entries } from './form-fields.js';
import { readForm } from './form-input.js';
import { managedNotice } from './managed-notice.js';
import type { Part } from './page-parts.js';
import type { FieldSpec, ViewContext } from './presentation.js';
import type { ResourceObject } from '../management/documents.js';
import { may, recordOf, resourceOf, recordVersion } from './resource-objects.js';
import { attempt } from './resource-forms.js';
import { secretKeyPart } from './secret-key-part.js';
import { strongSignInSections } from './strong-sign-in-sections.js';
import { code, text } from './values.js';
import { named } from '../lib/named.js';
import type { Render } from './render.js';

const guarded =
  ' What guards everybody’s sign-in (lifetimes, passwords, passkeys, codes, second factors, lockout, the kind) takes every permission, which you do not hold.';

type Section = { readonly name: string; readonly title: string; readonly text: string; readonly fields: readonly FieldSpec[] };

const seconds = (most: string) => `Seconds, at most ${most}.`;

/** The settings of an environment; each section is a form of its own and saved alone. */
const sections: readonly Section[] = [
  {
    name: 'general',
    title: 'General',
    text: 'What this environment is called, and what it is for.',
    fields: [
      { name: 'name', label: 'Name', attributes: { maxlength: 100 } },
      {
        name: 'kind',
        label: 'Kind',
        choices: environmentKindChoices,
        hint: 'Development shows captured mail at /dev/mailbox to programs on this machine, while there is no mail server and BASE_URL is local.',
      },
      {
        name: 'support_email',
        label: 'Support address',
        kind: 'email',
        hint: 'Shown below the sign-in pages and in mail.',
        attributes: { maxlength: 254 },
      },
      {
        name: 'default_locale',
        label: 'Default language',
        choices: languageChoices,
        hint: 'Of sign-in pages, where neither the person, the application nor the browser asks for one.',
      },
    ],
  },
  {
    name: 'branding',
    title: 'Branding',
    text: 'How the sign-in pages and mail look.',
    fields: [
      ...brandingFields('Instead of the environment’s name.'),
      { name: 'branding.policy_uri', label: 'Privacy policy', kind: 'url', hint: 'Linked below the sign-in pages.' },
      { name: 'branding.tos_uri', label: 'Terms of service', kind: 'url', hint: 'Linked below the sign-in pages.' },
    ],
  },
  {
    name: 'sign_in',
    title: 'Registration and sign-in',
    text: 'Who may come in, and how passwords are protected.',
    fields: [
      { name: 'registration_enabled', label: 'People can register by themselves' },
      { name: 'allowed_email_domains', label: 'Only with addresses of these domains', hint: 'One a line; empty for all.' },
      { name: 'password_min_length', label: 'Shortest password', hint: 'Characters, 8 to 64.' },
      {
        name: 'breached_passwords',
        label: 'New passwords that are known from data breaches',
        choices: breachedPasswordChoices,
        hint: 'Looked up where BREACHED_PASSWORDS_URL and BREACHED_PASSWORDS_FILE say, if anywhere. The password itself is never sent.',
      },
      { name: 'lockout_threshold', label: 'Wrong passwords until the account is locked' },
      { name: 'lockout_lifetime', label: 'How long it stays locked', hint: seconds('86400') },
    ],
  },
  ...strongSignInSections,
  {
    name: 'codes',
    title: 'One-time codes',
    text: 'The codes that are sent by mail.',
    fields: [
      { name: 'otp_lifetime', label: 'How long a code works', hint: seconds('3600') },
      { name: 'otp_max_attempts', label: 'Tries for each code', hint: '1 to 20.' },
    ],
  },
  {
    name: 'lifetimes',
    title: 'Lifetimes',
    text: 'How long people stay signed in, and how long tokens work. 3600 is an hour, 86400 a day, 2592000 thirty days.',
    fields: [
      { name: 'session_lifetime', label: 'Session', hint: seconds('31536000 (a year)') },
      { name: 'session_idle_lifetime', label: 'Session without activity', hint: 'Seconds; empty for no limit.' },
      { name: 'default_access_token_lifetime', label: 'Access token', hint: seconds('86400') },
      { name: 'id_token_lifetime', label: 'ID token', hint: seconds('86400') },
      { name: 'refresh_token_lifetime', label: 'Refresh token', hint: seconds('34560000') },
      { name: 'refresh_token_idle_lifetime', label: 'Refresh token without use', hint: seconds('34560000') },
    ],
  },
  {
    name: 'signing',
    title: 'Signing algorithms',
    text: 'What clients and API resources can choose to have signed with. Each has keys of its own, which change over by themselves.',
    fields: [{ name: 'signing_algorithms', label: 'This environment signs with', kind: 'checks', choices: allSigningAlgorithmChoices }],
  },
  {
    name: 'pushed_requests',
    title: 'Pushed authorization requests',
    text: 'Clients can leave their authorization requests at /oauth/par before they send the browser (RFC 9126). Here all of them have to.',
    fields: [{ name: 'require_pushed_authorization_requests', label: 'Every client has to push its requests' }],
  },
  {
    name: 'dpop',
    title: 'DPoP',
    text: 'Clients that prove a key get tokens bound to it (RFC 9449). With a nonce nobody makes proofs ahead of time; it costs a client one more request now and then.',
    fields: [{ name: 'dpop_nonce', label: 'A nonce in every proof', choices: dpopNonceChoices }],
  },
  ...arrivalSections,
];

type Failed = { readonly section: Section; readonly entries: Entries; readonly errors: Record<string, string> };

/** A title within a sentence; an abbreviation stays as it is. */
const inSentence = (title: string) => (/^[A-Z][^A-Z]/.test(title) ? title.charAt(0).toLowerCase() + title.slice(1) : title);

/** A section that can only be read. */
async function sectionSummary(look: ViewContext, { title }: Section, fields: readonly BoundField[], entries: Entries): Promise<Part> {
  const rows = fields.map(async ({ spec }) => {
    const value = entries.texts[spec.name];
    const choice = (await spec.choices?.(look))?.find((one) => one.value === value);
    return { label: spec.label, value: text(choice?.label ?? (value === 'on' ? 'Yes' : value)) };
  });
  return { kind: 'summary', title, rows: await Promise.all(rows) };
}

/** What can't be set. */
const factsOf = (record: ResourceObject): Part => ({
  kind: 'summary',
  title: null,
  rows: [
    { label: 'Issuer', value: code(record.attributes['issuer'], true) },
    { label: 'Slug', value: code(record.attributes['slug']) },
    { label: 'Id', value: code(record.id, true) },
  ],
});

async function show(
  render: Render,
  req: Request,
  res: Response,
  record: ResourceObject,
  failed: Failed | null,
  status: number,
): Promise<void> {
  const { call } = req;
  const resource = resourceOf(call, 'environments');
  const look: ViewContext = { req, now: call.ctx.clock.now() };
  const writable = may(call, 'environments', 'write');
  const labels: Record<string, string> = named();
  const forms = await Promise.all(
    sections.map(async (section): Promise<Part> => {
      const fields = boundFields(resource, section.fields, 'update');
      const entries = failed?.section === section ? failed.entries : initialEntries(fields, record);
      for (const { spec } of fields) labels[spec.name] = spec.label;
      if (!writable) return sectionSummary(look, section, fields, entries);
      const errors = failed?.section === section ? failed.errors : {};
      return {
        kind: 'form',
        id: section.name,
        title: section.title,
        text: [section.text],
        action: `/dashboard/settings/${section.name}`,
        hidden: { _version: String(recordVersion(record)) },
        sections: await fieldSections(look, {}, fields, entries, errors),
        button: { label: `Save ${inSentence(section.title)}`, variant: 'primary' },
        cancel: null,
        preview: brandingPreview(fields, entries),
      };
    }),
  );
  render(
    req,
    res,
    {
      title: 'Settings',
      lead: `Of this environment. Each part is saved on its own.${holdsEverything(call.actor) ? '' : guarded}`,
      errors: failed?.errors ?? {},
      labels,
      parts: [
        ...exposureNotice(req.ctx),
        ...(await managedNotice(call, 'environment', req.ctx.environment.id)),
        ...(await factorNotice(call)),
        factsOf(record),
        ...forms,
        ...(await secretKeyPart(req.ctx)),
      ],
    },
    status,
  );
}

/** GET /dashboard/settings */
export function settingsPage(render: Render) {
  return async (req: Request, res: Response): Promise<void> => {
    const { record } = await recordOf(req.call, 'environments', req.ctx.environment.id);
    await show(render, req, res, record, null, 200);
  };
}

/** POST /dashboard/settings/{section} */
export function saveSettings(render: Render) {
  return async (req: Request, res: Response): Promise<void> => {
    const section = sections.find((one) => one.name === req.params['section']);
    if (!section) throw notFound();
    const resource = resourceOf(req.call, 'environments');
    const { record } = await recordOf(req.call, 'environments', req.ctx.environment.id);
    const fields = boundFields(resource, section.fields, 'update');
    const entries = sentEntries(fields, req.form.all);
    const { input } = readForm(resource, fields, entries, record);
    const expected = [Number(req.form.get('_version') ?? 0)];
    const result = await attempt(fields, entries, () => updateRecord(req.call, resource, record.id, () => input, { expected }));
    if (!('errors' in result)) return res.redirect(303, '/dashboard/settings?done=updated');
    const changed = { form: 'Somebody changed the settings meanwhile. Your entries are still here: check them, then save again.' };
    await show(
      render,
      req,
      res,
      record,
      { section, entries, errors: result.status === 412 ? changed : result.errors },
      result.status === 412 ? 409 : result.status,
    );
  };
}
