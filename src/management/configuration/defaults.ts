import { insertEnvironment, type EnvironmentRow } from '../../db/tables/environments.js';
import { strongSignInDefaults } from '../../domain/environments/strong-sign-in.js';
import { randomToken, uuidv7 } from '../../lib/random.js';
import type { Call } from '../call.js';
import type { RelatedRows, ResourceRow } from '../resource.js';
import { documentKinds, settableAttributesOf, type KindName } from './kinds.js';
import { documentAttributes, recordsNamed, type Live, type LiveRecord } from './live.js';
import type { Item } from './items.js';
import { tried, type Run } from './run.js';

/** An environment that nobody set anything of. */
async function freshEnvironment({ ctx }: Call, kind: EnvironmentRow['kind']): Promise<ResourceRow> {
  const at = ctx.clock.now();
  const slug = randomToken('').toLowerCase().replaceAll(/[^a-z0-9]/g, '').slice(0, 30); // prettier-ignore
  const named = { id: uuidv7(at.getTime()), name: slug, slug, kind, created_at: at, updated_at: at };
  return insertEnvironment(ctx.scope.knex, { ...named, ...strongSignInDefaults({ kind }) });
}

/** A record that differs from the one at hand by its name alone, and by not having been told some attributes. */
async function freshRecord(
  { ctx, actor }: Call,
  live: Live,
  { kind, attributes, row }: LiveRecord,
  unsaid: ReadonlySet<string>,
): Promise<ResourceRow> {
  const { create } = kind.resource;
  if (!create) throw new Error(`${kind.resource.path} can not be created`);
  const name = `x${randomToken('').toLowerCase().replaceAll(/[^a-z0-9]/g, '')}`.slice(0, 40); // prettier-ignore
  // What reaches further than its maker is no default.
  const plain = { domains: [], required: false, trusted: false, account_linking: 'ask', second_factor: 'own' };
  const own: Partial<Readonly<Record<KindName, ResourceRow>>> = {
    api_resource: { identifier: `urn:x:${name}` },
    role: { name },
    authorization_detail_type: { name },
    organization: { name: name.toLowerCase(), external_id: null },
    connection: { name, ...plain },
    client_grant: { scopes: [] },
    trusted_issuer: { issuer: `https://${name}.example` },
    external_server: { issuer: `https://${name}.example` },
  };
  const overriding = Object.entries(own[kind.type] ?? {}).filter(([key]) => !unsaid.has(key));
  const given = Object.entries(attributes).filter(
    ([key, value]) => Object.hasOwn(create.schema.shape, key) && !unsaid.has(key) && value !== null,
  );
  const input = Object.fromEntries([...given, ...overriding]);
  const related = await relatedOf({ ctx, actor }, live, { kind, row }, name);
  const prepared = (await create.prepare?.(ctx, actor, input, related)) ?? null;
  return (await create.run(ctx, actor, input, related, prepared)).row;
}

/** What a new record of the kind names. */
async function relatedOf(
  call: Pick<Call, 'ctx' | 'actor'>,
  live: Live,
  { kind, row }: Pick<LiveRecord, 'kind' | 'row'>,
  name: string,
): Promise<RelatedRows> {
  if (kind.type === 'client_grant') return freshlyRelated(call, live, row, name);
  if (kind.type === 'authorization_detail_type') {
    const [api_resource] = recordsNamed(live, 'api_resource', live.identifiers.get(String(row['api_resource_id'])) ?? '');
    return api_resource ? { api_resource: api_resource.row } : {};
  }
  if (kind.type === 'provider_grant') return freshlyConnected(call, live, row, name);
  if (kind.type !== 'outbound_grant') return {};
  const [client] = recordsNamed(live, 'client', String(row['client_id']));
  const [external_server] = recordsNamed(live, 'external_server', live.servers.get(String(row['external_server_id'])) ?? '');
  if (!client || !external_server) throw new Error('a grant is of a client, and for a server outside');
  return { client: client.row, external_server: external_server.row };
}

/** For a grant that is in nobody's way: its client, and an API resource of which there is no grant yet. */
async function freshlyRelated(
  { ctx, actor }: Pick<Call, 'ctx' | 'actor'>,
  live: Live,
  grant: ResourceRow,
  name: string,
): Promise<RelatedRows> {
  const [client] = recordsNamed(live, 'client', String(grant['client_id']));
  const created = await documentKinds.api_resource.resource.create?.run(ctx, actor, { identifier: `urn:x:${name}`, name }, {}, null);
  if (!client || !created) throw new Error('a grant is of a client, and for an API resource');
  return { client: client.row, api_resource: created.row };
}

/** The same for a grant for tokens at a provider: a connection of which the client has none yet. */
async function freshlyConnected(
  { ctx, actor }: Pick<Call, 'ctx' | 'actor'>,
  live: Live,
  grant: ResourceRow,
  name: string,
): Promise<RelatedRows> {
  const [client] = recordsNamed(live, 'client', String(grant['client_id']));
  const input = {
    name,
    display_name: name,
    strategy: 'oidc',
    issuer: `https://${name}.example`,
    provider_client_id: name,
    token_storage: true,
  };
  const created = await documentKinds.connection.resource.create?.run(ctx, actor, input, {}, null);
  if (!client || !created) throw new Error('a grant is of a client, and for a connection');
  return { client: client.row, connection: created.row };
}

/** The attributes that the document sets back to a default that only a new record tells. */
export const unsaidIn = ({ kind, attributes }: Item): ReadonlySet<string> =>
  new Set(settableAttributesOf(kind).flatMap(({ name, nullable }) => (!nullable && attributes[name] === null ? [name] : [])));

/**
 * What `null` in a document means for attributes that null is no value of: what a new record has without being told. Nothing knows that better than
 * making one, which is taken back.
 * @throws {ApiError | Refusal} when a new one could not be without it
 */
export async function defaultsOf(run: Run, item: Item, found: LiveRecord): Promise<ResourceRow> {
  const unsaid = unsaidIn(item);
  if (unsaid.size === 0) return {};
  const fresh = await tried(run, async (call) => {
    const isEnvironment = item.kind.type === 'environment';
    const row = await (isEnvironment
      ? freshEnvironment(call, found.row['kind'] as EnvironmentRow['kind'])
      : freshRecord(call, run.live, found, unsaid));
    return documentAttributes(call, documentKinds[item.kind.type], row);
  });
  return Object.fromEntries([...unsaid].map((name) => [name, fresh[name] ?? null]));
}
