import type { ApiResourceRow } from '../../db/tables/api_resources.js';
import type { FederatedCredentialRow } from '../../db/tables/federated_credentials.js';
import { hasMoreOrganizations } from '../../db/tables/organizations.js';
import { matches } from '../../db/lists/conditions.js';
import { findLinks, findRows, listAll, type LinkTable } from '../../db/lists/list.js';
import type { Condition } from '../../db/lists/list-source.js';
import { turns } from '../../lib/turns.js';
import type { Call } from '../call.js';
import { attributesOf } from '../documents.js';
import { refuse } from '../problems.js';
import { federated_credentials } from '../resources/federated_credentials.js';
import { idOf, type Resource, type ResourceRow } from '../resource.js';
import { describedCredential, type LiveCredential } from './described-credentials.js';
import { kindNames, documentKinds, managementName, settableAttributesOf, type Kind, type KindName } from './kinds.js';
import { namings, type KnownNames } from './namings.js';
import { digestOf } from './state.js';

/** A record of the environment, with the attributes that a document can have in the form in which it has them. */
export type LiveRecord = {
  readonly kind: Kind;
  readonly id: string;
  readonly key: string;
  readonly row: ResourceRow;
  readonly attributes: ResourceRow;
  /** Comes with the service: no document describes it. */
  readonly foreign: boolean;
};

export type Live = KnownNames & {
  /** By kind and key, in the order of the keys. Webhooks may share a name. */
  readonly records: ReadonlyMap<KindName, Map<string, LiveRecord[]>>;
  /** A digest of all of it; behind a dot that of organizations, where these were read. */
  readonly state: string;
};

/** A configuration of more records of one kind is refused. */
const mostRecords = 20_000;
/** Records read by one statement, whose answer is parsed in one turn of the event loop. */
const readAtOnce = 2_000;

const rolePermissionLinks: LinkTable = { table: 'role_permissions', near: 'role_id', far: 'permission_id' };
const defaultRoleLinks: LinkTable = { table: 'organization_default_roles', near: 'organization_id', far: 'role_id' };
const clientConnectionLinks: LinkTable = { table: 'client_connections', near: 'client_id', far: 'connection_id' };

/** What a document can say of a row: its attributes in their order. */
export function documentAttributes(call: Pick<Call, 'ctx' | 'actor'>, kind: Kind, row: ResourceRow): ResourceRow {
  const all = attributesOf(call, kind.resource, row);
  return Object.fromEntries(
    settableAttributesOf(kind)
      .filter(({ name }) => Object.hasOwn(all, name))
      .map(({ name }) => [name, all[name]]),
  );
}

/** Clients that came by themselves, by registration (RFC 7591) or by a document of theirs, are nobody's configuration. */
const configured: Partial<Readonly<Record<KindName, Condition>>> = {
  client: matches(`clients.origin = 'administrator'`, []),
  client_grant: matches(
    `not exists (select 1 from clients c where c.environment_id = client_grants.environment_id and c.id = client_grants.client_id
       and c.origin <> 'administrator')`,
    [],
  ),
  provider_grant: matches(
    `exists (select 1 from clients c
       where c.environment_id = provider_grants.environment_id and c.id = provider_grants.client_id and c.origin = 'administrator')`,
    [],
  ),
  // Groups come from a directory; a customer's people are no configuration of the environment.
  outbound_grant: matches(
    `outbound_grants.organization_id is null and outbound_grants.organization_group_id is null and exists (select 1 from clients c
       where c.environment_id = outbound_grants.environment_id and c.id = outbound_grants.client_id and c.origin = 'administrator')`,
    [],
  ),
};

/** @throws {ApiError} 409 when there are more than a document holds */
async function allOf(call: Call, { source, path }: Resource, condition?: Condition): Promise<ResourceRow[]> {
  const rows: ResourceRow[] = [];
  let page: ResourceRow[];
  do {
    const last = rows.at(-1)?.[source.key];
    const beyond = last === undefined ? [] : [matches(`${source.table}.${source.key} > ?::${source.keyType}`, [last])];
    page = await listAll(call.ctx.scope, source, [...(condition ? [condition] : []), ...beyond], readAtOnce);
    rows.push(...page);
  } while (page.length === readAtOnce && rows.length <= mostRecords);
  if (rows.length <= mostRecords) return rows;
  throw refuse(409, 'too_many', `The environment has more than ${mostRecords} ${path}: that is more than a document holds.`);
}

async function rowsOf(call: Call, { type, resource }: Kind): Promise<ResourceRow[]> {
  if (type === 'environment') return findRows(call.ctx.scope, resource.source, 'id', [call.ctx.environment.id]);
  return allOf(call, resource, configured[type]);
}

/** Federated credentials by client, each with the address of its issuer. */
function credentialsOf(
  rows: readonly FederatedCredentialRow[],
  issuers: readonly ResourceRow[],
  issuer: string,
): Map<string, LiveCredential[]> {
  const addresses = new Map(issuers.map((row) => [row['id'], String(row['issuer'])]));
  const found = new Map<string, LiveCredential[]>();
  for (const row of rows) {
    const one = { id: row.id, described: describedCredential(row, addresses.get(row.trusted_issuer_id) ?? '', issuer) };
    found.set(row.client_id, [...(found.get(row.client_id) ?? []), one]);
  }
  return found;
}

/** Kinds that are read only where somebody asks for them: customers, of which there may be many. */
const ofOrganizations: readonly KindName[] = ['organization', 'organization_domain'];

/** Whether there are no more organizations, and domains of theirs, than a document holds. */
export const hasRoomForOrganizations = async ({ ctx }: Pick<Call, 'ctx'>): Promise<boolean> =>
  !(await hasMoreOrganizations(ctx.scope, mostRecords));

/**
 * Reads the configuration of the environment, whoever may see it.
 * @param has_organizations whether organizations are of it
 * @throws {ApiError} 409 when there is too much of it
 */
export async function readLive(call: Call, has_organizations: boolean): Promise<Live> {
  const { scope } = call.ctx;
  const rows = {} as Record<KindName, ResourceRow[]>;
  // One after the other: inside a transaction there is one connection.
  const isRead = (type: KindName) => has_organizations || !ofOrganizations.includes(type);
  for (const type of kindNames) rows[type] = isRead(type) ? await rowsOf(call, documentKinds[type]) : [];
  const ids = (type: KindName) => rows[type].map((row) => String(row['id']));
  const roleLinks = await findLinks(scope, rolePermissionLinks, ids('role'));
  const clientLinks = await findLinks(scope, clientConnectionLinks, ids('client'));
  const organizationLinks = await findLinks(scope, defaultRoleLinks, ids('organization'));
  const organizations = new Map(rows.organization.map((row) => [String(row['id']), String(row['name'])]));
  const identifiers = new Map(
    rows.api_resource.map((row) => [String(row['id']), (row as ApiResourceRow).is_system ? managementName : String(row['identifier'])]),
  );
  const credentialRows = await allOf(call, federated_credentials);
  const credentials = credentialsOf(credentialRows as FederatedCredentialRow[], rows.trusted_issuer, call.ctx.environment.issuer);
  const servers = new Map(rows.external_server.map((row) => [String(row['id']), String(row['issuer'])]));
  const connections = new Map(rows.connection.map((row) => [String(row['id']), String(row['name'])]));
  const known = { identifiers, organizations, servers, connections, credentials, has_organizations };
  const naming = namings(rows, { roles: roleLinks, clients: clientLinks, organizations: organizationLinks }, known);
  const records = new Map<KindName, Map<string, LiveRecord[]>>();
  const turn = turns();
  for (const type of kindNames) {
    const byKey = new Map<string, LiveRecord[]>();
    for (const row of rows[type]) {
      await turn();
      const { key, more = {}, without = [], foreign = false } = naming[type](row);
      const all = { ...documentAttributes(call, documentKinds[type], row), ...more };
      const attributes = Object.fromEntries(Object.entries(all).filter(([name]) => !without.includes(name)));
      const record = { kind: documentKinds[type], id: idOf(documentKinds[type].resource, row), key, row, attributes, foreign };
      byKey.set(key, [...(byKey.get(key) ?? []), record]);
    }
    await turn();
    records.set(type, new Map([...byKey.keys()].sort().map((key) => [key, byKey.get(key) ?? []])));
  }
  const others = kindNames.filter((type) => !ofOrganizations.includes(type));
  const state = await digestOf(rows, others, [...roleLinks, ...clientLinks], credentialRows, turn);
  if (rows.organization.length === 0) return { records, ...known, state };
  return { records, ...known, state: `${state}.${await digestOf(rows, ofOrganizations, organizationLinks, [], turn)}` };
}

/** The records of a kind and key: more than one where names aren't unique. */
export const recordsNamed = (live: Live, type: KindName, key: string): readonly LiveRecord[] => live.records.get(type)?.get(key) ?? [];

export const allRecords = (live: Live): LiveRecord[] => [...live.records.values()].flatMap((byKey) => [...byKey.values()].flat());

export const recordsOf = (live: Live, type: KindName): LiveRecord[] => [...(live.records.get(type)?.values() ?? [])].flat();
