// What consent and tokens that are used twice leave behind: by name, success and refusal.
import { beforeEach, expect, test } from 'vitest';
import { Dangling } from '../../src/db/connection/failures.js';
import { findConsent } from '../../src/db/tables/consents.js';
import type { UserRow } from '../../src/db/tables/users.js';
import { giveConsent } from '../../src/domain/grants/consents.js';
import { noOrigin } from '../../src/domain/origin.js';
import { uuidv7 } from '../../src/lib/random.js';
import { authorizeGet, authorizeQuery } from '../support/authorize.js';
import { Browser, csrfOf } from '../support/browser.js';
import { addClient, addResource, addUser, password, type TestClient } from '../support/data.js';
import { authorizeCode, redeem, tokenRequest } from '../support/oauth.js';
import { auditRows, eventLines, marks, origin } from '../support/security-events.js';
import { contextOf, sharedService } from '../support/shared-service.js';

const service = sharedService();
const ctx = contextOf(service);
let client: TestClient;
let user: UserRow;
let browser: Browser;

beforeEach(async () => {
  [client, user] = [await addClient(ctx), await addUser(ctx)];
  browser = new Browser(service.url, marks);
  await browser.login(user.email, password);
});

const rowsOf = async (action: string) =>
  (await auditRows(service, action)).filter(({ actor_id }) => actor_id === user.id || actor_id === client.id);

/** The grant without its happy end: everything the trace must not hold. */
async function expectSecret(...values: readonly string[]): Promise<void> {
  const written = JSON.stringify(await service.deps.db.knex('audit_logs')) + service.log.join();
  for (const value of values) expect(written).not.toContain(value);
}

test('authorization_code.reused: told with the client, the person and the grant, once a minute; the first use tells nothing', async () => {
  const grant = await authorizeCode(browser, client);
  const { status, body } = await redeem(service.url, client, grant);
  expect([status, await rowsOf('authorization_code.reused')]).toEqual([200, []]);
  for (let i = 0; i < 3; i++) expect((await redeem(service.url, client, grant)).status).toBe(400);
  const rows = await rowsOf('authorization_code.reused');
  expect(rows.reduce((sum, { count }) => sum + count, 0)).toBe(3);
  expect(rows.length).toBeLessThanOrEqual(2);
  expect(rows[0]).toMatchObject({
    outcome: 'denied',
    actor_kind: 'client',
    actor_id: client.id,
    actor_display: client.name,
    target_type: 'user',
    target_id: user.id,
    ip_address: '127.0.0.1',
  });
  expect(rows[0]?.request_id).toMatch(/^[\w-]{36}$/);
  expect(eventLines(service, 'authorization_code.reused').at(-1)).toMatchObject({
    severity: 'critical',
    actor_id: client.id,
    target_id: user.id,
  });
  await expectSecret(grant.code, grant.verifier, body.access_token, body.refresh_token as string);
});

test('authorization_code.reused: a code that nobody ever got is no reuse', async () => {
  const grant = await authorizeCode(browser, client);
  expect((await redeem(service.url, client, { ...grant, code: 'ac_unknown' })).status).toBe(400);
  expect(await rowsOf('authorization_code.reused')).toEqual([]);
});

test('refresh_token.reused: told when the tolerance is over; using the successor tells nothing (attack 21.277)', async () => {
  client = await addClient(ctx, { token_endpoint_auth_method: 'none', application_type: 'spa', require_pkce: true });
  const { body } = await redeem(service.url, client, await authorizeCode(browser, client));
  const refresh = (refresh_token: string) => tokenRequest(service.url, client, { grant_type: 'refresh_token', refresh_token });
  const first = body.refresh_token as string;
  const second = (await refresh(first)).body.refresh_token as string;
  service.clock.advance(31_000);
  expect((await refresh(second)).status).toBe(200);
  expect(await rowsOf('refresh_token.reused')).toEqual([]);
  expect((await refresh(first)).status).toBe(400);
  expect(await rowsOf('refresh_token.reused')).toMatchObject([{ outcome: 'denied', actor_kind: 'client', target_id: user.id, count: 1 }]);
  expect(eventLines(service, 'refresh_token.reused').at(-1)).toMatchObject({ severity: 'critical', target_id: user.id });
  await expectSecret(first, second);
});

async function answerConsent(decision: 'allow' | 'deny'): Promise<void> {
  const page = await (await authorizeGet(browser, authorizeQuery(client, { scope: 'openid email', prompt: 'consent' }))).text();
  const request = /name="request" value="([^"]+)"/.exec(page)?.[1] ?? '';
  expect((await browser.post('/oauth/consent', { _csrf: csrfOf(page), request, decision })).status).toBe(303);
}

test('consent.given, with what was allowed (attack 21.277)', async () => {
  await answerConsent('allow');
  expect(await rowsOf('consent.given')).toMatchObject([
    {
      outcome: 'success',
      actor_kind: 'user',
      actor_id: user.id,
      target_type: 'client',
      target_id: client.id,
      changes: { scopes: [null, ['openid', 'email']], resource: [null, null] },
      ...origin,
    },
  ]);
  expect(eventLines(service, 'consent.given').at(-1)).toMatchObject({ actor_id: user.id, target_id: client.id, ...origin });
  expect(await rowsOf('consent.denied')).toEqual([]);
});

test.each([
  ['by itself', false],
  ['with a resource', true],
])('consent.given %s: the consent, its one entry and its line are there together, or none of them', async (_, withResource) => {
  const resource = withResource ? (await addResource(ctx)).identifier : null;
  const question = { user_id: user.id, client_id: client.id, scopes: ['openid', 'read'], resource };
  const traces = async () => ({
    consent: (await findConsent(ctx.scope, user.id, client.id)) !== null,
    entries: (await rowsOf('consent.given')).length,
    lines: eventLines(service, 'consent.given').filter(({ target_id }) => target_id === client.id).length,
  });
  await expect(giveConsent(ctx, { ...question, user_id: uuidv7(0) }, noOrigin)).rejects.toThrow(Dangling);
  await ctx.db.knex.raw(`alter table audit_logs add constraint of_the_test check (action <> 'consent.given') not valid`);
  await expect(giveConsent(ctx, question, noOrigin)).rejects.toThrow('of_the_test');
  await ctx.db.knex.raw('alter table audit_logs drop constraint of_the_test');
  if (withResource) {
    // What is without a resource is stored before.
    await ctx.db.knex.raw(`alter table consents add constraint of_the_test check (resources = '{}') not valid`);
    await expect(giveConsent(ctx, question, noOrigin)).rejects.toThrow('of_the_test');
    await ctx.db.knex.raw('alter table consents drop constraint of_the_test');
  }
  expect(await traces()).toEqual({ consent: false, entries: 0, lines: 0 });
  expect((await auditRows(service, 'consent.given')).filter(({ target_id }) => target_id === client.id)).toEqual([]);
  expect([await giveConsent(ctx, question, noOrigin), await traces()]).toEqual([true, { consent: true, entries: 1, lines: 1 }]);
  expect([await giveConsent(ctx, question, noOrigin), await traces()]).toEqual([false, { consent: true, entries: 2, lines: 2 }]);
});

test('consent.denied: nothing was given', async () => {
  await answerConsent('deny');
  expect(await rowsOf('consent.denied')).toMatchObject([{ outcome: 'denied', actor_id: user.id, target_id: client.id, ...origin }]);
  expect(await rowsOf('consent.given')).toEqual([]);
});

test('consent.withdrawn: by the person on the account page; what was never given can’t be', async () => {
  await answerConsent('allow');
  const withdraw = (client_id: string) => browser.postJson(`/account/applications/${client_id}/revoke`, {});
  expect((await withdraw('no-such-client')).status).toBe(404);
  expect(await rowsOf('consent.withdrawn')).toEqual([]);
  expect((await withdraw(client.id)).status).toBe(200);
  expect(await rowsOf('consent.withdrawn')).toMatchObject([{ outcome: 'success', actor_id: user.id, target_id: client.id, ...origin }]);
  expect(eventLines(service, 'consent.withdrawn').at(-1)).toMatchObject({ actor_id: user.id, ...origin });
});
