import { setTimeout as delay } from 'node:timers/promises';
import { readRecord, roles, users } from './load/records.js';
import { userinfo } from './load/sign-in.js';
import { look, type MachineToken } from './load/tokens.js';
import { checkDeliveries } from './rules/deliveries.js';
import type { Stage } from './stage.js';
import type { World } from './world.js';

const deliveredWithinMs = 90_000;
const names = ['A', 'B'] as const;

/** Does the work with every item, a few at a time. */
async function each<T>(items: readonly T[], work: (item: T, index: number) => Promise<unknown>): Promise<void> {
  const queue = items.entries();
  await Promise.all(
    Array.from({ length: 6 }, async () => {
      for (const [index, item] of queue) await work(item, index);
    }),
  );
}

/** When the faults are over: reads back every record and token, at one replica or the other, and waits for the deliveries that are still due. */
export async function settle(world: World, stage: Stage, issued: readonly MachineToken[]): Promise<void> {
  const { history } = world.recorder;
  const records = new Set(history.flatMap(({ writes }) => (writes ? [writes.record] : [])));
  await each([...records], (record, index) => {
    const [type, name] = [record.slice(0, 4), record.slice(5)];
    return readRecord(world, names[index % 2] ?? 'A', type === 'role' ? roles : users, name);
  });
  await each(issued, (token, index) => look(world, names[index % 2] ?? 'A', stage.machine, token));
  const held = new Map(history.flatMap(({ kind, uses }) => (kind === 'userinfo' && uses ? [[uses[0] ?? '', uses] as const] : [])));
  await each([...held.values()], ([token = '', family = '', user = ''], index) =>
    userinfo(world, names[index % 2] ?? 'A', token.slice('token:'.length), family.slice('family:'.length), user),
  );
  const deadline = world.recorder.now() + deliveredWithinMs;
  while (world.recorder.now() < deadline && checkDeliveries(history).some(({ says }) => says === 'never arrived')) await delay(500);
}
