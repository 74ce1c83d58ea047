// A token that somebody pasted: whose it is, what it allows, and why it is refused (specification 9.2.21).
import { beforeAll, expect, test } from 'vitest';
import { signedInWith } from '../support/administrators.js';
import { csrfOf, type Browser } from '../support/browser.js';
import { addClient, addGrant, addResource, type TestClient } from '../support/data.js';
import { oauthPost, tokenRequest } from '../support/oauth.js';
import { sharedService } from '../support/shared-service.js';

const service = sharedService();
const path = '/dashboard/token';
let browser: Browser;
let client: TestClient;
const tokens = new Map<string, string>();

beforeAll(async () => {
  const ctx = await service.context();
  client = await addClient(ctx, { name: 'Night shift', grant_types: ['client_credentials'] });
  for (const token_format of ['jwt', 'opaque'] as const) {
    const resource = await addResource(ctx, { identifier: `https://${token_format}.example`, token_format });
    await addGrant(ctx, client, resource);
    const { body } = await tokenRequest(service.url, client, { grant_type: 'client_credentials', resource: resource.identifier });
    tokens.set(token_format, String(body.access_token));
  }
  browser = await signedInWith(service, 'users:read', 'clients:read', 'api_resources:read');
});

async function read(token: string): Promise<string> {
  const answer = await browser.submit(path, { token });
  expect(answer.status).toBe(200);
  return (await answer.text()).replace(/<[^>]+>/g, ' ').replaceAll(/\s+/g, ' ');
}

test.each(['jwt', 'opaque'])('the client, the API and the state of a token (%s), until it is revoked; the text is not shown again', async (format) => {
  const token = tokens.get(format) ?? '';
  const said = await read(`Authorization: Bearer ${token}\n`);
  for (const part of ['Valid now', 'Night shift', 'the client acts for itself', `https://${format}.example`]) expect(said).toContain(part);
  expect(said.includes('Claims')).toBe(format === 'jwt');
  expect(said).not.toContain(token);
  await oauthPost(service.url, '/oauth/revoke', client, { token });
  const then = await read(token);
  expect(then).toContain('Not valid');
  expect(then).toMatch(/was revoked/);
}); // prettier-ignore

test.each([
  ['rt_nobody', 'This refresh token is not known here'],
  ['at_nobody', 'This opaque access token is not known here'],
  ['a.b.c', 'This is not a well-formed JWT.'],
  ['<script>', 'This is not an access token of this service.'],
])('%s is no token that is known, and the page says why', async (token, reason) => expect(await read(token)).toContain(reason));

test('nothing, and more than a token can be, is refused beside the field', async () => {
  for (const [token, reason] of [
    [' '.repeat(60_000), 'Paste a token.'],
    ['x'.repeat(20_001), 'This is too long for a token.'],
  ] as const) {
    const answer = await browser.submit(path, { token });
    expect([answer.status, (await answer.text()).includes(reason)]).toEqual([422, true]);
  }
});

test('who may not preview tokens reads none, and a form from elsewhere is refused', async () => {
  const other = await signedInWith(service, 'users:read', 'clients:read');
  expect((await other.get(path)).status).toBe(403);
  const _csrf = csrfOf(await (await other.get('/dashboard')).text());
  expect((await other.post(path, { token: 'x', _csrf })).status).toBe(403);
  expect((await browser.post(path, { token: 'x' })).status).toBe(403);
  expect(await (await other.get('/dashboard/search?q=token')).text()).not.toContain(`href="${path}"`);
  expect(await (await browser.get('/dashboard/search?q=token')).text()).toContain(`href="${path}"`);
});
