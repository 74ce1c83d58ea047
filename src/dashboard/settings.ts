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
import { fill, hints, sentences, terms } from './words.js';

const guarded = sentences.what_guards_everybodys_sign_in;

type Section = { readonly name: string; readonly title: string; readonly text: string; readonly fields: readonly FieldSpec[] };

/** The settings of an environment; each section is a form of its own and saved alone. */
const sections: readonly Section[] = [
  {
    name: 'general',
    title: terms.general,
    text: sentences.what_this_environment_is_called,
    fields: [
      { name: 'name', label: terms.name, attributes: { maxlength: 100 } },
      {
        name: 'kind',
        label: terms.environment_type,
        choices: environmentKindChoices,
        hint: hints.kind,
      },
      {
        name: 'support_email',
        label: terms.support_address,
        kind: 'email',
        hint: hints.support_email,
        attributes: { maxlength: 254 },
      },
      {
        name: 'default_locale',
        label: terms.default_language,
        choices: languageChoices,
        hint: sentences.of_sign_in_pages_where,
      },
    ],
  },
  {
    name: 'branding',
    title: terms.branding,
    text: sentences.how_the_sign_in_pages,
    fields: [
      ...brandingFields(hints.branding_name, 'environments'),
      { name: 'branding.policy_uri', label: terms.privacy_policy, kind: 'url', hint: hints.branding_policy_uri },
      { name: 'branding.tos_uri', label: terms.terms_of_service, kind: 'url', hint: hints.branding_policy_uri },
    ],
  },
  {
    name: 'sign_in',
    title: terms.registration_and_password_policy,
    text: sentences.who_may_come_in_and,
    fields: [
      { name: 'registration_enabled', label: terms.self_service_registration, hint: hints.registration_enabled },
      { name: 'allowed_email_domains', label: terms.allowed_email_domains, hint: hints.allowed_email_domains },
      { name: 'preferred_username_from_email', label: terms.preferred_username_from_email, hint: hints.preferred_username_from_email },
      { name: 'password_min_length', label: terms.minimum_password_length, hint: hints.password_min_length },
      {
        name: 'breached_passwords',
        label: terms.breached_password_protection,
        choices: breachedPasswordChoices,
        hint: hints.breached_passwords,
      },
      { name: 'lockout_threshold', label: terms.lockout_threshold, hint: hints.lockout_threshold },
      { name: 'lockout_lifetime', label: terms.lockout_duration },
    ],
  },
  ...strongSignInSections,
  {
    name: 'codes',
    title: terms.one_time_codes,
    text: sentences.the_codes_that_are_sent,
    fields: [
      { name: 'otp_lifetime', label: terms.code_lifetime },
      { name: 'otp_max_attempts', label: terms.maximum_attempts_per_code, hint: hints.otp_max_attempts },
    ],
  },
  {
    name: 'lifetimes',
    title: terms.lifetimes,
    text: sentences.how_long_people_stay_signed,
    fields: [
      { name: 'session_lifetime', label: terms.session_lifetime },
      { name: 'session_idle_lifetime', label: terms.session_idle_lifetime, hint: hints.session_idle_lifetime },
      { name: 'default_access_token_lifetime', label: terms.default_access_token_lifetime },
      { name: 'id_token_lifetime', label: terms.id_token_lifetime },
      { name: 'refresh_token_lifetime', label: terms.refresh_token_lifetime },
      { name: 'refresh_token_idle_lifetime', label: terms.refresh_token_idle_lifetime },
    ],
  },
  {
    name: 'signing',
    title: terms.signing_algorithms,
    text: sentences.what_clients_and_api_resources,
    fields: [{ name: 'signing_algorithms', label: terms.signing_algorithms, kind: 'checks', choices: allSigningAlgorithmChoices }],
  },
  {
    name: 'pushed_requests',
    title: terms.pushed_authorization_requests,
    text: sentences.clients_can_leave_their_authorization,
    fields: [{ name: 'require_pushed_authorization_requests', label: terms.require_pushed_authorization_requests }],
  },
  {
    name: 'dpop',
    title: terms.dpop,
    text: sentences.clients_that_prove_a_key,
    fields: [{ name: 'dpop_nonce', label: terms.dpop_nonce, hint: hints.dpop_nonce, choices: dpopNonceChoices }],
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
    return { label: spec.label, value: text(choice?.label ?? (value === 'on' ? terms.yes : value)) };
  });
  return { kind: 'summary', title, rows: await Promise.all(rows) };
}

/** What can't be set. */
const factsOf = (record: ResourceObject): Part => ({
  kind: 'summary',
  title: null,
  rows: [
    { label: terms.issuer, value: code(record.attributes['issuer'], true) },
    { label: terms.slug, value: code(record.attributes['slug']) },
    { label: terms.id, value: code(record.id, true) },
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
        button: { label: fill(terms.save_title, { title: inSentence(section.title) }), variant: 'primary' },
        cancel: null,
        preview: brandingPreview(fields, entries),
      };
    }),
  );
  render(
    req,
    res,
    {
      title: terms.settings,
      lead: fill(terms.of_this_environment_each_part, { value: holdsEverything(call.actor) ? '' : guarded }),
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
    const changed = { form: sentences.somebody_changed_the_settings_meanwhile };
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
