import { expect, test } from 'vitest';
import { linkTarget, readGuides } from '../../src/management/reference/guides.js';
import { sharedManagedService } from '../support/shared-service.js';

const service = sharedManagedService();

const page = async (path: string) => {
  const response = await fetch(`${service.url}${path}`);
  return { status: response.status, headers: response.headers, html: await response.text() };
};

const idsOf = (html: string) => [...html.matchAll(/ id="([^"]+)"/g)].map(([, id]) => id);

test('/docs names every collection and operation under the anchors that it always had, and leads to their pages', async () => {
  const { status, headers, html } = await page('/docs');
  expect(status).toBe(200);
  expect(headers.get('content-security-policy')).toContain("script-src 'self'");
  for (const id of ['users', 'clients', 'webhooks', 'signing_keys', 'audit_logs', 'rotate_secret_webhook'])
    expect(idsOf(html)).toContain(id);
  expect(html).toContain('href="/docs/api/webhooks#rotate_secret_webhook"');
  expect(html.match(/<h1>/g)).toHaveLength(1);
  expect(html).not.toMatch(/\sstyle="|<script(?![^>]*src=)/);
});

test('a page of each collection has its attributes, its operations and a table of contents', async () => {
  const { html } = await page('/docs');
  const paths = [...new Set([...html.matchAll(/<h3 id="\w+"><a href="(\/docs\/api\/\w+)"/g)].map(([, path]) => path ?? ''))];
  expect(paths.length).toBeGreaterThan(25);
  for (const path of paths) {
    const { status, html: one } = await page(path);
    expect([path, status]).toEqual([path, 200]);
    const ids = idsOf(one);
    expect([path, new Set(ids).size]).toEqual([path, ids.length]);
    const contents = /<nav class="contents"[\s\S]*?<\/nav>/.exec(one)?.[0] ?? '';
    for (const [, id] of contents.matchAll(/href="#([^"]+)"/g)) expect(ids).toContain(id);
  }
  const clients = (await page('/docs/api/clients')).html;
  expect(clients).toContain('id="attribute-redirect_uris"');
  expect(clients).toContain('clients:write');
  expect(clients).toContain('Authorization: Bearer $TOKEN');
  expect((await page('/docs/api/unknown')).status).toBe(404);
  expect((await page('/docs/api/constructor')).status).toBe(404);
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
  expect(linkTarget(guides, 'javascript:alert(1)', 'how-to/sso.md')).toBeNull();
  expect(linkTarget(guides, '../package.json', 'how-to/sso.md')).toBeNull();
  expect(linkTarget(guides, '../reference/events.md#usercreated', 'how-to/sso.md')).toBe('/docs/events#usercreated');
  expect(linkTarget(guides, 'spring.md', 'guides/README.md')).toBe('/docs/guides/spring');
  expect(linkTarget(guides, 'https://example.com', 'how-to/sso.md')).toBe('https://example.com');
});
