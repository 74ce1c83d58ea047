import { once } from 'node:events';
import { request as httpRequest, type IncomingMessage } from 'node:http';
import { expect, test } from 'vitest';
import { giveConsent, isConsented } from '../../src/domain/grants/consents.js';
import { endSessions } from '../../src/domain/sessions/sessions.js';
import { backchannelQueueRows, insertBackchannelLogouts, recordBackchannelAttempts } from '../../src/db/tables/backchannel_logouts.js';
import { spendAssertion } from '../../src/db/tables/client_assertions.js';
import { deleteConsent, findConsent, listConsentsOfUser } from '../../src/db/tables/consents.js';
import { digest } from '../../src/lib/digest.js';
import { addClient, addEnvironment, addUser } from '../support/data.js';
import { authorizeCode, claimsOf, redeem } from '../support/oauth.js';
import { contextOf, shared, sharedService } from '../support/shared-service.js';
import { signedIn } from '../support/signed-in.js';

const service = sharedService();
const own = contextOf(service);
const foreign = shared(() => addEnvironment(service.deps, 'staging'));

test('consents, logout tokens and spent assertions of one environment are nothing to another', async () => {
  const [user, client] = [await addUser(own), await addClient(own, { backchannel_logout_uri: 'http://127.0.0.1:9/closed' })];
  const question = { user_id: user.id, client_id: client.id, scopes: ['openid'], resource: null };
  await giveConsent(own, question);
  expect([await isConsented(own, question), await isConsented(foreign, question)]).toEqual([true, false]);
  const { scope } = foreign;
  expect(await findConsent(scope, user.id, client.id)).toBeNull();
  expect(await listConsentsOfUser(scope, user.id)).toEqual([]);
  expect(await deleteConsent(scope, user.id, client.id)).toBe(false);
  await expect(giveConsent(foreign, question)).rejects.toMatchObject({ sqlstate: '23503' });

  const browser = await signedIn(service, user);
  const { body } = await redeem(service.url, client, await authorizeCode(browser, client));
  const sid = String(claimsOf(body.id_token ?? '')['sid']);
  const now = service.clock.now();
  expect(await insertBackchannelLogouts(scope, [sid], service.url, now)).toBe(0);
  expect(await endSessions(foreign, { user_id: user.id }, 'revoked')).toEqual([]);

  await service.deps.db.knex('backchannel_logouts').insert({
    environment_id: own.environment.id, id: sid, client_id: client.id, session_id: sid, user_id: user.id, logout_uri: 'http://127.0.0.1:9', issuer: service.url,
    next_attempt_at: new Date(now.getTime() + 3_600_000), created_at: now,
  }); // prettier-ignore
  const later = new Date(now.getTime() + 7_200_000);
  const lease_id = sid;
  await service.deps.db.knex('backchannel_logouts').where({ id: sid }).update({ lease_id });
  const record = {
    id: sid,
    lease_id,
    status: 'delivered',
    retry_in_ms: null,
    last_response_status: 200,
    last_error: null,
    at: now,
  } as const;
  expect(await recordBackchannelAttempts(service.deps.db.knex, [{ environment_id: scope.environment_id, ...record }])).toEqual([]);
  const strangers = { environment_id: scope.environment_id, id: client.id, due_at: now, limit: 5 };
  expect(await backchannelQueueRows.claim(service.deps.db.knex, [strangers], { lease_id, leaseMs: 1_000 })).toEqual([]);
  await backchannelQueueRows.release(service.deps.db.knex, [{ environment_id: scope.environment_id, id: sid, lease_id, due_at: now }]);
  expect((await service.deps.db.knex('backchannel_logouts').where({ id: sid }).first()) as object).toMatchObject({
    status: 'pending',
    attempt_count: 0,
    lease_id,
  });

  expect(await spendAssertion(own.scope, client.id, digest('jti'), later)).toBe(true);
  expect(await spendAssertion(own.scope, client.id, digest('jti'), later)).toBe(false);
  // A client of that id there may be another one: what is spent here is not spent there.
  expect(await spendAssertion(scope, client.id, digest('jti'), later)).toBe(true);
});

test("an ID token of another environment is no hint, and its clients' addresses are not gone to", async () => {
  const user = await addUser(own);
  const client = await addClient(own, { post_logout_redirect_uris: ['https://app.example/bye'] });
  const browser = await signedIn(service, user);
  const { body } = await redeem(service.url, client, await authorizeCode(browser, client));
  const query = new URLSearchParams({ id_token_hint: String(body.id_token), post_logout_redirect_uri: 'https://app.example/bye' });
  const { port, host } = new URL(service.url);
  const request = httpRequest({
    host: '127.0.0.1',
    port,
    path: `/oauth/logout?${query.toString()}`,
    headers: { host: `staging.${host}` },
  }).end();
  const [response] = (await once(request, 'response')) as [IncomingMessage];
  response.resume();
  expect([response.statusCode, response.headers.location]).toEqual([200, undefined]);
});
