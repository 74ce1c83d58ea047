import { isDeepStrictEqual } from 'node:util';
import type { ClientRow } from '../../db/tables/clients.js';
import type { WebhookRow } from '../../db/tables/webhooks.js';
import type { Actor } from '../../domain/actor.js';
import { rotateClientSecret } from '../../domain/clients/registration.js';
import type { ClientInput } from '../../domain/clients/rules.js';
import type { Context } from '../../domain/context.js';
import type { NewSigningKey } from '../../domain/signing-keys/signing-keys.js';
import type { WebhookInput } from '../../domain/webhooks/input.js';
import { createWebhook, rotateSecret } from '../../domain/webhooks/webhooks.js';
import type { Call } from '../call.js';
import type { Input } from '../input.js';
import { actOnRecord, createRecord, updateRecord } from '../operations.js';
import { createClient } from '../resources/clients.js';
import { idOf, type Resource, type Row, type Written } from '../resource.js';
import { defaultsOf } from './defaults.js';
import { settableAttributesOf } from './kinds.js';
import { documentAttributes, sortedPermissions, type LiveRecord } from './live.js';
import type { Item } from './read-document.js';
import { relationshipsOf } from './references.js';
import { attempt, remember, type Change, type Run } from './run.js';
import { hasSecret, refuseSecretless, secretChange, shownSecret } from './secrets.js';

type Create = NonNullable<Resource['create']>;

/** The resource as a document writes it: with the id and the secret that the document gives. */
function withGiven(item: Item, secret: string | undefined): Resource {
  const { resource, type } = item.kind;
  const create = resource.create as Create;
  const creating = (run: Create['run']): Resource => ({ ...resource, create: { ...create, run } });
  if (type === 'client') {
    const chosen = { client_id: item.key, client_secret: secret };
    return creating((tx, actor, input, related, key) =>
      createClient(tx, actor, input as ClientInput, related, chosen, key as NewSigningKey | null),
    );
  }
  if (type !== 'webhook' || secret === undefined) return resource;
  return creating(async (tx, _actor, input) => ({ row: (await createWebhook(tx, input as unknown as WebhookInput, secret)).webhook }));
}

/** The resource whose action gives a record this secret. */
function withRotation(item: Item, secret: string): Resource {
  const { resource, type } = item.kind;
  const rotate = resource.actions?.['rotate_secret'];
  if (!rotate) throw new Error(`${resource.path} have no secret of ours`);
  const run = async (tx: Context, _actor: Actor, row: Row): Promise<Written<Row>> => {
    if (type === 'client')
      return { row: (await rotateClientSecret(tx, row as ClientRow, { client_secret: secret })).client, once: { client_secret: secret } };
    const rotated = await rotateSecret(tx, (row as WebhookRow).id, secret);
    return { row: rotated?.webhook ?? row, once: { signing_secret: secret } };
  };
  return { ...resource, actions: { ...resource.actions, rotate_secret: { ...rotate, run } } };
}

const inputOf = ({ kind }: Item, id: string | null, attributes: Row, relationships: Row): Input => {
  const document = { data: { type: kind.type, ...(id === null ? {} : { id }), attributes, relationships } };
  const linked = Object.entries(relationships).map(([name, value]) => [name, (value as { data: never }).data]);
  return { attributes, relationships: Object.fromEntries(linked) as Input['relationships'], document };
};

/** The record as it is after a write; what it names is what the item says. */
function written(call: Call, item: Item, row: Row, before: LiveRecord | null): LiveRecord {
  const { kind, key } = item;
  const links = {
    ...(kind.type === 'role' && {
      permissions: item.permissions ? sortedPermissions(item.permissions) : (before?.attributes['permissions'] ?? []),
    }),
    ...(kind.type === 'client' && {
      connections: item.connections ? [...new Set(item.connections)].sort() : (before?.attributes['connections'] ?? []),
    }),
  };
  const attributes = { ...documentAttributes(call, kind, row), ...links };
  return { kind, id: idOf(kind.resource, row), key, row, attributes, foreign: false };
}

/** Creates the record of an item. Where the document says null, it says nothing unless null is a value of the attribute. */
async function create(run: Run, item: Item): Promise<LiveRecord | null> {
  const { kind } = item;
  const relationships = relationshipsOf(run, item, true);
  const secret = secretChange(run, item, null);
  if (relationships === null || secret.refused) return null;
  const nullable = new Set(settableAttributesOf(kind).flatMap(({ name, nullable: may }) => (may ? [name] : [])));
  const given = Object.fromEntries(Object.entries(item.attributes).filter(([name, value]) => value !== null || nullable.has(name)));
  const isColumn = kind.type === 'connection' && typeof secret.value === 'string';
  const attributes = isColumn ? { ...given, provider_client_secret: secret.value } : given;
  const done = await attempt(run, item, async (call) => {
    const resource = withGiven(item, secret.value ?? undefined);
    const outcome = await createRecord(call, resource, () => inputOf(item, null, attributes, relationships));
    if (kind.type === 'client' && secret.value !== undefined) refuseSecretless(outcome.row as ClientRow);
    return { record: written(call, item, outcome.row, null), once: outcome.once ?? {} };
  });
  if (!done) return null;
  const { record, once } = done;
  for (const [attribute, value] of Object.entries(once))
    if (secret.value === undefined) run.made.push({ kind: kind.type, key: item.key, attribute, value: String(value) });
  const shown = namesOf(item).filter((name) => name !== kind.key);
  const secrets =
    kind.secret !== null && (secret.value !== undefined || Object.hasOwn(once, kind.secret))
      ? { [kind.secret]: shownSecret(false, 'x') }
      : {};
  const changed = Object.fromEntries(shown.map((name) => [name, [null, record.attributes[name] ?? null] as const]));
  run.changes.push({ action: 'create', kind: kind.type, key: item.key, attributes: { ...changed, ...secrets } });
  return record;
}

/** The attributes, and what else of the record, the document manages. */
export const namesOf = ({ attributes, permissions, connections }: Item): string[] => [
  ...Object.keys(attributes),
  ...(permissions ? ['permissions'] : []),
  ...(connections ? ['connections'] : []),
];

/** What differs between the item and the record, as a request would say it. */
async function differences(
  run: Run,
  item: Item,
  found: LiveRecord,
): Promise<{ attributes: Row; links: Pick<Item, 'permissions' | 'connections'> }> {
  const defaults = await defaultsOf(run, item, found);
  const wanted = { ...item.attributes, ...defaults };
  const attributes = Object.fromEntries(
    Object.entries(wanted).filter(([name, value]) => !isDeepStrictEqual(value, found.attributes[name] ?? null)),
  );
  const { permissions, connections } = item;
  const samePermissions = !permissions || isDeepStrictEqual(sortedPermissions(permissions), found.attributes['permissions']);
  const sameConnections = !connections || isDeepStrictEqual([...new Set(connections)].sort(), found.attributes['connections']);
  return { attributes, links: { ...(samePermissions ? {} : { permissions }), ...(sameConnections ? {} : { connections }) } as Item };
}

const changedBetween = (before: Row, after: Row): Change['attributes'] =>
  Object.fromEntries(
    Object.keys(after)
      .filter((name) => !isDeepStrictEqual(before[name] ?? null, after[name] ?? null))
      .map((name) => [name, [before[name] ?? null, after[name] ?? null] as const]),
  );

/** Changes a record to what the item says; null: it was so already, or was refused. */
async function change(run: Run, item: Item, found: LiveRecord, prepared: unknown): Promise<LiveRecord | null> {
  const { kind } = item;
  const secret = secretChange(run, item, found);
  const differing = await attempt(run, item, (call) => differences({ ...run, call }, item, found));
  if (!differing) return null;
  const { attributes, links } = differing;
  const relationships = relationshipsOf(run, { ...item, permissions: undefined, connections: undefined, ...links } as Item, false);
  if (relationships === null || secret.refused) return null;
  const isColumn = kind.type === 'connection' && secret.value !== undefined;
  const sent = isColumn ? { ...attributes, provider_client_secret: secret.value } : attributes;
  const rotates = !isColumn && typeof secret.value === 'string';
  const updates = Object.keys(sent).length + Object.keys(relationships).length > 0;
  if (!updates && !rotates) return null;
  const done = await attempt(run, item, async (call) => {
    let { row } = found;
    if (updates)
      row = (await updateRecord(call, kind.resource, found.id, () => inputOf(item, found.id, sent, relationships), { prepared })).row;
    if (kind.type === 'client' && item.secret) refuseSecretless(row as ClientRow);
    if (rotates) row = (await actOnRecord(call, withRotation(item, secret.value as string), found.id, 'rotate_secret')).row;
    const record = written(call, item, row, found);
    const changed = changedBetween(found.attributes, record.attributes);
    return Object.keys(changed).length > 0 || rotates || isColumn ? { record, changed } : undefined;
  });
  if (!done) return null;
  const secrets = kind.secret !== null && secret.value !== undefined ? { [kind.secret]: shownSecret(hasSecret(found), secret.value) } : {};
  run.changes.push({ action: 'update', kind: kind.type, key: item.key, attributes: { ...done.changed, ...secrets } });
  return done.record;
}

/** Makes the record of an item what the document says. @returns whether that was refused */
export async function writeItem(run: Run, item: Item, found: LiveRecord | null, prepared?: unknown): Promise<boolean> {
  const before = run.problems.length;
  const record = found ? await change(run, item, found, prepared) : await create(run, item);
  if (record) remember(run.live, record);
  const now = record ?? found;
  if (run.problems.length > before || !now) return true;
  const managed = Object.fromEntries(namesOf(item).map((name) => [name, now.attributes[name] ?? null]));
  run.managed.push({ type: item.kind.type, id: now.id, key: item.key, attributes: managed });
  return false;
}
