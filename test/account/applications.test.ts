// /account/applications: what acts for a person, and its end (specification 19.5.6); what agents and sleeping access send by mail (19.5.7).
import { beforeEach, expect, test } from 'vitest';
import { findAuthorization } from '../../src/db/tables/authorizations.js';
import type { UserRow } from '../../src/db/tables/users.js';
import { transaction } from '../../src/domain/context.js';
import { blockClient } from '../../src/domain/grants/authorizations.js';
import { giveConsent } from '../../src/domain/grants/consents.js';
import { unusedAuthorizationPass } from '../../src/jobs/unused-authorizations.js';
import { authorizeGet, authorizeQuery } from '../support/authorize.js';
import { addIdentity } from '../support/assertions.js';
import { addConnection } from '../support/connections.js';
import { csrfOf, type Browser } from '../support/browser.js';
import { addClient, addResource, addUser, type TestClient } from '../support/data.js';
import { mailTo } from '../support/mailbox.js';
import { authorizeCode, oauthPost, redeem, tokenRequest } from '../support/oauth.js';
import { auditRows, lastRow } from '../support/security-events.js';
import { addProviderGrant, addProviderToken } from '../support/provider-tokens.js';
import { contextOf, shared, sharedService } from '../support/shared-service.js';
import { signedIn } from '../support/signed-in.js';

const service = sharedService();
const ctx = contextOf(service);
const api = shared(() => addResource(ctx, { identifier: 'https://notes.example', name: 'Notes' }));
let user: UserRow;
let browser: Browser;
let agent: TestClient;
let app: TestClient;
const grant_types = ['authorization_code', 'refresh_token'];

beforeEach(async () => {
  user = await addUser(ctx);
  browser = await signedIn(service, user);
  agent = await addClient(ctx, { name: 'Helper', is_agent: true, first_party: false, grant_types });
  app = await addClient(ctx, { name: 'Desk', grant_types });
});

const page = async () => (await browser.get('/account/applications')).text();
const allow = (client: TestClient) =>
  giveConsent(ctx, { user_id: user.id, client_id: client.id, scopes: ['openid', 'read'], resource: api.identifier });
async function tokensOf(client: TestClient) {
  const code = await authorizeCode(browser, client, { resource: api.identifier, scope: 'openid read' });
  return (await redeem(service.url, client, code)).body as { access_token: string; refresh_token: string };
}
const post = async (path: string) => browser.post(path, { _csrf: csrfOf(await page()), from: 'applications' });
const isActive = async (token: string) => (await oauthPost(service.url, '/oauth/introspect', app, { token })).body.active;

test('shows agents first: what each may do, where, who allowed it, and since when', async () => {
  await tokensOf(app);
  await allow(agent);
  const html = await page();
  expect(html.indexOf('Helper')).toBeGreaterThan(0);
  expect(html.indexOf('Helper')).toBeLessThan(html.indexOf('Desk'));
  for (const text of ['AI agent', 'Notes', 'Allowed by you on', 'Allowed by an administrator on', 'Last used on', 'End all agents', 'Never allow again']) expect(html).toContain(text); // prettier-ignore
  const { applications } = (await (await browser.get('/account/applications', { accept: 'application/json' })).json()) as { applications: { client_id: string; access: object[] }[] }; // prettier-ignore
  expect(applications.map(({ client_id }) => client_id)).toEqual([agent.id, app.id]);
  expect(applications[0]).toMatchObject({ is_agent: true, origin: 'person', blocked_by: null });
  expect(applications[0]?.access).toContainEqual({ api: 'Notes', scopes: [expect.any(String)] });
});

test('shows at which accounts at providers each has a token, until it has ended (specification 19.5.6)', async () => {
  const connection = await addConnection(ctx, { display_name: 'Corp Calendar', token_storage: true });
  const identity = { id: await addIdentity(ctx, connection, user, user.id), user_id: user.id, connection_id: connection.id };
  await addProviderGrant(ctx, agent.id, connection.id);
  await allow(agent);
  await allow(app);
  const id = await addProviderToken(ctx, { identity, client_id: agent.id });
  const accounts = async () => {
    const answer = await browser.get('/account/applications', { accept: 'application/json' });
    const { applications } = (await answer.json()) as { applications: { client_id: string; provider_accounts: object[] }[] };
    return Object.fromEntries(applications.map(({ client_id, provider_accounts }) => [client_id, provider_accounts]));
  };
  expect(await accounts()).toEqual({ [agent.id]: [{ provider: 'Corp Calendar', scopes: ['calendar'] }], [app.id]: [] });
  expect(await page()).toContain('Corp Calendar');
  await post(`/account/provider_tokens/${id}/revoke`);
  expect(await accounts()).toEqual({ [agent.id]: [], [app.id]: [] });
  expect(await page()).not.toContain('Corp Calendar');
});

test('one POST ends it; another blocks it, and lets it in again', async () => {
  const { access_token, refresh_token } = await tokensOf(app);
  expect((await post(`/account/applications/${app.id}/revoke`)).headers.get('location')).toBe('/account/applications?done=application');
  expect(await isActive(access_token)).toBe(false);
  expect((await tokenRequest(service.url, app, { grant_type: 'refresh_token', refresh_token })).body.error).toBe('invalid_grant');
  expect((await post(`/account/applications/${app.id}/revoke`)).status).toBe(404);
  const mine = { actor_id: user.id, target_type: 'client', target_id: app.id };
  expect(await lastRow(service, 'consent.withdrawn')).toMatchObject(mine);

  await tokensOf(app);
  await post(`/account/applications/${app.id}/block`);
  expect(await page()).toContain('Blocked');
  expect(await lastRow(service, 'authorization.blocked')).toMatchObject(mine);
  await post(`/account/applications/${app.id}/unblock`);
  expect(await lastRow(service, 'authorization.unblocked')).toMatchObject(mine);
  expect((await tokensOf(app)).access_token).toBeDefined();
  expect((await post(`/account/applications/${app.id}/unblock`)).status).toBe(404);
});

test('another person’s, and what an administrator blocked, is not theirs to change (attack 53.1645)', async () => {
  await allow(agent);
  const stranger = await signedIn(service, await addUser(ctx));
  const _csrf = csrfOf(await (await stranger.get('/account/applications')).text());
  for (const verb of ['revoke', 'block', 'unblock'])
    expect((await stranger.post(`/account/applications/${agent.id}/${verb}`, { _csrf })).status).toBe(404);
  expect(await findAuthorization(ctx.scope, { user_id: user.id, client_id: agent.id })).not.toBeNull();
  for (const verb of ['revoke', 'block', 'unblock']) expect((await browser.post(`/account/applications/${agent.id}/${verb}`, {})).status).toBe(403); // prettier-ignore
  await transaction(ctx, (tx) => blockClient(tx, { user_id: user.id, client_id: agent.id }, 'administrator'));
  expect(await page()).toContain('Blocked by an administrator');
  expect((await post(`/account/applications/${agent.id}/unblock`)).status).toBe(404);
});

test.each(['block', 'unblock'])('what an administrator blocks meanwhile is not theirs to %s (attack 68.1937)', async (verb) => {
  const pair = { user_id: user.id, client_id: agent.id };
  await allow(agent);
  const _csrf = csrfOf(await page());
  if (verb === 'unblock') await transaction(ctx, (tx) => blockClient(tx, pair, 'person'));
  const waiting = `select 1 from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock' and query like '%authorizations%'`;
  const asked = await transaction(ctx, async (tx) => {
    await blockClient(tx, pair, 'administrator');
    const answer = browser.post(`/account/applications/${agent.id}/${verb}`, { _csrf });
    await expect.poll(async () => (await ctx.db.knex.raw(waiting)).rows.length, { timeout: 30_000 }).toBe(1);
    return { answer };
  });
  await asked.answer;
  expect(await findAuthorization(ctx.scope, pair)).toMatchObject({ blocked_by: 'administrator' });
});

test('all agents end by one POST, and nothing else does', async () => {
  const second = await addClient(ctx, { name: 'Second', is_agent: true, grant_types });
  await allow(agent);
  const [ofAgent, ofApp] = [(await tokensOf(second)).access_token, (await tokensOf(app)).access_token];
  await post('/account/applications/end_agents');
  expect([await isActive(ofAgent), await isActive(ofApp)]).toEqual([false, true]);
  const ended = (await auditRows(service, 'consent.withdrawn')).filter(({ actor_id }) => actor_id === user.id);
  expect(ended.map(({ target_id }) => target_id).toSorted()).toEqual([agent.id, second.id].toSorted());
  for (const client of [agent, second]) expect(await findAuthorization(ctx.scope, { user_id: user.id, client_id: client.id })).toBeNull();
});

test('an agent’s first permission is told by mail, the next is not', async () => {
  const ask = (scope: string) => authorizeGet(browser, authorizeQuery(agent, { scope }));
  for (const scope of ['openid', 'openid email']) {
    const html = await (await ask(scope)).text();
    expect(html).toContain('AI agent');
    const request = /name="request" value="([^"]+)"/.exec(html)?.[1] ?? '';
    await browser.post('/oauth/consent', { _csrf: csrfOf(html), request, decision: 'allow' });
  }
  const told = async () => (await mailTo(service.url, user.email)).filter(({ subject }) => subject.includes('AI agent'));
  await expect.poll(told).toMatchObject([{ text: expect.stringContaining('Helper') }]);
});

test('access that slept too long ends, and the person is told; what is used stays', async () => {
  await ctx.db.knex('environments').where({ id: ctx.environment.id }).update({ unused_authorization_lifetime: 86_400 });
  ctx.cache.clear();
  await allow(agent);
  service.clock.advance(86_300_000);
  await giveConsent(ctx, { user_id: user.id, client_id: app.id, scopes: ['openid'], resource: null });
  expect(await unusedAuthorizationPass(service.deps)).toBe(0);
  service.clock.advance(200_000);
  expect(await unusedAuthorizationPass(service.deps)).toBeGreaterThan(0);
  expect(await findAuthorization(ctx.scope, { user_id: user.id, client_id: agent.id })).toBeNull();
  expect(await findAuthorization(ctx.scope, { user_id: user.id, client_id: app.id })).not.toBeNull();
  const subjects = async () => (await mailTo(service.url, user.email)).map(({ subject }) => subject);
  await expect.poll(subjects).toContainEqual(expect.stringContaining('Helper no longer has access'));
});
