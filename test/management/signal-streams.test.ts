// Streams of signals as administrators see them.
import { beforeAll, describe, expect, test } from 'vitest';
import { addClient } from '../support/data.js';
import { manage, startManagedService, type Api } from '../support/management.js';
import { sharedService, shared } from '../support/shared-service.js';
import { addSignalReceiver, addSignalsApi, type SignalReceiver } from '../support/signals.js';

const service = sharedService(() => startManagedService());
let receiver: SignalReceiver;

const ctx = shared(() => service.context());
const api = shared(() => manage(service.url));
beforeAll(async () => {
  receiver = await addSignalReceiver(service, ctx);
});

const only = (scope: string) => manage(service.url, scope);
const refusalOf = ({ status, body }: Awaited<ReturnType<Api['get']>>) => [
  status,
  body['errors']?.[0]?.code,
  body['errors']?.[0]?.meta?.required,
];

describe('a signal stream', () => {
  test('is shown without its secret, with its client and its backlog (specification 20.5.4)', async () => {
    const delivery = { method: 'urn:ietf:rfc:8935', endpoint_url: 'https://receiver.example/sets', authorization_header: 'Bearer hidden' };
    const id = await receiver.stream({ delivery, description: 'Mine' });
    const shown = await api.get(`/signal_streams/${id}`);
    expect(shown.body['data'].attributes).toMatchObject({
      description: 'Mine',
      method: 'push',
      endpoint_url: delivery.endpoint_url,
      has_authorization: true,
      status: 'enabled',
      lag_seconds: 0,
      last_error: null,
      failed_attempt_count: 0,
    });
    expect(shown.body['data'].relationships.client.data.id).toBe(receiver.client.id);
    expect(shown.text).not.toContain('hidden');
    await ctx.db.knex('signal_sets').insert({
      environment_id: ctx.environment.id, signal_stream_id: id, txn: id, event: 'verification', data: {}, occurred_at: new Date(Date.now() - 90_000),
    }); // prettier-ignore
    await ctx.db.knex('signal_streams').where({ id }).update({ status: 'paused' });
    const [listed] = (await api.get(`/signal_streams?filter[client]=${receiver.client.id}&filter[status]=paused`)).body['data'];
    expect([listed.id, listed.attributes.lag_seconds >= 90]).toEqual([id, true]);
    expect((await api.attempt('signal_streams', {})).status).toBe(405);
    expect(
      (
        await api.request('PATCH', `/signal_streams/${id}`, {
          body: { data: { type: 'signal_stream', id, attributes: { endpoint_url: 'https://mine.example' } } },
        })
      ).status,
    ).toBe(405);
  });

  test('is paused, resumed and deleted by administrators; its client is told, and does not overrule them (specification 20.5.4)', async () => {
    const stream_id = await receiver.stream();
    const paused = await api.request('PATCH', `/signal_streams/${stream_id}/pause`);
    expect(paused.body['data'].attributes).toMatchObject({ status: 'paused', paused_by: 'administrator' });
    expect((await receiver.call('POST', '/ssf/status', { stream_id, status: 'enabled' })).status).toBe(403);
    expect(await receiver.poll(stream_id)).toMatchObject([{ event: 'stream-updated', members: { status: 'paused' } }]);
    expect((await api.request('PATCH', `/signal_streams/${stream_id}/resume`)).body['data'].attributes).toMatchObject({
      status: 'enabled',
      paused_by: null,
    });
    expect(await receiver.poll(stream_id)).toMatchObject([{ event: 'stream-updated', members: { status: 'enabled' } }]);
    expect(refusalOf(await api.request('PATCH', `/signal_streams/${stream_id}/resume`)).slice(0, 2)).toEqual([409, 'invalid_transition']);
    expect((await api.request('DELETE', `/signal_streams/${stream_id}`)).status).toBe(204);
    expect((await receiver.call('GET', `/ssf/status?stream_id=${stream_id}`)).status).toBe(404);
  });

  test('is not led to somebody without users:read: by a grant, by signal_audience, by pausing it (attack 55.1708)', async () => {
    const stream_id = await receiver.stream();
    const resource = await addSignalsApi(ctx);
    const { id } = await addClient(ctx, { first_party: false });
    const grant = {
      data: {
        type: 'client_grant',
        attributes: { scopes: ['ssf.manage'] },
        relationships: { client: { data: { type: 'client', id } }, api_resource: { data: { type: 'api_resource', id: resource.id } } },
      },
    };
    const audience = { data: { type: 'client', id, attributes: { signal_audience: 'everybody' } } };
    const escalation = [403, 'scope_escalation', ['users:read']];
    const narrow = await only('clients:write client_grants:write signal_streams:write credentials:write');
    expect(refusalOf(await narrow.post('/client_grants', grant))).toEqual(escalation);
    expect(refusalOf(await narrow.request('PATCH', `/clients/${id}`, { body: audience }))).toEqual(escalation);
    expect(refusalOf(await narrow.request('PATCH', `/signal_streams/${stream_id}/pause`))).toEqual(escalation);
    expect(refusalOf(await narrow.request('DELETE', `/signal_streams/${stream_id}`))).toEqual(escalation);
    const wide = await only('clients:write client_grants:write signal_streams:write credentials:write users:read');
    expect((await wide.post('/client_grants', grant)).status).toBe(201);
    expect((await wide.request('PATCH', `/clients/${id}`, { body: audience })).status).toBe(200);
    expect((await wide.request('PATCH', `/signal_streams/${stream_id}/pause`)).status).toBe(200);
    expect((await (await only('clients:read')).get('/signal_streams')).status).toBe(403);
  });
});
