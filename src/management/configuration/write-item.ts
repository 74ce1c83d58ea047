import { isDeepStrictEqual } from 'node:util';
import type { ClientRow } from '../../db/tables/clients.js';
import type { Actor } from '../../domain/actor.js';
import { rotateClientSecret } from '../../domain/clients/registration.js';
import type { ClientInput } from '../../domain/clients/rules.js';
import type { Context } from '../../domain/context.js';
import { createLogStream, rotateStreamSecret, type LogStreamInput } from '../../domain/log-streams/log-streams.js';
import type { NewSigningKey } from '../../domain/signing-keys/signing-keys.js';
import type { WebhookInput } from '../../domain/webhooks/input.js';
import { createWebhook, rotateSecret } from '../../domain/webhooks/webhooks.js';
import type { Call } from '../call.js';
import { createClient } from '../resources/clients.js';
import { idOf, type Resource, type ResourceRow, type Written } from '../resource.js';
import { findRecord } from '../records.js';
import { defaultsOf, unsaidIn } from './defaults.js';
import { madeSecrets, settableAttributesOf, type KindName } from './kinds.js';
import { documentAttributes, type LiveRecord } from './live.js';
import { sortedNames, sortedPermissions } from './namings.js';
import type { Item } from './items.js';
import { relationshipsOf } from './references.js';
import { attemptItem, note, remember, secretMark, stateChanged, type RecordChange, type Run } from './run.js';
import { removeCredentials, writeCredentials } from './write-credentials.js';
import { perform } from '../write-steps.js';
import { hasSecret, refuseSecretless, secretChanges, shownSecret, type SecretChanges } from './secrets.js';

type Create = NonNullable<Resource['create']>;

/** The resource as a document writes it: with the id and the secret that the document gives. */
function withGiven(item: Item, secret: string | undefined): Resource {
  const { resource, type } = item.kind;
  const create = resource.create as Create;
  const creating = (run: Create['run']): Resource => ({ ...resource, create: { ...create, run } });
  if (type === 'client') {
    const chosen = { client_id: item.key, client_secret: secret };
    return creating((tx, actor, input, related, key) =>
      createClient(tx, actor, input as ClientInput, related, chosen, key as NewSigningKey | undefined),
    );
  }
  if (secret === undefined) return resource;
  if (type === 'webhook')
    return creating(async (tx, _actor, input) => ({ row: (await createWebhook(tx, input as unknown as WebhookInput, secret)).webhook }));
  if (type === 'log_stream')
    return creating(async (tx, _actor, input) => ({ row: (await createLogStream(tx, input as unknown as LogStreamInput, secret)).stream }));
  return resource;
}

async function rotated(tx: Context, type: KindName, row: ResourceRow, secret: string): Promise<ResourceRow> {
  if (type === 'client') return (await rotateClientSecret(tx, row as ClientRow, { client_secret: secret })).client;
  if (type === 'webhook') return (await rotateSecret(tx, String(row['id']), secret))?.webhook ?? row;
  return (await rotateStreamSecret(tx, String(row['id']), secret))?.stream ?? row;
}

/** The resource whose action gives a record this secret. */
function withRotation(item: Item, name: string, secret: string): Resource {
  const { resource, type } = item.kind;
  const rotate = resource.actions?.['rotate_secret'];
  if (!rotate) throw new Error(`${resource.path} have no secret of ours`);
  const run = async (tx: Context, _actor: Actor, row: ResourceRow): Promise<Written<ResourceRow>> => ({
    row: await rotated(tx, type, row, secret),
    once: { [name]: secret },
  });
  return { ...resource, actions: { ...resource.actions, rotate_secret: { ...rotate, run } } };
}

/** The new value of the secret that the service would make; undefined: there is none. */
const ownSecretIn = (changes: SecretChanges): [name: string, value: string] | undefined =>
  [...changes].find((entry): entry is [string, string] => madeSecrets.has(entry[0]) && entry[1] !== null);

/** Secrets that are attributes of a request. */
const attributesIn = (changes: SecretChanges): ResourceRow => Object.fromEntries([...changes].filter(([name]) => !madeSecrets.has(name)));

/** What a request would send to make the record of an item so. */
const documentOf = ({ kind }: Item, id: string | null, attributes: ResourceRow, relationships: ResourceRow): ResourceRow => ({
  data: { type: kind.type, ...(id === null ? {} : { id }), attributes, relationships },
});

/** The record as it is after a write; what it names is what the item says. */
function written(call: Call, item: Item, row: ResourceRow, before: LiveRecord | null): LiveRecord {
  const { kind, key } = item;
  const links = {
    ...(kind.type === 'role' && {
      permissions: item.permissions ? sortedPermissions(item.permissions) : (before?.attributes['permissions'] ?? []),
    }),
    ...(kind.type === 'organization' && {
      default_roles: item.default_roles ? sortedNames(item.default_roles) : (before?.attributes['default_roles'] ?? []),
    }),
    ...(kind.type === 'connection' && { organization: before ? before.attributes['organization'] : (item.organization ?? null) }),
    ...(kind.type === 'client' && {
      connections: item.connections ? sortedNames(item.connections) : (before?.attributes['connections'] ?? []),
      federated_credentials: before?.attributes['federated_credentials'] ?? [],
    }),
    ...(kind.type === 'external_server' && { sign_in_client: row['sign_in_client_id'] ?? null }),
    ...(kind.type === 'outbound_grant' && { role: item.role ?? null }),
  };
  const attributes = { ...documentAttributes(call, kind, row), ...links };
  return { kind, id: idOf(kind.resource, row), key, row, attributes, foreign: false };
}

/** Creates the record of an item. Where the document says null, it says nothing unless null is a value of the attribute. */
async function create(run: Run, item: Item): Promise<LiveRecord | null> {
  const { kind } = item;
  const relationships = relationshipsOf(run, item, true);
  const secrets = secretChanges(run, item, null);
  if (relationships === null || secrets === null) return null;
  const nullable = new Set(settableAttributesOf(kind).flatMap(({ name, nullable: may }) => (may ? [name] : [])));
  const given = Object.fromEntries(Object.entries(item.attributes).filter(([name, value]) => value !== null || nullable.has(name)));
  const attributes = { ...given, ...attributesIn(secrets) };
  const [secretAttribute, secret] = ownSecretIn(secrets) ?? [];
  const done = await attemptItem(run, item, async (call) => {
    const resource = withGiven(item, secret);
    const outcome = await perform(call, {
      kind: 'create',
      resource,
      id: null,
      document: documentOf(item, null, attributes, relationships),
    });
    if (kind.type === 'client' && secret !== undefined) refuseSecretless(outcome.row as ClientRow);
    return { record: written(call, item, outcome.row, null), once: outcome.once ?? {} };
  });
  if (!done) return null;
  const { record, once } = done;
  for (const [attribute, value] of Object.entries(once))
    if (attribute !== secretAttribute) run.made.push({ kind: kind.type, key: item.key, attribute, value: String(value) });
  const shown = namesOf(item).filter((name) => name !== kind.key);
  const shownSecrets = [...new Set([...secrets.keys(), ...Object.keys(once)])].map((name) => [name, shownSecret(false, secretMark)]);
  const changed = Object.fromEntries(shown.map((name) => [name, [null, record.attributes[name] ?? null] as const]));
  run.changes.push({
    action: 'create',
    kind: kind.type,
    key: item.key,
    attributes: { ...changed, ...(Object.fromEntries(shownSecrets) as RecordChange['attributes']) },
  });
  return record;
}

/** The attributes, and what else of the record, the document manages. */
const namesOf = ({ kind, attributes, permissions, connections, default_roles, organization, sign_in_client }: Item): string[] => [
  ...Object.keys(attributes),
  ...(permissions ? ['permissions'] : []),
  ...(connections ? ['connections'] : []),
  ...(default_roles ? ['default_roles'] : []),
  ...(kind.type === 'connection' && organization !== undefined ? ['organization'] : []),
  ...(sign_in_client === undefined ? [] : ['sign_in_client']),
];

/** What a record names that can be replaced. */
type Links = 'permissions' | 'connections' | 'default_roles' | 'sign_in_client';

/** What differs between the item and the record, as a request would say it. */
async function differences(run: Run, item: Item, found: LiveRecord): Promise<{ attributes: ResourceRow; links: Pick<Item, Links> }> {
  const defaults = await defaultsOf(run, item, found);
  const requested = { ...item.attributes, ...defaults };
  const attributes = Object.fromEntries(
    Object.entries(requested).filter(([name, value]) => !isDeepStrictEqual(value, found.attributes[name] ?? null)),
  );
  const { permissions, connections, default_roles, sign_in_client } = item;
  const samePermissions = !permissions || isDeepStrictEqual(sortedPermissions(permissions), found.attributes['permissions']);
  const sameConnections = !connections || isDeepStrictEqual(sortedNames(connections), found.attributes['connections']);
  const sameRoles = !default_roles || isDeepStrictEqual(sortedNames(default_roles), found.attributes['default_roles']);
  const links = {
    ...(samePermissions ? {} : { permissions }),
    ...(sameConnections ? {} : { connections }),
    ...(sameRoles ? {} : { default_roles }),
    ...(sign_in_client === found.attributes['sign_in_client'] ? {} : { sign_in_client }),
  };
  return { attributes, links: links as Pick<Item, Links> };
}

const changedBetween = (before: ResourceRow, after: ResourceRow): RecordChange['attributes'] =>
  Object.fromEntries(
    Object.keys(after)
      .filter((name) => !isDeepStrictEqual(before[name] ?? null, after[name] ?? null))
      .map((name) => [name, [before[name] ?? null, after[name] ?? null] as const]),
  );

/**
 * Holds a record that is to change, and looks whether what changes of it is still as it was read: an administrator may have changed it since the state was
 * compared. @throws {ApiError} 409 `state_changed`
 */
async function requireAsRead({ call, expects }: Run, { kind, id, attributes }: LiveRecord, names: readonly string[]): Promise<void> {
  if (!expects) return;
  const row = await findRecord(call.ctx, kind.resource, id, true);
  const now = row && documentAttributes(call, kind, row);
  if (!now || names.some((name) => Object.hasOwn(attributes, name) && !isDeepStrictEqual(now[name], attributes[name])))
    throw stateChanged();
}

/** Changes a record to what the item says; null: it was so already, or was refused. */
async function change(run: Run, item: Item, found: LiveRecord, prepared: unknown): Promise<LiveRecord | null> {
  const { kind } = item;
  if (kind.type === 'connection' && item.organization !== undefined && item.organization !== found.attributes['organization']) {
    note(
      run,
      [...item.path, 'organization'],
      'invalid_value',
      `The connection "${item.key}" is another organization’s, or the environment’s: that does not change.`,
    );
    return null;
  }
  const secrets = secretChanges(run, item, found);
  // Of what is as the document says, nothing is asked: a document may have thousands of records.
  const differing =
    unsaidIn(item).size === 0
      ? await differences(run, item, found)
      : await attemptItem(run, item, (call) => differences({ ...run, call }, item, found));
  if (!differing) return null;
  const { attributes, links } = differing;
  const relationships = relationshipsOf(
    run,
    { ...item, permissions: undefined, connections: undefined, default_roles: undefined, sign_in_client: undefined, ...links } as Item,
    false,
  );
  if (relationships === null || secrets === null) return null;
  const sent = { ...attributes, ...attributesIn(secrets) };
  const own = ownSecretIn(secrets);
  const updates = Object.keys(sent).length + Object.keys(relationships).length > 0;
  if (!updates && !own) return null;
  await requireAsRead(run, found, Object.keys(sent));
  const done = await attemptItem(run, item, async (call) => {
    let { row } = found;
    const { id } = found;
    const document = documentOf(item, id, sent, relationships);
    if (updates) row = (await perform(call, { kind: 'update', resource: kind.resource, id, document, prepared })).row;
    if (item.secrets['client_secret']) refuseSecretless(row as ClientRow);
    if (own) row = (await perform(call, { kind: 'act', resource: withRotation(item, ...own), id, name: 'rotate_secret' })).row;
    const record = written(call, item, row, found);
    const changed = changedBetween(found.attributes, record.attributes);
    return Object.keys(changed).length > 0 || secrets.size > 0 ? { record, changed } : undefined;
  });
  if (!done) return null;
  const shown = [...secrets].map(([name, value]) => [name, shownSecret(hasSecret(found, name), value)]);
  run.changes.push({
    action: 'update',
    kind: kind.type,
    key: item.key,
    attributes: { ...done.changed, ...(Object.fromEntries(shown) as RecordChange['attributes']) },
  });
  return done.record;
}

/** Makes the record of an item what the document says. @returns whether that was refused */
export async function writeItem(run: Run, item: Item, found: LiveRecord | null, prepared?: unknown): Promise<boolean> {
  const before = run.problems.length;
  if (found) await removeCredentials(run, item);
  const record = found ? await change(run, item, found, prepared) : await create(run, item);
  if (record) remember(run.live, record);
  const client = record ?? found;
  const proven = client && (await writeCredentials(run, item, client));
  if (proven) remember(run.live, proven);
  const now = proven ?? client;
  if (run.problems.length > before || !now) return true;
  const managed = Object.fromEntries(
    [...namesOf(item), ...(item.federated_credentials ? ['federated_credentials'] : [])].map((name) => [
      name,
      now.attributes[name] ?? null,
    ]),
  );
  run.managed.push({ type: item.kind.type, id: now.id, key: item.key, attributes: managed });
  return false;
}
