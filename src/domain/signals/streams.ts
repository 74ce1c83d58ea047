import { countSignalStreams, insertSignalStream, updateSignalStream, type SignalStreamRow } from '../../db/tables/signal_streams.js';
import { insertSignalSet, removeSignalSetsOf } from '../../db/tables/signal_sets.js';
import { checkUrl } from '../../platform/fetch/guard.js';
import { uuidv7 } from '../../lib/random.js';
import type { Aad } from '../../lib/seal.js';
import { signalsAudience, signalsPermissions } from '../../lib/signals-api.js';
import { apiResourceOf, clientGrantOf, clientOf, type Client } from '../clients/clients.js';
import type { Context } from '../context.js';
import { Refusal } from '../refusal.js';

// Every operation takes the context of a transaction.

/** How a client wants its tokens: pushed to its endpoint (RFC 8935), with an `Authorization` header of its choice, or polled (RFC 8936). */
export type SignalDelivery =
  { readonly method: 'push'; readonly endpoint_url: string; readonly authorization: string | null } | { readonly method: 'poll' };

export type SignalStreamInput = {
  /** As `requestedEventsOf` has them. */
  readonly events_requested: readonly string[];
  readonly delivery: SignalDelivery;
  readonly description: string | null;
};

export type SignalStreamStatus = Pick<SignalStreamRow, 'status' | 'paused_by' | 'status_reason'>;

/** The most streams of one client. */
const maxSignalStreams = 5;

/** What the secret of a stream is sealed for: it doesn't open for another one. */
export const signalStreamAad = (id: string): Aad => `signal_streams/${id}`;

function deliveryColumns(tx: Context, id: string, delivery: SignalDelivery) {
  if (delivery.method === 'poll') return { method: 'poll', endpoint_url: null, authorization_sealed: null } as const;
  const { endpoint_url, authorization } = delivery;
  if (checkUrl(endpoint_url, { allowPrivateNetwork: tx.config.allowPrivateNetwork }) !== null)
    throw new Refusal({
      status: 422,
      code: 'invalid_value',
      detail: 'Nothing is sent to this endpoint_url: it must be https, and not in a private network.',
    });
  const authorization_sealed = authorization === null ? null : tx.crypto.sealer.seal(authorization, signalStreamAad(id));
  return { method: 'push', endpoint_url, authorization_sealed } as const;
}

/** Whether the client still may: it is enabled, and has a grant for signals by now. */
export async function mayHear(ctx: Context, client_id: string): Promise<boolean> {
  const client = await clientOf(ctx, client_id);
  const resource = client?.status === 'enabled' ? await apiResourceOf(ctx, signalsAudience(ctx.environment)) : null;
  const grant = resource && (await clientGrantOf(ctx, client_id, resource, 'client'));
  return Object.keys(signalsPermissions).some((name) => grant?.scopes.includes(name));
}

/** Makes a stream of the client. @throws {Refusal} 409 `too_many`, 422 */
export async function createSignalStream(tx: Context, client: Pick<Client, 'id'>, input: SignalStreamInput): Promise<SignalStreamRow> {
  if ((await countSignalStreams(tx.scope, client.id)) >= maxSignalStreams)
    throw new Refusal({ status: 409, code: 'too_many', detail: `A client has at most ${maxSignalStreams} streams.` });
  const now = tx.clock.now();
  const id = uuidv7(now.getTime());
  const { delivery, events_requested, description } = input;
  return insertSignalStream(tx.scope, {
    id,
    destination: id,
    client_id: client.id,
    issuer: tx.environment.issuer,
    description,
    events_requested: [...events_requested],
    ...deliveryColumns(tx, id, delivery),
    created_at: now,
    updated_at: now,
  });
}

/** Changes what is given. Null when it is gone. @throws {Refusal} 422 */
export function changeSignalStream(
  tx: Context,
  { id }: SignalStreamRow,
  input: Partial<SignalStreamInput>,
): Promise<SignalStreamRow | null> {
  const { delivery, events_requested, description } = input;
  return updateSignalStream(tx.scope, id, {
    ...(events_requested && { events_requested: [...events_requested] }),
    ...(description !== undefined && { description }),
    ...(delivery && deliveryColumns(tx, id, delivery)),
    updated_at: tx.clock.now(),
  });
}

/** Lets a stream go on, pauses or disables it. A disabled one keeps nothing (SSF 1.0 8.1.2). Null when it is gone. */
export async function setSignalStatus(tx: Context, { id }: SignalStreamRow, status: SignalStreamStatus): Promise<SignalStreamRow | null> {
  if (status.status === 'disabled') await removeSignalSetsOf(tx.scope, id);
  return updateSignalStream(tx.scope, id, { ...status, updated_at: tx.clock.now() });
}

/** The same by an administrator, whom the client doesn't overrule; it is told (SSF 1.0 8.1.5). */
export async function overruleSignalStatus(
  tx: Context,
  row: SignalStreamRow,
  status: 'enabled' | 'paused',
): Promise<SignalStreamRow | null> {
  const reason = `${status} by an administrator`;
  await insertSignalSet(tx.scope, {
    signal_stream_id: row.id,
    txn: uuidv7(tx.clock.now().getTime()),
    event: 'stream-updated',
    data: { status, reason },
    occurred_at: tx.clock.now(),
  });
  const paused_by = status === 'paused' ? 'administrator' : null;
  return setSignalStatus(tx, row, { status, paused_by, status_reason: status === 'paused' ? reason : null });
}
