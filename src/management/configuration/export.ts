import { groupedBy } from '../../lib/grouped.js';
import { turns } from '../../lib/turns.js';
import type { ResourceRow } from '../resource.js';
import type { SecretReference } from './document.js';
import { collectionNames, collections, documentKinds, type KindName } from './kinds.js';
import { hasSecret } from './secrets.js';
import { recordsOf, type Live, type LiveRecord } from './live.js';

/** What tells environments apart: a document can have it, an exported one doesn't, so that it can be applied elsewhere. */
const ownToEnvironment = new Set(['name', 'kind', 'passkey_rp_id']);

const shouted = (text: string) => text.toUpperCase().replaceAll(/[^A-Z0-9]+/g, '_').replaceAll(/^_|_$/g, ''); // prettier-ignore

/** Names of environment variables for secrets: `CLIENT_SHOP_SECRET`, each given once. */
function secretNames(): (record: LiveRecord, attribute: string) => SecretReference {
  const given = new Set<string>();
  return ({ kind, key }, attribute) => {
    const ending = attribute.endsWith('_secret') ? 'SECRET' : attribute.toUpperCase();
    const variable = `${kind.type.toUpperCase()}_${shouted(key) || 'X'}_${ending}`;
    let name = variable;
    for (let count = 2; given.has(name); count++) name = `${variable}_${count}`;
    given.add(name);
    return { env: name };
  };
}

/** The environment as a document that describes all of it, but for what comes with the service; others have their turn between its records. */
export async function exportDocument(live: Live): Promise<ResourceRow> {
  const turn = turns();
  const referenceTo = secretNames();
  const described = (type: KindName) =>
    recordsOf(live, type).filter(
      ({ foreign, row }) => !foreign && (type !== 'connection' || live.has_organizations || !row['organization_id']),
    );
  const inKind = (type: KindName, column: string) => {
    const found = groupedBy(described(type), ({ row }) => row[column]);
    return (id: string) => found.get(id) ?? [];
  };
  const permissionsOf = inKind('permission', 'api_resource_id');
  await turn();
  const grantsOf = inKind('client_grant', 'client_id');
  const typesOf = inKind('authorization_detail_type', 'api_resource_id');
  const domainsOf = inKind('organization_domain', 'organization_id');
  const outboundOf = inKind('outbound_grant', 'external_server_id');
  const providerGrantsOf = inKind('provider_grant', 'connection_id');
  const complete = (record: LiveRecord): ResourceRow => {
    const { kind, id, key, attributes } = record;
    const keyed = kind.key === null || Object.hasOwn(attributes, kind.key) ? {} : { [kind.key]: key };
    const secrets = kind.secrets.filter((name) => hasSecret(record, name)).map((name) => [name, referenceTo(record, name)]);
    const all = { ...keyed, ...attributes, ...(Object.fromEntries(secrets) as ResourceRow) };
    if (kind.type === 'api_resource')
      return {
        ...all,
        permissions: permissionsOf(id).map((one) => one.attributes),
        authorization_detail_types: typesOf(id).map((one) => one.attributes),
      };
    if (kind.type === 'organization') return { ...all, domains: domainsOf(id).map((one) => one.attributes['domain']) };
    if (kind.type === 'connection')
      return { ...all, provider_grants: providerGrantsOf(id).map((one) => ({ client: one.row['client_id'], ...one.attributes })) };
    if (kind.type === 'external_server')
      return { ...all, grants: outboundOf(id).map((one) => ({ client: one.row['client_id'], ...one.attributes })) };
    if (kind.type !== 'client') return all;
    const grants = grantsOf(id).map((one) => ({
      api_resource: live.identifiers.get(String(one.row['api_resource_id'])),
      ...one.attributes,
    }));
    return { ...all, grants };
  };
  const [environment] = recordsOf(live, 'environment');
  const settings = Object.entries(environment?.attributes ?? {}).filter(([name]) => !ownToEnvironment.has(name));
  const document: ResourceRow = { version: 1, environment: Object.fromEntries(settings) };
  for (const name of collectionNames.filter((one) => one !== 'organizations' || live.has_organizations)) {
    const records: ResourceRow[] = [];
    for (const record of described(documentKinds[collections[name]].type)) {
      await turn();
      records.push(complete(record));
    }
    document[name] = records;
  }
  return document;
}
