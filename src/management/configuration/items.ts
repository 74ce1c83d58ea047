import { named, own } from '../../lib/named.js';
import type { ResourceRow } from '../resource.js';
import type { DescribedCredential, RolePermissions, SecretReference } from './document.js';
import { detailTypeKey, domainKey, grantKey, outboundKey, permissionKey, providerGrantKey, wordsKey } from './keys.js';
import { collections, documentKinds, settableAttributesOf, type CollectionName, type Kind } from './kinds.js';
import { objectsIn, textIn } from './listed.js';

export type Path = readonly (string | number)[];

export type Item = {
  readonly kind: Kind;
  /** What the record is called in changes; with its kind it names one record. */
  readonly key: string;
  /** Where it stands in the document. */
  readonly path: Path;
  readonly attributes: ResourceRow;
  /** References to its secrets, as far as the document has them; null takes one away. */
  readonly secrets: Readonly<Record<string, SecretReference | null>>;
  readonly permissions?: readonly RolePermissions[];
  /** Of a client: names of connections. */
  readonly connections?: readonly string[];
  /** Of a client: all its federated credentials. */
  readonly federated_credentials?: readonly DescribedCredential[];
  /** Of an organization: names of roles. */
  readonly default_roles?: readonly string[];
  /** Of a connection and a domain: the organization; null: the environment’s. */
  readonly organization?: string | null;
  /** Of a permission, a type of authorization details and a grant: the API resource. */
  readonly api_resource?: string;
  /** Of a grant: the client. */
  readonly client_id?: string;
  /** Of an external server: its client here; null: none. */
  readonly sign_in_client?: string | null;
  /** Of a grant for an external server: its issuer, and the role whose holders it is for; null: everybody. */
  readonly external_server?: string;
  readonly role?: string | null;
  /** Of a grant for tokens at a provider: the connection. */
  readonly connection?: string;
};

const attributesIn = (kind: Kind, record: ResourceRow): ResourceRow =>
  Object.fromEntries(
    settableAttributesOf(kind)
      .filter(({ name }) => Object.hasOwn(record, name))
      .map(({ name }): [string, unknown] => [name, own(record, name)]),
  );

export function itemOf(kind: Kind, key: string, path: Path, record: ResourceRow, more: Partial<Item> = {}): Item {
  const secrets = kind.secrets
    .filter((name) => Object.hasOwn(record, name))
    .map((name): [string, SecretReference | null] => [name, own(record, name) as SecretReference | null]);
  return { kind, key, path, attributes: attributesIn(kind, record), secrets: named(Object.fromEntries(secrets)), ...more };
}

function apiResourceItems(record: ResourceRow, key: string, path: Path): Item[] {
  const permissions = objectsIn(own(record, 'permissions')).flatMap(([one, index]) => {
    const name = textIn(one, 'name');
    const pointer = [...path, 'permissions', index];
    return name === null ? [] : [itemOf(documentKinds.permission, permissionKey(key, name), pointer, one, { api_resource: key })];
  });
  const types = objectsIn(own(record, 'authorization_detail_types')).flatMap(([one, index]) => {
    const name = textIn(one, 'name');
    const pointer = [...path, 'authorization_detail_types', index];
    if (name === null) return [];
    return [itemOf(documentKinds.authorization_detail_type, detailTypeKey(key, name), pointer, one, { api_resource: key })];
  });
  return [itemOf(documentKinds.api_resource, key, path, record), ...permissions, ...types];
}

function clientItems(record: ResourceRow, key: string, path: Path): Item[] {
  const grants = objectsIn(own(record, 'grants')).flatMap(([one, index]) => {
    const api_resource = textIn(one, 'api_resource');
    const subject_type = textIn(one, 'subject_type') ?? 'client';
    if (api_resource === null) return [];
    const more = { api_resource, client_id: key };
    const pointer = [...path, 'grants', index];
    return [itemOf(documentKinds.client_grant, grantKey(key, api_resource, subject_type), pointer, { ...one, subject_type }, more)];
  });
  const connections = own(record, 'connections') as string[] | undefined;
  const federated_credentials = own(record, 'federated_credentials') as DescribedCredential[] | undefined;
  const links = { ...(connections && { connections }), ...(federated_credentials && { federated_credentials }) };
  return [itemOf(documentKinds.client, key, path, record, links), ...grants];
}

function organizationItems(record: ResourceRow, key: string, path: Path): Item[] {
  const default_roles = own(record, 'default_roles') as string[] | undefined;
  const names = own(record, 'domains');
  const domains = (Array.isArray(names) ? names : []).flatMap((domain: unknown, index) => {
    if (typeof domain !== 'string') return [];
    const pointer = [...path, 'domains', index];
    return [itemOf(documentKinds.organization_domain, domainKey(key, domain), pointer, { domain }, { organization: key })];
  });
  return [itemOf(documentKinds.organization, key, path, record, default_roles && { default_roles }), ...domains];
}

function roleItems(record: ResourceRow, key: string, path: Path): Item[] {
  const permissions = own(record, 'permissions') as RolePermissions[] | undefined;
  return [itemOf(documentKinds.role, key, path, record, permissions === undefined ? {} : { permissions })];
}

function externalServerItems(record: ResourceRow, key: string, path: Path): Item[] {
  const grants = objectsIn(own(record, 'grants')).flatMap(([one, index]) => {
    const client_id = textIn(one, 'client');
    if (client_id === null) return [];
    const more = { client_id, external_server: key, role: textIn(one, 'role') };
    return [itemOf(documentKinds.outbound_grant, outboundKey(client_id, key, more.role), [...path, 'grants', index], one, more)];
  });
  const sign_in_client = own(record, 'sign_in_client') as string | null | undefined;
  return [itemOf(documentKinds.external_server, key, path, record, sign_in_client === undefined ? {} : { sign_in_client }), ...grants];
}

function connectionItems(record: ResourceRow, key: string, path: Path): Item[] {
  const grants = objectsIn(own(record, 'provider_grants')).flatMap(([one, index]) => {
    const client_id = textIn(one, 'client');
    if (client_id === null) return [];
    const pointer = [...path, 'provider_grants', index];
    return [itemOf(documentKinds.provider_grant, providerGrantKey(client_id, key), pointer, one, { client_id, connection: key })];
  });
  const organization = own(record, 'organization') as string | null | undefined;
  return [itemOf(documentKinds.connection, key, path, record, organization === undefined ? {} : { organization }), ...grants];
}

/** The record of a collection, and those inside of it. */
export function itemsOf(collection: CollectionName, record: ResourceRow, index: number): Item[] {
  const kind = documentKinds[collections[collection]];
  const key = textIn(record, kind.key as string);
  if (key === null) return [];
  const path = [collection, index];
  if (kind.type === 'api_resource') return apiResourceItems(record, key, path);
  if (kind.type === 'client') return clientItems(record, key, path);
  if (kind.type === 'organization') return organizationItems(record, key, path);
  if (kind.type === 'external_server') return externalServerItems(record, key, path);
  if (kind.type === 'connection') return connectionItems(record, key, path);
  if (kind.type === 'role') return roleItems(record, key, path);
  if (kind.type === 'mail_template' || kind.type === 'page_text') return [itemOf(kind, wordsKey(key, own(record, 'locale')), path, record)];
  return [itemOf(kind, key, path, record)];
}
