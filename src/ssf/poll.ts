import { setTimeout as delay } from 'node:timers/promises';
import { listSignalSets, removeSignalSets, type SignalSetRow } from '../db/tables/signal_sets.js';
import type { SignalStreamRow } from '../db/tables/signal_streams.js';
import { signSet } from '../domain/signals/set.js';
import { OAuthError } from '../errors.js';
import { isUuid } from '../lib/random.js';
import { pollBody, readReceiverJson } from './body.js';
import { requireStream, type SsfCall, type SsfReply } from './call.js';

/** The most tokens of one answer. */
const mostSets = 100;
/** How long a poll waits for something (RFC 8936 2.2), in milliseconds: less than a request may take. */
const longPollMs = 7_000;
const lookEveryMs = 500;

/** What waits, up to `limit` and one more; unless it is to be answered at once, after a while where nothing does, for who may still have it. */
async function waiting({ ctx, again }: SsfCall, stream: SignalStreamRow, limit: number, atOnce: boolean): Promise<SignalSetRow[]> {
  const until = performance.now() + longPollMs;
  for (;;) {
    const rows = await listSignalSets(ctx.db.knex, stream, limit);
    if (rows.length > 0 || atOnce || performance.now() >= until || ctx.scope.deadline.left() <= lookEveryMs) return rows;
    await delay(lookEveryMs);
    await again();
  }
}

/** POST /ssf/poll/{stream_id} (RFC 8936 2): takes what is acknowledged or refused away, and hands out what waits. */
export async function pollStream(call: SsfCall): Promise<SsfReply> {
  const { ctx, req, res } = call;
  const { maxEvents, returnImmediately, ack, setErrs } = await readReceiverJson(req, res, pollBody);
  const stream = await requireStream(call, String(req.params['stream_id']));
  if (stream.method !== 'poll') throw OAuthError.invalid_request('the tokens of this stream are pushed');
  const refused = Object.entries(setErrs);
  const done = [...ack, ...refused.map(([jti]) => jti)].filter(isUuid);
  if (done.length > 0) await removeSignalSets(ctx.scope, stream.id, done);
  if (refused.length > 0)
    ctx.logger.warn(
      { event: 'signal_stream.refused', environment_id: ctx.environment.id, signal_stream_id: stream.id, count: refused.length },
      'a receiver of signals refused tokens',
    );
  const limit = Math.min(maxEvents, mostSets);
  if (limit === 0) return { status: 200, body: { sets: {}, moreAvailable: (await waiting(call, stream, 1, true)).length > 0 } };
  const rows = await waiting(call, stream, limit + 1, returnImmediately);
  const shown = rows.slice(0, limit);
  const signed = await Promise.all(shown.map(async (row) => [row.id, await signSet(ctx, stream, row)] as const));
  const untold = signed.flatMap(([id, set]) => (set === null ? [id] : []));
  if (untold.length > 0) await removeSignalSets(ctx.scope, stream.id, untold);
  return { status: 200, body: { sets: Object.fromEntries(signed.filter(([, set]) => set !== null)), moreAvailable: rows.length > limit } };
}
