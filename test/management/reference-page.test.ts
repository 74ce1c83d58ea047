import { afterAll, beforeAll, expect, test } from 'vitest';
import { startManagedService } from '../support/management.js';
import type { TestService } from '../support/service.js';
import { linkTarget, readGuides } from '../../src/management/reference/guides.js';

let service: TestService;
beforeAll(async () => {
  service = await startManagedService();
});
afterAll(() => service?.stop());

const page = async (path: string) => {
  const response = await fetch(`${service.url}${path}`);
  return { status: response.status, headers: response.headers, html: await response.text() };
};

test('/docs shows every collection with its operations and a command to paste, under the strict policy', async () => {
  const { status, headers, html } = await page('/docs');
  expect(status).toBe(200);
  expect(headers.get('content-security-policy')).toContain("script-src 'self'");
  for (const collection of ['users', 'clients', 'webhooks', 'signing_keys', 'audit_logs']) expect(html).toContain(`id="${collection}"`);
  expect(html).toContain('id="rotate_secret_webhook"');
  expect(html).toContain('users:write');
  expect(html).toContain('Authorization: Bearer $TOKEN');
  expect(html.match(/<h1>/g)).toHaveLength(1);
  expect(html).not.toMatch(/\sstyle="|<script(?![^>]*src=)/);
});

test('guides are rendered from their Markdown, with links among them', async () => {
  const { status, html } = await page('/docs/webhooks');
  expect([status, html.includes('X-Service-Signature')]).toEqual([200, true]);
  expect(html).toContain('href="/docs/events"');
  expect((await page('/docs/unknown')).status).toBe(404);
  expect((await page('/docs/..%2fpackage')).status).toBe(404);
  expect((await fetch(`${service.url}/docs`, { method: 'POST' })).status).toBe(405);
});

test('links of guides lead to guides, headings and https, and nowhere else', () => {
  const guides = readGuides();
  expect(linkTarget(guides, 'javascript:alert(1)')).toBeNull();
  expect(linkTarget(guides, '../package.json')).toBeNull();
  expect(linkTarget(guides, 'events.md#usercreated')).toBe('/docs/events#usercreated');
  expect(linkTarget(guides, 'https://example.com')).toBe('https://example.com');
});
