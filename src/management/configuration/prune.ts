import { perform } from '../write-steps.js';
import type { Kind, KindName } from './kinds.js';
import { recordsOf, type Live, type LiveRecord } from './live.js';
import { recordName } from './keys.js';
import type { Listed } from './listed.js';
import { attemptAt, forget, documentPointer, type Run } from './run.js';

/** What names others goes before them. */
const order: readonly KindName[] = [
  'outbound_grant',
  'provider_grant',
  'external_server',
  'client_grant',
  'client',
  'webhook',
  'log_stream',
  'mail_template',
  'trusted_issuer',
  'page_text',
  'role',
  'connection',
  'organization_domain',
  'organization',
  'permission',
  'authorization_detail_type',
  'api_resource',
];

const nameOfList = (type: KindName, of: string | null) => `${type} ${of ?? ''}`;

/** Finds the collection of a document that would have the record: that of its kind, or that of the record that it belongs to. */
export function collectionsOf(
  listed: readonly Listed[],
  { identifiers, organizations, servers, connections }: Pick<Live, 'identifiers' | 'organizations' | 'servers' | 'connections'>,
): (record: LiveRecord) => Listed | undefined {
  const byName = new Map(listed.map((one) => [nameOfList(one.kind.type, one.of), one]));
  return ({ kind: { type }, row }) => {
    if (type === 'client_grant') return byName.get(nameOfList(type, String(row['client_id'])));
    if (type === 'outbound_grant') return byName.get(nameOfList(type, servers.get(String(row['external_server_id'])) ?? ''));
    if (type === 'provider_grant') return byName.get(nameOfList(type, connections.get(String(row['connection_id'])) ?? ''));
    if (type === 'permission' || type === 'authorization_detail_type')
      return byName.get(nameOfList(type, identifiers.get(String(row['api_resource_id'])) ?? ''));
    const organization_id = row['organization_id'] as string | null | undefined;
    if (type === 'organization_domain') return byName.get(nameOfList(type, organizations.get(organization_id ?? '') ?? ''));
    // Customers make connections by themselves.
    if (type === 'connection' && organization_id && !byName.has(nameOfList('organization', null))) return undefined;
    return byName.get(nameOfList(type, null));
  };
}

/** Whether deleting the record would take away whom the document comes from, or what they may do: then it stays. */
function isOwn({ call, live }: Run, { kind, id, key, row }: LiveRecord): boolean {
  const { actor_kind, actor_id } = call.actor;
  if (actor_kind !== 'client') return false;
  const proofs = kind.type === 'trusted_issuer' ? (live.credentials.get(actor_id ?? '') ?? []) : [];
  if (proofs.some(({ described }) => described.trusted_issuer === key)) return true;
  return (kind.type === 'client' && id === actor_id) || (kind.type === 'client_grant' && row['client_id'] === actor_id);
}

async function deleteOne(run: Run, record: LiveRecord, { path }: Listed): Promise<void> {
  const { kind, key } = record;
  if (isOwn(run, record)) {
    const detail = `${kind.type} ${key} is not in the document, and stays: the document is applied by this client.`;
    run.warnings.push({ code: 'acting_client_kept', detail, ...documentPointer(path) });
    return;
  }
  const done = await attemptAt(run, path, async (call) => {
    await perform(call, { kind: 'delete', resource: kind.resource, id: record.id });
    return true;
  });
  if (!done) return;
  forget(run.live, record);
  run.changes.push({ action: 'delete', kind: kind.type, key, attributes: {} });
}

/** Deletes what the document's collections don't have, but for what comes with the service. What goes with its owner is not told apart. */
export async function prune(run: Run, listed: readonly Listed[]): Promise<void> {
  const { identifiers, organizations, servers, connections } = run.live;
  const collectionOf = collectionsOf(listed, {
    identifiers: new Map(identifiers),
    organizations: new Map(organizations),
    servers: new Map(servers),
    connections: new Map(connections),
  });
  const inDocument = (kind: Kind, key: string) => run.declared.has(recordName(kind.type, key));
  for (const type of order) {
    for (const record of recordsOf(run.live, type)) {
      const found = collectionOf(record);
      if (found && !record.foreign && !inDocument(record.kind, record.key)) await deleteOne(run, record, found);
    }
  }
}
