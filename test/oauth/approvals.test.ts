// A client asks a person who is elsewhere (CIBA Core 1.0), and gets what they allowed.
import { beforeEach, describe, expect, test } from 'vitest';
import { findApiResourceByIdentifier, type ApiResourceRow } from '../../src/db/tables/api_resources.js';
import type { UserRow } from '../../src/db/tables/users.js';
import { updateUser } from '../../src/db/tables/users.js';
import { blockClient, withdrawConsent } from '../../src/domain/grants/authorizations.js';
import { giveConsent } from '../../src/domain/grants/consents.js';
import { noOrigin } from '../../src/domain/origin.js';
import { transaction } from '../../src/domain/context.js';
import { approvalPathIn, asking, askFor, askOf, decide, freshlySignedIn, pollApproval } from '../support/approvals.js';
import { addClient, addEnvironment, addGrant, addResource, addUser, type TestClient } from '../support/data.js';
import { deviceCode, pollDevice, startDevice } from '../support/device.js';
import { createProofKey } from '../support/dpop.js';
import { setEnvironment } from '../support/factors.js';
import { lastMailTo, mailTo } from '../support/mailbox.js';
import { claimsOf, oauthPost, tokenRequest } from '../support/oauth.js';
import { contextOf, shared, sharedService } from '../support/shared-service.js';

const service = sharedService();
const ctx = contextOf(service);
const agent = shared(() => addClient(ctx, { ...asking, name: 'Acme Assistant', backchannel_users: 'any', first_party: false }));
const knowing = shared(() => addClient(ctx, { ...asking, name: 'Acme Desk', first_party: false }));
let user: UserRow;

beforeEach(async () => {
  user = await addUser(ctx);
});

const ask = (fields: Record<string, string> = {}, client: TestClient | null = agent) =>
  askFor(service.url, client, { login_hint: user.email, ...fields });
const asked = (fields: Record<string, string> = {}, client = agent) => askOf(service.url, client, { login_hint: user.email, ...fields });
const errorOf = async (fields: Record<string, string>, client?: TestClient) => (await ask(fields, client)).body.error;
const poll = (id: string, client = agent, fields: Record<string, string> = {}) => pollApproval(service.url, client, id, fields);
const pollError = async (id: string, client = agent) => (await poll(id, client)).body.error;
const path = () => approvalPathIn(service.url, user);
const answer = async (decision: string) => {
  const page = await path();
  service.clock.advance(1000);
  return decide(await freshlySignedIn(service, user), page, decision);
};
const stored = async (client: TestClient = agent) =>
  (await ctx.db.knex('approvals').where({ client_id: client.id }).orderBy('created_at', 'desc').first()) as Record<string, unknown>;

describe('the request', () => {
  test('gives a secret, its lifetime and five seconds; never cached (CIBA Core 1.0 7.3)', async () => {
    const answer = await ask({ binding_message: 'Pay 49.90 EUR' });
    expect([answer.status, answer.headers.get('cache-control')]).toEqual([200, 'no-store']);
    expect(answer.body).toEqual({ auth_req_id: expect.stringMatching(/^ar_[\w-]{43}$/) as string, expires_in: 600, interval: 5 });
    expect(await stored()).toMatchObject({ user_id: user.id, binding_message: 'Pay 49.90 EUR', decision: null });
  });

  test('the person is told by mail, where the page is and until when', async () => {
    await ask({ binding_message: 'Pay 49.90 EUR' });
    const mail = await lastMailTo(service.url, user.email);
    expect(mail.subject).toContain('Acme Assistant');
    expect(mail.text).toContain('Pay 49.90 EUR');
    expect(mail.text).toContain('10 minutes');
    expect(mail.text).toContain(`${service.url}${await path()}`);
  });

  test('names the person by address in any case, by user id, or by an ID token of the client, expired too', async () => {
    expect((await ask({ login_hint: user.email.toUpperCase() })).status).toBe(200);
    expect((await ask({ login_hint: user.id })).status).toBe(200);
    const id = await asked({ login_hint: user.email }, knowingAny);
    await answer('allow');
    const { id_token } = (await poll(id, knowingAny)).body;
    service.clock.advance(7200_000);
    expect((await askFor(service.url, knowingAny, { id_token_hint: id_token as string })).status).toBe(200);
    expect((await askFor(service.url, agent, { id_token_hint: id_token as string })).body.error).toBe('invalid_request');
    expect((await askFor(service.url, agent, { id_token_hint: 'none' })).body.error).toBe('invalid_request');
  });

  test.each([
    ['no hint', { login_hint: undefined }, 'invalid_request'],
    ['two hints', { id_token_hint: 'x' }, 'invalid_request'],
    ['login_hint_token', { login_hint_token: 'x' }, 'invalid_request'],
    ['user_code', { user_code: '1234' }, 'invalid_request'],
    ['a signed request', { request: 'x' }, 'invalid_request'],
    ['scope without openid', { scope: 'profile' }, 'invalid_scope'],
    ['a scope of no words', { scope: 'openid  "' }, 'invalid_scope'],
    ['an unknown resource', { resource: 'https://unknown.example' }, 'invalid_target'],
    ['an organization, of a client that takes none', { organization: 'acme' }, 'invalid_request'],
    ['requested_expiry 0', { requested_expiry: '0' }, 'invalid_request'],
    ['requested_expiry of no number', { requested_expiry: 'soon' }, 'invalid_request'],
    ['a class that nobody reaches', { acr_values: 'gold' }, 'invalid_request'],
    ['a long hint', { login_hint: 'a'.repeat(255) }, 'invalid_request'],
  ])('with %s is refused (CIBA Core 1.0 13)', async (_what, fields, error) => {
    const { login_hint = 'login_hint' in fields ? undefined : user.email, ...rest } = fields as Record<string, string | undefined>;
    const sent = { ...(login_hint !== undefined && { login_hint }), ...rest } as Record<string, string>;
    const refused = await askFor(service.url, agent, sent);
    expect([refused.status, refused.body.error]).toEqual([400, error]);
  });

  test.each([
    ' ',
    'x'.repeat(101),
    'two\nlines',
    'a\u202Eb',
    'zero\u200bwidth',
    'go to https://evil.example',
    'evil.example',
    'evil\u3002example',
    'www.evil',
    'a@b.example',
    '10.0.0.1',
    `a${'\u0301'.repeat(20)}`,
  ])('a binding_message that is none is refused: %j (attack 57.1760)', async (binding_message) => {
    expect(await errorOf({ binding_message })).toBe('invalid_binding_message');
  });

  test.each(['Überweisung 12/2026', 'Pay 49.90 EUR', '支払い 1,000円', 'دفع ١٠٠', 'ab', '👩‍💻 deploy v1.2.3', 'x'.repeat(100)])(
    'a binding_message of any script is taken: %j',
    async (binding_message) => expect((await ask({ binding_message })).status).toBe(200),
  );

  test('requested_expiry shortens, and never lengthens', async () => {
    expect((await ask({ requested_expiry: '60' })).body).toMatchObject({ expires_in: 60 });
    expect((await ask({ requested_expiry: '86400', login_hint: (await addUser(ctx)).email })).body).toMatchObject({ expires_in: 600 });
  });

  test('is for confidential clients with the grant', async () => {
    const other = await addClient(ctx);
    expect((await ask({}, other)).body.error).toBe('unauthorized_client');
    const open = await addClient(ctx, { grant_types: ['authorization_code'], token_endpoint_auth_method: 'none', secret_digest: null });
    const anonymous = await oauthPost(service.url, '/oauth/backchannel_authentication', null, {
      client_id: open.id,
      login_hint: user.email,
    });
    expect([anonymous.status, anonymous.body.error]).toEqual([401, 'invalid_client']);
    expect((await askFor(service.url, null, {})).status).toBe(401);
  });

  test('never asks for the Management API (attack 57.1761)', async () => {
    const api = (await findApiResourceByIdentifier(ctx.scope, ctx.environment.management_audience)) as ApiResourceRow;
    const client = await addClient(ctx, { ...asking, backchannel_users: 'any', first_party: false });
    await addGrant(ctx, client, api, ['users:read'], 'user');
    const request = { resource: api.identifier, scope: 'openid users:read' };
    expect(await errorOf(request, client)).toBe('invalid_target');
    expect(await stored(client)).toBeUndefined();
  });

  test('discovery tells of it (CIBA Core 1.0 4)', async () => {
    const metadata = (await (await fetch(`${service.url}/.well-known/openid-configuration`)).json()) as Record<string, unknown>;
    expect(metadata).toMatchObject({
      backchannel_authentication_endpoint: `${service.url}/oauth/backchannel_authentication`,
      backchannel_token_delivery_modes_supported: ['poll', 'ping'],
      backchannel_user_code_parameter_supported: false,
    });
    expect(metadata['grant_types_supported']).toContain('urn:openid:params:grant-type:ciba');
  });
});

const knowingAny = shared(() => addClient(ctx, { ...asking, backchannel_users: 'any', name: 'Any', first_party: false }));

describe('whom it may ask', () => {
  test('known: people with an authorization, all others are unknown alike', async () => {
    expect(await errorOf({}, knowing)).toBe('unknown_user_id');
    expect(await errorOf({ login_hint: 'nobody@example.com' }, knowing)).toBe('unknown_user_id');
    await transaction(ctx, (tx) =>
      giveConsent(tx, { user_id: user.id, client_id: knowing.id, scopes: ['openid'], resource: null }, noOrigin),
    );
    expect((await ask({}, knowing)).status).toBe(200);
    await transaction(ctx, (tx) => blockClient(tx, { user_id: user.id, client_id: knowing.id }, 'person'));
    expect(await errorOf({}, knowing)).toBe('unknown_user_id');
  });

  test('any: a hint of nobody gets an ordinary answer that expires, and nobody gets mail (attack 57.1762)', async () => {
    const hint = `nobody-${user.id}@example.com`;
    const blocked = await addUser(ctx, { status: 'blocked' });
    const answers = [];
    for (const login_hint of [hint, user.email, 'no-address', blocked.email, user.id.replace(/.$/, (last) => (last === '0' ? '1' : '0'))]) {
      const { status, body, headers } = await ask({ login_hint });
      answers.push([status, Object.keys(body), headers.get('cache-control')]);
      service.clock.advance(1000);
      const { auth_req_id } = body as unknown as { auth_req_id: string };
      expect(await pollError(auth_req_id)).toBe('authorization_pending');
      if (login_hint !== hint) continue;
      service.clock.advance(601_000);
      expect(await pollError(auth_req_id)).toBe('expired_token');
    }
    expect(new Set(answers.map((one) => JSON.stringify(one))).size).toBe(1);
    expect(await mailTo(service.url, hint)).toEqual([]);
    expect(await mailTo(service.url, blocked.email)).toEqual([]);
  });
});

describe('the answer', () => {
  test('yes: tokens once, of a session of its own; then the secret is spent (attack 57.1763)', async () => {
    const id = await asked({ scope: 'openid email', acr_values: '2' });
    expect(await pollError(id)).toBe('authorization_pending');
    service.clock.advance(6000);
    expect((await answer('allow')).status).toBe(200);
    const { status, body } = await poll(id);
    expect([status, body.scope, body.token_type]).toEqual([200, 'openid email', 'Bearer']);
    const claims = claimsOf(body.id_token as string);
    expect(claims).toMatchObject({ sub: user.id, aud: agent.id, acr: '2' });
    const session = await ctx.db.knex('sessions').where({ id: claims['sid'] }).first();
    expect(session).toMatchObject({ user_id: user.id, device_client_id: agent.id });
    expect(
      (await tokenRequest(service.url, agent, { grant_type: 'refresh_token', refresh_token: body.refresh_token as string })).status,
    ).toBe(200);
    const again = await poll(id);
    expect([again.status, again.body.error]).toEqual([400, 'invalid_grant']);
  });

  test('is given once: of two questions at once one gets tokens', async () => {
    const id = await asked();
    await answer('allow');
    const both = await Promise.all([poll(id), poll(id)]);
    expect(both.map(({ status }) => status).sort()).toEqual([200, 400]);
  });

  test('no: access_denied, and never tokens', async () => {
    const id = await asked();
    expect((await answer('deny')).status).toBe(200);
    const refused = await poll(id);
    expect([refused.status, refused.body.error]).toEqual([400, 'access_denied']);
  });

  test('questions that come too soon wait longer: slow_down (CIBA Core 1.0 11)', async () => {
    const id = await asked();
    expect(await pollError(id)).toBe('authorization_pending');
    expect(await pollError(id)).toBe('slow_down');
    service.clock.advance(10_000);
    expect(await pollError(id)).toBe('authorization_pending');
  });

  test('another client’s, a device’s and an unknown one are invalid_grant; nor does a device’s grant take one (attack 57.1764)', async () => {
    const id = await asked();
    expect(await pollError(id, knowing)).toBe('invalid_grant');
    expect(await pollError('ar_unknown')).toBe('invalid_grant');
    const device = await addClient(ctx, { ...asking, grant_types: [...asking.grant_types, deviceCode], backchannel_users: 'any' });
    const { device_code } = await startDevice(service.url, device);
    expect(await pollError(device_code, device)).toBe('invalid_grant');
    expect((await pollDevice(service.url, device, await asked({}, device))).body.error).toBe('invalid_grant');
  });

  test('is worth nothing in another environment', async () => {
    const other = await addEnvironment(service.deps, 'other-approvals');
    const there = await addClient(other, { ...asking, backchannel_users: 'any' });
    const id = await asked();
    const url = `${service.url}/e/other-approvals`;
    expect((await pollApproval(url, there, id)).status).not.toBe(200);
  });

  test('unanswered, or not fetched in time, it expires', async () => {
    const id = await asked({ requested_expiry: '30' });
    await answer('allow');
    service.clock.advance(31_000);
    expect(await pollError(id)).toBe('expired_token');
  });

  test('a token for an API resource, bound by DPoP', async () => {
    const api = await addResource(ctx, { identifier: `https://pay.example/${user.id}`, token_format: 'jwt' });
    const id = await asked({ resource: api.identifier, scope: 'openid read' });
    await answer('allow');
    const key = await createProofKey('ES256', () => service.clock.now().getTime());
    const dpop = await key.proof({ htu: `${service.url}/oauth/token` });
    const { status, body } = await oauthPost(
      service.url,
      '/oauth/token',
      agent,
      { grant_type: 'urn:openid:params:grant-type:ciba', auth_req_id: id },
      { dpop },
    );
    expect([status, body['token_type']]).toEqual([200, 'DPoP']);
    expect(claimsOf(body['access_token'] as string)).toMatchObject({ aud: api.identifier, sub: user.id });
  });

  test('what was approved and not fetched ends with the access, and with the person (attack 57.1765)', async () => {
    const withdrawn = await asked();
    await answer('allow');
    await transaction(ctx, (tx) => withdrawConsent(tx, user.id, agent.id, noOrigin));
    expect(await pollError(withdrawn)).toBe('expired_token');
    service.clock.advance(1000);
    const id = await asked();
    await answer('allow');
    await updateUser(ctx.scope, user.id, { status: 'blocked' });
    expect(await pollError(id)).toBe('invalid_grant');
  });

  test('makes an authorization of the origin approval, by which the client knows the person', async () => {
    await asked({ scope: 'openid email' });
    await answer('allow');
    const row = await ctx.db.knex('authorizations').where({ user_id: user.id, client_id: agent.id }).first();
    expect(row).toMatchObject({ origin: 'approval', resource_scopes: { '': ['openid', 'email'] } });
    expect((await mailTo(service.url, user.email)).map(({ subject }) => subject).join()).toContain('AI agent');
  });

  test('the approval_lifetime of the environment is the longest', async () => {
    await setEnvironment(service, { approval_lifetime: 3600 });
    expect((await ask()).body).toMatchObject({ expires_in: 3600 });
    await setEnvironment(service, { approval_lifetime: 600 });
  });
});
