import { tryAdvisoryLock } from '../db/connection/advisory-lock.js';
import { Unavailable } from '../db/connection/failures.js';
import { listPolledConnections } from '../db/tables/connections.js';
import { listKeptStreams } from '../db/tables/transmitter_streams.js';
import { connectionOf, type Connection } from '../domain/connections/connections.js';
import { createContext, type Context, type Deps } from '../domain/context.js';
import { findServedEnvironment } from '../domain/environments/environments.js';
import { pollSignals } from '../domain/provider-signals/poll-signals.js';
import { keepStream } from '../domain/provider-signals/transmitter-stream.js';
import { OutboundError } from '../platform/fetch/fetch.js';
import { startLoop, type Loop } from '../platform/loop.js';

const pauseMs = 5_000;
/** Below the id of every connection. */
const nobody = '00000000-0000-0000-0000-000000000000';
/** Asked at the same time: one that hangs keeps few others waiting. */
const atOnce = 10;
/** How long one that failed isn't asked again. */
const failedPauseMs = 60_000;

type Polled = Pick<Connection, 'environment_id' | 'id'>;

/**
 * Does something with the transmitter of one connection, unless that failed within the last minute: `paused` has until when, by the id of the connection.
 * @returns what came of it; null where it wasn't done, or failed
 */
async function withTransmitter<T>(
  deps: Deps,
  { environment_id, id }: Polled,
  paused: Map<string, number>,
  work: (ctx: Context, connection: Connection | null) => Promise<T>,
): Promise<T | null> {
  const now = deps.clock.elapsed();
  const environment = (paused.get(id) ?? 0) > now ? null : await findServedEnvironment(deps, environment_id);
  if (!environment) return null;
  const ctx = createContext(deps, environment);
  try {
    return await work(ctx, await connectionOf(ctx, id));
  } catch (error) {
    // That the database is away concerns all; whatever else goes wrong is of this one, and keeps no other waiting.
    if (error instanceof Unavailable) throw error;
    paused.set(id, now + failedPauseMs);
    const reason = error instanceof OutboundError ? error.reason : (error as Error).message;
    deps.logger.warn(
      { event: 'signals.poll_failed', environment_id, connection_id: id, reason },
      'the signals of a provider can not be fetched',
    );
    return null;
  }
}

/** Fetches the signals of one connection. @returns how many there were */
export const pollConnection = async (deps: Deps, polled: Polled, paused: Map<string, number>, signal?: AbortSignal): Promise<number> =>
  (await withTransmitter(deps, polled, paused, async (ctx, connection) => (connection ? pollSignals(ctx, connection, signal) : 0))) ?? 0;

/** Takes the step for each that is listed, a page after the other, so many of a page at once. */
async function forEachListed(
  list: (after: string, limit: number) => Promise<Polled[]>,
  perPage: number,
  step: (one: Polled) => Promise<unknown>,
  signal?: AbortSignal,
): Promise<void> {
  for (
    let page: Polled[] = [], after = nobody;
    after !== '' && !signal?.aborted;
    after = page.length < perPage ? '' : (page.at(-1)?.id ?? '')
  ) {
    page = await list(after, perPage);
    const waiting = [...page];
    const worker = async () => {
      for (let next = waiting.shift(); next && !signal?.aborted; next = waiting.shift()) await step(next);
    };
    await Promise.all(Array.from({ length: atOnce }, worker));
  }
}

/** One pass over the connections whose streams the service keeps, and over those whose signals are fetched; one replica at a time. */
export async function signalPollsPass(deps: Deps, paused: Map<string, number>, signal?: AbortSignal, perPage = 200): Promise<void> {
  const { knex } = deps.db;
  await tryAdvisoryLock(knex, 'signal_polls', async () => {
    for (const [id, until] of paused) if (until <= deps.clock.elapsed()) paused.delete(id);
    const keep = (one: Polled) => withTransmitter(deps, one, paused, (ctx, connection) => keepStream(ctx, one.id, connection));
    await forEachListed((after, limit) => listKeptStreams(knex, after, limit), perPage, keep, signal);
    // Then what is fetched: by the streams, and with the tokens, that there are now.
    const poll = (one: Polled) => pollConnection(deps, one, paused, signal);
    await forEachListed((after, limit) => listPolledConnections(knex, after, limit), perPage, poll, signal);
  });
}

export function startSignalPolls(deps: Deps): Loop {
  const paused = new Map<string, number>();
  const pass = async (signal: AbortSignal) => {
    await signalPollsPass(deps, paused, signal);
    return 'done' as const;
  };
  return startLoop({ name: 'signal_polls', pauseMs, logger: deps.logger, pass });
}
