// What API resources tell clients of themselves (RFC 9728), how requests name them (RFC 8707), and pages that read both from elsewhere (CORS).
import { beforeAll, describe, expect, test } from 'vitest';
import { canonicalResource } from '../../src/lib/resource-identifier.js';
import { findApiResourceByCanonical, updateApiResource, type ApiResourceRow } from '../../src/db/tables/api_resources.js';
import { addEnvironment, addClient, addGrant, addResource, addUser, type TestClient } from '../support/data.js';
import { locationParameters, type Browser } from '../support/browser.js';
import { authorizeCode, claimsOf, oauthPost, redeem, tokenRequest } from '../support/oauth.js';
import { expectRedirectError, authorizeGet, authorizeQuery } from '../support/authorize.js';
import { manage, startManagedService, type Api } from '../support/management.js';
import { sharedService } from '../support/shared-service.js';
import { signedIn } from '../support/signed-in.js';

const service = sharedService(() => startManagedService());
let api: Api;
let notes: ApiResourceRow;
let client: TestClient;
let browser: Browser;

beforeAll(async () => {
  const ctx = await service.context();
  api = await manage(service.url);
  notes = await addResource(ctx, { identifier: 'https://Notes.example:443/mcp/' }, ['read', 'write']);
  client = await addClient(ctx, { grant_types: ['authorization_code', 'refresh_token', 'client_credentials'] });
  await addGrant(ctx, client, notes);
  const user = await addUser(ctx);
  browser = await signedIn(service, user);
});

const get = (path: string, headers: Record<string, string> = {}) => fetch(new URL(path, service.url), { headers });

async function change(row: Partial<ApiResourceRow>): Promise<void> {
  const ctx = await service.context();
  await updateApiResource(ctx.scope, notes.id, row);
  ctx.cache.invalidate(ctx.environment.id, 'api_resources');
}

describe('metadata', () => {
  test('tells where the tokens of an API come from, with its identifier word for word', async () => {
    const answer = await get(`/oauth/resources/${notes.id}/metadata`);
    expect([answer.status, answer.headers.get('content-type'), answer.headers.get('cache-control')]).toEqual([
      200,
      'application/json',
      'public, max-age=300',
    ]);
    expect(answer.headers.get('access-control-allow-origin')).toBe('*');
    expect(await answer.json()).toEqual({
      resource: 'https://Notes.example:443/mcp/',
      authorization_servers: [service.url],
      scopes_supported: ['read', 'write'],
      bearer_methods_supported: ['header'],
      dpop_signing_alg_values_supported: ['ES256', 'PS256', 'EdDSA', 'Ed25519'],
      dpop_bound_access_tokens_required: false,
      resource_name: 'Notes',
    });
  });

  test('is the same with a slash behind it, for HEAD, and not sent twice', async () => {
    const path = `/oauth/resources/${notes.id}/metadata`;
    const [first, slash, head] = [await get(path), await get(`${path}/`), await fetch(new URL(path, service.url), { method: 'HEAD' })];
    const etag = first.headers.get('etag') as string;
    expect([slash.status, slash.headers.get('etag'), head.status, head.headers.get('etag')]).toEqual([200, etag, 200, etag]);
    const again = await get(path, { 'if-none-match': `"other", W/${etag}` });
    expect([again.status, await again.text()]).toEqual([304, '']);
    expect((await get(path, { 'if-none-match': '"other"' })).status).toBe(200);
  });

  test('follows the API resource: default scopes, a page for developers', async () => {
    const { etag } = Object.fromEntries((await get(`/oauth/resources/${notes.id}/metadata`)).headers);
    await change({ default_scopes: ['read', 'gone'], documentation_url: 'https://docs.example/mcp' });
    const answer = await get(`/oauth/resources/${notes.id}/metadata`);
    expect(await answer.json()).toMatchObject({ scopes_supported: ['read'], resource_documentation: 'https://docs.example/mcp' });
    expect(answer.headers.get('etag')).not.toBe(etag);
    await change({ default_scopes: [], documentation_url: null });
  });

  test('of the Management API is at its well-known place, and nowhere else', async () => {
    for (const path of ['/.well-known/oauth-protected-resource/api', '/.well-known/oauth-protected-resource/api/']) {
      const answer = await get(path);
      expect(await answer.json()).toMatchObject({ resource: `${service.url}/api`, authorization_servers: [service.url] });
    }
    const [system] = await service.deps.db.knex('api_resources').where({ is_system: true });
    expect((await get(`/oauth/resources/${system.id}/metadata`)).status).toBe(404);
  });

  test('is 404 for what is no API resource here, of another environment too', async () => {
    const other = await addEnvironment(service.deps, 'elsewhere');
    const theirs = await addResource(other);
    for (const id of ['x', '0190aaaa-0000-7000-8000-000000000001', theirs.id]) {
      const answer = await get(`/oauth/resources/${id}/metadata`);
      expect([answer.status, ((await answer.json()) as { error: string }).error]).toEqual([404, 'not_found']);
    }
    expect((await get('/.well-known/oauth-protected-resource')).status).toBe(404);
    expect((await fetch(new URL(`/oauth/resources/${notes.id}/metadata`, service.url), { method: 'POST' })).status).toBe(405);
  });

  test('is named by the API resource, with the header that leads there', async () => {
    const { body } = await api.request('GET', `/api_resources/${notes.id}`);
    const url = `${service.url}/oauth/resources/${notes.id}/metadata`;
    expect(body['data'].attributes).toMatchObject({ metadata_url: url, challenge_header: `Bearer resource_metadata="${url}"` });
  });

  test('of the authorization server is the same bytes wherever clients of the Management API look', async () => {
    const known = await (await get('/.well-known/oauth-authorization-server')).text();
    for (const name of ['openid-configuration', 'oauth-authorization-server']) {
      for (const path of [`/.well-known/${name}`, `/.well-known/${name}/api`, `/api/.well-known/${name}`]) {
        for (const one of [path, `${path}/`]) expect([one, await (await get(one)).text()]).toEqual([one, known]);
      }
    }
  });
});

describe('a refusal of the Management API', () => {
  const metadata = () => `resource_metadata="${service.url}/.well-known/oauth-protected-resource/api"`;

  test('names the metadata, without a token and with a bad one', async () => {
    expect((await get('/api/users')).headers.get('www-authenticate')).toBe(
      `Bearer ${metadata()}, realm="oauth", DPoP realm="oauth", algs="ES256 PS256 EdDSA Ed25519"`,
    );
    const bad = await get('/api/users', { authorization: 'Bearer at_x' });
    expect(bad.headers.get('www-authenticate')).toContain(`Bearer ${metadata()}, realm="oauth", error="invalid_token"`);
  });

  test('names the metadata and all that is needed, when the token may not', async () => {
    const narrow = await manage(service.url, 'roles:read');
    const { status, headers } = await narrow.request('GET', '/users');
    expect([status, headers.get('www-authenticate')]).toEqual([
      403,
      `Bearer ${metadata()}, realm="api", error="insufficient_scope", scope="users:read"`,
    ]);
  });
});

describe('resource', () => {
  const spellings = [
    'https://Notes.example:443/mcp/',
    'https://notes.example/mcp',
    'HTTPS://notes.EXAMPLE/mcp/',
    'https://notes.example:443/mcp',
  ];

  test.each(spellings)('%s names the API; the audience is as registered', async (resource) => {
    const grant = await authorizeCode(browser, client, { resource, scope: 'openid read' });
    const { body } = await redeem(service.url, client, grant, { resource });
    expect(claimsOf(body.access_token)['aud']).toBe('https://Notes.example:443/mcp/');
    const fields = { grant_type: 'refresh_token', refresh_token: body.refresh_token as string, resource };
    expect(claimsOf((await tokenRequest(service.url, client, fields)).body.access_token)['aud']).toBe('https://Notes.example:443/mcp/');
    const own = await tokenRequest(service.url, client, { grant_type: 'client_credentials', resource });
    expect(claimsOf(own.body.access_token)['aud']).toBe('https://Notes.example:443/mcp/');
  });

  test('may be left out at the token endpoint: the one that was authorized', async () => {
    const { body } = await redeem(service.url, client, await authorizeCode(browser, client, { resource: spellings[1] as string }));
    expect(claimsOf(body.access_token)['aud']).toBe('https://Notes.example:443/mcp/');
  });

  test.each(['https://notes.example/MCP', 'https://notes.example/mcp//', 'http://notes.example/mcp', 'https://notes.example:8443/mcp'])(
    '%s is another one: invalid_target, which quotes it',
    async (resource) => {
      const asked = () => authorizeGet(browser, authorizeQuery(client, { resource }));
      expect((await expectRedirectError(service, client, 'invalid_target', asked)).get('error_description')).toContain(resource);
      const own = await tokenRequest(service.url, client, { grant_type: 'client_credentials', resource });
      expect([own.status, own.body.error, own.body['error_description']]).toEqual([
        400,
        'invalid_target',
        expect.stringContaining(resource),
      ]);
    },
  );

  test('the database makes the same of it as the service', async () => {
    const ctx = await service.context();
    const identifiers = [
      'https://api.example/',
      'HTTP://API.example:80/a/',
      'https://x.example:80',
      'https://x.example/a?b=/',
      'urn:Example:A/',
      'x+1://H:443/a//',
    ];
    for (const identifier of identifiers) {
      const { id } = await addResource(ctx, { identifier }, []);
      expect((await findApiResourceByCanonical(ctx.scope, canonicalResource(identifier)))?.id).toBe(id);
    }
  });

  test('a key of the cache is no name', async () => {
    await get(`/oauth/resources/${notes.id}/metadata`);
    for (const resource of [` id ${notes.id}`, ' canonical https://notes.example/mcp'])
      expect((await tokenRequest(service.url, client, { grant_type: 'client_credentials', resource })).body.error).toBe('invalid_target');
  });

  test('several at once are refused everywhere (attack 30.527)', async () => {
    const twice = `${authorizeQuery(client, { resource: spellings[0] as string })}&resource=https%3A%2F%2Fother.example`;
    await expectRedirectError(service, client, 'invalid_target', () => authorizeGet(browser, twice));
    const body = `grant_type=client_credentials&resource=${encodeURIComponent(spellings[0] as string)}&resource=https%3A%2F%2Fother.example`;
    for (const path of ['/oauth/token', '/oauth/par']) {
      const answer = await fetch(new URL(path, service.url), {
        method: 'POST',
        headers: {
          'content-type': 'application/x-www-form-urlencoded',
          authorization: `Basic ${Buffer.from(`${client.id}:${client.client_secret}`).toString('base64')}`,
        },
        body,
      });
      expect([answer.status, ((await answer.json()) as { error: string }).error]).toEqual([400, 'invalid_target']);
    }
  });

  test('a second API whose name is the same in another spelling is refused (attack 30.526)', async () => {
    const attributes = { name: 'Other', identifier: 'https://NOTES.example/mcp' };
    const { status, body } = await api.request('POST', '/api_resources', { body: { data: { type: 'api_resource', attributes } } });
    expect([status, body['errors'][0].code]).toEqual([409, 'already_exists']);
  });
});

describe('default_scopes', () => {
  test('are granted where none of the API was asked for, and only then', async () => {
    await change({ default_scopes: ['read', 'gone'] });
    const scopeOf = async (scope: string | undefined) => {
      const asked = { resource: notes.identifier, ...(scope === undefined ? {} : { scope }) };
      return (await redeem(service.url, client, await authorizeCode(browser, client, asked))).body['scope'];
    };
    expect(await scopeOf('openid')).toBe('openid read');
    expect(await scopeOf('')).toBe('read');
    expect(await scopeOf('openid write')).toBe('openid write');
    await change({ default_scopes: [] });
    expect(await scopeOf('openid')).toBe('openid');
  });

  test('stay within what the client may ask for', async () => {
    await change({ default_scopes: ['read', 'write'] });
    const narrow = await addClient(await service.context(), { scopes: ['openid', 'read'] });
    const response = await authorizeGet(browser, authorizeQuery(narrow, { resource: notes.identifier }));
    const grant = { code: locationParameters(response).get('code') as string, verifier: '', redirect_uri: 'https://app.example/cb' };
    const fields = { grant_type: 'authorization_code', code: grant.code, redirect_uri: grant.redirect_uri };
    expect((await tokenRequest(service.url, narrow, fields)).body['scope']).toBe('openid read');
    await change({ default_scopes: [] });
  });
});

describe('pages of any origin', () => {
  test.each(['/.well-known/oauth-protected-resource/api', '/.well-known/openid-configuration/api', '/oauth/register'])(
    'may ask %s, with the headers that MCP clients send',
    async (path) => {
      const preflight = await fetch(new URL(path, service.url), {
        method: 'OPTIONS',
        headers: { origin: 'https://inspector.example', 'access-control-request-method': 'POST' },
      });
      expect([preflight.status, preflight.headers.get('access-control-allow-origin')]).toEqual([204, '*']);
      expect(preflight.headers.get('access-control-allow-headers')?.split(', ')).toEqual(
        expect.arrayContaining(['MCP-Protocol-Version', '*']),
      );
      expect(preflight.headers.get('access-control-allow-credentials')).toBeNull();
    },
  );

  test('are told why registering failed', async () => {
    const answer = await fetch(new URL('/oauth/register', service.url), {
      method: 'POST',
      headers: { origin: 'https://inspector.example' },
    });
    expect([answer.status, answer.headers.get('access-control-allow-origin')]).toEqual([404, '*']);
  });

  test('are not let in to the token endpoint by that', async () => {
    const { headers } = await oauthPost(service.url, '/oauth/token', client, { grant_type: 'x' }, { origin: 'https://inspector.example' });
    expect(headers.get('access-control-allow-origin')).toBeNull();
  });
});
