import { request } from 'node:http';
import { describe, expect, test } from 'vitest';
import { readGuides } from '../../src/management/reference/guides.js';
import { marked, search, termsOf, type Entry } from '../../src/management/reference/search.js';
import { costOf, mostHeld } from '../support/cost/event-loop.js';
import { manage, secondEnvironment } from '../support/management.js';
import { sharedManagedService } from '../support/shared-service.js';

const service = sharedManagedService();

const entry = (title: string, text: string, section = 'Guide'): Entry => ({ kind: 'guide', title, section, path: `/docs/${title}`, text });
const titles = (entries: readonly Entry[], query: string) =>
  search(entries, query).findings.map(({ title }) => title.map(({ text }) => text).join(''));

async function find(query: string) {
  const response = await fetch(`${service.url}/docs/search?${new URLSearchParams({ q: query }).toString()}`);
  const html = await response.text();
  const main = html.slice(html.indexOf('<main'));
  return { status: response.status, html, main, paths: [...main.matchAll(/<h2><a href="([^"]+)"/g)].map((match) => match[1]) };
}

describe('the search itself', () => {
  test('puts headings before texts, whole names before parts, and asks for all words first', () => {
    const entries = [
      entry('Rotation', 'the secret changes'),
      entry('Secrets', 'nothing'),
      entry('Secret rotation', 'how'),
      entry('secret', ''),
    ];
    expect(titles(entries, 'secret')).toEqual(['secret', 'Secrets', 'Secret rotation', 'Rotation']);
    expect(titles(entries, 'secret rotation')).toEqual(['Secret rotation', 'Rotation']);
    expect(search(entries, 'secret zebra')).toMatchObject({ loose: true, total: 4 });
    expect(search(entries, 'zebra')).toMatchObject({ findings: [], total: 0, loose: false });
  });

  test('takes few words of few characters, and nothing of them as a pattern', () => {
    expect(termsOf('Refresh, refresh  TOKEN?')).toEqual(['refresh', 'token']);
    expect(termsOf(Array.from({ length: 50 }, (_, i) => `w${i}`).join(' '))).toHaveLength(8);
    expect(termsOf('(((( .* ** []')).toEqual([]);
    expect(marked('a.b axb', ['a.b'])).toEqual([
      { text: 'a.b', hit: true },
      { text: ' axb', hit: false },
    ]);
    expect(search([entry('x', 'a+b (c) [d')], 'a+b [d').total).toBe(1);
  });

  test('cuts a long text around what was found, at words', () => {
    const long = `${'before '.repeat(200)}needle ${'after '.repeat(200)}`;
    const [finding] = search([entry('x', long)], 'needle').findings;
    const text = finding?.excerpt.map((part) => part.text).join('') ?? '';
    expect(text).toMatch(/^… before .*needle.* after …$/);
    expect(text.length).toBeLessThan(300);
    expect(finding?.excerpt.filter(({ hit }) => hit)).toEqual([{ text: 'needle', hit: true }]);
  });
});

describe('GET /docs/search', () => {
  test('finds guides, operations, collections, attributes and event types, the best first', async () => {
    expect((await find('user.created')).paths[0]).toBe('/docs/events#usercreated');
    expect((await find('rotate_secret')).paths).toContain('/docs/api/webhooks#rotate_secret_webhook');
    expect((await find('signing_keys')).paths[0]).toBe('/docs/api/signing_keys');
    expect((await find('token_endpoint_auth_method')).paths[0]).toBe('/docs/api/clients#attribute-token_endpoint_auth_method');
    const signature = await find('webhook signature');
    expect(signature.paths.some((path) => path?.startsWith('/docs/webhooks#'))).toBe(true);
    expect(signature.main).toContain('<mark>');
    for (const path of signature.paths.slice(0, 5)) {
      const [page = '', anchor] = (path ?? '').split('#');
      const html = await (await fetch(service.url + page)).text();
      if (anchor !== undefined) expect(html).toContain(`id="${anchor}"`);
    }
  });

  test('without a query, or without a finding, it teaches', async () => {
    const empty = await find('');
    expect([empty.status, empty.main.includes('/docs/search?q=refresh+token')]).toEqual([200, true]);
    const nothing = await find('xyzzy plugh');
    expect(nothing.main).toContain('Nothing here says <strong>xyzzy plugh</strong>');
    expect(nothing.main).toContain('href="/docs"');
    expect((await find('refresh xyzzy')).main).toContain('No place holds all of these words');
  });

  test.each(['<script>alert(1)</script>', '"><img src=x onerror=alert(1)>', '{{7*191}}<%= 7*191 %>', 'javascript:alert(1)'])(
    'shows %s as it stands',
    async (query) => {
      const { status, html } = await find(query);
      expect(status).toBe(200);
      expect(html).not.toContain(query.startsWith('<') || query.startsWith('"') ? query : '1337');
      expect(html).not.toMatch(/<img src=x|<script>|href="javascript:/);
    },
  );

  test('refuses other methods and values that are no text; long ones are cut', async () => {
    expect((await fetch(`${service.url}/docs/search`, { method: 'POST' })).status).toBe(405);
    expect((await fetch(`${service.url}/docs/search?q=%00`)).status).toBe(400);
    expect((await find('x'.repeat(5000))).status).toBe(200);
  });

  test('every page of the documentation has the field', async () => {
    for (const path of ['/docs', '/docs/api/users', '/docs/search', '/docs/webhooks'])
      expect(await (await fetch(service.url + path)).text()).toMatch(/<form [^>]*role="search" method="get" action="\/docs\/search">/);
    expect((await find('two words')).html).toContain('value="two words"');
  });
});

/** A page as another environment's host shows it. */
function at(host: string, path: string): Promise<string> {
  return new Promise((resolve, reject) => {
    const outgoing = request(`${service.url}${path}`, { headers: { host } }, (answer) => {
      const chunks: Buffer[] = [];
      answer.on('data', (chunk: Buffer) => chunks.push(chunk)).on('end', () => resolve(Buffer.concat(chunks).toString()));
    });
    outgoing.on('error', reject).end();
  });
}

describe('the addresses in the examples', () => {
  test('are those of the installation that shows them', async () => {
    for (const { name } of readGuides().groups.flatMap(({ guides }) => guides)) {
      const html = await (await fetch(`${service.url}/docs/${name}`)).text();
      expect(html).not.toMatch(/https:\/\/id\.example\.com|http:\/\/localhost:3000/);
    }
    expect(await (await fetch(`${service.url}/docs/guides/protect-an-api`)).text()).toContain(`${service.url}/oauth/token`);
    expect((await find(`${service.url}/oauth/token`)).paths.length).toBeGreaterThan(0);
  });

  test('are those of the environment, not of the first one that was asked', async () => {
    const { host } = await secondEnvironment(await manage(service.url));
    const html = await at(host, '/docs/guides/protect-an-api');
    expect(html).toContain(`http://${host}/oauth/token`);
    expect(html).not.toContain(`${service.url}/oauth/token`);
  });

  test('are put in without holding up anybody, however many environments are asked for (attack 71.1965)', async () => {
    const api = await manage(service.url);
    const hosts: string[] = [];
    for (const slug of ['many-one', 'many-two', 'many-three']) {
      const made = await api.post('/environments', { data: { type: 'environment', attributes: { slug, name: slug, kind: 'production' } } });
      expect(made.status).toBe(201);
      hosts.push(`${slug}.${new URL(service.url).host}`);
    }
    await find('token');
    const { ms } = await costOf(async () => {
      const host = hosts.pop() ?? '';
      expect(await at(host, '/docs/search?q=token')).toContain('<mark>');
      expect(await at(host, '/docs/guides/protect-an-api')).toContain(`http://${host}/oauth/token`);
      return 200;
    });
    expect(ms).toBeLessThan(mostHeld);
  });
});
