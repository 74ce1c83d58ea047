// What tokens and userinfo say of a person, and under which names: OIDC Core 5.3 to 5.5, at_hash, claim mappings, API resources that clients meet.
import { createHash } from 'node:crypto';
import { createRemoteJWKSet, decodeProtectedHeader, jwtVerify } from 'jose';
import { beforeEach, describe, expect, test } from 'vitest';
import type { Context } from '../../src/domain/context.js';
import type { ApiResourceRow } from '../../src/db/tables/api_resources.js';
import { addRolePermissions, addUserRoles, insertRole, removeUserRoles } from '../../src/db/tables/roles.js';
import { listPermissionsOfResource } from '../../src/db/tables/permissions.js';
import type { ClaimMapping, ClaimTarget, ClientRow } from '../../src/db/tables/clients.js';
import { updateUser, type UserRow } from '../../src/db/tables/users.js';
import { uuidv7 } from '../../src/lib/random.js';
import type { Browser } from '../support/browser.js';
import { addClient, addGrant, addResource, addUser, type TestClient } from '../support/data.js';
import { allowCode, authorizeCode, claimsOf, oauthPost, redeem, tokenRequest } from '../support/oauth.js';
import { sharedService } from '../support/shared-service.js';
import { setEnvironment } from '../support/factors.js';
import { signedIn } from '../support/signed-in.js';

const service = sharedService();
let ctx: Context;
let user: UserRow;
let browser: Browser;
let role: string;
let resources = 0;
let people = 0;

beforeEach(async () => {
  ctx = await service.context();
  const metadata = { department: 'Looms', org: { unit: 'Engines', floor: 3 }, empty: '', big: 'x'.repeat(8000) };
  user = await addUser(ctx, { metadata, external_id: `hr-${++people}`, nickname: '' });
  const now = ctx.clock.now();
  role = (await insertRole(ctx.scope, { id: uuidv7(now.getTime()), name: `Weavers ${user.id}`, created_at: now, updated_at: now })).id;
  await addUserRoles(ctx.scope, user.id, [role]);
  browser = await signedIn(service, user);
});

const tokensOf = async (client: TestClient, parameters: Record<string, string> = {}) =>
  (await redeem(service.url, client, await authorizeCode(browser, client, parameters))).body;
const userinfo = (token: string) => fetch(`${service.url}/oauth/userinfo`, { headers: { authorization: `Bearer ${token}` } });
const userinfoOf = async (token: string) => (await (await userinfo(token)).json()) as Record<string, unknown>;
const introspect = async (token: string, as: TestClient) => (await oauthPost(service.url, '/oauth/introspect', as, { token })).body;
const refresh = async (client: TestClient, refresh_token = '', fields: Record<string, string> = {}) =>
  (await tokenRequest(service.url, client, { grant_type: 'refresh_token', refresh_token, ...fields })).body;

const from = (claim: string, source: string, ...places: ClaimTarget[]): ClaimMapping => ({ claim, source, in: places });
const constant = (claim: string, value: string | string[], ...places: ClaimTarget[]): ClaimMapping => ({ claim, value, in: places });

/** An API of its own, on which the person holds `read` through the role. */
async function heldResource(row: Partial<ApiResourceRow> = {}): Promise<ApiResourceRow> {
  const resource = await addResource(ctx, { identifier: `https://api.example/${++resources}`, ...row });
  const permissions = await listPermissionsOfResource(ctx.scope, resource.id);
  await addRolePermissions(ctx.scope, role, permissions.filter(({ name }) => name === 'read').map(({ id }) => id)); // prettier-ignore
  return resource;
}

describe('the ID token', () => {
  test.each([{}, { access_token_format: 'jwt' as const }])(
    'has at_hash of the access token that it comes with, refreshed too: %j',
    async (row) => {
      const client = await addClient(ctx, row);
      const first = await tokensOf(client);
      for (const { access_token, id_token = '' } of [first, await refresh(client, first.refresh_token)]) {
        const half = createHash('sha256').update(access_token, 'ascii').digest().subarray(0, 16).toString('base64url');
        expect(claimsOf(id_token)['at_hash']).toBe(half);
      }
    },
  );

  test('holds protocol claims by default, and what the scopes release with id_token_claims profile (specification 5.13.1)', async () => {
    const plain = claimsOf((await tokensOf(await addClient(ctx))).id_token ?? '');
    expect(['name', 'email', 'given_name'].filter((name) => name in plain)).toEqual([]);
    const client = await addClient(ctx, { id_token_claims: 'profile' });
    const first = await tokensOf(client, { scope: 'openid profile email offline_access' });
    const said = { name: 'Ada Lovelace', email: user.email, email_verified: true, sub: user.id };
    expect(claimsOf(first.id_token ?? '')).toMatchObject(said);
    expect(claimsOf((await refresh(client, first.refresh_token)).id_token ?? '')).toMatchObject(said);
    const less = claimsOf((await refresh(client, first.refresh_token, { scope: 'openid email' })).id_token ?? '');
    expect([less['email'], less['name']]).toEqual([user.email, undefined]);
  });

  test('preferred_username is the address of whoever has no other, where the environment says so (specification 5.13.1)', async () => {
    const client = await addClient(ctx, { id_token_claims: 'profile' });
    const named = async () => {
      const tokens = await tokensOf(client, { scope: 'openid profile' });
      const claims = claimsOf(tokens.id_token ?? '');
      expect(claims['email']).toBeUndefined();
      return [claims['preferred_username'], (await userinfoOf(tokens.access_token))['preferred_username']];
    };
    expect(await named()).toEqual([undefined, undefined]);
    await setEnvironment(service, { preferred_username_from_email: true });
    try {
      expect(await named()).toEqual([user.email, user.email]);
      await updateUser(ctx.scope, user.id, { preferred_username: 'ada' });
      expect(await named()).toEqual(['ada', 'ada']);
    } finally {
      await setEnvironment(service, { preferred_username_from_email: false });
    }
  });

  test('claims.id_token is honoured by every client, also when the token is refreshed (specification 5.13.1)', async () => {
    const client = await addClient(ctx);
    const claims = JSON.stringify({ id_token: { email: { essential: true }, unknown: null }, userinfo: { given_name: null } });
    const first = await tokensOf(client, { scope: 'openid', claims });
    for (const tokens of [first, await refresh(client, first.refresh_token)]) {
      const id = claimsOf(tokens.id_token ?? '');
      expect([id['email'], id['given_name'], 'unknown' in id]).toEqual([user.email, undefined, false]);
      expect(await userinfoOf(tokens.access_token)).toEqual({ sub: user.id, given_name: 'Ada' });
    }
  });

  test('what claims.id_token asks for is asked of the person', async () => {
    const client = await addClient(ctx, { first_party: false });
    const { html } = await allowCode(browser, client, { scope: 'openid', claims: JSON.stringify({ id_token: { phone_number: null } }) });
    expect(html).toContain('data-scope="phone"');
  });
});

describe('userinfo', () => {
  test('the claims parameter counts with JWT access tokens as with opaque ones, refreshed too', async () => {
    const claims = JSON.stringify({ userinfo: { name: { essential: true }, roles: null } });
    const client = await addClient(ctx, { access_token_format: 'jwt' });
    const first = await tokensOf(client, { scope: 'openid', claims });
    expect(claimsOf(first.access_token)['userinfo_claims']).toEqual(['name', 'roles']);
    for (const { access_token } of [first, await refresh(client, first.refresh_token)])
      expect(await userinfoOf(access_token)).toEqual({ sub: user.id, name: 'Ada Lovelace', roles: [`Weavers ${user.id}`] });
    expect(claimsOf((await tokensOf(client, { scope: 'openid' })).access_token)).not.toHaveProperty('userinfo_claims');
  });

  test('signed on demand: a JWT with iss and aud that the published keys verify (specification 5.8.3)', async () => {
    const client = await addClient(ctx, { userinfo_signed_response_alg: 'RS256' });
    const answer = await userinfo((await tokensOf(client)).access_token);
    expect(answer.headers.get('content-type')).toBe('application/jwt');
    const jwt = await answer.text();
    const keys = createRemoteJWKSet(new URL(`${service.url}/.well-known/jwks.json`));
    const { payload } = await jwtVerify(jwt, keys, { issuer: service.url, audience: client.id, algorithms: ['RS256'] });
    expect(payload).toMatchObject({ sub: user.id, email: user.email });
    expect(await introspect(jwt, client)).toEqual({ active: false });
    const hinted = await browser.get(
      `/oauth/authorize?${new URLSearchParams({ client_id: client.id, redirect_uri: client.redirect_uris[0] ?? '', response_type: 'code', scope: 'openid', prompt: 'none', id_token_hint: jwt })}`,
    );
    expect(hinted.headers.get('location')).toContain('error=login_required');
  });
});

describe('claim mappings', () => {
  const mappings: ClaimMapping[] = [
    from('groups', 'roles', 'id_token', 'userinfo'),
    from('department', 'metadata.department', 'id_token'),
    from('unit', 'metadata.org.unit', 'userinfo'),
    from('preferred_username', 'email', 'id_token', 'userinfo'),
    from('employee', 'external_id', 'access_token'),
    constant('tier', ['gold', 'new'], 'access_token', 'id_token'),
    from('nothing', 'metadata.missing.deep', 'id_token', 'userinfo', 'access_token'),
    from('inherited', 'metadata.constructor', 'id_token', 'userinfo'),
    from('blank', 'metadata.empty', 'id_token'),
    from('nick', 'nickname', 'id_token'),
    from('rights', 'permissions', 'id_token', 'userinfo'),
  ];

  test('need no scope, go where they say, and leave out what the person lacks (specification 5.13.2)', async () => {
    const client = await addClient(ctx, { access_token_format: 'jwt', claim_mappings: mappings });
    const first = await tokensOf(client, { scope: 'openid' });
    const groups = [`Weavers ${user.id}`];
    for (const tokens of [first, await refresh(client, first.refresh_token)]) {
      const id = claimsOf(tokens.id_token ?? '');
      expect(id).toMatchObject({ groups, department: 'Looms', preferred_username: user.email, tier: ['gold', 'new'] });
      expect(['unit', 'employee', 'nothing', 'inherited', 'blank', 'nick', 'rights'].filter((name) => name in id)).toEqual([]);
      expect(await userinfoOf(tokens.access_token)).toEqual({ sub: user.id, groups, unit: 'Engines', preferred_username: user.email });
      const access = claimsOf(tokens.access_token);
      expect([access['employee'], access['tier'], 'groups' in access]).toEqual([user.external_id, ['gold', 'new'], false]);
    }
  });

  test('an API resource names the claims of its access tokens, before the client; opaque tokens say the same at introspection (attack 8.353)', async () => {
    const client = await addClient(ctx, {
      claim_mappings: ['tier', 'Tier', 'app'].map((name) => constant(name, name === 'app' ? 'notes' : 'client', 'access_token')),
    });
    const claim_mappings = [
      from('tier', 'metadata.tier', 'access_token'),
      from('rights', 'permissions', 'access_token'),
      from('mail', 'email', 'access_token'),
    ];
    for (const token_format of ['jwt', 'opaque'] as const) {
      const resource = await heldResource({ token_format, claim_mappings });
      const { access_token } = await tokensOf(client, { scope: 'openid read write', resource: resource.identifier });
      const said = { app: 'notes', rights: ['read'], mail: user.email, permissions: ['read'] };
      const introspected = await introspect(access_token, client);
      expect(introspected).toMatchObject({ active: true, scope: 'openid read write', ...said });
      for (const name of ['tier', 'Tier']) expect(introspected).not.toHaveProperty(name);
      if (token_format === 'jwt') expect(claimsOf(access_token)).toMatchObject(said);
    }
  });

  test("a client's own token has constants and its permissions, nothing of a person (specification 5.13.3)", async () => {
    const client = await addClient(ctx, {
      application_type: 'machine',
      grant_types: ['client_credentials'],
      claim_mappings: [constant('app', 'feed', 'access_token')],
    });
    for (const token_format of ['jwt', 'opaque'] as const) {
      const claim_mappings = [from('mail', 'email', 'access_token'), from('rights', 'permissions', 'access_token')];
      const resource = await addResource(ctx, { identifier: `https://api.example/${++resources}`, token_format, claim_mappings });
      await addGrant(ctx, client, resource);
      const { access_token } = (
        await tokenRequest(service.url, client, { grant_type: 'client_credentials', resource: resource.identifier })
      ).body;
      const introspected = await introspect(access_token, client);
      expect(introspected).toMatchObject({ app: 'feed', rights: ['read', 'write'], permissions: ['read', 'write'] });
      expect(introspected).not.toHaveProperty('mail');
    }
  });

  test('what does not fit into 8 KiB together is left out whole (specification 5.13.2)', async () => {
    const big = (claim: string) => from(claim, 'metadata.big', 'id_token');
    const client = await addClient(ctx, { claim_mappings: [big('one'), big('two'), constant('three', 'small', 'id_token')] });
    const id = claimsOf((await tokensOf(client)).id_token ?? '');
    expect([String(id['one']).length, 'two' in id, id['three']]).toEqual([8000, false, 'small']);
  });

  test('never become claims of the protocol, whatever a row says', async () => {
    const client = await addClient(ctx, {
      claim_mappings: ['sub', 'aud', 'iss', 'exp'].map((name) => constant(name, 'forged', 'id_token', 'userinfo', 'access_token')),
    });
    const { id_token = '', access_token } = await tokensOf(client);
    expect(claimsOf(id_token)).toMatchObject({ sub: user.id, aud: client.id, iss: service.url });
    expect((await userinfoOf(access_token))['sub']).toBe(user.id);
    expect(await introspect(access_token, client)).toMatchObject({ active: true, sub: user.id, aud: service.url, iss: service.url });
  });
});

describe('API resources as clients meet them', () => {
  let client: TestClient;
  const more: Partial<ClientRow> = {};
  beforeEach(async () => {
    client = await addClient(ctx, more);
  });

  test('one token for the API and the profile: only openid decides at userinfo (specification 5.8.1)', async () => {
    for (const token_format of ['jwt', 'opaque'] as const) {
      const resource = await heldResource({ token_format });
      const { access_token } = await tokensOf(client, { scope: 'openid email read', resource: resource.identifier });
      expect(await userinfoOf(access_token)).toEqual({ sub: user.id, email: user.email, email_verified: true });
      const without = (await tokensOf(client, { scope: 'email read', resource: resource.identifier })).access_token;
      expect((await userinfo(without)).status).toBe(403);
    }
  });

  test('token_typ JWT: the header that older libraries take; good everywhere, and no ID token hint (attack 8.331)', async () => {
    const resource = await heldResource({ token_typ: 'JWT' });
    const { access_token, id_token = '' } = await tokensOf(client, { scope: 'openid read', resource: resource.identifier });
    expect(decodeProtectedHeader(access_token).typ).toBe('JWT');
    expect(await introspect(access_token, client)).toMatchObject({ active: true, aud: resource.identifier });
    expect((await userinfo(access_token)).status).toBe(200);
    // The other way about: an ID token is no access token, an access token no hint.
    expect(await introspect(id_token, client)).toEqual({ active: false });
    const query = {
      client_id: client.id,
      redirect_uri: client.redirect_uris[0] ?? '',
      response_type: 'code',
      scope: 'openid',
      prompt: 'none',
    };
    const hinted = async (id_token_hint: string) =>
      (await browser.get(`/oauth/authorize?${new URLSearchParams({ ...query, id_token_hint })}`)).headers.get('location');
    expect(await hinted(access_token)).toContain('error=login_required');
    expect(await hinted(id_token)).toContain('code=');
    const machine = await addClient(ctx, { application_type: 'machine', grant_types: ['client_credentials'] });
    await addGrant(ctx, machine, resource);
    const own = (await tokenRequest(service.url, machine, { grant_type: 'client_credentials', resource: resource.identifier })).body
      .access_token;
    expect(decodeProtectedHeader(own).typ).toBe('JWT');
  });

  test("user_scopes held: the person's token has what the roles hold, and no more (specification 5.5.7)", async () => {
    const resource = await heldResource({ user_scopes: 'held' });
    const asked = await tokensOf(client, { scope: 'openid read write', resource: resource.identifier });
    expect([asked['scope'], claimsOf(asked.access_token)['scope']]).toEqual(['openid read', 'openid read']);
    expect((await tokensOf(client, { scope: 'openid', resource: resource.identifier }))['scope']).toBe('openid read');
    const requested = await heldResource();
    expect((await tokensOf(client, { scope: 'openid read write', resource: requested.identifier }))['scope']).toBe('openid read write');
  });

  test('user_scopes held: none asked for is all held, as far as the client may ask', async () => {
    const resource = await heldResource({ user_scopes: 'held', user_access: 'granted' });
    await addGrant(ctx, client, resource, ['write'], 'user');
    expect((await tokensOf(client, { scope: 'openid', resource: resource.identifier }))['scope']).toBe('openid');
    const narrow = await addClient(ctx, { scopes: ['openid', 'write'] });
    await addGrant(ctx, narrow, resource, ['read', 'write'], 'user');
    expect((await tokensOf(narrow, { scope: 'openid', resource: resource.identifier }))['scope']).toBe('openid');
  });

  test.each(['jwt', 'opaque'] as const)(
    'what the person holds no more is gone at refresh and at introspection: %s (specification 5.5.7)',
    async (token_format) => {
      const resource = await heldResource({ user_scopes: 'held', token_format });
      const first = await tokensOf(client, { scope: 'openid read', resource: resource.identifier });
      expect(await introspect(first.access_token, client)).toMatchObject({ scope: 'openid read', permissions: ['read'] });
      await removeUserRoles(ctx.scope, user.id, [role]);
      expect(await introspect(first.access_token, client)).toMatchObject({ active: true, scope: 'openid', permissions: [] });
      expect((await refresh(client, first.refresh_token))['scope']).toBe('openid');
    },
  );

  test('introspection shows permissions of an API resource, and of nothing else (specification 5.7.1)', async () => {
    const resource = await heldResource({ token_format: 'opaque' });
    const { access_token } = await tokensOf(client, { scope: 'openid read write', resource: resource.identifier });
    expect((await introspect(access_token, client))['permissions']).toEqual(['read']);
    expect(await introspect((await tokensOf(client)).access_token, client)).not.toHaveProperty('permissions');
    const stranger = await addClient(ctx, { first_party: false });
    const { code, verifier, redirect_uri } = await allowCode(browser, stranger, { scope: 'openid write', resource: resource.identifier });
    const theirs = (await redeem(service.url, stranger, { code, verifier, redirect_uri })).body.access_token;
    expect((await introspect(theirs, stranger))['permissions']).toEqual([]);
  });
});
