import type { Resource } from '../../../src/management/resource.js';
import { png } from '../images.js';
import type { Document } from '../management.js';
import { newRecord, type NewRecord } from '../new-record.js';
import type { World } from './world.js';

/** Whose the new records are that belong to something: by the type that they lead to, something near and, where it makes a difference, something far. */
const owners: Readonly<Record<string, readonly [near: string, far?: string]>> = {
  api_resource: ['api near'],
  client: ['client bare'],
  connection: ['connection near'],
  external_server: ['external server'],
  organization: ['organization near', 'organization far'],
  trusted_issuer: ['trusted issuer near', 'trusted issuer far'],
  user: ['user near', 'user far'],
};

/** Of which others have to be the owners, for those have one already. */
const otherOwners: Readonly<Record<string, typeof owners>> = {
  client_grants: { client: ['client bare', 'client near'], api_resource: ['api far', 'api near'] },
  federated_credentials: { client: ['client job', 'client far'] },
  organization_memberships: { user: ['user far'] },
};

/** What their attributes are where those of {@link newRecord} are there already, or reach; each of the list is a record. */
const attributes: Readonly<Record<string, readonly Document[]>> = {
  client_grants: [{ scopes: [] }],
  clients: [{ application_type: 'web', redirect_uris: ['https://new.example/cb'] }, {}],
  logos: [{ image: png(8, 8).toString('base64') }],
  mail_templates: [{ locale: 'fr' }],
  page_texts: [{ key: 'register.title', locale: 'fr' }],
};

/** What a new record of each collection is made of beside the attribute that is walked, near and far. */
export function creations({ path, relationships }: Resource, world: World): NewRecord[] {
  const needed = Object.values(relationships).flatMap((one) => (one.kind === 'one' && one.create === 'required' ? [one.to] : []));
  const named = (type: string) => otherOwners[path]?.[type] ?? owners[type] ?? [];
  const count = Math.max(1, ...needed.map((type) => named(type).length));
  return Array.from({ length: count }).flatMap((_, at) => {
    const idOf = (type: string): string => {
      const name = named(type)[at] ?? named(type)[0];
      return name === undefined ? (world.targets.get(type)?.[0] as string) : world.id(name);
    };
    const made = newRecord(path, 'New', idOf);
    return (attributes[path] ?? [{}]).map((own) => ({ ...made, attributes: { ...made.attributes, ...own } }));
  });
}
