import { own } from '../../lib/named.js';
import type { ResourceRow } from '../resource.js';
import { collectionNames, collections, documentKinds, type Kind } from './kinds.js';

/** A collection that the document has, so that what isn't in it may be deleted: all records of a kind, or those of one record. */
export type Listed = { readonly kind: Kind; readonly path: readonly (string | number)[]; readonly of: string | null };

/** An object that is no list. */
export const isObject = (value: unknown): value is ResourceRow => typeof value === 'object' && value !== null && !Array.isArray(value);
/** The objects of a list, with their places. */
export const objectsIn = (value: unknown): [ResourceRow, number][] =>
  Array.isArray(value) ? value.flatMap((one, index): [ResourceRow, number][] => (isObject(one) ? [[one, index]] : [])) : [];
export const textIn = (record: ResourceRow, name: string): string | null =>
  typeof own(record, name) === 'string' ? (own(record, name) as string) : null;

/** The collections of a document whose absent records may be deleted. */
export function listedIn(document: ResourceRow): Listed[] {
  return collectionNames.flatMap((collection): Listed[] => {
    const list = own(document, collection);
    if (!Array.isArray(list)) return [];
    const kind = documentKinds[collections[collection]];
    const inner = ({ api_resource: 'permissions', client: 'grants' } as const)[kind.type as 'client'] as string | undefined;
    const nested = objectsIn(list).flatMap(([record, index]): Listed[] => {
      const key = textIn(record, kind.key as string);
      if (inner === undefined || key === null || !Array.isArray(own(record, inner))) return [];
      return [
        { kind: kind.type === 'client' ? documentKinds.client_grant : documentKinds.permission, path: [collection, index, inner], of: key },
      ];
    });
    return [{ kind, path: [collection], of: null }, ...nested];
  });
}

/** The kinds of record that a document describes, or may delete. */
export function kindsIn(document: ResourceRow): Set<Kind> {
  return new Set([
    ...(isObject(own(document, 'environment')) ? [documentKinds.environment] : []),
    ...listedIn(document).map(({ kind }) => kind),
  ]);
}

/** Whether a document says of a client which tokens of trusted issuers prove it. */
export const describesCredentials = (document: ResourceRow): boolean =>
  objectsIn(own(document, 'clients')).some(([client]) => Object.hasOwn(client, 'federated_credentials'));
