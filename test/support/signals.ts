import type { Context } from '../../src/domain/context.js';
import { transaction } from '../../src/domain/context.js';
import { createApiResource } from '../../src/domain/api-resources/api-resources.js';
import { findApiResourceByIdentifier } from '../../src/db/tables/api_resources.js';
import type { ClientRow } from '../../src/db/tables/clients.js';
import { createSignalStream } from '../../src/domain/signals/streams.js';
import { signalEventUris } from '../../src/domain/signals/event-types.js';
import { signalQueue } from '../../src/outbox/signals/loop.js';
import { addClient, addGrant, type TestClient } from './data.js';
import { tokenRequest } from './oauth.js';
import { drain } from './outbox-queue.js';
import type { TestService } from './service.js';

/** A signal as its receiver reads it. */
export type ReadSet = {
  readonly header: Record<string, unknown>;
  readonly claims: Record<string, unknown> & { jti: string; txn: string; sub_id: Record<string, unknown> };
  /** The last part of the event's URI, and its members. */
  readonly event: string;
  readonly members: Record<string, unknown>;
};

const decoded = (part: string | undefined) => JSON.parse(Buffer.from(part ?? '', 'base64url').toString()) as Record<string, unknown>;

export function readSet(jwt: string): ReadSet {
  const [header, claims] = jwt.split('.').slice(0, 2).map(decoded) as [ReadSet['header'], ReadSet['claims']];
  const [[uri, members]] = Object.entries(claims['events'] as Record<string, Record<string, unknown>>) as [[string, ReadSet['members']]];
  return { header, claims, event: uri.slice(uri.lastIndexOf('/') + 1), members };
}

type Answer = { readonly status: number; readonly headers: Headers; readonly body: Record<string, unknown> };

/** A client that keeps streams, at its service. */
export type SignalReceiver = {
  readonly client: TestClient;
  readonly token: string;
  call(method: string, path: string, body?: unknown, token?: string): Promise<Answer>;
  /** Makes a stream, for all events unless told otherwise; its id. */
  stream(more?: Record<string, unknown>): Promise<string>;
  /** What waits for the stream that is polled, once all that has happened is fanned out; taken away with it. */
  poll(stream_id: string): Promise<ReadSet[]>;
};

/** A stream of the client that is polled. */
export const addSignalStream = (ctx: Context, id: string) =>
  transaction(ctx, (tx) =>
    createSignalStream(tx, { id }, { events_requested: ['session-revoked'], delivery: { method: 'poll' }, description: null }),
  );

/** The API of signals, made where it isn't there. */
export const addSignalsApi = async (ctx: Context) =>
  (await findApiResourceByIdentifier(ctx.scope, `${ctx.environment.base_url}/ssf`)) ??
  transaction(ctx, (tx) => createApiResource(tx, { identifier: `${ctx.environment.base_url}/ssf`, name: 'Signals' }));

export async function addSignalReceiver(
  { deps, url }: Pick<TestService, 'deps' | 'url'>,
  ctx: Context,
  row: Partial<ClientRow> = {},
  scopes: readonly string[] = ['ssf.read', 'ssf.manage'],
): Promise<SignalReceiver> {
  const resource = await addSignalsApi(ctx);
  const client = await addClient(ctx, { grant_types: ['authorization_code', 'refresh_token', 'client_credentials'], ...row });
  await addGrant(ctx, client, resource, [...scopes]);
  const fields = { grant_type: 'client_credentials', resource: resource.identifier };
  const { access_token: token } = (await tokenRequest(url, client, fields)).body as { access_token: string };
  const call: SignalReceiver['call'] = async (method, path, body, bearer = token) => {
    const headers = { authorization: `Bearer ${bearer}`, ...(body !== undefined && { 'content-type': 'application/json' }) };
    const sent = typeof body === 'string' ? body : JSON.stringify(body);
    const answer = await fetch(`${url}${path}`, { method, headers, ...(body !== undefined && { body: sent }) });
    const text = await answer.text();
    return { status: answer.status, headers: answer.headers, body: (text === '' ? {} : JSON.parse(text)) as Record<string, unknown> };
  };
  return {
    client,
    token,
    call,
    async stream(more = {}) {
      const { status, body } = await call('POST', '/ssf/streams', { events_requested: signalEventUris, ...more });
      if (status !== 201) throw new Error(`no stream: ${status} ${JSON.stringify(body)}`);
      return body['stream_id'] as string;
    },
    async poll(stream_id) {
      await drain(signalQueue(deps));
      const { body } = await call('POST', `/ssf/poll/${stream_id}`, { returnImmediately: true });
      const sets = body['sets'] as Record<string, string>;
      await call('POST', `/ssf/poll/${stream_id}`, { returnImmediately: true, maxEvents: 0, ack: Object.keys(sets) });
      return Object.values(sets).map(readSet);
    },
  };
}
