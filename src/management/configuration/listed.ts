import { own } from '../../lib/named.js';
import type { ResourceRow } from '../resource.js';
import { collectionNames, collections, documentKinds, type Kind, type KindName } from './kinds.js';

/** A collection that the document has, so that what isn't in it may be deleted: all records of a kind, or those of one record. */
export type Listed = { readonly kind: Kind; readonly path: readonly (string | number)[]; readonly of: string | null };

export const isObject = (value: unknown): value is ResourceRow => typeof value === 'object' && value !== null && !Array.isArray(value);
export const objectsIn = (value: unknown): [ResourceRow, number][] =>
  Array.isArray(value) ? value.flatMap((one, index): [ResourceRow, number][] => (isObject(one) ? [[one, index]] : [])) : [];
export const textIn = (record: ResourceRow, name: string): string | null =>
  typeof own(record, name) === 'string' ? (own(record, name) as string) : null;

const innerLists: Partial<Readonly<Record<KindName, readonly { readonly name: string; readonly kind: KindName }[]>>> = {
  api_resource: [
    { name: 'permissions', kind: 'permission' },
    { name: 'authorization_detail_types', kind: 'authorization_detail_type' },
  ],
  organization: [{ name: 'domains', kind: 'organization_domain' }],
  client: [{ name: 'grants', kind: 'client_grant' }],
  connection: [{ name: 'provider_grants', kind: 'provider_grant' }],
  external_server: [{ name: 'grants', kind: 'outbound_grant' }],
};

/** The collections of a document whose absent records may be deleted. */
export const listedIn = (document: ResourceRow): Listed[] =>
  collectionNames.flatMap((collection): Listed[] => {
    const list = own(document, collection);
    if (!Array.isArray(list)) return [];
    const kind = documentKinds[collections[collection]];
    const inner = innerLists[kind.type] ?? [];
    const nested = objectsIn(list).flatMap(([record, index]): Listed[] => {
      const key = textIn(record, kind.key as string);
      if (key === null) return [];
      return inner
        .filter(({ name }) => Array.isArray(own(record, name)))
        .map(({ name, kind: one }) => ({ kind: documentKinds[one], path: [collection, index, name], of: key }));
    });
    return [{ kind, path: [collection], of: null }, ...nested];
  });

/** The kinds of record that a document describes, or may delete. */
export const kindsDescribedIn = (document: ResourceRow): Set<Kind> =>
  new Set([...(isObject(own(document, 'environment')) ? [documentKinds.environment] : []), ...listedIn(document).map(({ kind }) => kind)]);

/** The same, and organizations where a connection names one: whether there is one of the name is told. */
export const kindsIn = (document: ResourceRow): Set<Kind> =>
  new Set([
    ...kindsDescribedIn(document),
    ...(objectsIn(own(document, 'connections')).some(([one]) => textIn(one, 'organization') !== null) ? [documentKinds.organization] : []),
  ]);

export const namesOrganizations = (document: ResourceRow): boolean =>
  Array.isArray(own(document, 'organizations')) ||
  objectsIn(own(document, 'connections')).some(([one]) => Object.hasOwn(one, 'organization'));

/** Whether a document says of a client which tokens of trusted issuers prove it. */
export const describesCredentials = (document: ResourceRow): boolean =>
  objectsIn(own(document, 'clients')).some(([client]) => Object.hasOwn(client, 'federated_credentials'));
