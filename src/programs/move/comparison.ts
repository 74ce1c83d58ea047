import { setTimeout as delay } from 'node:timers/promises';
import { betweenWrites } from '../../db/cells/fence.js';
import { digestTables } from '../../db/cells/moved-tables.js';
import { awaitFollower } from '../../db/cells/replication.js';
import { MoveRefusal } from './checks.js';
import type { Sides } from './sides.js';

/** For so long at most whoever writes waits for both sides to stand at one point, and rests afterwards, in milliseconds; and how often that is tried. */
const patienceMs = 1000;
const tries = 10;

/** Compares what both sides have. @throws {MoveRefusal} naming the tables that differ */
export async function compareSides({ source, target, tables, here }: Sides, tell: (line: string) => void): Promise<void> {
  const [own, others] = await Promise.all([source, target].map((client) => digestTables(client, tables, here.id)));
  const differing = (own ?? []).filter((one, index) => one.digest !== others?.[index]?.digest || one.rows !== others[index].rows);
  if (differing.length > 0) throw new MoveRefusal(`not the same there: ${differing.map(({ name }) => name).join(', ')}`);
  tell(`compared: ${(own ?? []).reduce((sum, { rows }) => sum + rows, 0)} rows are the same there`);
}

/** From now on both connections read what there was at one moment: nobody has anything uncommitted then, and all that is committed is there. */
async function openSnapshots({ source, target, here }: Sides): Promise<void> {
  for (let left = tries; left > 0; left--, await delay(patienceMs)) {
    const opened = await betweenWrites(source, here.id, async () => {
      if ((await awaitFollower(source, here.id, patienceMs)) === undefined) return false;
      for (const client of [source, target]) await client.query('begin isolation level repeatable read read only; select 1');
      return true;
    });
    if (opened) return;
  }
  throw new MoveRefusal(`the other cell did not follow within ${patienceMs / 1000} s, ${tries} times: it is compared once it does`);
}

/** Compares beside the service, however many rows there are. What is written afterwards comes by the log, and by nothing else. @throws {MoveRefusal} */
export async function compareBeside(sides: Sides, tell: (line: string) => void): Promise<void> {
  await openSnapshots(sides);
  try {
    await compareSides(sides, tell);
  } finally {
    for (const client of [sides.source, sides.target]) await client.query('commit');
  }
}
