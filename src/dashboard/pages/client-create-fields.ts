import type { Request } from 'express';
import { deviceCodeGrantType } from '../../lib/grant-types.js';
import { originsOf } from '../../lib/redirect-uri.js';
import type { FieldSpec } from '../presentation.js';
import { redirects, uris } from './client-fields.js';
import { grantChoices, kinds, methodChoices } from './client-kinds.js';
import { hints, sentences, terms } from '../words.js';

const more = terms.more_settings;

/** Of a client that a document describes. */
const documentFields: readonly FieldSpec[] = [
  {
    name: 'client_id_metadata_uri',
    label: terms.client_id_metadata_document_uri,
    hint: hints.client_id_metadata_uri,
    optional: false,
    attributes: { maxlength: 512, spellcheck: false, autocapitalize: 'none' },
  },
];

/** What is being made: by the address of the form, or by the form. */
type Asked = { readonly type: string; readonly isDevice: boolean; readonly isDocument: boolean };

function askedFor(req: Request): Asked {
  const query = new URL(req.originalUrl, 'http://own.invalid').searchParams;
  const isSent = req.method === 'POST';
  const named = isSent ? req.form.get('application_type') : query.get('application_type');
  const type = named && Object.hasOwn(kinds, named) ? named : 'web';
  const sent = (grant: string) => isSent && req.form.get(`grant_types:${grant}`) !== undefined;
  const isDevice = isSent ? sent(deviceCodeGrantType) && !sent('authorization_code') : query.get('flow') === 'device';
  const isDocument = named === 'document' || req.form?.get('client_id_metadata_uri') !== undefined;
  return { type, isDevice: type === 'native' && isDevice, isDocument };
}

/** What the page of the form says. */
export function clientCreateLead(req: Request): string {
  const { type, isDevice, isDocument } = askedFor(req);
  if (isDocument) return '';
  return type === 'machine' || isDevice ? sentences.step_two_without_redirect : sentences.step_two;
}

/** What most can leave as it is. */
function furtherFields({ type, isDevice }: Asked): FieldSpec[] {
  const kind = kinds[type] as (typeof kinds)[string];
  const people = type !== 'machine';
  const grants = isDevice ? [deviceCodeGrantType, 'refresh_token'] : kind.grants;
  const method = kind.methods[0] ?? 'none';
  return [
    { name: 'description', label: terms.description, hint: hints.description, section: more, attributes: { maxlength: 500 } },
    ...(isDevice ? [{ ...redirects, section: more, optional: true }] : []),
    ...(type === 'spa'
      ? [
          {
            name: 'allowed_origins',
            label: terms.allowed_origins_cors,
            hint: hints.origins_of_redirect_uris,
            section: more,
            attributes: uris,
          },
        ]
      : []),
    ...(type === 'web' || type === 'spa'
      ? [{ name: 'id_token_claims', label: terms.id_token_claims, kind: 'hidden' as const, initial: 'profile' }]
      : []),
    ...(people
      ? [
          {
            name: 'post_logout_redirect_uris',
            label: terms.post_logout_redirect_uris,
            hint: hints.post_logout_redirect_uris,
            section: more,
            attributes: uris,
          },
          { name: 'first_party', label: terms.first_party_skips_consent, hint: hints.first_party, section: more, initial: 'on' },
        ]
      : []),
    {
      name: 'grant_types',
      label: terms.grant_types,
      kind: 'checks',
      section: more,
      initial: grants,
      choices: async () => grantChoices([...new Set([...kind.grants, ...(kind.furtherGrants ?? [])])]),
      optional: false,
    },
    kind.methods.length > 1
      ? {
          name: 'token_endpoint_auth_method',
          label: terms.authentication_method,
          section: more,
          initial: method,
          choices: async () => methodChoices(kind.methods),
        }
      : { name: 'token_endpoint_auth_method', label: terms.authentication_method, kind: 'hidden', initial: method },
  ];
}

/** The fields for a new client of the kind that the address or the form names: its name, where users come back to, and the rest folded away. */
export function clientCreateFields(req: Request): readonly FieldSpec[] {
  const asked = askedFor(req);
  if (asked.isDocument) return documentFields;
  const { type, isDevice } = asked;
  const people = type !== 'machine';
  return [
    { name: 'application_type', label: terms.application_type, kind: 'hidden', initial: type },
    {
      name: 'name',
      label: terms.name,
      hint: people ? hints.client_fields_name : hints.for_you_which_service_this,
      optional: false,
      attributes: { maxlength: 100 },
    },
    ...(people && !isDevice ? [{ ...redirects, section: undefined as unknown as string, optional: type === 'native' }] : []),
    ...furtherFields(asked),
  ];
}

/** What a single-page application left empty: its pages come from where it is redirected to. */
export function completedClient(attributes: Readonly<Record<string, unknown>>): Readonly<Record<string, unknown>> {
  const { application_type, redirect_uris, allowed_origins } = attributes as Record<string, string[] | undefined>;
  if (String(application_type) !== 'spa' || !redirect_uris || (allowed_origins ?? []).length > 0) return attributes;
  return { ...attributes, allowed_origins: originsOf(redirect_uris) };
}
