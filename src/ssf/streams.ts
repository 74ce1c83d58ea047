import { listSignalStreams, noteVerification, removeSignalStream, type SignalStreamRow } from '../db/tables/signal_streams.js';
import { excludeFromSignals, includeInSignals, insertSignalSet } from '../db/tables/signal_sets.js';
import { findUserByEmailKey } from '../db/tables/users.js';
import type { Client } from '../domain/clients/clients.js';
import { transaction, type Context } from '../domain/context.js';
import { deliveredEventsOf, requestedEventsOf, signalEventUris, urisOf } from '../domain/signals/event-types.js';
import { changeSignalStream, createSignalStream, setSignalStatus, type SignalDelivery } from '../domain/signals/streams.js';
import { OAuthError, RateLimitedError } from '../errors.js';
import { normalizeEmail } from '../lib/email-address.js';
import { isUuid, uuidv7 } from '../lib/random.js';
import { changeBody, readReceiverJson, statusBody, streamBody, subjectBody, verifyBody, type SubjectIdentifier } from './body.js';
import { requireStream, type SsfCall, type SsfReply } from './call.js';
import { deliveryMethods, ssfPaths } from './configuration.js';

/** Seconds between two verifications of a stream. */
const minVerificationSeconds = 60;

type Body = Awaited<ReturnType<typeof readReceiverJson<typeof streamBody._output>>>;

/** A stream as its receiver sees it (SSF 1.0 8.1.1). What it sends along as `Authorization` is never shown. */
const streamDocument = (row: SignalStreamRow): Record<string, unknown> => ({
  stream_id: row.id,
  iss: row.issuer,
  aud: row.client_id,
  events_supported: signalEventUris,
  events_requested: urisOf(row.events_requested),
  events_delivered: urisOf(deliveredEventsOf(row.events_requested)),
  delivery: { method: deliveryMethods[row.method], endpoint_url: row.endpoint_url ?? `${row.issuer}${ssfPaths.poll}/${row.id}` },
  min_verification_interval: minVerificationSeconds,
  ...(row.description !== null && { description: row.description }),
});

const deliveryOf = (delivery: Body['delivery']): SignalDelivery =>
  delivery?.method === deliveryMethods.push
    ? { method: 'push', endpoint_url: delivery.endpoint_url, authorization: delivery.authorization_header ?? null }
    : { method: 'poll' };

/** Without a word about delivery a stream is polled (SSF 1.0 8.1.1.1); without one about events it gets none. */
const wholeInput = ({ delivery, events_requested = [], description }: Body) => ({
  delivery: deliveryOf(delivery),
  events_requested: requestedEventsOf(events_requested),
  description: description ?? null,
});

/** The id in the query, where there is one. @throws {OAuthError} 400 */
function askedId({ req }: SsfCall): string | null {
  const ids = new URL(req.url, 'http://localhost').searchParams.getAll('stream_id');
  if (ids.length === 0) return null;
  if (ids.length > 1) throw OAuthError.invalid_request('stream_id must be the id of one stream');
  return ids[0] as string;
}

async function askedStream(call: SsfCall): Promise<SignalStreamRow> {
  const id = askedId(call);
  if (id === null) throw OAuthError.invalid_request('stream_id is required');
  return requireStream(call, id);
}

const gone = () => new OAuthError(404, 'not_found', 'there is no such stream of this client');

/** @throws {OAuthError} 403 for a stream that an administrator has paused */
function requireOwnWill({ paused_by }: SignalStreamRow): void {
  if (paused_by === 'administrator') throw new OAuthError(403, 'access_denied', 'an administrator has paused a stream of this client');
}

/** The client would go on by another stream. @throws {OAuthError} 403 */
const requireNonePaused = async ({ scope }: Context, { id }: Pick<Client, 'id'>): Promise<void> =>
  (await listSignalStreams(scope, id)).forEach(requireOwnWill);

export async function createStream(call: SsfCall): Promise<SsfReply> {
  const input = wholeInput(await readReceiverJson(call.req, call.res, streamBody));
  const row = await transaction(call.ctx, async (tx) => {
    await requireNonePaused(tx, call.client);
    return createSignalStream(tx, call.client, input);
  });
  return { status: 201, body: streamDocument(row) };
}

export async function readStreams(call: SsfCall): Promise<SsfReply> {
  const id = askedId(call);
  if (id !== null) return { status: 200, body: streamDocument(await requireStream(call, id)) };
  return { status: 200, body: (await listSignalStreams(call.ctx.scope, call.client.id)).map(streamDocument) };
}

/** PATCH changes what it names, PUT all of it (SSF 1.0 8.1.1.3, 8.1.1.4). */
export const writeStream =
  (isWhole: boolean) =>
  async (call: SsfCall): Promise<SsfReply> => {
    const body = await readReceiverJson(call.req, call.res, changeBody);
    const row = await requireStream(call, body.stream_id);
    const whole = wholeInput(body);
    const { delivery, events_requested, description } = whole;
    const named = {
      ...(body.delivery && { delivery }),
      ...(body.events_requested && { events_requested }),
      ...(body.description !== undefined && { description }),
    };
    const changed = await transaction(call.ctx, async (tx) => {
      // What a paused one told would come by this one.
      if (events_requested.some((event) => !row.events_requested.includes(event))) await requireNonePaused(tx, call.client);
      return changeSignalStream(tx, row, isWhole ? whole : named);
    });
    if (!changed) throw gone();
    return { status: 200, body: streamDocument(changed) };
  };

/** The stream, which stays as it is until the transaction ends. @throws {OAuthError} 403, 404 */
async function holdStream(ctx: Context, { client }: SsfCall, id: string): Promise<SignalStreamRow> {
  const row = await requireStream({ ctx, client }, id, true);
  requireOwnWill(row);
  return row;
}

export async function deleteStream(call: SsfCall): Promise<SsfReply> {
  const { id } = await askedStream(call);
  await transaction(call.ctx, async (tx) => removeSignalStream(tx.scope, (await holdStream(tx, call, id)).id));
  return { status: 204 };
}

const statusDocument = ({ id, status, status_reason }: SignalStreamRow) => ({
  stream_id: id,
  status,
  ...(status_reason !== null && { reason: status_reason }),
});

export const readStatus = async (call: SsfCall): Promise<SsfReply> => ({ status: 200, body: statusDocument(await askedStream(call)) });

/** @throws {OAuthError} 403 where an administrator paused it */
export async function writeStatus(call: SsfCall): Promise<SsfReply> {
  const { stream_id, status, reason } = await readReceiverJson(call.req, call.res, statusBody);
  const paused_by = status === 'paused' ? 'receiver' : null;
  const changed = await transaction(call.ctx, async (tx) =>
    setSignalStatus(tx, await holdStream(tx, call, stream_id), { status, paused_by, status_reason: reason ?? null }),
  );
  if (!changed) throw gone();
  return { status: 200, body: statusDocument(changed) };
}

/** The id of the person whom a subject would name, where there is one. */
async function personOf({ ctx }: SsfCall, { format, iss, sub, email }: SubjectIdentifier): Promise<string | null> {
  if (format === 'iss_sub') return iss === ctx.environment.issuer && sub !== undefined && isUuid(sub) ? sub : null;
  const address = format === 'email' && email !== undefined ? normalizeEmail(email) : null;
  return address && ((await findUserByEmailKey(ctx.scope, address.email_key))?.id ?? null);
}

/** Nobody's id: the same statements are run for whom nobody knows, so that no time tells who has an account. */
const nobody = '00000000-0000-0000-0000-000000000000';

/** Takes people out of the stream, and in again; strangers are answered alike. */
const changeSubject =
  (change: typeof excludeFromSignals, status: number) =>
  async (call: SsfCall): Promise<SsfReply> => {
    const { stream_id, subject } = await readReceiverJson(call.req, call.res, subjectBody);
    const { id } = await requireStream(call, stream_id);
    await change(call.ctx.scope, id, (await personOf(call, subject)) ?? nobody);
    return { status };
  };
export const addSubject = changeSubject(includeInSignals, 200);
export const removeSubject = changeSubject(excludeFromSignals, 204);

/** Has a verification event sent through the stream (SSF 1.0 8.1.4.2). @throws {RateLimitedError} within a minute of the last one */
export async function verifyStream(call: SsfCall): Promise<SsfReply> {
  const { stream_id, state } = await readReceiverJson(call.req, call.res, verifyBody);
  const { id, status } = await requireStream(call, stream_id);
  // Nothing is kept for a disabled stream, so it has none to come (SSF 1.0 8.1.2.1).
  if (status === 'disabled') return { status: 204 };
  const now = call.ctx.clock.now();
  const since = new Date(now.getTime() - minVerificationSeconds * 1000);
  const verified = await transaction(call.ctx, async (tx) => {
    if (!(await noteVerification(tx.scope, id, now, since))) return false;
    const txn = uuidv7(now.getTime());
    await insertSignalSet(tx.scope, {
      signal_stream_id: id,
      txn,
      event: 'verification',
      data: state === undefined ? {} : { state },
      occurred_at: now,
    });
    return true;
  });
  if (!verified) throw new RateLimitedError(minVerificationSeconds);
  return { status: 204 };
}
