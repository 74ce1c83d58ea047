import { randomUUID } from 'node:crypto';
import { outcomeOf } from '../requests.js';
import type { Random } from '../random.js';
import { documentOf, either, pause, type Actor, type ReplicaName, type World } from '../world.js';

/** A kind of record: where it lives, which attribute names it, which one the load writes, and its events. */
export type RecordKind = {
  readonly type: 'role' | 'user';
  readonly path: string;
  readonly key: 'name' | 'email';
  readonly written: 'description' | 'last_name';
};
export const roles: RecordKind = { type: 'role', path: '/api/roles', key: 'name', written: 'description' };
export const users: RecordKind = { type: 'user', path: '/api/users', key: 'email', written: 'last_name' };

/** How many records an actor keeps writing. */
const atOnce = 5;

/** Reads a record by its name, and records what it says. @returns its id, or null */
export async function readRecord(world: World, replica: ReplicaName, kind: RecordKind, name: string): Promise<string | null> {
  const record = `${kind.type}:${name}`;
  const valueOf = (found: { attributes: Record<string, string> }[]) =>
    found.length > 1 ? `${found.length} records` : (found[0]?.attributes[kind.written] ?? null);
  const { answer, outcome } = await world.recorder.record(
    { kind: `read ${kind.type}`, replica },
    () => world.manage(replica, { path: `${kind.path}?filter[${kind.key}]=${encodeURIComponent(name)}` }),
    (given) => (given.status === 200 ? { outcome: 'ok', reads: { record, value: valueOf(given.body['data']) } } : { outcome: 'unknown' }),
  );
  const [found] = outcome === 'ok' ? (answer.body['data'] as { id: string }[]) : [];
  return found?.id ?? null;
}

/** Roles or users: created, changed, removed and read through both replicas. What isn't answered is repeated under the same `Idempotency-Key`, or left. */
export function records(kind: RecordKind, prefix: string): Actor {
  const { type, path, key, written } = kind;
  let count = 0;

  async function write(world: World, random: Random, name: string, id: string | null): Promise<void> {
    const value = `${prefix} ${++count}`;
    const attributes = id === null ? { [key]: name, [written]: value } : { [written]: value };
    const json = documentOf(type, attributes, undefined, id ?? undefined);
    const headers = { 'idempotency-key': randomUUID() };
    const once = (replica: ReplicaName) =>
      world.recorder.record(
        { kind: id === null ? `create ${type}` : `update ${type}`, replica },
        () => world.manage(replica, id === null ? { path, json, headers } : { method: 'PATCH', path: `${path}/${id}`, json, headers }),
        (answer) => ({
          // 409 says that the first try is still under way.
          outcome: answer.status === 409 ? 'unknown' : outcomeOf(answer),
          writes: { record: `${type}:${name}`, value, event_type: `${type}.${id === null ? 'created' : 'updated'}` },
        }),
      );
    for (let tries = random.between(1, 3); tries > 0; tries--) {
      if ((await once(either(random))).outcome !== 'unknown') return;
      await pause(random, 100, 1500);
    }
  }

  async function removeRecord(world: World, random: Random, name: string, id: string): Promise<void> {
    const replica = either(random);
    await world.recorder.record(
      { kind: `delete ${type}`, replica },
      () => world.manage(replica, { method: 'DELETE', path: `${path}/${id}` }),
      (answer) => ({ outcome: outcomeOf(answer), writes: { record: `${type}:${name}`, value: null, event_type: null } }),
    );
  }

  return async (world, random) => {
    const names: string[] = [];
    while (!world.over()) {
      await pause(random, 20, 150);
      if (names.length < atOnce) {
        const name = `${prefix}-${++count}${key === 'email' ? '@example.com' : ''}`;
        names.push(name);
        await write(world, random, name, null);
        continue;
      }
      const name = random.pick(names);
      const id = await readRecord(world, either(random), kind, name);
      if (random.chance(0.1)) {
        names.splice(names.indexOf(name), 1);
        if (id !== null && random.chance(0.5)) await removeRecord(world, random, name, id);
      } else if (id !== null) await write(world, random, name, id);
      await readRecord(world, either(random), kind, name);
    }
  };
}
