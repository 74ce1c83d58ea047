// What tokens say of agents (specification 19.4): `act` in every flow of a person, `client_profile` in their own, and nothing that a request says.
import { beforeAll, expect, test } from 'vitest';
import { update } from '../../src/db/scope.js';
import type { ClientGrantRow } from '../../src/db/tables/client_grants.js';
import type { ClientRow } from '../../src/db/tables/clients.js';
import { tokenExchangeGrantType } from '../../src/lib/grant-types.js';
import { addClient, addGrant, addResource, addUser, type TestClient } from '../support/data.js';
import { authorizeCode, claimsOf, oauthPost, redeem, tokenRequest } from '../support/oauth.js';
import { contextOf, shared, sharedService } from '../support/shared-service.js';
import { signedIn } from '../support/signed-in.js';

const service = sharedService();
const ctx = contextOf(service);
const access_token_type = 'urn:ietf:params:oauth:token-type:access_token';
const user = shared(() => addUser(ctx));
const grant_types = ['authorization_code', 'refresh_token', 'client_credentials', tokenExchangeGrantType];
const agent = shared(() => addClient(ctx, { is_agent: true, grant_types }));
const app = shared(() => addClient(ctx, { grant_types }));
const api = shared(() => addResource(ctx, { identifier: 'https://agents.example', agent_claims: true }));
const opaque = shared(() => addResource(ctx, { identifier: 'https://opaque-agents.example', agent_claims: true, token_format: 'opaque' }));
const silent = shared(() => addResource(ctx, { identifier: 'https://silent.example' }));
const hidden = shared(() => addResource(ctx, { identifier: 'https://hidden.example', agent_claims: true }));
let browser: Awaited<ReturnType<typeof signedIn>>;

beforeAll(async () => {
  const subject_audiences = [api.identifier, opaque.identifier, silent.identifier];
  for (const client of [agent, app])
    for (const resource of [api, opaque, silent]) {
      await addGrant(ctx, client, resource, ['read']);
      await addGrant(ctx, client, resource, ['read'], 'user', { token_exchange: 'delegation', subject_audiences });
    }
  await addGrant(ctx, agent, hidden, ['read'], 'user', { token_exchange: 'impersonation', subject_audiences });
  browser = await signedIn(service, user);
});

async function tokensOf(client: TestClient, resource: { identifier: string }, more: Record<string, string> = {}) {
  const grant = await authorizeCode(browser, client, { resource: resource.identifier, scope: 'openid read', ...more });
  return (await redeem(service.url, client, grant)).body;
}
const exchange = (client: TestClient, subject_token: string, resource: { identifier: string }, more: Record<string, string> = {}) =>
  tokenRequest(service.url, client, {
    grant_type: tokenExchangeGrantType, subject_token, subject_token_type: access_token_type, resource: resource.identifier, ...more,
  }); // prettier-ignore
const introspect = async (token: string) => (await oauthPost(service.url, '/oauth/introspect', app, { token })).body;
const ofAgent = () => ({ sub: agent.id, client_id: agent.id, sub_profile: 'ai_agent' });

test('codes and refresh tokens give an agent tokens that say who acts, where the API asks for it', async () => {
  const { access_token, refresh_token } = await tokensOf(agent, api);
  expect(claimsOf(access_token)['act']).toEqual(ofAgent());
  expect(await introspect(access_token)).toMatchObject({ active: true, act: ofAgent() });
  const fields = { grant_type: 'refresh_token', refresh_token: String(refresh_token) };
  expect(claimsOf((await tokenRequest(service.url, agent, fields)).body.access_token)['act']).toEqual(ofAgent());
  expect((await introspect((await tokensOf(agent, opaque)).access_token)).act).toEqual(ofAgent());
  expect(claimsOf((await tokensOf(agent, silent)).access_token)['act']).toBeUndefined();
  expect(claimsOf((await tokensOf(app, api)).access_token)['act']).toBeUndefined();
});

test('an agent’s own tokens have client_profile', async () => {
  const own = (client: TestClient, { identifier }: { identifier: string }) =>
    tokenRequest(service.url, client, { grant_type: 'client_credentials', resource: identifier });
  const { access_token } = (await own(agent, api)).body;
  expect(claimsOf(access_token)).toMatchObject({ client_profile: 'ai_agent' });
  expect(claimsOf(access_token)['act']).toBeUndefined();
  expect(await introspect((await own(agent, opaque)).body.access_token)).toMatchObject({ client_profile: 'ai_agent' });
  for (const [client, resource] of [[agent, silent], [app, api]] as const)
    expect(claimsOf((await own(client, resource)).body.access_token)['client_profile']).toBeUndefined(); // prettier-ignore
});

test('an exchange nests the agent that the token was issued to, and itself is marked (RFC 8693 4.1)', async () => {
  const { access_token } = await tokensOf(agent, silent);
  const byService = (await exchange(app, access_token, api)).body.access_token;
  expect(claimsOf(byService)['act']).toEqual({ sub: app.id, client_id: app.id, act: ofAgent() });
  const person = (await tokensOf(app, silent)).access_token;
  const byAgent = (await exchange(agent, person, api)).body.access_token;
  expect(claimsOf(byAgent)['act']).toEqual(ofAgent());
  expect((await introspect(byAgent)).active).toBe(true);
  // It still ends with the policy, which a token of a code doesn't hang on.
  const where = { client_id: agent.id, api_resource_id: api.id, subject_type: 'user' } as const;
  await update<ClientGrantRow>(ctx.scope, 'client_grants', where, { token_exchange: 'none', subject_audiences: [] });
  ctx.cache.clear();
  expect((await introspect(byAgent)).active).toBe(false);
  expect((await introspect((await tokensOf(agent, api)).access_token)).active).toBe(true);
});

test('four act one for the other at most, agents among them (attack 53.1647)', async () => {
  let { access_token } = await tokensOf(agent, api);
  for (const client of [app, app, app]) access_token = (await exchange(client, access_token, opaque)).body.access_token;
  expect(await exchange(app, access_token, api)).toMatchObject({ status: 400, body: { error: 'invalid_request' } });
});

test('no parameter says who acts (attack 53.1646)', async () => {
  const act = JSON.stringify({ sub: 'somebody', client_id: 'somebody' });
  const more = { act, client_profile: 'human', sub_profile: 'human', claims: JSON.stringify({ userinfo: { act: null } }) };
  const { access_token, refresh_token } = await tokensOf(agent, api, more);
  expect(claimsOf(access_token)['act']).toEqual(ofAgent());
  const refreshed = await tokenRequest(service.url, agent, {
    grant_type: 'refresh_token',
    refresh_token: String(refresh_token),
    act,
    client_profile: 'human',
  });
  expect(claimsOf(refreshed.body.access_token)).toMatchObject({ act: ofAgent() });
  const exchanged = await exchange(app, access_token, opaque, { act });
  expect((await introspect(exchanged.body.access_token)).act).toEqual({ sub: app.id, client_id: app.id, act: ofAgent() });
});

test('an agent that impersonates, or brings somebody’s token as its actor’s, is told all the same (attack 53.1649)', async () => {
  const { access_token } = await tokensOf(agent, silent);
  expect(claimsOf((await exchange(agent, access_token, hidden)).body.access_token)['act']).toEqual(ofAgent());
  const brought = { actor_token: (await tokensOf(agent, silent)).access_token, actor_token_type: access_token_type };
  const { body } = await exchange(agent, access_token, opaque, brought);
  expect((await introspect(body.access_token)).act).toMatchObject({ sub: user.id, client_id: agent.id, client_profile: 'ai_agent' });
});

test('a client that is told otherwise is no agent from then on', async () => {
  await update<ClientRow>(ctx.scope, 'clients', { id: agent.id }, { is_agent: false });
  ctx.cache.clear();
  expect(claimsOf((await tokensOf(agent, api)).access_token)['act']).toBeUndefined();
});
