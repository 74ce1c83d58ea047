import type { Request } from 'express';
import { deviceCodeGrantType } from '../../../lib/grant-types.js';
import { originsOf } from '../../../lib/redirect-uri.js';
import type { FieldSpec, SectionSpec } from '../../parts/records/presentation.js';
import { clientFields } from './client-fields.js';
import { grantChoices, kinds, methodChoices } from './client-kinds.js';
import { terms } from '../../parts/words.js';

const more = 'More settings';

export const clientCreateSections: readonly SectionSpec[] = [
  {
    title: more,
    text: 'These suit most applications of this type. You can change them at any time, and set more once the client is created.',
    folded: true,
  },
];

const originsHint =
  'Leave empty for the origins of its redirect URIs. Pages there can call the token endpoint (CORS): https://app.example.com';

type Changes = Partial<Omit<FieldSpec, 'section'>> & { readonly section?: string | undefined };

function clientField(name: string, { section, ...changes }: Changes): FieldSpec {
  const { section: _section, ...field } = clientFields.find((one) => one.name === name) as FieldSpec;
  return { ...field, ...changes, ...(section !== undefined && { section }) };
}

const documentFields: readonly FieldSpec[] = [
  {
    name: 'client_id_metadata_uri',
    label: 'Client ID metadata document URI',
    hint: 'Its client_id: an https URL with a path. The document contains the rest. By adding it, you verify the application.',
    optional: false,
    attributes: { maxlength: 512, spellcheck: false, autocapitalize: 'none' },
  },
];

/** What is being made: by the address of the form, or by the form. */
type NewClient = { readonly type: string; readonly isDevice: boolean; readonly isDocument: boolean };

function newClientOf(req: Request): NewClient {
  const query = new URL(req.originalUrl, 'http://own.invalid').searchParams;
  const isSent = req.method === 'POST';
  const named = isSent ? req.form.get('application_type') : query.get('application_type');
  const type = named && Object.hasOwn(kinds, named) ? named : 'web';
  const sent = (grant: string) => isSent && req.form.get(`grant_types:${grant}`) !== undefined;
  const isDevice = isSent ? sent(deviceCodeGrantType) && !sent('authorization_code') : query.get('flow') === 'device';
  const isDocument = named === 'document' || req.form?.get('client_id_metadata_uri') !== undefined;
  return { type, isDevice: type === 'native' && isDevice, isDocument };
}

export function clientCreateLead(req: Request): string {
  const { type, isDevice, isDocument } = newClientOf(req);
  if (isDocument) return '';
  if (type === 'saml') return 'Step 2 of 3: its name, and the two values that the application shows. Everything else has a default.';
  return type === 'machine' || isDevice
    ? 'Step 2 of 3: its name. Everything else has a default.'
    : 'Step 2 of 3: its name, and where users return to. Everything else has a default.';
}

/** Fields that most applications leave at their defaults. */
function furtherFields({ type, isDevice }: NewClient): FieldSpec[] {
  const kind = kinds[type] as (typeof kinds)[string];
  const people = type !== 'machine';
  const grants = isDevice ? [deviceCodeGrantType, 'refresh_token'] : kind.grants;
  const method = kind.methods[0] ?? 'none';
  return [
    clientField('description', { section: more }),
    ...(isDevice ? [clientField('redirect_uris', { section: more, optional: true })] : []),
    ...(type === 'spa' ? [clientField('allowed_origins', { hint: originsHint, section: more })] : []),
    ...(type === 'web' || type === 'spa' ? [clientField('id_token_claims', { kind: 'hidden', initial: 'profile' })] : []),
    ...(people
      ? [clientField('post_logout_redirect_uris', { section: more }), clientField('first_party', { section: more, initial: 'on' })]
      : []),
    clientField('grant_types', {
      section: more,
      initial: grants,
      choices: async () => grantChoices([...new Set([...kind.grants, ...(kind.furtherGrants ?? [])])]),
    }),
    clientField('token_endpoint_auth_method', {
      initial: method,
      ...(kind.methods.length > 1 ? { section: more, choices: async () => methodChoices(kind.methods) } : { kind: 'hidden' }),
    }),
  ];
}

/** The fields for a new client of the kind that the address or the form names: its name, where users come back to, and the rest folded away. */
export function clientCreateFields(req: Request): readonly FieldSpec[] {
  const newClient = newClientOf(req);
  if (newClient.isDocument) return documentFields;
  const { type, isDevice } = newClient;
  if (type === 'saml')
    return [
      { name: 'application_type', label: terms.application_type, kind: 'hidden', initial: type },
      clientField('name', { optional: false }),
      clientField('saml_entity_id', { section: undefined, optional: false }),
      clientField('saml_acs_urls', { section: undefined, optional: false }),
      ...['description', 'saml_name_id', 'saml_attributes', 'saml_request_certificates', 'organization_usage'].map((name) =>
        clientField(name, { section: more }),
      ),
      clientField('first_party', { section: more, initial: 'on' }),
    ];
  const people = type !== 'machine';
  return [
    { name: 'application_type', label: terms.application_type, kind: 'hidden', initial: type },
    clientField('name', { optional: false, ...(!people && { hint: terms.shown_only_to_administrators }) }),
    ...(people && !isDevice ? [clientField('redirect_uris', { section: undefined, optional: type === 'native' })] : []),
    ...furtherFields(newClient),
  ];
}

/** What a single-page application left empty: its pages come from where it is redirected to. */
export function completedClient(attributes: Readonly<Record<string, unknown>>): Readonly<Record<string, unknown>> {
  const { application_type, redirect_uris, allowed_origins } = attributes as Record<string, string[] | undefined>;
  if (String(application_type) !== 'spa' || !redirect_uris || (allowed_origins ?? []).length > 0) return attributes;
  return { ...attributes, allowed_origins: originsOf(redirect_uris) };
}
