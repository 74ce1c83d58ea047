import {
  findTransmitterStream,
  insertTransmitterStream,
  noteStreamUnwanted,
  noteStreamVerified,
  noteVerificationRequest,
  removeTransmitterStream,
  renewStreamToken,
  type TransmitterStreamRow,
} from '../../db/tables/transmitter_streams.js';
import { jsonObject, type JsonObject } from '../../lib/json-object.js';
import { randomToken } from '../../lib/random.js';
import { OutboundError } from '../../platform/fetch/outbound-error.js';
import {
  keepsStream,
  ownClientKeepsStream,
  providerSecretAad,
  signalsIssuerOf,
  signalsToken,
  signalsUrl,
  type Connection,
} from '../connections/connections.js';
import type { Context } from '../context.js';
import { endingEvents } from './read-signal.js';
import { shortAddress, shortText } from './signal-subject.js';
import { publishedMetadata, streamToken, type StreamToken } from './stream-token.js';
import { statusFailure, TransmitterFailure, withToken } from './transmitter-failure.js';

const timeoutMs = 10_000;
const maxResponseBytes = 64 * 1024;
const mostAudiences = 10;
/** How long before its end a token is renewed: the next steps, and the deletion of a stream whose connection has gone, need it. */
const renewMs = 30_000;
/** How long a verification event may take until it is asked for once more. */
const verificationMs = 60_000;
/** How long a transmitter that can't be reached is asked to delete a stream. */
const unwantedMs = 86_400_000;

type Answer = { readonly status: number; readonly body: unknown };

async function ask(ctx: Context, token: string, method: 'DELETE' | 'GET' | 'POST', url: string, body?: JsonObject): Promise<Answer> {
  const answer = await ctx.net.fetch.request(url, {
    method,
    headers: { authorization: `Bearer ${token}`, accept: 'application/json', ...(body && { 'content-type': 'application/json' }) },
    ...(body && { body: JSON.stringify(body) }),
    timeoutMs,
    maxResponseBytes,
  });
  const text = answer.body.toString('utf8');
  try {
    return { status: answer.status, body: text === '' ? null : (JSON.parse(text) as unknown) };
  } catch {
    return { status: answer.status, body: null };
  }
}

/** The same. @throws {TransmitterFailure} for another answer than a good one */
async function askFor(...asked: Parameters<typeof ask>): Promise<unknown> {
  const { status, body } = await ask(...asked);
  if (status < 200 || status > 299) throw statusFailure(status);
  return body;
}

function ofStream(endpoint: string, stream_id: string): string {
  const url = new URL(endpoint);
  url.searchParams.set('stream_id', stream_id);
  return url.href;
}

/** The endpoint that the metadata names. @throws {TransmitterFailure} when it names none */
function endpointOf(metadata: JsonObject, name: string): string {
  const url = shortAddress(metadata[name]);
  if (url === null) throw new TransmitterFailure(`the metadata has no ${name}`);
  return url;
}

const tokenOf = ({ crypto }: Context, { signals_token_sealed, connection_id }: TransmitterStreamRow): string =>
  crypto.sealer.open(signals_token_sealed, providerSecretAad(connection_id));

/** Where signals are fetched, with which token, and what gives another one; null for one that was set. */
export type PolledStream = { readonly url: string; readonly token: string; readonly renew: (() => Promise<string | null>) | null };

/** Where the stream of the connection is polled, and with what; null while it has none, or another issuer's. */
export async function polledStream(ctx: Context, connection: Connection): Promise<PolledStream | null> {
  const row = await findTransmitterStream(ctx.scope, connection.id);
  if (row?.poll_url == null || row.issuer !== signalsIssuerOf(connection)) return null;
  return { url: row.poll_url, token: tokenOf(ctx, row), renew: renewalOf(ctx, row, connection) };
}

/** Whether the stream is the one that these settings make. */
const isOf = (ctx: Context, row: TransmitterStreamRow, connection: Connection): boolean =>
  row.issuer === signalsIssuerOf(connection) &&
  row.receiver_url === signalsUrl(ctx.environment, connection) &&
  (row.poll_url === null) === (connection.signals === 'push') &&
  (row.token_expires_at === null ? tokenOf(ctx, row) === signalsToken(ctx, connection) : ownClientKeepsStream(connection));

/** Deletes what is left of a stream of this connection at a transmitter that allows no other one. */
async function deleteOwn(ctx: Context, token: string, endpoint: string, description: string): Promise<void> {
  const streams = [await askFor(ctx, token, 'GET', endpoint)].flat().map(jsonObject);
  for (const stream of streams)
    if (stream?.['description'] === description && typeof stream['stream_id'] === 'string')
      await askFor(ctx, token, 'DELETE', ofStream(endpoint, stream['stream_id']));
}

/** What the transmitter made, where it is as it was asked for. */
function madeStream({ signals }: Connection, issuer: string, made: JsonObject) {
  const { iss, aud, delivery } = made;
  const stream_id = shortText(made['stream_id']);
  const audience = [aud].flat().slice(0, mostAudiences).map(shortText);
  const { method, endpoint_url } = jsonObject(delivery) ?? {};
  if (stream_id === null || audience.length === 0 || !audience.every((one) => one !== null))
    throw new TransmitterFailure('the stream has no stream_id, or no aud');
  const poll_url = signals === 'poll' ? shortAddress(endpoint_url) : null;
  // SSF 1.0 8.1.1.1: a stream of another issuer isn't used, nor is one of another delivery.
  const problem =
    iss !== issuer
      ? 'iss of the stream is another issuer'
      : method !== deliveryOf[signals as 'push'] || (signals === 'poll' && poll_url === null)
        ? 'the stream has another delivery'
        : null;
  return { stream_id, audience, poll_url, problem };
}

const deliveryOf = { push: 'urn:ietf:rfc:8935', poll: 'urn:ietf:rfc:8936' } as const;

/** Makes the stream. @throws {OutboundError | TransmitterFailure} */
async function makeStream(ctx: Context, connection: Connection, { token, expires_at }: StreamToken): Promise<void> {
  const issuer = signalsIssuerOf(connection) ?? '';
  const endpoint = endpointOf(await publishedMetadata(ctx, issuer, 'ssf-configuration'), 'configuration_endpoint');
  const url = signalsUrl(ctx.environment, connection);
  const delivery = { method: deliveryOf[connection.signals as 'push'], ...(connection.signals === 'push' && { endpoint_url: url }) };
  const body = { events_requested: endingEvents, description: url, delivery };
  let answer = await ask(ctx, token, 'POST', endpoint, body);
  if (answer.status === 409) {
    await deleteOwn(ctx, token, endpoint, url);
    answer = await ask(ctx, token, 'POST', endpoint, body);
  }
  const made = jsonObject(answer.body);
  if (answer.status < 200 || answer.status > 299 || !made) throw new TransmitterFailure(`status ${answer.status}`);
  const { problem, ...stream } = madeStream(connection, issuer, made);
  if (problem !== null) {
    await ask(ctx, token, 'DELETE', ofStream(endpoint, stream.stream_id));
    throw new TransmitterFailure(problem);
  }
  await insertTransmitterStream(ctx.scope, {
    connection_id: connection.id,
    ...stream,
    issuer,
    receiver_url: url,
    configuration_endpoint: endpoint,
    signals_token_sealed: ctx.crypto.sealer.seal(token, providerSecretAad(connection.id)),
    token_expires_at: expires_at,
    created_at: ctx.clock.now(),
  });
}

/** Reads the stream and its status, and has it verified (SSF 1.0 8.1.4). @throws {OutboundError | TransmitterFailure} */
async function verifyStream(ctx: Context, token: string, row: TransmitterStreamRow): Promise<void> {
  const { stream_id, configuration_endpoint, connection_id } = row;
  const metadata = await publishedMetadata(ctx, row.issuer, 'ssf-configuration');
  const { status } = await ask(ctx, token, 'GET', ofStream(configuration_endpoint, stream_id));
  if (status === 404) return void (await removeTransmitterStream(ctx.scope, connection_id));
  if (status === 401) throw statusFailure(status);
  if (metadata['status_endpoint'] !== undefined)
    await askFor(ctx, token, 'GET', ofStream(endpointOf(metadata, 'status_endpoint'), stream_id));
  if (metadata['verification_endpoint'] === undefined) return noteStreamVerified(ctx.scope, connection_id, row.state, ctx.clock.now());
  // Noted first: the event may be here before the answer.
  const state = randomToken('');
  await noteVerificationRequest(ctx.scope, connection_id, state, ctx.clock.now());
  await askFor(ctx, token, 'POST', endpointOf(metadata, 'verification_endpoint'), { stream_id, state });
}

/** Gets another token by client credentials and keeps it, null where it can't; it is null itself for a token that was set. */
function renewalOf(ctx: Context, { connection_id, token_expires_at }: TransmitterStreamRow, connection: Connection) {
  if (token_expires_at === null) return null;
  return async (): Promise<string | null> => {
    const renewed = await streamToken(ctx, connection);
    if (!renewed?.expires_at) return null;
    const signals_token_sealed = ctx.crypto.sealer.seal(renewed.token, providerSecretAad(connection_id));
    await renewStreamToken(ctx.scope, connection_id, { signals_token_sealed, token_expires_at: renewed.expires_at });
    return renewed.token;
  };
}

/** The token of the stream; a new one where it ends soon. @throws {OutboundError | TransmitterFailure} */
async function goodToken(ctx: Context, row: TransmitterStreamRow, connection: Connection): Promise<string> {
  const { token_expires_at: end } = row;
  const isGood = end === null || end.getTime() - ctx.clock.now().getTime() > renewMs;
  return (isGood ? null : await renewalOf(ctx, row, connection)?.()) ?? tokenOf(ctx, row);
}

/** Deletes the stream, and forgets it: also where the transmitter refuses for good, or is away for a day. @throws {OutboundError | TransmitterFailure} */
async function deleteStream(ctx: Context, row: TransmitterStreamRow, token: string): Promise<void> {
  const { connection_id, configuration_endpoint, stream_id } = row;
  const now = ctx.clock.now();
  const since = await noteStreamUnwanted(ctx.scope, connection_id, now);
  const answer = await ask(ctx, token, 'DELETE', ofStream(configuration_endpoint, stream_id)).catch((error: unknown) => {
    if (error instanceof OutboundError) return error;
    throw error;
  });
  const isOver = 'status' in answer && answer.status < 500 && answer.status !== 429;
  if (isOver || now.getTime() - since.getTime() > unwantedMs) await removeTransmitterStream(ctx.scope, connection_id);
  if (!('status' in answer)) throw answer;
  if (answer.status > 299 && answer.status !== 404) throw new TransmitterFailure(`status ${answer.status}`);
}

/**
 * Takes the next step to what the connection wants, null for one that has gone: its stream is made, verified, or deleted.
 * @throws {OutboundError | TransmitterFailure}
 */
export async function keepStream(ctx: Context, connection_id: string, connection: Connection | null): Promise<void> {
  const row = await findTransmitterStream(ctx.scope, connection_id);
  const wanting = connection?.status === 'enabled' && keepsStream(connection) ? connection : null;
  if (!row) {
    const token = wanting && (await streamToken(ctx, wanting));
    return wanting && token ? makeStream(ctx, wanting, token) : undefined;
  }
  const isWanted = wanting !== null && row.unwanted_at === null && isOf(ctx, row, wanting);
  if (!isWanted) return deleteStream(ctx, row, tokenOf(ctx, row));
  const token = await goodToken(ctx, row, wanting);
  const isAsked = row.requested_at !== null && ctx.clock.now().getTime() - row.requested_at.getTime() < verificationMs;
  if (row.verified_at === null && !isAsked) await withToken(token, renewalOf(ctx, row, wanting), (good) => verifyStream(ctx, good, row));
}
