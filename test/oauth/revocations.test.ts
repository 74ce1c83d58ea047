// The revocation feed: who may read it, what it says, and that all that ends a JWT at introspection ends it for an API that follows the feed.
import { createHash } from 'node:crypto';
import { decodeProtectedHeader, jwtVerify, createLocalJWKSet } from 'jose';
import { afterEach, describe, expect, onTestFinished, test, vi } from 'vitest';
import { createTokenVerifier } from '../../packages/client/src/index.js';
import { withdrawConsent } from '../../src/domain/grants/authorizations.js';
import { transaction } from '../../src/domain/context.js';
import { endGrant } from '../../src/domain/tokens/revoke.js';
import { remove } from '../../src/db/scope.js';
import { expiringTables } from '../../src/db/tables/expiring.js';
import { revokeId } from '../../src/db/tables/revocations.js';
import { addClient, addEnvironment, addGrant, addMachine, addResource, addUser, type TestClient } from '../support/data.js';
import { manage } from '../support/management.js';
import { authorizeCode, basic, claimsOf, oauthPost, redeem, tokenRequest } from '../support/oauth.js';
import { addMembership, addOrganization, changeRow } from '../support/organizations.js';
import { startTestService } from '../support/service.js';
import { contextOf, shared, sharedManagedService } from '../support/shared-service.js';
import { signedIn } from '../support/signed-in.js';

const service = sharedManagedService();
const ctx = contextOf(service);
const reader = shared(() => addClient(ctx));
const api = shared(() => manage(service.url));
afterEach(() => vi.useRealTimers());

type Feed = { iss: string; iat: number; exp: number; entries: Record<string, unknown>[]; more: boolean; next: string };

const get = (after?: string, headers: Record<string, string> = { authorization: basic(reader) }, url = service.url) =>
  fetch(`${url}/oauth/revocations${after === undefined ? '' : `?after=${encodeURIComponent(after)}`}`, { headers });
const feedOf = async (after?: string, url?: string) => claimsOf(await (await get(after, undefined, url)).text()) as Feed;
const verifierFor = (audience: string, fetch?: typeof globalThis.fetch) =>
  createTokenVerifier({
    issuer: service.url,
    audience,
    revocations: { clientId: reader.id, clientSecret: reader.client_secret },
    ...(fetch && { fetch }),
  });
const introspect = async (token: string) => (await oauthPost(service.url, '/oauth/introspect', reader, { token })).body['active'];

/** A person's token for an API of its own, with everything that it hangs on. */
async function world(parameters: Record<string, string> = {}) {
  const user = await addUser(ctx);
  const client = await addClient(ctx);
  const resource = await addResource(ctx, { identifier: `https://${client.id}.example`, allow_unverified_clients: true });
  const organization = await addOrganization(ctx);
  await addMembership(ctx, organization, user);
  const browser = await signedIn(service, user);
  const ask = async (more: Record<string, string> = {}) => {
    const fields = { scope: 'openid read', resource: resource.identifier, ...parameters, ...more };
    return (await redeem(service.url, client, await authorizeCode(browser, client, fields))).body;
  };
  return { user, client, resource, organization, browser, ask };
}
type World = Awaited<ReturnType<typeof world>>;

const change = (name: string, where: Record<string, unknown>, changes: Record<string, unknown>) =>
  changeRow(ctx, name, where, { updated_at: ctx.clock.now(), ...changes });
const gone = async (name: string, where: Record<string, unknown>) => {
  await remove(ctx.scope, name, where as never);
  ctx.cache.invalidate(ctx.environment.id, name);
};
const session = (token: string) => String(claimsOf(token)['sid']);

const endings: Record<string, (world: World, token: string) => Promise<unknown>> = {
  'the token itself': ({ client }, token) => oauthPost(service.url, '/oauth/revoke', client, { token }),
  'its grant': (_, token) => endGrant(ctx, String(claimsOf(token)['gid'])),
  'its consent': ({ user, client }) => transaction(ctx, (tx) => withdrawConsent(tx, user.id, client.id)),
  'its session, by an administrator': (_, token) => api.delete(`/sessions/${session(token)}`),
  'its session, by the person': ({ browser }) => browser.submit('/logout', {}),
  'a blocked person': ({ user }) => api.patch(`/users/${user.id}/block`),
  'a person who is gone': ({ user }) => api.delete(`/users/${user.id}`),
  'a status that another process wrote': ({ user }) => change('users', { id: user.id }, { status: 'blocked' }),
  'a disabled client': ({ client }) => api.update('clients', client.id, { status: 'disabled' }),
  'a client whose tokens were revoked': ({ client }) => api.patch(`/clients/${client.id}/revoke_tokens`),
  'a client that is gone': ({ client }) => api.delete(`/clients/${client.id}`),
  'a client whose document is gone': ({ client }) => change('clients', { id: client.id }, { document_ended_at: ctx.clock.now() }),
  'an API that is gone': ({ resource }) => api.delete(`/api_resources/${resource.id}`),
  'an API that takes granted clients alone': ({ resource }) => change('api_resources', { id: resource.id }, { user_access: 'granted' }),
};

const ofMembers: typeof endings = {
  'a suspended membership': ({ organization, user }) =>
    change('organization_memberships', { organization_id: organization.id, user_id: user.id }, { status: 'suspended' }),
  'a membership that is gone': ({ organization, user }) =>
    gone('organization_memberships', { organization_id: organization.id, user_id: user.id }),
  'a disabled organization': ({ organization }) => change('organizations', { id: organization.id }, { status: 'disabled' }),
  'an organization that is gone': ({ organization }) => gone('organizations', { id: organization.id }),
};

async function endsBoth(made: World, token: string, end: (typeof endings)[string], other: string): Promise<void> {
  const { identifier } = made.resource;
  expect(await introspect(token)).toBe(true);
  await verifierFor(identifier)(token);
  await end(made, token);
  expect(await introspect(token)).toBe(false);
  await expect(verifierFor(identifier)(token)).rejects.toThrow('ended before its time');
  await verifierFor(String(claimsOf(other)['aud']))(other);
}

describe('whatever ends a token at introspection, ends it by the feed, and no other (specification 20.1.3)', () => {
  test.each(Object.entries(endings))('%s', async (_what, end) => {
    const [made, other] = [await world(), await world()];
    await endsBoth(made, (await made.ask()).access_token, end, (await other.ask()).access_token);
  });

  test.each(Object.entries(ofMembers))('%s, and not the person’s other tokens', async (_what, end) => {
    const made = await world();
    const own = (await made.ask()).access_token;
    await changeRow(ctx, 'clients', { id: made.client.id }, { organization_usage: 'allow' });
    await endsBoth(made, (await made.ask({ organization: made.organization.id })).access_token, end, own);
  });

  test.each([
    ['that is gone', (client: TestClient) => gone('client_grants', { client_id: client.id })],
    ['that gives less', (client: TestClient) => change('client_grants', { client_id: client.id }, { scopes: [] })],
  ])('a client’s grant %s', async (_what, end) => {
    const made = await world();
    const machine = await addMachine(ctx, made.resource);
    await addGrant(ctx, machine, made.resource, ['read'], 'user');
    const fields = { grant_type: 'client_credentials', resource: made.resource.identifier };
    const token = (await tokenRequest(service.url, machine, fields)).body.access_token;
    await endsBoth(made, token, () => end(machine), (await made.ask()).access_token);
  });

  test('offline access outlives a session there and here; a sign-out after it does not end it', async () => {
    const made = await world();
    const { access_token } = await made.ask({ scope: 'openid offline_access read' });
    await api.delete(`/sessions/${session(access_token)}`);
    expect(await introspect(access_token)).toBe(true);
    await verifierFor(made.resource.identifier)(access_token);
  });

  test('what is issued after an ending is good, within the same second too', async () => {
    const made = await world();
    const old = (await made.ask()).access_token;
    await api.patch(`/clients/${made.client.id}/revoke_tokens`);
    const fresh = (await made.ask()).access_token;
    await verifierFor(made.resource.identifier)(fresh);
    await expect(verifierFor(made.resource.identifier)(old)).rejects.toThrow('ended');
  });
});

describe('who reads', () => {
  test('without authentication it is 401, for a public client too (attack 54.1670)', async () => {
    const spa = await addClient(ctx, { token_endpoint_auth_method: 'none', application_type: 'spa' });
    for (const headers of [{}, { authorization: `Basic ${Buffer.from(`${reader.id}:no`).toString('base64')}` }])
      expect((await get(undefined, headers as Record<string, string>)).status).toBe(401);
    expect((await oauthPost(service.url, '/oauth/revocations', spa, {})).status).toBe(401);
  });

  test('a client that may not introspect is refused (attack 54.1671)', async () => {
    const stranger = await addClient(ctx, { introspection_allowed: false });
    const answer = await get(undefined, { authorization: basic(stranger) });
    expect([answer.status, await answer.json()]).toMatchObject([400, { error: 'unauthorized_client' }]);
  });

  test('a client of another environment is unknown here, and its feed has nothing of ours (attack 54.1672)', async () => {
    const foreign = await addEnvironment(service.deps, 'staging');
    expect((await get(undefined, { authorization: basic(await addClient(foreign)) })).status).toBe(401);
    await revokeId(foreign.scope, '01890000-0000-7000-8000-0000000000ff', new Date(Date.now() + 60_000));
    expect(JSON.stringify((await feedOf()).entries)).not.toContain('0000000000ff');
  });

  test('a client that authenticates in the body sends a form', async () => {
    const fields = { client_id: reader.id, client_secret: reader.client_secret, after: (await feedOf()).next };
    const send = (form: Record<string, string>) =>
      fetch(`${service.url}/oauth/revocations`, { method: 'POST', body: new URLSearchParams(form) });
    expect((await send(fields)).headers.get('content-type')).toBe('application/revocations+jwt');
    expect((await send({ ...fields, after: 'x' })).status).toBe(400);
  });

  test('too many reads are 429 (specification 10.1)', async () => {
    const limited = await startTestService({ RATE_LIMITS: 'on', RATE_LIMIT_STORE: 'memory' });
    onTestFinished(() => limited.stop());
    const client = await addClient(await limited.context());
    const statuses = [];
    for (let i = 0; i < 601; i += 1) statuses.push((await get('0', { authorization: basic(client) }, limited.url)).status);
    expect([statuses[599], statuses[600]]).toEqual([200, 429]);
  });
});

describe('what it is', () => {
  test('a JWT of its own type, good for a minute, which caches keep for five seconds (specification 20.1.1)', async () => {
    const answer = await get();
    expect(answer.headers.get('cache-control')).toBe('private, max-age=5');
    const text = await answer.text();
    const keys = (await (await fetch(`${service.url}/.well-known/jwks.json`)).json()) as Parameters<typeof createLocalJWKSet>[0];
    const { payload } = await jwtVerify(text, createLocalJWKSet(keys), { issuer: service.url, typ: 'revocations+jwt' });
    expect(payload.exp).toBe((payload.iat as number) + 60);
    expect(decodeProtectedHeader(text).alg).toBe('RS256');
  });

  test('whoever has it already is answered 304, until something ends', async () => {
    vi.useFakeTimers({ toFake: ['Date'], now: Math.ceil(Date.now() / 10_000) * 10_000 });
    const etag = (await get()).headers.get('etag') ?? '';
    const again = () => get(undefined, { authorization: basic(reader), 'if-none-match': etag });
    expect((await again()).status).toBe(304);
    await revokeId(ctx.scope, '01890000-0000-7000-8000-000000000001', new Date(Date.now() + 60_000));
    expect((await again()).status).toBe(200);
  });

  test.each(['x', '1~2~3', '123456789012345678901', '1~01890000-0000-7000-8000-000000000001', "1'"])(
    'after=%s is refused',
    async (after) => {
      const answer = await get(after);
      expect([answer.status, await answer.json()]).toMatchObject([400, { error: 'invalid_request' }]);
    },
  );

  test('a long feed comes in pages, and each reader gets all of it (specification 20.1.4)', async () => {
    const ids = Array.from({ length: 1500 }, (_, i) => `01890000-0000-7000-9000-${String(i).padStart(12, '0')}`);
    await ctx.db
      .knex('revocations')
      .insert(ids.map((id) => ({ environment_id: ctx.environment.id, id, expires_at: new Date(Date.now() + 60_000) })));
    const first = await feedOf();
    expect([first.more, first.entries.length]).toEqual([true, 1000]);
    const found: unknown[] = [];
    let page = first;
    for (;;) {
      found.push(...page.entries.map(({ jti }) => jti));
      if (!page.more) break;
      page = await feedOf(page.next);
    }
    expect(found).toEqual(expect.arrayContaining(ids));
    // What was noted in the last two minutes comes once more.
    expect((await feedOf(page.next)).entries.length).toBeGreaterThan(0);
    const verify = verifierFor('https://none.example');
    await expect(verify('x')).rejects.toThrow();
  });

  test('entries go when no token that they end can be alive', async () => {
    const table = expiringTables(ctx.config).find(({ name }) => name === 'revocation_feed');
    expect(table).toMatchObject({ column: 'until', keepSeconds: 0 });
    await ctx.db.knex('revocation_feed').update({ until: new Date(Date.now() - 1000) });
    expect((await feedOf()).entries).toEqual([]);
    await revokeId(ctx.scope, '01890000-0000-7000-8000-000000000002', new Date(Date.now() + 400 * 86_400_000));
    const [{ until } = { until: 0 }] = (await feedOf()).entries as { until: number }[];
    expect(until - Date.now() / 1000).toBeLessThanOrEqual(86_401);
  });

  test('two replicas tell the same', async () => {
    const replica = await startTestService(
      { BASE_URL: service.url },
      { database: { url: service.databaseUrl, secretKey: service.secretKey } },
    );
    onTestFinished(() => replica.stop());
    const made = await world();
    const { access_token } = await made.ask();
    await api.delete(`/sessions/${session(access_token)}`);
    const at = (port: number) => feedOf(undefined, `http://localhost:${port}`);
    expect((await at(replica.config.port)).entries).toContainEqual(expect.objectContaining({ sid: session(access_token) }));
  });
});

describe('our client (specification 20.1.5)', () => {
  /** The network, whose feed may be another. */
  const network = (feed: (input: string, init?: RequestInit) => Promise<Response> | null): typeof globalThis.fetch =>
    (async (input: string, init?: RequestInit) =>
      (input.includes('/oauth/revocations') && (await feed(input, init))) || fetch(input, init)) as typeof globalThis.fetch;

  test('a token is dead within ten seconds, without a request for each', async () => {
    const made = await world();
    const { access_token } = await made.ask();
    let reads = 0;
    const verify = verifierFor(
      made.resource.identifier,
      network(() => ((reads += 1), null)),
    );
    await verify(access_token);
    await verify(access_token);
    expect(reads).toBe(1);
    await api.delete(`/sessions/${session(access_token)}`);
    vi.useFakeTimers({ toFake: ['Date'], now: Date.now() + 10_000 });
    await expect(verify(access_token)).rejects.toThrow('ended');
    expect(reads).toBe(2);
  });

  test('a feed that is over a minute old takes no token, and a shorter failure matters to nobody (attack 54.1673)', async () => {
    const made = await world();
    const { access_token } = await made.ask();
    let away = false;
    const verify = verifierFor(
      made.resource.identifier,
      network(() => (away ? Promise.reject(new Error('away')) : null)),
    );
    await verify(access_token);
    away = true;
    const start = Date.now();
    vi.useFakeTimers({ toFake: ['Date'], now: start + 40_000 });
    await verify(access_token);
    vi.setSystemTime(start + 62_000);
    await expect(verify(access_token)).rejects.toThrow('over 60 seconds old');
  });

  test('an old feed that is played again, one of another issuer and type, and a forged one are not believed (attack 54.1674)', async () => {
    const made = await world();
    const { access_token } = await made.ask();
    const old = await (await get()).text();
    const [head, , tail] = old.split('.');
    const forged = `${head}.${Buffer.from(JSON.stringify({ ...claimsOf(old), entries: [] })).toString('base64url')}.${tail}`;
    for (const text of [access_token, forged, old.replace(/\.[^.]*$/, '.'), createHash('sha256').digest('hex')])
      await expect(
        verifierFor(
          made.resource.identifier,
          network(async () => new Response(text)),
        )(access_token),
      ).rejects.toThrow('over 60 seconds old');
    vi.useFakeTimers({ toFake: ['Date'], now: Date.now() + 90_000 });
    await expect(
      verifierFor(
        made.resource.identifier,
        network(async () => new Response(old)),
      )(access_token),
    ).rejects.toThrow('over 60');
  });

  test('a cursor that the service does not know makes it begin anew', async () => {
    const made = await world();
    const { access_token } = await made.ask();
    let refuse = false;
    const verify = verifierFor(
      made.resource.identifier,
      network((url) =>
        refuse && url.includes('after=') ? Promise.resolve(Response.json({ error: 'invalid_request' }, { status: 400 })) : null,
      ),
    );
    await verify(access_token);
    refuse = true;
    await api.delete(`/sessions/${session(access_token)}`);
    const start = Date.now();
    vi.useFakeTimers({ toFake: ['Date'], now: start + 6000 });
    await verify(access_token);
    vi.setSystemTime(start + 8000);
    await expect(verify(access_token)).rejects.toThrow('ended');
  });
});
