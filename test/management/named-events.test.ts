// Events that come by name only: each arrives at a webhook that names it, and never at one of `*` (specification 7.2.5).
import { randomUUID } from 'node:crypto';
import { expect, test } from 'vitest';
import { transaction } from '../../src/domain/context.js';
import { flushSecurityTrail, noteSecurityEvent, userParty } from '../../src/domain/audit/security-trail.js';
import { eventGroups, eventTypes, isNamedEvent, type EventType } from '../../src/domain/events/catalogue.js';
import { emit } from '../../src/domain/events/emit.js';
import { samples } from '../../src/domain/events/samples.js';
import { noOrigin } from '../../src/domain/origin.js';
import { createWebhook } from '../../src/domain/webhooks/webhooks.js';
import { unusedClientPass } from '../../src/jobs/unused-clients.js';
import { Browser } from '../support/browser.js';
import { applied, exported } from '../support/configuration.js';
import { addClient, addUser, password } from '../support/data.js';
import { answerDevice, deviceCode, startDevice } from '../support/device.js';
import { giveTotp, setEnvironment } from '../support/factors.js';
import { manage, type Document } from '../support/management.js';
import { startReceiver } from '../support/receiver.js';
import { contextOf, shared, sharedManagedService } from '../support/shared-service.js';

const service = sharedManagedService();
const ctx = contextOf(service);
const api = shared(() => manage(service.url));
const receiver = shared(() => startReceiver(), (one) => one.close()); // prettier-ignore
const named = eventTypes.filter(isNamedEvent);

const everything = shared(() => api.create('webhooks', { name: 'Everything', url: `${receiver.url}/all`, events: ['*'] }));

/** Has a webhook that names nothing but the type; resolves to the data of the events that `change` causes there. */
async function caused(type: EventType, change: () => Promise<unknown>, count = 1): Promise<Document[]> {
  const path = `/${type}/${performance.now()}`;
  const hooks = await manage(service.url);
  const { id } = await hooks.create('webhooks', { name: type, url: receiver.url + path, events: [type] });
  await change();
  const mine = () => receiver.posts.filter((post) => post.path === path).map(({ body }) => JSON.parse(body) as Document);
  await flushSecurityTrail(service.deps);
  await receiver.until(() => mine().length >= count);
  await hooks.delete(`/webhooks/${id}`);
  expect(mine().map(({ event }) => event as string)).toEqual(Array.from({ length: count }, () => type));
  const { knex } = ctx.db;
  expect(await knex('webhook_deliveries').where({ webhook_id: everything['id'], event_type: type })).toEqual([]);
  return mine().map(({ data }) => data as Document);
}

/** The beginning of a minute, so that none ends in between. */
const atMinute = () => service.clock.advance(60_000 - (service.clock.now().getTime() % 60_000));

const newUser = (email: string) => api.create('users', { email, first_name: 'Ada', last_name: 'Lovelace', external_id: email });
const act = async (path: string, verb: string) => expect((await api.patch(`${path}/${verb}`)).status).toBe(200);
const management = { actor_kind: 'client', actor_id: 'management' };

test('GET /api/event_types lists none of them but under their group', async () => {
  const names = async (query: string) =>
    ((await api.get(`/event_types?page[size]=100${query}`)).body['data'] as Document[]).map(({ id }) => id as string);
  expect((await names('')).filter(isNamedEvent)).toEqual([]);
  expect(await names('')).toHaveLength(18);
  expect(await names('&filter[group]=user')).toEqual(eventTypes.filter((type) => type.startsWith('user.')).sort());
  expect(await names(`&filter[group]=${eventGroups.join(',')}`)).toEqual([...eventTypes].sort());
  expect((await api.get('/event_types?filter[group]=nothing')).status).toBe(400);
  expect((await api.get(`/event_types/${named[0]}`)).body['data'].attributes.example.event).toBe(named[0]);
});

test('a configuration document names them', async () => {
  const webhook = { name: 'Documented', url: 'https://hooks.example/', events: named, status: 'disabled' };
  await applied(api, { version: 1, webhooks: [webhook] });
  expect((await exported(api))['webhooks']).toContainEqual(expect.objectContaining({ name: 'Documented', events: named }));
});

test('while nobody names it, it is stored and delivered to nobody', async () => {
  const user = await newUser('unheard@example.com');
  const paused = await api.create('webhooks', { name: 'Paused', url: receiver.url, events: named, status: 'disabled' });
  await act(`/users/${user['id']}`, 'block');
  await api.delete(`/users/${user['id']}`);
  await api.delete(`/webhooks/${paused['id']}`);
  const stored = (await ctx.db.knex('events').whereIn('event_type', named).orderBy('seq').select('event_type')) as { event_type: string }[];
  expect(stored.map(({ event_type }) => event_type)).toEqual(['user.blocked', 'user.deleted']);
  expect(await ctx.db.knex('webhook_deliveries').whereIn('event_type', named)).toEqual([]);
});

test('a webhook of a transaction that is rolled back is remembered by nobody', async () => {
  const rolledBack = transaction(ctx, async (tx) => {
    await createWebhook(tx, { name: 'Tried', url: receiver.url, events: ['user.deleted'] });
    await emit(tx, 'user.deleted', samples['user.deleted']);
    throw new Error('taken back');
  });
  await expect(rolledBack).rejects.toThrow('taken back');
  await transaction(ctx, (tx) => emit(tx, 'user.deleted', samples['user.deleted']));
  expect(await ctx.db.knex('webhook_deliveries').where({ event_type: 'user.deleted' })).toEqual([]);
});

test('user.blocked and user.unblocked say who did it', async () => {
  const { id } = await newUser('blocked@example.com');
  const person = { id, first_name: 'Ada', last_name: 'Lovelace', email: 'blocked@example.com', external_id: 'blocked@example.com' };
  const [blocked] = await caused('user.blocked', () => act(`/users/${id}`, 'block'));
  expect(blocked).toEqual({ ...person, blocked_by: management, blocked_at: expect.any(String) });
  const [unblocked] = await caused('user.unblocked', () => act(`/users/${id}`, 'unblock'));
  expect(unblocked).toEqual({ ...person, unblocked_by: management, unblocked_at: expect.any(String) });
});

test('user.deleted', async () => {
  const { id } = await newUser('deleted@example.com');
  const [deleted] = await caused('user.deleted', () => api.delete(`/users/${id}`));
  expect(deleted).toMatchObject({ id, email: 'deleted@example.com', deleted_by: management });
});

const newPerson = (email: string) => addUser(ctx, { email });
const agent = { 'user-agent': 'Named/1.0' };
const signIn = async (email: string, typed = password) => {
  const browser = new Browser(service.url, agent);
  await browser.login(email, typed);
  return browser;
};

test('session.created and login.succeeded, whoever signs in', async () => {
  const { id, email } = await newPerson('in@example.com');
  const [session] = await caused('session.created', () => signIn(email));
  expect(session).toMatchObject({ user_id: id, amr: ['pwd'], acr: '1', user_agent: 'Named/1.0', device_client_id: null });
  expect((await api.get(`/sessions/${session?.['id']}`)).body['data'].attributes.expires_at).toBe(session?.['expires_at']);
  const [login] = await caused('login.succeeded', () => signIn(email));
  expect(login).toMatchObject({ user_id: id, email, amr: ['pwd'], new_device: true, user_agent: 'Named/1.0' });
});

test('session.created for a device that somebody lets in', async () => {
  const client = await addClient(ctx, { grant_types: [deviceCode] });
  const { id, email } = await newPerson('device@example.com');
  const browser = await signIn(email);
  const [session] = await caused('session.created', async () => {
    const { user_code } = await startDevice(service.url, client);
    expect((await answerDevice(browser, user_code)).status).toBe(200);
  });
  expect(session).toMatchObject({ user_id: id, device_client_id: client.id });
});

test('session.revoked for each session that is ended, with why', async () => {
  const { id, email } = await newPerson('out@example.com');
  for (let i = 0; i < 2; i++) await signIn(email);
  const ended = await caused('session.revoked', () => act(`/users/${id}`, 'revoke_sessions'), 2);
  expect(new Set(ended.map((one) => one['id'] as string)).size).toBe(2);
  expect(ended).toMatchObject([{ user_id: id, reason: 'revoked' }, { reason: 'revoked' }]);
  const browser = await signIn(email);
  const [mine] = await caused('session.revoked', () => browser.submit('/logout', {}));
  expect(mine).toMatchObject({ user_id: id, reason: 'logout' });
});

test('login.failed once for all alike within a minute, without the password', async () => {
  atMinute();
  const { id, email } = await newPerson('wrong@example.com');
  const [failed] = await caused('login.failed', async () => {
    for (let i = 0; i < 3; i++) await signIn(email, 'not the password');
    await flushSecurityTrail(service.deps);
    await signIn(email, 'not the password');
  });
  expect(failed).toMatchObject({ user_id: id, email, connection_id: null, reason: 'invalid_credentials', user_agent: 'Named/1.0' });
  expect(JSON.stringify(failed)).not.toContain('not the password');
});

test('login.failed of an address without an account does not say which', async () => {
  const [failed] = await caused('login.failed', () => signIn('nobody-at-all@example.com'));
  expect(failed).toMatchObject({ user_id: null, email: null });
  expect(JSON.stringify(failed)).not.toContain('nobody-at-all');
});

test('a flood of refused sign-ins is told in at most 101 events a minute (attack 33.1165)', async () => {
  atMinute();
  const told = await caused(
    'login.failed',
    async () => {
      for (let i = 0; i < 500; i++) {
        const { target } = userParty({ id: randomUUID(), email: `${i}@example.com` });
        noteSecurityEvent(ctx, 'login.failed', { target, origin: noOrigin, reason: 'invalid_credentials' });
        if (i % 50 === 0) await flushSecurityTrail(service.deps);
      }
    },
    101,
  );
  expect(told.filter(({ reason }) => reason === 'too_many_to_list')).toMatchObject([{ user_id: null, email: null }]);
});

test('password.changed, whoever changes it and however', async () => {
  const { id, email } = await newPerson('password@example.com');
  const browser = await signIn(email);
  const person = { actor_kind: 'user', actor_id: id };
  const renewed = 'another long password';
  const [changed] = await caused('password.changed', async () => {
    const fields = { current_password: password, password: renewed, password_repeat: renewed };
    expect((await browser.submit('/account', fields, '/account/password')).status).toBe(303);
  });
  expect(changed).toMatchObject({ id, email, how: 'changed', changed_by: person });
  const attributes = { password: 'one that somebody else chose' };
  const [set] = await caused('password.changed', () => api.update('users', id, attributes));
  expect(set).toMatchObject({ id, how: 'set', changed_by: management, sessions_revoked: true });
  expect(JSON.stringify([changed, set])).not.toMatch(/another long|somebody else/);
});

test('authenticator.created and authenticator.deleted, recovery codes too, never with a secret', async () => {
  const { id } = await newPerson('factors@example.com');
  let secret = '';
  const created = await caused('authenticator.created', async () => ({ secret } = await giveTotp(ctx, id)), 2);
  expect(created).toMatchObject([
    { user_id: id, kind: 'totp', name: 'Phone', created_by: { actor_kind: 'user', actor_id: id } },
    { user_id: id, kind: 'recovery_codes' },
  ]);
  expect(JSON.stringify(created)).not.toContain(secret);
  const [totp] = created;
  const deleted = await caused('authenticator.deleted', () => api.delete(`/authenticators/${totp?.['id']}`), 2);
  expect(deleted.map(({ kind }) => kind as string).sort()).toEqual(['recovery_codes', 'totp']);
  expect(deleted[0]).toMatchObject({ user_id: id, deleted_by: management });
  await giveTotp(ctx, id);
  const reset = await caused('authenticator.deleted', () => act(`/users/${id}`, 'reset_authenticators'), 2);
  expect(reset[0]).toMatchObject({ user_id: id, deleted_by: management });
});

test('client.created with where it came from, and client.deleted with who did it', async () => {
  const attributes = { name: 'Notes', application_type: 'machine', grant_types: ['client_credentials'] };
  const [created] = await caused('client.created', () => api.create('clients', attributes));
  expect(created).toMatchObject({ name: 'Notes', origin: 'administrator', status: 'enabled' });
  const [deleted] = await caused('client.deleted', () => api.delete(`/clients/${created?.['id']}`));
  expect(deleted).toMatchObject({ id: created?.['id'], client_id: created?.['id'], name: 'Notes', deleted_by: management });
  expect(JSON.stringify([created, deleted])).not.toContain('secret"');
});

test('client.created and client.deleted of one that registers itself, and of one that nobody uses', async () => {
  await setEnvironment(service, { client_registration_policy: 'open' });
  const send = async (path: string, init: RequestInit) => (await fetch(new URL(path, service.url), init)).text();
  const register = async () => {
    const body = JSON.stringify({ client_name: 'Self', redirect_uris: ['https://app.example/cb'] });
    return JSON.parse(await send('/oauth/register', { method: 'POST', headers: { 'content-type': 'application/json' }, body })) as Document;
  };
  let mine: Document = {};
  const [created] = await caused('client.created', async () => (mine = await register()));
  expect(created).toMatchObject({ id: mine['client_id'], name: 'Self', origin: 'registration' });
  const authorization = `Bearer ${mine['registration_access_token']}`;
  const [gone] = await caused('client.deleted', () =>
    send(`/oauth/register/${mine['client_id']}`, { method: 'DELETE', headers: { authorization } }),
  );
  expect(gone).toMatchObject({ id: mine['client_id'], deleted_by: { actor_kind: 'client', actor_id: mine['client_id'] } });
  const { client_id } = await register();
  service.clock.advance(86_400_000 + 60_000);
  const [unused] = await caused('client.deleted', () => unusedClientPass(service.deps));
  expect(unused).toMatchObject({ id: client_id, deleted_by: { actor_kind: 'system', actor_id: null } });
});

test('connection.created, connection.updated and connection.deleted, never with its secret (attack 33.1166)', async () => {
  const caller = await manage(service.url);
  const secret = 'the secret of our account there';
  const attributes = {
    name: 'corp',
    display_name: 'Corp',
    strategy: 'oidc',
    issuer: 'https://id.corp.example',
    provider_client_id: 'us',
    provider_client_secret: secret,
  };
  const [created] = await caused('connection.created', () => caller.create('connections', attributes));
  const id = created?.['id'] as string;
  expect(created).toMatchObject({ name: 'corp', strategy: 'oidc', issuer: 'https://id.corp.example', created_by: management });
  const change = (changes: object) => () => caller.update('connections', id, changes);
  const [renamed] = await caused('connection.updated', change({ display_name: 'Corporation' }));
  expect(renamed).toMatchObject({
    display_name: 'Corporation',
    previous_attributes: { display_name: 'Corp' },
    credentials_replaced: false,
  });
  const [rotated] = await caused('connection.updated', change({ provider_client_secret: `${secret} now` }));
  expect(rotated).toMatchObject({ previous_attributes: {}, credentials_replaced: true, updated_by: management });
  const [deleted] = await caused('connection.deleted', () => caller.delete(`/connections/${id}`));
  expect(deleted).toMatchObject({ id, display_name: 'Corporation', deleted_by: management });
  const all = JSON.stringify([created, renamed, rotated, deleted]);
  expect([all.includes(secret), all.includes('sealed')]).toEqual([false, false]);
});
