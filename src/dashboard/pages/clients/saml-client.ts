import { samlKeys } from '../../../domain/saml-certificates/saml-certificates.js';
import { identityProviderId, singleSignOnUrl } from '../../../domain/saml/identity-provider.js';
import { named } from '../../../lib/named.js';
import type { ResourceObject } from '../../../management/documents.js';
import type { Part, Row } from '../../parts/page-parts.js';
import type { FieldSpec, ViewContext } from '../../parts/records/presentation.js';
import { code, json, lines, quiet, text, web, yesNo } from '../../parts/values.js';
import { terms } from '../../parts/words.js';
import { certificateLine } from '../connections/connection-fields.js';

export const isSaml = ({ attributes: a }: ResourceObject): boolean => a['application_type'] === 'saml';
export const isNotSaml = (record: ResourceObject): boolean => !isSaml(record);

export const samlSection = 'SAML';
const plain = { spellcheck: 'false', autocapitalize: 'none' };
const labels = {
  saml_entity_id: 'Entity ID',
  saml_acs_urls: 'Assertion consumer service URLs',
  saml_name_id: 'NameID',
  saml_attributes: 'Attributes',
  saml_request_certificates: 'Request certificates',
  saml_idp_initiated: 'Sign-in can start here',
};
const nameIds: Readonly<Record<string, string>> = named({
  persistent: 'An identifier for this application alone',
  email: 'The verified email address',
});

export const samlFields: readonly FieldSpec[] = [
  {
    name: 'saml_entity_id',
    optional: false,
    label: labels.saml_entity_id,
    hint: 'The application shows it, also as “audience” or “issuer”: https://wiki.example.com/saml',
    section: samlSection,
    attributes: { ...plain, maxlength: 1024 },
  },
  {
    name: 'saml_acs_urls',
    label: labels.saml_acs_urls,
    optional: false,
    hint: 'Where assertions are posted, one per line, compared exactly. Also called ACS, reply or single sign-on URL.',
    section: samlSection,
    attributes: plain,
  },
  {
    name: 'saml_name_id',
    label: labels.saml_name_id,
    kind: 'radios',
    hint: 'What the application knows a person by. If you change it, the application takes everyone for somebody new.',
    section: samlSection,
    initial: 'persistent',
    choices: async () => Object.entries(nameIds).map(([value, label]) => ({ value, label })),
  },
  {
    name: 'saml_attributes',
    label: labels.saml_attributes,
    kind: 'json',
    hint: 'JSON that maps the application’s attribute names to our claims: {"mail": "email", "groups": "roles", "tenant": "org_id"}',
    section: samlSection,
    optional: true,
  },
  {
    name: 'saml_request_certificates',
    label: labels.saml_request_certificates,
    kind: 'lines',
    line: certificateLine,
    hint: 'PEM. If there are any, its requests must be signed with one of them.',
    section: samlSection,
    optional: true,
    attributes: { ...plain, rows: 6 },
  },
  {
    name: 'saml_idp_initiated',
    label: labels.saml_idp_initiated,
    hint: 'Anyone’s link can then sign a person in to the application. Only for applications that can’t start the sign-in themselves.',
    section: samlSection,
  },
];

export const samlRows = (a: ResourceObject['attributes']): Row[] => [
  { label: labels.saml_entity_id, value: code(a['saml_entity_id'], true) },
  { label: labels.saml_acs_urls, value: lines(a['saml_acs_urls']) },
  { label: labels.saml_name_id, value: text(nameIds[String(a['saml_name_id'])]) },
  { label: labels.saml_attributes, value: json(a['saml_attributes']) },
  {
    label: labels.saml_request_certificates,
    value: text((a['saml_request_certificates'] as string[]).length > 0 ? 'Requests must be signed' : 'None: requests can be unsigned'),
  },
  { label: labels.saml_idp_initiated, value: yesNo(a['saml_idp_initiated']) },
];

/** What the application has to be told of us. */
export async function samlSetUpParts({ req }: ViewContext, { id, attributes: a }: ResourceObject): Promise<readonly Part[]> {
  const { ctx } = req;
  const { primary } = await samlKeys(ctx);
  const begins = `${singleSignOnUrl(ctx.environment)}?client_id=${encodeURIComponent(id)}`;
  return [
    {
      kind: 'text',
      title: null,
      paragraphs: ['Give the application our metadata address. If it doesn’t take one, copy the values and the certificate.'],
    },
    {
      kind: 'summary',
      title: 'Values to copy',
      rows: [
        { label: terms.metadata_url, value: code(identityProviderId(ctx.environment), true) },
        { label: 'Entity ID of the identity provider', value: code(identityProviderId(ctx.environment), true) },
        { label: 'Single sign-on URL', value: code(singleSignOnUrl(ctx.environment), true) },
        { label: 'Single logout URL', value: quiet(terms.none) },
        ...(a['saml_idp_initiated'] === true ? [{ label: 'Sign-in link', value: web(begins) }] : []),
      ],
    },
    {
      kind: 'code',
      id: 'snippet-certificate',
      title: 'Certificate',
      text: `X.509, for signatures with RSA-SHA256. It ends on ${primary.expires_at.toISOString().slice(0, 10)}.`,
      code: primary.pem.trim(),
    },
  ];
}
