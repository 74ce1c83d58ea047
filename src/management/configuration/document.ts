import { z } from 'zod';
import { subjectTypes } from '../../db/tables/client_grants.js';
import type { FederatedCredentialRow } from '../../db/tables/federated_credentials.js';
import { named } from '../../lib/named.js';
import { etagOf } from '../documents.js';
import { chosenClientId } from '../resources/client-attributes.js';
import { federated_credentials } from '../resources/federated_credentials.js';
import { scopeToken } from '../resources/permissions.js';
import { attributeTextOf } from '../attribute-texts.js';
import { documentKinds, madeSecrets, settableAttributesOf, type Kind } from './kinds.js';
import { once } from '../../lib/memo.js';

/** What stands in a document for a secret: where the command that sends it finds it. */
export const secretReference = z
  .union([
    z.strictObject({ env: z.string().min(1).max(200).regex(/^[A-Za-z_][A-Za-z0-9_]*$/, 'must be the name of an environment variable') }), // prettier-ignore
    z.strictObject({ file: z.string().min(1).max(4096) }),
  ])
  .meta({ description: 'An environment variable or a file, read where the command runs; never the secret itself.' });

export type SecretReference = z.infer<typeof secretReference>;

const secretTexts = named({
  client_secret: 'The secret of a confidential client: 32 characters at least. Left out, a new client gets one.',
  provider_client_secret: 'The client secret that the provider has given; null takes it away.',
  signals_token: 'The token that the provider’s signals are fetched with; null takes it away.',
  signing_secret: '`whsec_` and base64 of 24 to 64 bytes. Left out, a new one gets one.',
  authorization: 'The value of the `Authorization` header that is sent along; null takes it away.',
});

/** The members of a record: its key, its attributes, and the reference to its secret. `null` is the default where it is no value of its own. */
function recordOf(kind: Kind, more: z.ZodRawShape = {}): z.ZodObject {
  const { type, key } = kind;
  const attributes = settableAttributesOf(kind).map(({ name, schema, required, nullable }) => {
    const text = schema.description ?? attributeTextOf(type, name) ?? undefined;
    const wide = name === key ? schema : required || nullable ? schema.optional() : schema.nullable().optional();
    return [name, text === undefined ? wide : wide.meta({ description: text })];
  });
  const secrets = kind.secrets.map((name) => {
    const reference = madeSecrets.has(name) ? secretReference : secretReference.nullable();
    return [name, reference.optional().meta({ description: secretTexts[name] as string })];
  });
  return z.strictObject({
    ...(Object.fromEntries(attributes) as z.ZodRawShape),
    ...more,
    ...(Object.fromEntries(secrets) as z.ZodRawShape),
  });
}

const clientId = chosenClientId.meta({
  description: 'Its client_id: 1 to 128 visible ASCII characters, but neither `.` nor `..`, nor the id of a user.',
});

const shortName = z.string().min(1).max(255);
const identifier = z.string().min(1).max(2048);
const nameOfApi = identifier.meta({ description: 'The identifier of an API resource; `management` stands for the built-in one.' });

const rolePermissions = z.strictObject({
  api_resource: nameOfApi,
  names: z.array(scopeToken).max(500).meta({ description: 'Names of its permissions.' }),
});

const grant = recordOf(documentKinds.client_grant, {
  api_resource: nameOfApi,
  subject_type: z.enum(subjectTypes).optional().meta({ description: '`client` unless given.' }),
});

const outboundGrant = recordOf(documentKinds.outbound_grant, {
  client: clientId,
  role: shortName.nullable().optional().meta({ description: 'The name of the role whose holders it is for; null = everybody.' }),
});

const providerGrant = recordOf(documentKinds.provider_grant, { client: clientId });

type CredentialShape = { readonly audience: z.ZodType<string | undefined>; readonly claims: z.ZodType<FederatedCredentialRow['claims']> };
const { audience, claims } = (federated_credentials.create as NonNullable<typeof federated_credentials.create>).schema
  .shape as CredentialShape;
const credential = z.strictObject({
  trusted_issuer: identifier.meta({ description: 'The `issuer` of a trusted issuer.' }),
  audience: audience.meta({ description: '`aud` of the tokens; the environment’s issuer unless given.' }),
  claims,
});

export type DescribedCredential = Pick<FederatedCredentialRow, 'claims'> & { readonly trusted_issuer: string; readonly audience?: string };

const listOf = (schema: z.ZodType, description: string) => z.array(schema).max(10_000).optional().meta({ description });

/** The configuration of an environment, version 1. What is absent is not managed. */
export const documentSchema = z
  .strictObject({
    version: z.literal(1).meta({ description: 'The version of this format.' }),
    environment: recordOf(documentKinds.environment).optional().meta({ description: 'Settings of the environment.' }),
    api_resources: listOf(
      recordOf(documentKinds.api_resource, {
        permissions: listOf(recordOf(documentKinds.permission), 'Its permissions, which are its scopes.'),
        authorization_detail_types: listOf(
          recordOf(documentKinds.authorization_detail_type),
          'Its types of authorization details (RFC 9396).',
        ),
      }),
      'API resources by `identifier`; without the built-in one.',
    ),
    roles: listOf(
      recordOf(documentKinds.role, { permissions: listOf(rolePermissions, 'What the role allows: replaced as a whole.') }),
      'Roles by `name`.',
    ),
    organizations: listOf(
      recordOf(documentKinds.organization, {
        default_roles: listOf(shortName, 'Names of roles of the kind `organization`. Replaced as a whole.'),
        domains: listOf(z.string().min(1).max(253), 'Its domains, which it still has to verify. Replaced as a whole.'),
      }),
      'Organizations by `name`, without members, invitations, groups and directory.',
    ),
    connections: listOf(
      recordOf(documentKinds.connection, {
        organization: shortName
          .nullable()
          .optional()
          .meta({ description: 'The name of the organization whose it is; null = the environment’s. It does not change.' }),
        provider_grants: listOf(providerGrant, 'Which clients may have tokens of people at its provider, by `client`.'),
      }),
      'Connections by `name`; those of organizations are managed where the document has `organizations`.',
    ),
    trusted_issuers: listOf(recordOf(documentKinds.trusted_issuer), 'Trusted issuers by `issuer`.'),
    clients: listOf(
      recordOf(documentKinds.client, {
        client_id: clientId,
        grants: listOf(grant, 'What it may do for itself, or ask people for, by `api_resource` and `subject_type`.'),
        federated_credentials: z
          .array(credential)
          .max(100)
          .optional()
          .meta({ description: 'Which tokens of trusted issuers prove it. Replaced as a whole.' }),
        connections: listOf(z.string().min(1).max(63), 'Names of the connections that it offers; none = all. Replaced as a whole.'),
      }),
      'Clients by `client_id`.',
    ),
    external_servers: listOf(
      recordOf(documentKinds.external_server, {
        sign_in_client: shortName.nullable().optional().meta({ description: 'The `client_id` of its client here; null = none.' }),
        grants: listOf(outboundGrant, 'Which clients may have assertions for it, by `client` and `role`.'),
      }),
      'External servers by `issuer`; without grants for an organization or a group.',
    ),
    webhooks: listOf(recordOf(documentKinds.webhook), 'Webhooks by `name`.'),
    log_streams: listOf(recordOf(documentKinds.log_stream), 'Log streams by `name`.'),
    mail_templates: listOf(recordOf(documentKinds.mail_template), 'Mail templates by `name` and `locale`.'),
    page_texts: listOf(recordOf(documentKinds.page_text), 'Page texts by `key` and `locale`.'),
  })
  .meta({
    title: 'Configuration of an environment',
    description: 'What is absent is not managed; null is the default. Lists are replaced as a whole.',
  });

export type RolePermissions = z.infer<typeof rolePermissions>;

/** The document's JSON Schema (2020-12), made when it is asked for at first. */
export const documentJsonSchema = once((): Readonly<Record<string, unknown>> => {
  const { $schema, ...rest } = z.toJSONSchema(documentSchema, { target: 'draft-2020-12', io: 'input', unrepresentable: 'any' });
  return { $schema, ...rest };
});

/** The same as text, for a file. */
export const documentJsonSchemaText = (): string => `${JSON.stringify(documentJsonSchema(), null, 2)}\n`;

/** The same as it is sent, made for the first request. */
export const publishedSchema = once((): { readonly body: string; readonly etag: string } => {
  const body = documentJsonSchemaText();
  return { body, etag: etagOf(body, null) };
});
