// The streams by which clients hear of what happens (SSF 1.0 7, 8).
import { decodeJwt } from 'jose';
import { beforeAll, describe, expect, test } from 'vitest';
import { signalEventUris } from '../../src/domain/signals/event-types.js';
import { addSignalReceiver, type SignalReceiver } from '../support/signals.js';
import { addUser } from '../support/data.js';
import { authorizeCode, redeem } from '../support/oauth.js';
import { manage, startManagedService } from '../support/management.js';
import { observeStatements } from '../support/statements.js';
import { sharedService, shared } from '../support/shared-service.js';
import { signedIn } from '../support/signed-in.js';

const service = sharedService(() => startManagedService());
let receiver: SignalReceiver;
let other: SignalReceiver;

const ctx = shared(() => service.context());
const api = shared(() => manage(service.url));
beforeAll(async () => {
  receiver = await addSignalReceiver(service, ctx);
  other = await addSignalReceiver(service, ctx);
});

const uri = (name: string) => signalEventUris.find((one) => one.endsWith(`/${name}`)) as string;
const nobody = '01890000-0000-7000-8000-000000000000';

describe('the transmitter', () => {
  test('says what it can (SSF 1.0 7.1, specification 20.3.1)', async () => {
    const answer = await fetch(`${service.url}/.well-known/ssf-configuration`);
    expect([answer.status, answer.headers.get('content-type'), answer.headers.get('access-control-allow-origin')]).toEqual([
      200,
      'application/json',
      '*',
    ]);
    expect(await answer.json()).toEqual({
      spec_version: '1_0',
      issuer: service.url,
      jwks_uri: `${service.url}/.well-known/jwks.json`,
      delivery_methods_supported: ['urn:ietf:rfc:8935', 'urn:ietf:rfc:8936'],
      configuration_endpoint: `${service.url}/ssf/streams`,
      status_endpoint: `${service.url}/ssf/status`,
      add_subject_endpoint: `${service.url}/ssf/subjects/add`,
      remove_subject_endpoint: `${service.url}/ssf/subjects/remove`,
      verification_endpoint: `${service.url}/ssf/verify`,
      critical_subject_members: ['user', 'session'],
      authorization_schemes: [{ spec_urn: 'urn:ietf:rfc:6749' }],
      default_subjects: 'ALL',
    });
  });

  test('takes the clients’ own tokens for it alone (specification 20.3.2)', async () => {
    const refusal = async (token: string) => {
      const { status, body } = await receiver.call('GET', '/ssf/streams', undefined, token);
      return [status, body['error']];
    };
    const user = await addUser(ctx);
    const browser = await signedIn(service, user);
    const { body } = await redeem(service.url, receiver.client, await authorizeCode(browser, receiver.client));
    expect(await refusal(body.access_token)).toEqual([401, 'invalid_token']);
    const resource = `${service.url}/ssf`;
    const persons = await redeem(service.url, receiver.client, await authorizeCode(browser, receiver.client, { resource }));
    expect([decodeJwt(persons.body.access_token).aud, ...(await refusal(persons.body.access_token))]).toEqual([
      resource,
      401,
      'invalid_token',
    ]);
    expect(await refusal('at_nothing')).toEqual([401, 'invalid_token']);
    const none = await fetch(`${service.url}/ssf/streams`);
    expect([none.status, none.headers.get('www-authenticate')]).toEqual([401, expect.stringContaining('Bearer')]);
    const reader = await addSignalReceiver(service, ctx, {}, ['ssf.read']);
    expect((await reader.call('GET', '/ssf/streams')).status).toBe(200);
    const refused = await reader.call('POST', '/ssf/streams', {});
    expect([refused.status, refused.body['error'], refused.headers.get('www-authenticate')]).toEqual([
      403,
      'insufficient_scope',
      expect.stringContaining('scope="ssf.manage"'),
    ]);
    await ctx.db.knex('client_grants').where({ client_id: reader.client.id }).delete();
    expect((await reader.call('GET', '/ssf/streams')).status).toBe(401);
  });

  test('its API comes with its permissions, and tokens for it live an hour at most (specification 20.3.2)', async () => {
    const [resource] = (await api.get('/api_resources?filter[identifier]=' + encodeURIComponent(`${service.url}/ssf`))).body['data'] as {
      id: string;
      attributes: Record<string, unknown>;
    }[];
    expect(resource?.attributes['access_token_lifetime']).toBeLessThanOrEqual(3600);
    const permissions = await ctx.db.knex('permissions').where({ api_resource_id: resource?.id }).orderBy('name').pluck('name');
    expect(permissions).toEqual(['ssf.manage', 'ssf.read']);
    const longer = { data: { type: 'api_resource', id: resource?.id, attributes: { access_token_lifetime: 3601 } } };
    const refused = await api.request('PATCH', `/api_resources/${resource?.id}`, { body: longer });
    expect([refused.status, refused.body['errors'][0].source.pointer]).toEqual([422, '/data/attributes/access_token_lifetime']);
  });
});

describe('a poll that waits', () => {
  test('ends when its client is disabled meanwhile, before anything comes (attack 73.1990)', async () => {
    const waiter = await addSignalReceiver(service, ctx);
    const stream_id = await waiter.stream();
    let isWaiting = false;
    const end = observeStatements((text) => void (isWaiting ||= text.includes('from signal_sets')));
    const answer = waiter.call('POST', `/ssf/poll/${stream_id}`, {});
    await expect.poll(() => isWaiting).toBe(true);
    end();
    expect((await api.update('clients', waiter.client.id, { status: 'disabled' })).status).toBe(200);
    expect(await answer).toMatchObject({ status: 401, body: { error: 'invalid_token' } });
  });
});

describe('a stream', () => {
  test('is made, read, changed, replaced and deleted (SSF 1.0 8.1.1)', async () => {
    const made = await receiver.call('POST', '/ssf/streams', {
      // What is no URI is nobody's event, though rows know this one by that name.
      events_requested: [uri('session-revoked'), 'https://unknown.example/event', 'account-disabled'],
      description: 'Mine',
      more: 1,
    });
    expect([made.status, made.body]).toEqual([
      201,
      {
        stream_id: expect.any(String),
        iss: service.url,
        aud: receiver.client.id,
        events_supported: signalEventUris,
        events_requested: [uri('session-revoked'), 'https://unknown.example/event'],
        events_delivered: [uri('session-revoked')],
        delivery: { method: 'urn:ietf:rfc:8936', endpoint_url: `${service.url}/ssf/poll/${made.body['stream_id']}` },
        min_verification_interval: 60,
        description: 'Mine',
      },
    ]);
    const { stream_id } = made.body;
    expect((await receiver.call('GET', `/ssf/streams?stream_id=${stream_id}`)).body).toEqual(made.body);
    expect((await receiver.call('GET', '/ssf/streams')).body).toEqual([made.body]);
    const delivery = {
      method: 'urn:ietf:rfc:8935',
      endpoint_url: 'https://receiver.example/sets',
      authorization_header: 'Bearer secret of the receiver',
    };
    const changed = await receiver.call('PATCH', '/ssf/streams', { stream_id, delivery });
    expect(changed.body).toEqual({ ...made.body, delivery: { method: delivery.method, endpoint_url: delivery.endpoint_url } });
    const row = await ctx.db.knex('signal_streams').where({ id: stream_id }).first();
    expect(row.authorization_sealed.toString('latin1')).not.toContain('secret of the receiver');
    const replaced = await receiver.call('PUT', '/ssf/streams', { stream_id, events_requested: [uri('account-disabled')] });
    expect(replaced.body).toMatchObject({ events_requested: [uri('account-disabled')], delivery: { method: 'urn:ietf:rfc:8936' } });
    expect(replaced.body['description']).toBeUndefined();
    expect((await receiver.call('DELETE', `/ssf/streams?stream_id=${stream_id}`)).status).toBe(204);
    expect((await receiver.call('GET', `/ssf/streams?stream_id=${stream_id}`)).status).toBe(404);
  });

  test.each([
    ['no JSON', '{', 400],
    ['a list', [], 400],
    ['events that are no list', { events_requested: 'all' }, 400],
    ['another method', { delivery: { method: 'urn:example:smtp' } }, 400],
    ['a push to nowhere', { delivery: { method: 'urn:ietf:rfc:8935' } }, 400],
    ['an endpoint that is no address', { delivery: { method: 'urn:ietf:rfc:8935', endpoint_url: 'nowhere' } }, 400],
    [
      'a header of two lines',
      { delivery: { method: 'urn:ietf:rfc:8935', endpoint_url: 'https://a.example', authorization_header: 'a\r\nb: c' } },
      400,
    ],
  ])('of %s is refused', async (_what, body, status) => {
    const answer = await receiver.call('POST', '/ssf/streams', body);
    expect([answer.status, answer.body['error']]).toEqual([status, 'invalid_request']);
  });

  test('of a body that is too long, or holds too much, is refused', async () => {
    expect((await receiver.call('POST', '/ssf/streams', { description: 'x'.repeat(65_536) })).status).toBe(413);
    expect((await receiver.call('POST', '/ssf/streams', { events_requested: Array.from({ length: 5_001 }, () => 'x') })).status).toBe(400);
    expect((await receiver.call('POST', '/ssf/poll/x', { returnImmediately: true })).status).toBe(404);
    expect((await receiver.call('GET', '/ssf/streams?stream_id=x&stream_id=y')).status).toBe(400);
    expect((await receiver.call('GET', '/ssf/nothing')).status).toBe(404);
  });

  test('is one of five of its client (specification 20.3.3)', async () => {
    const full = await addSignalReceiver(service, ctx);
    const answers = await Promise.all(Array.from({ length: 7 }, () => full.call('POST', '/ssf/streams', {})));
    expect(answers.map(({ status }) => status).sort()).toEqual([201, 201, 201, 201, 201, 409, 409]);
    expect(answers.find(({ status }) => status === 409)?.body['error']).toBe('too_many_streams');
  });

  test('of another client is nowhere, whatever is asked of it (attack 55.1700)', async () => {
    const stream_id = await other.stream();
    const subject = { format: 'iss_sub', iss: service.url, sub: nobody };
    const asked: [string, string, unknown?][] = [
      ['GET', `/ssf/streams?stream_id=${stream_id}`],
      ['PATCH', '/ssf/streams', { stream_id, description: 'taken' }],
      ['PUT', '/ssf/streams', { stream_id }],
      ['DELETE', `/ssf/streams?stream_id=${stream_id}`],
      ['GET', `/ssf/status?stream_id=${stream_id}`],
      ['POST', '/ssf/status', { stream_id, status: 'disabled' }],
      ['POST', '/ssf/subjects/add', { stream_id, subject }],
      ['POST', '/ssf/subjects/remove', { stream_id, subject }],
      ['POST', '/ssf/verify', { stream_id }],
      ['POST', `/ssf/poll/${stream_id}`, { returnImmediately: true }],
    ];
    for (const [method, path, body] of asked) {
      const stranger = await receiver.call(method, path, body);
      const text = JSON.stringify(body)?.replaceAll(stream_id, nobody);
      const unknown = await receiver.call(method, path.replace(stream_id, nobody), text);
      expect([method, path, stranger.status, stranger.body]).toEqual([method, path, 404, unknown.body]);
    }
    expect((await other.call('GET', `/ssf/status?stream_id=${stream_id}`)).body).toEqual({ stream_id, status: 'enabled' });
  });

  test('answers for people it knows and for strangers alike, when they are added or removed (attack 55.1701)', async () => {
    const stream_id = await other.stream();
    const user = await addUser(ctx);
    const subjects = [
      { format: 'iss_sub', iss: service.url, sub: user.id },
      { format: 'iss_sub', iss: service.url, sub: nobody },
      { format: 'iss_sub', iss: 'https://elsewhere.example', sub: user.id },
      { format: 'email', email: user.email },
      { format: 'email', email: 'stranger@example.com' },
      { format: 'email', email: 'no address' },
      { format: 'opaque', id: 'x' },
    ];
    for (const subject of subjects) {
      const [removed, added] = [
        await other.call('POST', '/ssf/subjects/remove', { stream_id, subject }),
        await other.call('POST', '/ssf/subjects/add', { stream_id, subject, verified: true }),
      ];
      expect([removed.status, removed.body, added.status, added.body]).toEqual([204, {}, 200, {}]);
    }
    expect((await other.call('POST', '/ssf/subjects/add', { stream_id, subject: 'me' })).status).toBe(400);
    // Nor does the time tell: the same statement is run for both.
    let asked = 0;
    const stop = observeStatements((text) => void (asked += /insert into signal_exclusions/.test(text) ? 1 : 0));
    for (const email of [user.email, 'stranger@example.com'])
      await other.call('POST', '/ssf/subjects/remove', { stream_id, subject: { format: 'email', email } });
    stop();
    expect(asked).toBe(2);
  });

  test('is paused, disabled and enabled by its client, but not against an administrator', async () => {
    const stream_id = await other.stream();
    const set = (status: string, reason?: string) => other.call('POST', '/ssf/status', { stream_id, status, reason });
    expect((await set('paused', 'we move')).body).toEqual({ stream_id, status: 'paused', reason: 'we move' });
    expect((await set('enabled')).body).toEqual({ stream_id, status: 'enabled' });
    expect((await set('asleep')).status).toBe(400);
    await ctx.db.knex('signal_streams').where({ id: stream_id }).update({ status: 'paused', paused_by: 'administrator' });
    expect([(await set('enabled')).status, (await set('enabled')).body['error']]).toEqual([403, 'access_denied']);
  });

  test('that an administrator has paused is neither deleted nor followed by another one (specification 20.3.5, attack 63.1864)', async () => {
    const stopped = await addSignalReceiver(service, await service.context());
    const stream_id = await stopped.stream();
    await ctx.db.knex('signal_streams').where({ id: stream_id }).update({ status: 'paused', paused_by: 'administrator' });
    const gone = await stopped.call('DELETE', `/ssf/streams?stream_id=${stream_id}`);
    const next = await stopped.call('POST', '/ssf/streams', { events_requested: signalEventUris });
    expect([gone, next].map(({ status, body }) => [status, body['error']])).toEqual([
      [403, 'access_denied'],
      [403, 'access_denied'],
    ]);
    expect(await ctx.db.knex('signal_streams').where({ client_id: stopped.client.id }).pluck('id')).toEqual([stream_id]);
  });

  test('that an administrator pauses meanwhile stays so, and there (specification 20.3.5, attack 68.1936)', async () => {
    const stopped = await addSignalReceiver(service, await service.context());
    const { knex } = ctx.db;
    const waiting = `select 1 from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock' and query like '%"signal_streams"%'`;
    const stream_id = await stopped.stream();
    for (const ask of [
      () => stopped.call('POST', '/ssf/status', { stream_id, status: 'enabled' }),
      () => stopped.call('DELETE', `/ssf/streams?stream_id=${stream_id}`),
    ]) {
      const asked = await knex.transaction(async (other) => {
        await other('signal_streams').where({ id: stream_id }).update({ status: 'paused', paused_by: 'administrator' });
        const answer = ask();
        await expect.poll(async () => (await knex.raw(waiting)).rows.length, { timeout: 30_000 }).toBe(1);
        return { answer };
      });
      expect((await asked.answer).status).toBe(403);
      expect(await knex('signal_streams').where({ id: stream_id }).first()).toMatchObject({ status: 'paused', paused_by: 'administrator' });
      await knex('signal_streams').where({ id: stream_id }).update({ status: 'enabled', paused_by: null });
    }
  });

  test('takes up no event beside one that an administrator has paused (specification 20.3.5, attack 67.1910)', async () => {
    const stopped = await addSignalReceiver(service, await service.context());
    const paused = await stopped.stream();
    const stream_id = await stopped.stream({ events_requested: [uri('session-revoked'), uri('credential-change')] });
    await ctx.db.knex('signal_streams').where({ id: paused }).update({ status: 'paused', paused_by: 'administrator' });
    const change = async (method: 'PATCH' | 'PUT', body: Record<string, unknown>) => {
      const answer = await stopped.call(method, '/ssf/streams', { stream_id, ...body });
      return [answer.status, answer.body['error']];
    };
    for (const method of ['PATCH', 'PUT'] as const)
      expect(await change(method, { events_requested: signalEventUris })).toEqual([403, 'access_denied']);
    expect(await change('PATCH', { events_requested: [uri('session-revoked')], description: 'Less' })).toEqual([200, undefined]);
    await ctx.db.knex('signal_streams').where({ id: paused }).update({ status: 'enabled', paused_by: null });
    expect(await change('PUT', { events_requested: signalEventUris })).toEqual([200, undefined]);
  });

  test('is verified once a minute (SSF 1.0 8.1.4, specification 20.3.5)', async () => {
    const stream_id = await receiver.stream();
    expect((await receiver.call('POST', '/ssf/verify', { stream_id, state: 'seen' })).status).toBe(204);
    const again = await receiver.call('POST', '/ssf/verify', { stream_id });
    expect([again.status, again.headers.get('retry-after')]).toEqual([429, '60']);
    const sets = await receiver.poll(stream_id);
    expect(sets).toMatchObject([
      { event: 'verification', members: { state: 'seen' }, claims: { sub_id: { format: 'opaque', id: stream_id } } },
    ]);
  });
});
