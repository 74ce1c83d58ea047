import { afterAll, beforeAll, describe, expect } from 'vitest';
import type { Browser as Chromium, Page } from 'playwright-core';
import type { Context } from '../../src/domain/context.js';
import { insertConnection } from '../../src/db/tables/connections.js';
import { insertWebhook } from '../../src/db/tables/webhooks.js';
import { insertSession } from '../../src/db/tables/sessions.js';
import { randomBytes } from 'node:crypto';
import { uuidv7 } from '../../src/lib/random.js';
import { launchChromium } from '../support/chromium.js';
import { needs } from '../support/programs.js';
import { Browser } from '../support/browser.js';
import { addClient, addResource, addUser } from '../support/data.js';
import { startTestService, type TestService } from '../support/service.js';

const test = needs('chromium');

const admin = { email: 'root@example.com', password: 'nanoseconds of wire' };
/** Every context that text can break out of: element, attribute, script, URL, template. */
const hostile = `"><img src=x onerror=alert(1)><script>alert(2)</script>' onfocus=alert(3) autofocus {{7*7}} \${7*7} <%=7*7%> </textarea></title>`;
const javascript = 'javascript:alert(document.domain)';

let service: TestService;
let ctx: Context;
let chromium: Chromium;
let ids: Record<string, string>;

beforeAll(async () => {
  [service, chromium] = await Promise.all([
    startTestService({ ADMIN_EMAIL: admin.email, ADMIN_PASSWORD: admin.password }),
    launchChromium(),
  ]);
  ctx = await service.context();
  const now = ctx.clock.now();
  const stamps = { created_at: now, updated_at: now };
  const id = () => uuidv7(now.getTime());
  const user = await addUser(ctx, {
    email: `x@example.com`,
    first_name: hostile,
    last_name: hostile,
    nickname: hostile,
    picture: javascript,
    website: javascript,
    external_id: hostile,
    metadata: { [hostile]: hostile },
  });
  const client = await addClient(ctx, {
    name: hostile,
    description: hostile,
    redirect_uris: [javascript, hostile],
    client_uri: javascript,
    logo_uri: javascript,
    policy_uri: javascript,
  });
  const resource = await addResource(ctx, { identifier: 'https://hostile.example/', name: hostile });
  const session = await insertSession(ctx.scope, {
    ...stamps, id: id(), token_digest: randomBytes(32), user_id: user.id, user_agent: hostile, ip_address: '203.0.113.7', authenticated_at: now, last_activity_at: now,
    expires_at: new Date(now.getTime() + 86_400_000),
  }); // prettier-ignore
  const webhook = await insertWebhook(ctx.scope, {
    ...stamps,
    id: id(),
    name: hostile,
    url: 'http://127.0.0.1:9/',
    description: hostile,
    events: ['user.created'],
    secret_sealed: Buffer.from('x'),
    secret_hint: '<b>x',
  });
  const connection = await insertConnection(ctx.scope, {
    ...stamps,
    id: id(),
    name: 'hostile',
    display_name: hostile,
    strategy: 'oidc',
    provider_client_id: hostile,
    issuer: javascript,
    scopes: [hostile],
    domains: [hostile],
    claim_mapping: { sub: hostile },
  } as never);
  const delivery = id();
  await ctx.scope.knex('webhook_deliveries').insert({
    ...stamps, environment_id: ctx.environment.id, id: delivery, webhook_id: webhook.id, event_id: id(), event_type: 'user.created',
    payload: JSON.stringify({ event: 'user.created', data: { first_name: hostile } }), status: 'failed', attempt_count: 1, completed_at: now,
  }); // prettier-ignore
  await ctx.scope.knex('webhook_delivery_attempts').insert({
    environment_id: ctx.environment.id, id: id(), delivery_id: delivery, attempt_number: 1, started_at: now, duration_ms: 5, response_status: 500, response_body: hostile,
    response_truncated: false, failure_reason: 'non_2xx',
  }); // prettier-ignore
  ids = {
    users: user.id,
    clients: client.id,
    api_resources: resource.id,
    sessions: session.id,
    webhooks: webhook.id,
    connections: connection.id,
    webhook_deliveries: delivery,
  };
  const browser = new Browser(service.url);
  await browser.login(admin.email, admin.password);
  await browser.submit('/dashboard/roles/new', { name: hostile.slice(0, 100), description: hostile }, '/dashboard/roles');
});
afterAll(async () => {
  await chromium?.close();
  await service?.stop();
});

/** A signed-in page that notes dialogs and what the policy blocks. */
async function signedIn(): Promise<{ page: Page; alarms: string[] }> {
  const context = await chromium.newContext();
  const page = await context.newPage();
  const alarms: string[] = [];
  page.on('dialog', (dialog) => {
    alarms.push(`dialog ${dialog.message()}`);
    void dialog.dismiss();
  });
  page.on('console', (message) => {
    if (message.type() === 'error' && !/status of (4|5)\d\d/.test(message.text())) alarms.push(message.text());
  });
  await page.goto(`${service.url}/login?return_to=/dashboard`);
  await page.getByLabel('Email address').fill(admin.email);
  await page.getByLabel('Password', { exact: true }).fill(admin.password);
  await page.getByRole('button', { name: 'Sign in' }).click();
  await page.waitForURL('**/dashboard');
  return { page, alarms };
}

const inert = async (page: Page) => ({
  images: await page.locator('main img, main script, main [onerror], main [onfocus]').count(),
  links: await page.locator('a[href^="javascript:"], [src^="javascript:"], [action^="javascript:"]').count(),
});

describe('stored and reflected text', () => {
  test('stored text is inert on every page that shows it, and the policy has nothing to report (attack 17.204)', async () => {
    const { page, alarms } = await signedIn();
    const of = (path: string, ...tails: string[]) => tails.map((tail) => `/${path}/${ids[path] ?? ''}${tail}`);
    const paths = [
      '', '/users', '/sessions', '/roles', '/clients', '/api_resources', '/connections', '/webhooks', '/webhook_deliveries', '/audit_logs', '/client_grants/new', '/permissions/new', '/users/new',
      ...of('users', '', '/edit', '/roles', '/sessions', '/identities', '/consents', '/activity', '/json', '/delete', '/block'),
      ...of('clients', '', '/edit', '/edit/tokens', '/edit/branding', '/quick_start', '/grants', '/delete', '/rotate_secret'),
      ...of('api_resources', '', '/edit', '/edit/tokens', '/delete'),
      ...of('sessions', '', '/revoke'),
      ...of('connections', '', '/edit', '/delete'),
      ...of('webhooks', '', '/edit', '/deliveries', '/delete', '/redeliver_failed'),
      ...of('webhook_deliveries', ''),
    ]; // prettier-ignore
    for (const path of paths) {
      const answer = await page.goto(`${service.url}/dashboard${path}`);
      expect([path, answer?.status()]).toEqual([path, 200]);
      expect([path, await inert(page)]).toEqual([path, { images: 0, links: 0 }]);
      const text = (await page.locator('main').textContent()) ?? '';
      if (text.includes('</title>')) expect([path, text.includes('{{7*7}} ${7*7} <%=7*7%>')]).toEqual([path, true]);
    }
    expect(alarms).toEqual([]);
    await page.context().close();
  }, 180_000);

  test('search terms, filters and mistakes come back as text (attack 17.205)', async () => {
    const { page, alarms } = await signedIn();
    const query = encodeURIComponent(hostile);
    for (const path of [
      `/users?search=${query}`,
      `/users?status=${query}`,
      `/clients?sort=${query}`,
      `/audit_logs?action=${query}`,
      `/users?after=${query}`,
      `/webhooks?done=${query}`,
      `/${query}`,
      `/users/${query}`,
      `/clients/new?application_type=web&name=${query}`,
    ]) {
      await page.goto(`${service.url}/dashboard${path}`);
      expect([path, await inert(page)]).toEqual([path, { images: 0, links: 0 }]);
    }
    await page.goto(`${service.url}/dashboard/users/new`);
    await page.getByLabel('Email address').fill(hostile);
    await page.getByRole('button', { name: 'Create user' }).click();
    await page.locator('#email-error').waitFor();
    expect(await inert(page)).toEqual({ images: 0, links: 0 });
    expect(await page.getByLabel('Email address').inputValue()).toBe(hostile);
    expect(alarms).toEqual([]);
    await page.context().close();
  }, 120_000);
});
