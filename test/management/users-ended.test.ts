// Who is blocked or deleted is signed out everywhere: sessions end first, so that relying parties are told (OIDC Back-Channel Logout 1.0).
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { UserRow } from '../../src/db/tables/users.js';
import { Browser } from '../support/browser.js';
import { addClient, addUser, password, type TestClient } from '../support/data.js';
import { manage, startManagedService, type Api } from '../support/management.js';
import { authorizeCode, claimsOf, oauthPost, redeem, tokenRequest, type TokenAnswer } from '../support/oauth.js';
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

test('a refused deletion ends no session', async () => {
  const ctx = await service.context();
  const person = await signedIn('/refused');
  const role = (await api.get('/roles?filter[name]=administrator')).body['data'][0] as { id: string };
  expect((await api.post(`/users/${person.user.id}/relationships/roles`, { data: [{ type: 'role', id: role.id }] })).status).toBe(204);
  for (const refused of [await api.delete(`/users/${person.user.id}`), await api.patch(`/users/${person.user.id}/block`)])
    expect([refused.status, refused.body['errors'][0].code]).toEqual([409, 'last_administrator']);
  expect((await person.browser.get('/login')).status).toBe(303);
  expect(await ctx.knex('backchannel_logouts').where({ user_id: person.user.id })).toEqual([]);
});
