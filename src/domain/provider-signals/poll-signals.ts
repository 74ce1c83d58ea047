import { keepsStream, signalsToken, type Connection } from '../connections/connections.js';
import type { Context } from '../context.js';
import { noOrigin } from '../origin.js';
import { jsonObject, type JsonObject } from '../../lib/json-object.js';
import { named } from '../../lib/named.js';
import { readSecurityEventToken } from './read-signal.js';
import { noteRefusedSignal, receiveSignal } from './receive-signal.js';
import { polledStream } from './transmitter-stream.js';
import { statusFailure, TransmitterFailure, withToken } from './transmitter-failure.js';

const timeoutMs = 10_000;
const maxResponseBytes = 1024 * 1024;
const maxEvents = 50;
/** Of one pass: what is more waits for the next. */
const maxRounds = 20;

type Acknowledged = { readonly ack: string[]; readonly setErrs: Record<string, { err: string; description: string }> };

async function ask(ctx: Context, url: string, token: string, { ack, setErrs }: Acknowledged): Promise<JsonObject> {
  const refused = Object.keys(setErrs).length > 0;
  const body = { maxEvents, returnImmediately: true, ...(ack.length > 0 && { ack }), ...(refused && { setErrs }) };
  const answer = await ctx.net.fetch.request(url, {
    method: 'POST',
    headers: {
      authorization: `Bearer ${token}`,
      'content-type': 'application/json',
      accept: 'application/json',
      // RFC 8936 2.6: of what is said about refused ones.
      ...(refused && { 'content-language': 'en' }),
    },
    body: JSON.stringify(body),
    timeoutMs,
    maxResponseBytes,
  });
  if (answer.status !== 200) throw statusFailure(answer.status);
  if (answer.truncated) throw new TransmitterFailure('the answer is too long');
  try {
    return jsonObject(JSON.parse(answer.body.toString('utf8'))) ?? {};
  } catch {
    throw new TransmitterFailure('the answer is no JSON');
  }
}

/** Does what each token says, and tells which are done with: what is acknowledged has been committed. */
async function take(ctx: Context, connection: Connection, sets: readonly (readonly [string, unknown])[]): Promise<Acknowledged> {
  const done: Acknowledged = { ack: [], setErrs: named() };
  for (const [jti, set] of sets) {
    const read = await readSecurityEventToken(ctx, connection, typeof set === 'string' ? set : '');
    if ('err' in read) {
      noteRefusedSignal(ctx, connection, read, noOrigin);
      done.setErrs[jti] = { err: read.err, description: read.description };
    } else {
      await receiveSignal(ctx, connection, read, noOrigin);
      done.ack.push(jti);
    }
  }
  return done;
}

/**
 * Fetches the signals of a connection (RFC 8936) until there are none, and acknowledges them. @returns how many there were
 * @throws {OutboundError | TransmitterFailure}
 */
export async function pollSignals(ctx: Context, connection: Connection, signal?: AbortSignal): Promise<number> {
  const { signals_poll_url } = connection;
  const token = signalsToken(ctx, connection);
  const polled = keepsStream(connection)
    ? await polledStream(ctx, connection)
    : signals_poll_url !== null && token !== null && { url: signals_poll_url, token, renew: null };
  if (!polled) return 0;
  const { url, renew } = polled;
  let latest = polled.token;
  let count = 0;
  let done: Acknowledged = { ack: [], setErrs: {} };
  for (let round = 0; round < maxRounds && !signal?.aborted; round += 1) {
    const acknowledged = done;
    const answer = await withToken(latest, renew, (good) => ask(ctx, url, (latest = good), acknowledged));
    const sets = Object.entries(jsonObject(answer['sets']) ?? {}).slice(0, maxEvents);
    if (sets.length === 0) break;
    done = await take(ctx, connection, sets);
    count += sets.length;
  }
  return count;
}
