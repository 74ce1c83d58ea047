import { tryAdvisoryLock } from '../db/connection/advisory-lock.js';
import { listPolledConnections } from '../db/tables/connections.js';
import { connectionOf } from '../domain/connections/connections.js';
import { createContext, type Deps } from '../domain/context.js';
import { findServedEnvironment } from '../domain/environments/environments.js';
import { PollFailure, pollSignals } from '../domain/provider-signals/poll-signals.js';
import { OutboundError } from '../platform/fetch/fetch.js';
import { startLoop, type Loop } from '../platform/loop.js';

const pauseMs = 5_000;
const batch = 200;
/** Asked at the same time: one that hangs keeps few others waiting. */
const atOnce = 10;
/** How long one that failed isn't asked again. */
const failedPauseMs = 60_000;

type Polled = Awaited<ReturnType<typeof listPolledConnections>>[number];

/**
 * Fetches the signals of one connection, unless its transmitter failed within the last minute: `paused` has until when, by the id of the connection.
 * @returns how many there were
 */
export async function pollConnection(
  deps: Deps,
  { environment_id, id }: Pick<Polled, 'environment_id' | 'id'>,
  paused: Map<string, number>,
  signal?: AbortSignal,
): Promise<number> {
  const now = deps.clock.elapsed();
  const environment = (paused.get(id) ?? 0) > now ? null : await findServedEnvironment(deps, environment_id);
  const ctx = environment && createContext(deps, environment);
  const connection = ctx && (await connectionOf(ctx, id));
  if (!connection) return 0;
  try {
    return await pollSignals(ctx, connection, signal);
  } catch (error) {
    if (!(error instanceof OutboundError || error instanceof PollFailure)) throw error;
    paused.set(id, now + failedPauseMs);
    const reason = error instanceof OutboundError ? error.reason : error.message;
    deps.logger.warn(
      { event: 'signals.poll_failed', environment_id, connection_id: id, reason },
      'the signals of a provider can not be fetched',
    );
    return 0;
  }
}

/** One pass over the connections whose signals are fetched; one replica at a time. */
export async function signalPollsPass(deps: Deps, paused: Map<string, number>, signal?: AbortSignal): Promise<void> {
  await tryAdvisoryLock(deps.db.knex, 'signal_polls', async () => {
    const waiting = await listPolledConnections(deps.db.knex, batch);
    for (const id of paused.keys()) if (!waiting.some((one) => one.id === id)) paused.delete(id);
    const worker = async () => {
      for (let next = waiting.shift(); next && !signal?.aborted; next = waiting.shift()) await pollConnection(deps, next, paused, signal);
    };
    await Promise.all(Array.from({ length: atOnce }, worker));
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
