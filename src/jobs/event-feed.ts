import { numberEvents } from '../db/tables/events.js';
import { queueEventEntries } from '../db/tables/log_streams.js';
import type { Deps } from '../domain/context.js';
import type { Round } from '../domain/notes/event-streams.js';
import { startLoop, type Loop } from '../platform/loop.js';

const batch = 5_000;
/** With the time that numbering and reading take, an event is shown within a second of its commit. */
const numberingPauseMs = 500;
/** A withdrawn token ends its streams within a second. */
const streamsPauseMs = 600;
/** Streams that are looked after at the same time. */
const atOnce = 10;

/** Gives events their places in the feed, one process at a time. @returns how many got theirs */
export async function numberEventsOnce({ db, metrics }: Pick<Deps, 'db' | 'metrics'>): Promise<number> {
  const { numbered, unnumbered } = await db.knex.transaction(async (tx) => {
    const counts = await numberEvents(tx, batch);
    if (counts.numbered > 0) await queueEventEntries(tx, counts.numbered);
    return counts;
  });
  metrics.eventsUnnumbered.set(unnumbered);
  return numbered;
}

export function startEventNumbers(deps: Deps): Loop {
  const pass = async () => ((await numberEventsOnce(deps)) === batch ? ('more' as const) : ('done' as const));
  return startLoop({ name: 'events', pauseMs: numberingPauseMs, logger: deps.logger, pass });
}

/** One round through the open streams: what they ask alike is asked once. @returns whether one of them has more to send */
async function advanceStreams({ streams }: Pick<Deps, 'streams'>): Promise<boolean> {
  const requested = new Map<string, Promise<unknown>>();
  const round: Round = <T>(key: string, read: () => Promise<T>) => {
    const found = (requested.get(key) as Promise<T> | undefined) ?? read();
    requested.set(key, found);
    return found;
  };
  const open = streams.open();
  const outcomes: PromiseSettledResult<boolean>[] = [];
  for (let first = 0; first < open.length; first += atOnce)
    outcomes.push(...(await Promise.allSettled(open.slice(first, first + atOnce).map((stream) => stream.advance(round)))));
  const failed = outcomes.find((one) => one.status === 'rejected');
  if (failed) throw failed.reason;
  return outcomes.some((one) => one.status === 'fulfilled' && one.value);
}

/** Reads the feed for all open streams of the process; woken when events have been numbered. */
export function startEventStreams(deps: Deps): Loop {
  const pass = async () => ((await advanceStreams(deps)) ? ('more' as const) : ('done' as const));
  return startLoop({ name: 'event_streams', pauseMs: streamsPauseMs, logger: deps.logger, pass });
}
