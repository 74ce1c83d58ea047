import { z } from 'zod';
import { api_resources } from '../resources/api_resources.js';
import { client_grants } from '../resources/client_grants.js';
import { clients } from '../resources/clients.js';
import { connections } from '../resources/connections.js';
import { environments } from '../resources/environments.js';
import { external_servers } from '../resources/external_servers.js';
import { log_streams } from '../resources/log_streams.js';
import { mail_templates } from '../resources/mail_templates.js';
import { organization_domains } from '../resources/organization_domains.js';
import { organizations } from '../resources/organizations.js';
import { outbound_grants } from '../resources/outbound_grants.js';
import { page_texts } from '../resources/page_texts.js';
import { authorization_detail_types } from '../resources/authorization_detail_types.js';
import { permissions } from '../resources/permissions.js';
import { provider_grants } from '../resources/provider_grants.js';
import { roles } from '../resources/roles.js';
import { trusted_issuers } from '../resources/trusted_issuers.js';
import { webhooks } from '../resources/webhooks.js';
import { ofEach } from '../../lib/memo.js';
import { permissionFor, type Resource } from '../resource.js';

/** A type of record that a configuration document describes. Its attributes are those of the Management API that can be set. */
export type Kind = {
  readonly type: KindName;
  readonly resource: Resource;
  /** The attribute that names a record; null for the environment, which there is one of, for grants and for domains. */
  readonly key: string | null;
  /** Attributes of the Management API that a document doesn't have. */
  readonly without: readonly string[];
  /** Attributes without which there is no record, though the Management API has another way to say them. */
  readonly needed: readonly string[];
  readonly secrets: readonly string[];
  /** Further permissions whose collections a document of it names. */
  readonly names: readonly Resource[];
};

export type KindName =
  | 'environment'
  | 'api_resource'
  | 'permission'
  | 'authorization_detail_type'
  | 'role'
  | 'organization'
  | 'organization_domain'
  | 'connection'
  | 'trusted_issuer'
  | 'client'
  | 'client_grant'
  | 'provider_grant'
  | 'external_server'
  | 'outbound_grant'
  | 'webhook'
  | 'log_stream'
  | 'mail_template'
  | 'page_text';

const kind = (type: KindName, resource: Resource, key: string | null, more: Partial<Kind> = {}): Kind => ({
  type,
  resource,
  key,
  without: [],
  needed: [],
  secrets: [],
  names: [],
  ...more,
});

/** All kinds, in the order in which what they name is there before them. */
export const documentKinds: Readonly<Record<KindName, Kind>> = {
  // Until when an earlier issuer counts is told by the clock, and by no document.
  environment: kind('environment', environments, null, { without: ['slug', 'base_url_issuer_until'] }),
  api_resource: kind('api_resource', api_resources, 'identifier'),
  permission: kind('permission', permissions, 'name'),
  authorization_detail_type: kind('authorization_detail_type', authorization_detail_types, 'name'),
  role: kind('role', roles, 'name', { names: [permissions, api_resources] }),
  // Its logo and colour are in its branding.
  organization: kind('organization', organizations, 'name', { without: ['logo_url', 'primary_color'], names: [roles] }),
  organization_domain: kind('organization_domain', organization_domains, null),
  connection: kind('connection', connections, 'name', { secrets: ['provider_client_secret', 'signals_token'] }),
  trusted_issuer: kind('trusted_issuer', trusted_issuers, 'issuer'),
  client: kind('client', clients, 'client_id', {
    without: ['client_id', 'client_id_metadata_uri'],
    needed: ['name'],
    secrets: ['client_secret'],
    names: [connections],
  }),
  client_grant: kind('client_grant', client_grants, null, { names: [api_resources] }),
  provider_grant: kind('provider_grant', provider_grants, null, { names: [clients] }),
  external_server: kind('external_server', external_servers, 'issuer', { names: [clients] }),
  outbound_grant: kind('outbound_grant', outbound_grants, null, { names: [clients, roles] }),
  webhook: kind('webhook', webhooks, 'name', { secrets: ['signing_secret'] }),
  log_stream: kind('log_stream', log_streams, 'name', { secrets: ['signing_secret', 'authorization'] }),
  mail_template: kind('mail_template', mail_templates, 'name'),
  page_text: kind('page_text', page_texts, 'key'),
};

export const kindNames = Object.keys(documentKinds) as KindName[];

export const isKindName = (type: string): type is KindName => Object.hasOwn(documentKinds, type);

/** Secrets that the service makes when nobody gives them, and that `rotate_secret` replaces; others are attributes. */
export const madeSecrets: ReadonlySet<string> = new Set(['client_secret', 'signing_secret']);

export const secretAttributes: ReadonlySet<string> = new Set(Object.values(documentKinds).flatMap(({ secrets }) => secrets));

/** Where the records of a kind stand in a document. */
export const collections = {
  api_resources: 'api_resource',
  roles: 'role',
  organizations: 'organization',
  connections: 'connection',
  trusted_issuers: 'trusted_issuer',
  clients: 'client',
  external_servers: 'external_server',
  webhooks: 'webhook',
  log_streams: 'log_stream',
  mail_templates: 'mail_template',
  page_texts: 'page_text',
} as const satisfies Readonly<Record<string, KindName>>;

export type CollectionName = keyof typeof collections;
export const collectionNames = Object.keys(collections) as CollectionName[];

/** What a document calls the built-in API resource. */
export const managementName = 'management';

/** The schemas of a resource's attributes that can be set, by name; `required` at creation, and `nullable` where null is a value of theirs. */
export type SettableAttribute = {
  readonly name: string;
  readonly schema: z.ZodType;
  readonly required: boolean;
  readonly nullable: boolean;
};

const settableOf = ({ resource, without, needed, secrets }: Kind): readonly SettableAttribute[] => {
  const shape = { ...resource.update?.schema.shape, ...resource.create?.schema.shape } as Record<string, z.ZodType>;
  return Object.entries(shape)
    .filter(([name]) => !without.includes(name) && !secrets.includes(name))
    .map(([name, schema]) => {
      const inner = schema instanceof z.ZodOptional ? (schema.unwrap() as z.ZodType) : schema;
      const required = resource.create !== undefined && (needed.includes(name) || !(schema instanceof z.ZodOptional));
      return { name, schema: inner, required, nullable: inner.safeParse(null).success };
    });
};

/** What a document can say of a record of the kind, without secrets and names of other records. */
export const settableAttributesOf = ofEach(settableOf);

/** The permissions to see what documents of these kinds say, and name. */
export const permissionsToReadKinds = (some: Iterable<Kind>): string[] => [
  ...new Set([...some].flatMap(({ resource, names }) => [resource, ...names].map((one) => permissionFor(one, 'read')))),
];
