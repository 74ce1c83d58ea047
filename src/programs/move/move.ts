import { setTimeout as delay } from 'node:timers/promises';
import type { Config } from '../../config.js';
import { awaitWriters, lowerFence, raiseFence } from '../../db/cells/fence.js';
import { carryUnlogged, deleteEnvironmentRows } from '../../db/cells/moved-tables.js';
import * as replication from '../../db/cells/replication.js';
import { MoveRefusal, requireMovable } from './checks.js';
import { compareBeside, compareSides } from './comparison.js';
import { onSides, type Sides } from './sides.js';

export type Tell = (line: string) => void;
export type MoveRequest = {
  readonly slug: string;
  readonly to: string;
  /** The address of the database here, as the other cell reaches it. */
  readonly from: string;
  /** What the proxy's map calls the other cell. */
  readonly cell: string;
  readonly abort: boolean;
};

const lookEveryMs = 250;
/** The copy counts as complete once so little is missing that it comes within the hold. */
const nearBytes = 1_048_576;
/** For so long the last of it may take, in milliseconds: else the environment is let go, and nothing has happened. */
const patienceMs = 10_000;

/** Has the row of the environment there, held for so long that its rows take no writes there, whichever clock is ahead. */
async function storeEnvironment({ source, target, here: { id } }: Sides): Promise<void> {
  const { rows } = await source.query<{ row: Record<string, unknown> }>(
    `select to_jsonb(e) || jsonb_build_object('held_at', now() - interval '10 seconds') as row from environments e where id = $1`,
    [id],
  );
  const row = { ...rows[0]?.row, moved_at: null };
  const names = Object.keys(row).join(', ');
  await target.query(
    `insert into environments (${names}) select ${names} from jsonb_populate_record(null::environments, $1)
     on conflict (id) do update set (${names}) = (select ${names} from jsonb_populate_record(null::environments, $1))`,
    [JSON.stringify(row)],
  );
}

const letGo = ({ source, here: { id } }: Sides) =>
  source.query('update environments set held_at = null where id = $1 and moved_at is null', [id]);

async function prepare(sides: Sides, from: string, tell: Tell): Promise<void> {
  const { source, target, tables, here } = sides;
  await letGo(sides);
  await raiseFence(source, tables, here.id);
  tell('fenced: writes will be refused once it is held');
  await replication.unsubscribe(source, target, here.id);
  await replication.unpublish(source, here.id);
  await lowerFence(target, tables, here.id);
  await deleteEnvironmentRows(target, tables, here.id);
  await storeEnvironment(sides);
  // There it is held from the beginning: what comes is what is written here, and nothing else.
  await raiseFence(target, tables, here.id);
  await replication.publish(source, tables, here.id);
  tell(`published: ${tables.length} tables`);
  await replication.subscribe(target, here.id, from);
  tell('subscribed');
}

/** Waits until what there was is there, and the rest follows closely. @throws {MoveRefusal} */
async function awaitCopy({ source, target, here }: Sides, tell: Tell): Promise<void> {
  for (let last = ''; ; await delay(lookEveryMs)) {
    const { copied, tables, behindBytes, failure } = await replication.lookAtProgress(source, target, here.id);
    if (failure !== null) throw new MoveRefusal(`${failure}; --abort, then begin anew`);
    const line = `copied: ${copied} of ${tables} tables, ${Math.round(behindBytes / 1024)} KiB behind`;
    if (line !== last) tell(line);
    last = line;
    if (tables > 0 && copied === tables && behindBytes < nearBytes) return;
  }
}

/** Waits for all that was written until the hold, and takes along what isn't replicated. */
async function catchUp(sides: Sides, tell: Tell): Promise<void> {
  const { source, target, here } = sides;
  await awaitWriters(source, here.id);
  tell('closed: nobody writes any more');
  const lsn = await replication.awaitFollower(source, here.id, patienceMs);
  if (lsn === undefined) throw new MoveRefusal(`the other cell did not catch up within ${patienceMs / 1000} s`);
  tell(`caught up: ${lsn}`);
  await carryUnlogged(source, target, here.id);
  await storeEnvironment(sides);
  // Cursors of the feed go on: what is numbered there is later than all that was numbered here.
  const { rows } = await source.query<{ position: string }>('select position from event_feed');
  await target.query(
    `insert into event_feed (position, lineage) values ($1, '') on conflict (id) do update set position = greatest(event_feed.position, excluded.position)`,
    [rows[0]?.position ?? 0],
  );
}

/** Holds the environment, which has been compared, and has it served there; where that fails it is let go. Nothing here takes longer with more rows. */
async function handOver(sides: Sides, tell: Tell): Promise<void> {
  const { source, target, here } = sides;
  const began = performance.now();
  try {
    await source.query('update environments set held_at = clock_timestamp() where id = $1 and held_at is null', [here.id]);
    tell('held');
    if (await replication.isSubscribed(target, here.id)) await catchUp(sides, tell);
    else {
      // It had caught up, or the subscription was ended by somebody else: both sides stand still, so that each row can tell.
      await awaitWriters(source, here.id);
      await compareSides(sides, tell);
    }
    await replication.unsubscribe(source, target, here.id);
    tell('unsubscribed');
  } catch (error) {
    await letGo(sides);
    tell('let go: it is served here as before');
    throw error;
  }
  await target.query('update environments set held_at = null where id = $1', [here.id]);
  tell(`released there: it was held for ${((performance.now() - began) / 1000).toFixed(1)} s`);
}

/** What is left once it is served there. */
async function finish({ source, target, tables, here }: Sides, { cell }: MoveRequest, { baseHost }: Config, tell: Tell): Promise<void> {
  await source.query('update environments set moved_at = now() where id = $1 and moved_at is null', [here.id]);
  await replication.unpublish(source, here.id);
  const domains = await source.query<{ domain: string }>(
    `select domain from custom_domains where environment_id = $1 and status = 'verified' order by domain`,
    [here.id],
  );
  tell('moved: the lines of the proxy’s map are');
  for (const host of [`${here.slug}.${baseHost.replace(/:\d+$/, '')}`, ...domains.rows.map(({ domain }) => domain)])
    tell(`${host} ${cell}`);
  await lowerFence(target, tables, here.id);
}

async function abort(sides: Sides, tell: Tell): Promise<void> {
  const { source, target, tables, here, there } = sides;
  await letGo(sides);
  tell('let go');
  await replication.unsubscribe(source, target, here.id);
  await replication.unpublish(source, here.id);
  await lowerFence(target, tables, here.id);
  if (there) await deleteEnvironmentRows(target, tables, here.id);
  await lowerFence(source, tables, here.id);
  tell('aborted: nothing of it is left there');
}

/**
 * Moves an environment to another cell, from wherever a move before this one was ended: what has been done is seen from both databases alone
 * (specification 24.3).
 * @throws {MoveRefusal}
 */
export const moveEnvironment = (config: Config, database: string, request: MoveRequest, tell: Tell): Promise<void> =>
  onSides(database, request.to, request.slug, async (sides) => {
    const { here, there, target } = sides;
    const released = here.moved_at !== null || (here.held_at !== null && there !== null && there.held_at === null);
    if (!released && there !== null && there.held_at === null) throw new MoveRefusal('it is served there, and here: nobody moves it now');
    if (request.abort) {
      if (released) throw new MoveRefusal('it is served there already: move it back from there');
      return abort(sides, tell);
    }
    if (!released) {
      const following = await replication.isSubscribed(target, here.id);
      await requireMovable(sides, here, config, following);
      tell('checked');
      if (following) await replication.follow(target, here.id);
      // Held, and no longer followed: it was about to be released.
      const ended = here.held_at !== null && there !== null && !following;
      const ready = ended && (await handOver(sides, tell).then(() => true, () => false)); // prettier-ignore
      if (!ready) {
        if (!following) await prepare(sides, request.from, tell);
        await awaitCopy(sides, tell);
        // It is held once it has been compared: nobody waits for that twice.
        if (!following || here.held_at === null) await compareBeside(sides, tell);
        await handOver(sides, tell);
      }
    }
    await finish(sides, request, config, tell);
  });
