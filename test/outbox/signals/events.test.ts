// What happens to people and sessions, and what streams are told of it (CAEP 1.0, RISC 1.0).
import { beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { sessionEndReasons } from '../../../src/domain/events/named-events.js';
import { endSessions } from '../../../src/domain/sessions/sessions.js';
import { transaction } from '../../../src/domain/context.js';
import { blockClient, unblockClient } from '../../../src/domain/grants/authorizations.js';
import type { UserRow } from '../../../src/db/tables/users.js';
import { drain } from '../../support/outbox-queue.js';
import { signalQueue } from '../../../src/outbox/signals/loop.js';
import { addUser } from '../../support/data.js';
import { giveTotp } from '../../support/factors.js';
import { allowCode, authorizeCode, claimsOf, oauthPost, redeem } from '../../support/oauth.js';
import { manage, startManagedService } from '../../support/management.js';
import { sharedService, shared } from '../../support/shared-service.js';
import { signedIn } from '../../support/signed-in.js';
import { addSignalReceiver, type ReadSet, type SignalReceiver } from '../../support/signals.js';

const service = sharedService(() => startManagedService());
let receiver: SignalReceiver;
let stream: string;
let user: UserRow;

const ctx = shared(() => service.context());
const api = shared(() => manage(service.url));
beforeAll(async () => {
  receiver = await addSignalReceiver(service, ctx, { first_party: true });
  stream = await receiver.stream();
});
beforeEach(async () => {
  user = await addUser(ctx);
});

/** The person signs in to the receiver's client; the `sid` of the ID token, and the tokens. */
async function signsIn(scope = 'openid', of: Pick<UserRow, 'id'> = user, client = receiver.client) {
  const browser = await signedIn(service, of);
  const grant = await authorizeCode(browser, client, { scope });
  const { body } = await redeem(service.url, client, grant);
  return { browser, grant, ...body, sid: claimsOf(body.id_token as string)['sid'] as string };
}
const told = async (event: string): Promise<ReadSet[]> => (await receiver.poll(stream)).filter((set) => set.event === event);
const person = (of: Pick<UserRow, 'id'> = user) => ({ format: 'iss_sub', iss: service.url, sub: of.id });
const sessionOf = (sid: string) => ({ format: 'complex', user: person(), session: { format: 'opaque', id: sid } });
const setPassword = (id: string, password: string) =>
  api.request('PATCH', `/users/${id}`, { body: { data: { type: 'user', id, attributes: { password } } } });

describe('a token', () => {
  test('is a security event token and none of another kind (RFC 8417, SSF 1.0 4, attack 55.1703)', async () => {
    const { sid } = await signsIn();
    await api.request('PATCH', `/sessions/${sid}/revoke`);
    const [set] = await told('session-revoked');
    expect(set?.header).toMatchObject({ alg: 'RS256', typ: 'secevent+jwt', kid: expect.any(String) });
    expect(set?.claims).toEqual({
      iss: service.url,
      aud: receiver.client.id,
      iat: expect.any(Number),
      jti: expect.any(String),
      txn: expect.any(String),
      sub_id: sessionOf(sid),
      events: {
        'https://schemas.openid.net/secevent/caep/event-type/session-revoked': {
          event_timestamp: expect.any(Number),
          reason_admin: { en: expect.any(String) },
        },
      },
    });
  });

  test('comes again until it is acknowledged, in order, as many as are asked for (RFC 8936 2.2)', async () => {
    const { sid: first } = await signsIn();
    const { sid: second } = await signsIn();
    for (const id of [first, second]) await api.request('PATCH', `/sessions/${id}/revoke`);
    await drain(signalQueue(service.deps));
    const asked = async (body: object) =>
      (await receiver.call('POST', `/ssf/poll/${stream}`, { returnImmediately: true, ...body })).body as {
        sets: Record<string, string>;
        moreAvailable: boolean;
      };
    const one = await asked({ maxEvents: 1 });
    expect([Object.keys(one.sets).length, one.moreAvailable]).toEqual([1, true]);
    const both = await asked({});
    expect([Object.keys(both.sets)[0], both.moreAvailable]).toEqual([Object.keys(one.sets)[0], false]);
    const [acknowledged = '', refused = ''] = Object.keys(both.sets);
    const left = await asked({ ack: [acknowledged, 'no jti'], setErrs: { [refused]: { err: 'invalid_request', description: 'no' } } });
    expect(left).toEqual({ sets: {}, moreAvailable: false });
  });
});

describe('session-revoked', () => {
  test.each(sessionEndReasons)('is told of a session that ends for %s (specification 20.4.1)', async (reason) => {
    const { sid } = await signsIn();
    await transaction(ctx, (tx) => endSessions(tx, { id: sid }, reason));
    expect((await told('session-revoked')).map(({ claims }) => claims.sub_id)).toContainEqual(sessionOf(sid));
  });

  test('is told whatever wrote it: a session that is gone, all that a restored backup ends (specification 20.4.1)', async () => {
    const [deleted, updated] = [await signsIn(), await signsIn()];
    await ctx.db.knex('sessions').where({ id: deleted.sid }).delete();
    await ctx.db.knex('sessions').where({ id: updated.sid }).update({ revoked_at: new Date(), revoke_reason: 'restored' });
    const subjects = (await told('session-revoked')).map(({ claims }) => claims.sub_id);
    expect(subjects).toEqual([sessionOf(deleted.sid), sessionOf(updated.sid)]);
  });

  test('is not told of a session that has run out', async () => {
    const { sid } = await signsIn();
    await ctx.db
      .knex('sessions')
      .where({ id: sid })
      .update({ expires_at: new Date(0) });
    await ctx.db.knex('sessions').where({ id: sid }).delete();
    expect(await told('session-revoked')).toEqual([]);
  });

  test('is told of a grant that ends while its session goes on: revoked, replayed, consent withdrawn (specification 20.4.1)', async () => {
    const revoked = await signsIn('openid offline_access');
    await oauthPost(service.url, '/oauth/revoke', receiver.client, { token: revoked.refresh_token as string });
    expect((await told('session-revoked')).map(({ claims }) => claims.sub_id)).toEqual([sessionOf(revoked.sid)]);

    const replayed = await signsIn();
    await redeem(service.url, receiver.client, replayed.grant);
    expect((await told('session-revoked')).map(({ claims }) => claims.sub_id)).toEqual([person()]);

    const asking = await addSignalReceiver(service, ctx, { first_party: false });
    const theirs = await asking.stream();
    const grant = await allowCode(await signedIn(service, user), asking.client, { scope: 'openid offline_access', prompt: 'consent' });
    const { body } = await redeem(service.url, asking.client, grant);
    const { id } = await ctx.db.knex('consents').where({ client_id: asking.client.id }).first();
    await api.request('DELETE', `/consents/${id}`);
    const sid = claimsOf(body.id_token as string)['sid'] as string;
    expect((await asking.poll(theirs)).map(({ event, claims }) => [event, claims.sub_id])).toEqual([['session-revoked', sessionOf(sid)]]);
    await asking.call('DELETE', `/ssf/streams?stream_id=${theirs}`);
  });

  test('of a grant goes to the client that had it alone (attack 55.1704)', async () => {
    const nosy = await addSignalReceiver(service, ctx, { signal_audience: 'everybody' });
    const theirs = await nosy.stream();
    const { refresh_token } = await signsIn('openid offline_access');
    await oauthPost(service.url, '/oauth/revoke', receiver.client, { token: refresh_token as string });
    expect((await nosy.poll(theirs)).filter(({ event }) => event === 'session-revoked')).toEqual([]);
    expect((await told('session-revoked')).length).toBe(1);
    await nosy.call('DELETE', `/ssf/streams?stream_id=${theirs}`);
  });
});

describe('credential-change and assurance-level-change', () => {
  test('are told of passwords, authenticators and step-up (specification 20.4.2)', async () => {
    await signsIn();
    await setPassword(user.id, 'another long pass phrase');
    const { id } = await giveTotp(ctx, user.id);
    await ctx.db.knex('authenticators').where({ id }).delete();
    const changes = (await told('credential-change')).map(({ members: { credential_type, change_type }, claims }) => {
      expect(claims.sub_id).toEqual(person());
      return [credential_type, change_type];
    });
    expect(changes).toEqual(
      expect.arrayContaining([
        ['password', 'update'],
        ['app', 'create'],
        ['recovery-codes', 'create'],
        ['app', 'delete'],
      ]),
    );
    const again = await signsIn();
    await told('session-revoked');
    await ctx.db.knex('sessions').where({ id: again.sid }).update({ acr: 'phr' });
    await ctx.db.knex('sessions').where({ id: again.sid }).update({ acr: '2' });
    const classes = await told('assurance-level-change');
    expect(classes.slice(-2).map(({ members }) => members)).toMatchObject([
      { namespace: service.url, current_level: 'phr', change_direction: 'increase' },
      { namespace: service.url, current_level: '2', previous_level: 'phr', change_direction: 'decrease' },
    ]);
    expect(classes.at(-1)?.claims.sub_id).toEqual(sessionOf(again.sid));
  });

  test('is not told of a hash that is made anew of the same password, nor of a sign-in', async () => {
    await signsIn();
    await ctx.db.knex('users').where({ id: user.id }).update({ password_hash: 'another', last_login_at: new Date(), login_count: 2 });
    expect(await receiver.poll(stream)).toEqual([]);
  });
});

describe('token-claims-change', () => {
  test('has the claims that the client is told, where they may have changed (specification 20.4.3)', async () => {
    await signsIn();
    await api.request('PATCH', `/users/${user.id}`, { body: { data: { type: 'user', id: user.id, attributes: { first_name: 'Greta' } } } });
    const [set] = await told('token-claims-change');
    expect(set?.members['claims']).toMatchObject({ given_name: 'Greta', email: user.email, roles: [] });
    const role = await api.create('roles', { name: 'gardener' });
    await ctx.db.knex('user_roles').insert({ environment_id: ctx.environment.id, user_id: user.id, role_id: role['id'] });
    expect((await told('token-claims-change')).map(({ members }) => (members['claims'] as { roles: string[] }).roles)).toEqual([
      ['gardener'],
    ]);
  });

  test('says nothing that the person has not allowed the client to know (attack 55.1705)', async () => {
    const modest = await addSignalReceiver(service, ctx, { signal_audience: 'everybody', first_party: false });
    const theirs = await modest.stream();
    await signsIn();
    await api.request('PATCH', `/users/${user.id}`, {
      body: { data: { type: 'user', id: user.id, attributes: { first_name: 'Greta', email: `moved-${user.email}` } } },
    });
    const sets = await modest.poll(theirs);
    expect(JSON.stringify(sets)).not.toMatch(/Greta|@/);
    expect(sets.map(({ event }) => event)).not.toContain('token-claims-change');
    await modest.call('DELETE', `/ssf/streams?stream_id=${theirs}`);
  });
});

describe('RISC', () => {
  test('account-disabled, -enabled, identifier-changed and -purged are told (specification 20.4.4)', async () => {
    await signsIn();
    await receiver.poll(stream);
    await api.request('PATCH', `/users/${user.id}/block`);
    await api.request('PATCH', `/users/${user.id}/unblock`);
    const email = `moved-${user.email}`;
    await api.request('PATCH', `/users/${user.id}`, { body: { data: { type: 'user', id: user.id, attributes: { email } } } });
    await api.request('DELETE', `/users/${user.id}`);
    const sets = await receiver.poll(stream);
    const of = (event: string) => sets.filter((set) => set.event === event).map(({ claims, members }) => [claims.sub_id, members]);
    const plain = { event_timestamp: expect.any(Number), reason_admin: { en: expect.any(String) } };
    expect(of('account-disabled')).toEqual([[person(), plain]]);
    expect(of('account-enabled')).toEqual([[person(), plain]]);
    expect(of('identifier-changed')).toEqual([
      [
        { format: 'email', email: user.email },
        { ...plain, 'new-value': email },
      ],
    ]);
    expect(of('account-purged')).toEqual([[person(), plain]]);
    expect(sets.at(-1)?.event).toBe('account-purged');
  });
});

describe('who is told', () => {
  test('a client hears of who uses it alone, unless its audience is wider (specification 20.3.4, attack 55.1706)', async () => {
    const everybody = await addSignalReceiver(service, ctx, { signal_audience: 'everybody' });
    const wide = await everybody.stream();
    await api.request('PATCH', `/users/${user.id}/block`);
    expect((await told('account-disabled')).length).toBe(0);
    expect((await everybody.poll(wide)).filter(({ event }) => event === 'account-disabled').length).toBe(1);
    await everybody.call('DELETE', `/ssf/streams?stream_id=${wide}`);
  });

  test('a client that the person has blocked hears that its own sessions end, and nothing else of them (specification 20.3.4, attack 63.1860)', async () => {
    await signsIn('openid profile email');
    await receiver.poll(stream);
    const change = (attributes: Record<string, string>) =>
      api.request('PATCH', `/users/${user.id}`, { body: { data: { type: 'user', id: user.id, attributes } } });
    await change({ first_name: 'Greta' });
    const pair = { user_id: user.id, client_id: receiver.client.id };
    await transaction(ctx, (tx) => blockClient(tx, pair, 'person'));
    await change({ first_name: 'Berta', email: `moved-${user.email}`, password: 'correct horse battery staple 2' });
    const heard = await receiver.poll(stream);
    expect([...new Set(heard.map(({ event }) => event))]).toEqual(['session-revoked']);
    expect(JSON.stringify(heard)).not.toMatch(/Berta|Greta|@/);
    await transaction(ctx, (tx) => unblockClient(tx, pair, 'person'));
    await change({ first_name: 'Carla' });
    expect(JSON.stringify(await receiver.poll(stream))).toContain('Carla');
  });

  test('a client with the audience `organization` hears of the members of organizations that use it (specification 20.3.4)', async () => {
    const organization = await api.create('organizations', { name: 'acme', display_name: 'Acme' });
    const member = (of: UserRow) =>
      ctx.db.knex('organization_memberships').insert({
        environment_id: ctx.environment.id, id: crypto.randomUUID(), organization_id: organization['id'], user_id: of.id, source: 'manual',
        created_at: new Date(), updated_at: new Date(),
      }); // prettier-ignore
    const colleague = await addUser(ctx);
    await member(user);
    await member(colleague);
    const theirs = await addSignalReceiver(service, ctx, { signal_audience: 'organization', first_party: true });
    const id = await theirs.stream();
    const { sid } = await signsIn('openid', user, theirs.client);
    await api.request('PATCH', `/users/${colleague.id}/block`);
    expect(await theirs.poll(id)).toEqual([]);
    await api.request('PATCH', `/users/${colleague.id}/unblock`);
    await ctx.db
      .knex('session_organizations')
      .insert({ environment_id: ctx.environment.id, session_id: sid, client_id: theirs.client.id, organization_id: organization['id'] });
    await theirs.poll(id);
    await api.request('PATCH', `/users/${colleague.id}/block`);
    expect((await theirs.poll(id)).map(({ event }) => event)).toContain('account-disabled');
    await theirs.call('DELETE', `/ssf/streams?stream_id=${id}`);
  });

  test('nobody is told of who was removed from the stream, until they are added again', async () => {
    await signsIn();
    await receiver.call('POST', '/ssf/subjects/remove', { stream_id: stream, subject: person() });
    await api.request('PATCH', `/users/${user.id}/block`);
    expect(await told('account-disabled')).toEqual([]);
    await receiver.call('POST', '/ssf/subjects/add', { stream_id: stream, subject: { format: 'email', email: user.email } });
    await api.request('PATCH', `/users/${user.id}/unblock`);
    expect((await told('account-enabled')).length).toBe(1);
  });

  test('a stream gets the events that it asked for, and a disabled one none', async () => {
    const narrow = await receiver.stream({ events_requested: ['https://schemas.openid.net/secevent/risc/event-type/account-enabled'] });
    await signsIn();
    await api.request('PATCH', `/users/${user.id}/block`);
    await api.request('PATCH', `/users/${user.id}/unblock`);
    expect((await receiver.poll(narrow)).map(({ event }) => event)).toEqual(['account-enabled']);
    await receiver.call('POST', '/ssf/status', { stream_id: narrow, status: 'disabled' });
    await api.request('PATCH', `/users/${user.id}/block`);
    await api.request('PATCH', `/users/${user.id}/unblock`);
    await drain(signalQueue(service.deps));
    await receiver.call('POST', '/ssf/status', { stream_id: narrow, status: 'enabled' });
    expect(await receiver.poll(narrow)).toEqual([]);
    await receiver.call('DELETE', `/ssf/streams?stream_id=${narrow}`);
  });

  test('without a stream nothing is written', async () => {
    await receiver.poll(stream);
    await receiver.call('POST', '/ssf/status', { stream_id: stream, status: 'disabled' });
    await api.request('PATCH', `/users/${user.id}/block`);
    expect(await ctx.db.knex('signals')).toEqual([]);
    await receiver.call('POST', '/ssf/status', { stream_id: stream, status: 'enabled' });
  });
});
