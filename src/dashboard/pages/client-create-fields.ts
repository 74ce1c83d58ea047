import type { Request } from 'express';
import type { FieldSpec } from '../presentation.js';
import { redirects, uris } from './client-fields.js';
import { grantChoices, kinds, methodChoices } from './client-kinds.js';
import { hints, terms } from '../words.js';

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

/** The fields for a new client of the kind that the address or the form names. */
export function clientCreateFields(req: Request): readonly FieldSpec[] {
  const named =
    req.method === 'POST'
      ? req.form.get('application_type')
      : new URL(req.originalUrl, 'http://own.invalid').searchParams.get('application_type');
  if (named === 'document' || req.form?.get('client_id_metadata_uri') !== undefined) return documentFields;
  const type = named && Object.hasOwn(kinds, named) ? named : 'web';
  const kind = kinds[type] as (typeof kinds)[string];
  const people = type !== 'machine';
  const method = kind.methods[0] ?? 'none';
  return [
    { name: 'application_type', label: terms.application_type, kind: 'hidden', initial: type },
    {
      name: 'name',
      label: terms.name,
      hint: people ? hints.client_fields_name : hints.for_you_which_service_this,
      optional: false,
      attributes: { maxlength: 100 },
    },
    // A device that people type a code for has none.
    ...(people ? [{ ...redirects, section: undefined as unknown as string, optional: type === 'native' }] : []),
    ...(type === 'spa'
      ? [
          {
            name: 'allowed_origins',
            label: terms.allowed_origins_cors,
            hint: hints.client_fields_allowed_origins,
            attributes: uris,
          },
        ]
      : []),
    ...(people ? [{ name: 'first_party', label: terms.first_party_skips_consent, hint: hints.first_party, initial: 'on' }] : []),
    {
      name: 'grant_types',
      label: terms.grant_types,
      kind: 'checks',
      initial: kind.grants,
      choices: async () => grantChoices([...kind.grants, ...(kind.furtherGrants ?? [])]),
      optional: false,
    },
    kind.methods.length > 1
      ? {
          name: 'token_endpoint_auth_method',
          label: terms.authentication_method,
          initial: method,
          choices: async () => methodChoices(kind.methods),
        }
      : { name: 'token_endpoint_auth_method', label: terms.authentication_method, kind: 'hidden', initial: method },
  ];
}
