// Who is blocked or deleted is signed out everywhere: sessions end first, so that relying parties are told (OIDC Back-Channel Logout 1.0).
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { UserRow } from '../../src/db/tables/users.js';
import { Browser } from '../support/browser.js';
import { addClient, addUser, password, type TestClient } from '../support/data.js';
import { Api, manage, managementClient, managementToken, startManagedService } from '../support/management.js';
import { authorizeCode, claimsOf, oauthPost, redeem, tokenRequest, type TokenAnswer } from '../support/oauth.js';
import { publishedDocument } from '../support/openapi.js';
import { startRelyingParty, type RelyingParty } from '../support/relying-party.js';
import type { TestService } from '../support/service.js';

let service: TestService;
let api: Api;
let party: RelyingParty;

beforeAll(async () => {
  [service, party] = [await startManagedService(), await startRelyingParty()];
  api = await manage(service.url);
});
afterAll(async () => {
  await service?.stop();
  await party?.close();
});

/** A user who is signed in, here and at a client that listens for logouts, with offline_access. */
async function signedIn(path: string): Promise<{ user: UserRow; client: TestClient; browser: Browser; tokens: TokenAnswer['body'] }> {
  const ctx = await service.context();
  const [client, user] = [
    await addClient(ctx, { backchannel_logout_uri: `${party.origin}${path}`, first_party: true }),
    await addUser(ctx),
  ];
  const browser = new Browser(service.url);
  await browser.login(user.email, password);
  const { body } = await redeem(service.url, client, await authorizeCode(browser, client, { scope: 'openid offline_access' }));
  return { user, client, browser, tokens: body };
}

async function expectSignedOut({ user, client, browser, tokens }: Awaited<ReturnType<typeof signedIn>>, path: string): Promise<void> {
  const arrived = await party.next((request) => request.path === path);
  const claims = claimsOf(new URLSearchParams(arrived.body).get('logout_token') ?? '');
  expect(claims).toMatchObject({ aud: client.id, sub: user.id, sid: claimsOf(tokens.id_token as string)['sid'] });
  expect((await browser.get('/login')).status).toBe(200);
  expect((await oauthPost(service.url, '/oauth/introspect', client, { token: tokens.access_token })).body).toEqual({ active: false });
}

const refresh = ({ client, tokens }: Awaited<ReturnType<typeof signedIn>>) =>
  tokenRequest(service.url, client, { grant_type: 'refresh_token', refresh_token: tokens.refresh_token as string });

test('a user who is blocked: the sessions end, the relying party is told, and unblocking brings nothing back', async () => {
  const person = await signedIn('/blocked');
  expect((await refresh(person)).status).toBe(200);
  expect((await api.patch(`/users/${person.user.id}/block`)).status).toBe(200);
  await expectSignedOut(person, '/blocked');
  const sessions = (await api.get(`/users/${person.user.id}/sessions`)).body['data'] as { attributes: object }[];
  expect(sessions.map(({ attributes }) => attributes)).toMatchObject([{ status: 'revoked', revoke_reason: 'user_blocked' }]);
  expect((await api.patch(`/users/${person.user.id}/unblock`)).status).toBe(200);
  const refused = await refresh(person);
  expect([refused.status, refused.body.error]).toEqual([400, 'invalid_grant']);
});

test('a user who is deleted: the same, though neither user nor session is there any more', async () => {
  const person = await signedIn('/deleted');
  expect((await api.delete(`/users/${person.user.id}`)).status).toBe(204);
  await expectSignedOut(person, '/deleted');
  expect((await api.get(`/sessions?filter[user]=${person.user.id}`)).body['data']).toEqual([]);
  expect((await refresh(person)).status).toBe(400);
});

test('revoke_sessions: signed out everywhere, relying parties are told, offline grants go on; it takes sessions:write too', async () => {
  const person = await signedIn('/sessions');
  const only = new Api(service.url, await managementToken(service.url, managementClient, { scope: 'users:write' }));
  const denied = await only.patch(`/users/${person.user.id}/revoke_sessions`);
  expect([denied.status, denied.body['errors'][0].meta]).toEqual([403, { required: ['users:write', 'sessions:write'] }]);
  expect((await person.browser.get('/login')).status).toBe(303);
  const revoked = await api.patch(`/users/${person.user.id}/revoke_sessions`);
  expect([revoked.status, revoked.body['data'].attributes.full_name]).toEqual([200, 'Ada Lovelace']);
  await party.next((request) => request.path === '/sessions');
  expect([(await person.browser.get('/login')).status, (await refresh(person)).status]).toEqual([200, 200]);
  const log = (await api.get(`/audit_logs?filter[target]=${person.user.id}&filter[outcome]=success`)).body['data'];
  expect(log[0].attributes).toMatchObject({ action: 'user.sessions_revoked', changes: { sessions: [null, 1] } });
  expect((await api.patch(`/users/${person.user.id}/revoke_sessions`)).status).toBe(200);
});

test('revoke_tokens: clients hold nothing any more, the session goes on', async () => {
  const person = await signedIn('/tokens');
  expect((await api.patch(`/users/${person.user.id}/revoke_tokens`)).status).toBe(200);
  expect([(await refresh(person)).status, (await person.browser.get('/login')).status]).toEqual([400, 303]);
  const reader = new Api(service.url, await managementToken(service.url, managementClient, { scope: 'users:read' }));
  expect((await reader.patch(`/users/${person.user.id}/revoke_tokens`)).status).toBe(403);
  expect((await api.patch('/users/00000000-0000-7000-8000-000000000000/revoke_tokens')).status).toBe(404);
});

test('a refused deletion ends no session', async () => {
  const ctx = await service.context();
  const person = await signedIn('/refused');
  const role = (await api.get('/roles?filter[name]=administrator')).body['data'][0] as { id: string };
  expect((await api.post(`/users/${person.user.id}/relationships/roles`, { data: [{ type: 'role', id: role.id }] })).status).toBe(204);
  for (const refused of [await api.delete(`/users/${person.user.id}`), await api.patch(`/users/${person.user.id}/block`)])
    expect([refused.status, refused.body['errors'][0].code]).toEqual([409, 'last_administrator']);
  expect((await person.browser.get('/login')).status).toBe(303);
  expect(await ctx.db.knex('backchannel_logouts').where({ user_id: person.user.id })).toEqual([]);
});

test('every exchange of this file is as the OpenAPI document says', async () =>
  expect((await publishedDocument(service.url)).problemsOf(api.exchanges)).toEqual([]));
