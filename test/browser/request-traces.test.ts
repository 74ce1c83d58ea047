// "Login doesn't work": the request id of an error page leads an administrator to its cause within three clicks (specification 15.10).
import type { Page } from 'playwright-core';
import { beforeAll, expect } from 'vitest';
import type { UserRow } from '../../src/db/tables/users.js';
import { managementPermissions } from '../../src/domain/reach/management-permissions.js';
import { permit } from '../support/administrators.js';
import { axeViolations } from '../support/axe.js';
import { pkcePair } from '../support/browser.js';
import { picture, reloadUntil, sharedChromium, signInAt } from '../support/chromium.js';
import { addClient, addResource, addUser, password, type TestClient } from '../support/data.js';
import { tokenRequest } from '../support/oauth.js';
import { needs } from '../support/programs.js';
import { sharedService } from '../support/shared-service.js';

const test = needs('chromium');
const browser = sharedChromium();
const service = sharedService();
let client: TestClient;
let person: UserRow;
let administrator: Page;

beforeAll(async () => {
  const ctx = await service.context();
  client = await addClient(ctx, { name: 'Acme Notes', grant_types: ['authorization_code', 'client_credentials'] });
  await addResource(ctx, { identifier: 'https://orders.example', name: 'Orders' });
  person = await addUser(ctx);
  const admin = await addUser(ctx);
  await permit(ctx, admin.id, ...managementPermissions);
  administrator = await browser.newPage({ viewport: { width: 1280, height: 860 } });
  await signInAt(administrator, service.url, admin.email, password);
  await administrator.waitForURL('**/account');
});

/** What the administrator clicks with the request id in hand: the navigation, the search, and what it found. */
async function explain(request_id: string): Promise<Page> {
  await administrator.goto(`${service.url}/dashboard`);
  await administrator.getByRole('link', { name: 'Logs' }).click();
  await administrator.getByRole('link', { name: 'Request traces' }).click();
  await administrator.getByRole('searchbox', { name: 'Request ID' }).fill(request_id);
  await administrator.getByRole('button', { name: 'Filter' }).click();
  // It is written within a second or two.
  await reloadUntil(administrator, request_id);
  await administrator.locator('main table tbody a').first().click();
  await administrator.waitForURL(`**/request_traces/${request_id}`);
  return administrator;
}

const authorizeUrl = (parameters: Record<string, string>): string => {
  const pkce = { code_challenge: pkcePair().challenge, code_challenge_method: 'S256' };
  const fixed = { response_type: 'code', client_id: client.id, redirect_uri: client.redirect_uris[0] ?? '', scope: 'openid' };
  return `${service.url}/oauth/authorize?${new URLSearchParams({ ...fixed, ...pkce, ...parameters }).toString()}`;
};

test('a redirect URI that is not registered: the error page has the id, the dashboard what was received, what is registered, and what to do', async () => {
  const visitor = await (await browser.newContext()).newPage();
  await visitor.goto(authorizeUrl({ redirect_uri: 'https://app.example/callback' }));
  const request_id = (await visitor.locator('#request-id').textContent()) ?? '';
  expect(request_id).not.toBe('');
  await visitor.context().close();

  const page = await explain(request_id);
  const said = (await page.locator('main').textContent()) ?? '';
  for (const sentence of [
    'Redirect URI not registered',
    'https://app.example/callback',
    'https://app.example/cb',
    'Register the redirect URI that was received, or correct it in the application.',
    'invalid_redirect_uri',
  ])
    expect(said).toContain(sentence);
  expect(await axeViolations(page)).toEqual([]);
  await picture(page, 'trace-redirect-uri');
  await page.getByRole('link', { name: 'Edit client' }).click();
  await page.waitForURL(`**/clients/${client.id}/edit`);
});

test('a client without a grant for the API', async () => {
  const answer = await tokenRequest(service.url, client, { grant_type: 'client_credentials', resource: 'https://orders.example' });
  expect(answer.body.error).toBe('invalid_target');
  const page = await explain(answer.headers.get('x-request-id') ?? '');
  const said = (await page.locator('main').textContent()) ?? '';
  for (const sentence of ['No grant for the API', 'https://orders.example', 'Create a grant for the client and the API'])
    expect(said).toContain(sentence);
  await page.getByRole('link', { name: 'Acme Notes' }).click();
  await page.waitForURL(`**/clients/${client.id}`);
});

test('a scope that was left out, and the preview that says the same', async () => {
  const visitor = await (await browser.newContext()).newPage();
  await signInAt(visitor, service.url, person.email, password);
  await visitor.waitForURL('**/account');
  const answer = await visitor.request.get(authorizeUrl({ scope: 'openid orders:read' }), { maxRedirects: 0 });
  expect(answer.headers()['location']).toContain('code=');
  await visitor.context().close();

  const page = await explain(answer.headers()['x-request-id'] ?? '');
  const row = page.locator('tr', { hasText: 'orders:read' }).filter({ hasText: 'Unknown scope' });
  expect(await row.textContent()).toContain('add the permission to the API');
  await picture(page, 'trace-scope');

  await page.getByRole('link', { name: 'Acme Notes' }).click();
  await page.getByRole('link', { name: 'Token preview' }).click();
  await page.getByLabel('Email address of a user').fill(person.email);
  await page.getByLabel('Scopes').fill('openid orders:read email');
  await page.getByRole('button', { name: 'Preview', exact: true }).click();
  const scopes = page.getByRole('table', { name: 'Scopes' });
  await scopes.waitFor();
  expect(await scopes.locator('tr', { hasText: 'orders:read' }).textContent()).toContain('The scope isn’t an OpenID Connect scope');
  expect(await page.locator('#claims-userinfo').textContent()).toContain(person.email);
  expect(await axeViolations(page)).toEqual([]);
  await picture(page, 'token-preview');
});
