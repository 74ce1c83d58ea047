// docs/guides/okta-signals.md, followed: what it sets is set, what it sends is sent, and the answers are as it says.
import { readFile } from 'node:fs/promises';
import { beforeAll, expect, test } from 'vitest';
import { pollConnection } from '../../src/jobs/signal-polls.js';
import { manage } from '../support/management.js';
import { contextOf, shared, sharedManagedService } from '../support/shared-service.js';
import { isSignedIn, SignallingProvider, signalWorld } from '../support/provider-signals.js';
import { ScriptedUpstream } from '../support/upstream-scripted.js';

const service = sharedManagedService();
const ctx = contextOf(service);
const upstream = ScriptedUpstream.shared();
const okta = new SignallingProvider(upstream);
beforeAll(() => okta.start());
const world = shared(() => signalWorld(service, ctx, upstream, { signals: 'off' }));
const api = shared(() => manage(service.url));

/** The guide's blocks of a language, with the addresses and ids of this test. */
async function blocksOf(language: string): Promise<string[]> {
  const guide = (await readFile('docs/guides/okta-signals.md', 'utf8'))
    .replaceAll('https://id.example.com', service.url)
    .replaceAll('https://acme.okta.com', upstream.url)
    .replaceAll('00u1abcd', 'ada')
    .replaceAll('CONNECTION_ID', world.connection.id);
  return [...guide.matchAll(new RegExp(`\`\`\`${language}\n([\\s\\S]*?)\`\`\``, 'g'))].map(([, block = '']) => block);
}

/** Sends what a curl line says, with values for its variables and files; answers what it got and what the line says it gets. */
async function sent(line: string, values: Record<string, string>): Promise<[got: number, said: number]> {
  const filled = Object.entries(values).reduce((done, [name, value]) => done.replaceAll(name, value), line);
  const headers = Object.fromEntries([...filled.matchAll(/-H (['"])(.*?): (.*?)\1/g)].map(([, , name = '', value = '']) => [name, value]));
  const body = /-d (?:"(.*?)"|(\{.*\})) #/.exec(filled)?.slice(1).find(Boolean) ?? '';
  const { status } = await fetch(/http\S+/.exec(filled)?.[0] ?? '', { method: 'POST', headers, body });
  return [status, Number(/# (\d+)/.exec(line)?.[1])];
}

test('each way ends the session that began through the connection', async () => {
  const [push = '', set = '', subject = '', poll = ''] = await blocksOf('json');
  const [, event = '', logout = '', revocation = ''] = await blocksOf('sh');
  const patched = await api.patch(`/connections/${world.connection.id}`, JSON.parse(push));
  expect([patched.status, patched.body['data'].attributes.signals_url]).toEqual([200, world.url]);
  const ways: [string, () => Promise<Record<string, string>>][] = [
    [
      event,
      async () => ({
        $SET: await okta.sign(
          'secevent+jwt',
          JSON.parse(set.replaceAll('1790000000', String(Math.floor(Date.now() / 1000)))) as Record<string, unknown>,
        ),
      }),
    ],
    [logout, async () => ({ $LOGOUT_TOKEN: await okta.logoutToken() })],
    [
      revocation,
      async () => ({ $REVOCATION_TOKEN: await okta.revocationToken(world.url), '@subject.json': JSON.stringify(JSON.parse(subject)) }),
    ],
  ];
  for (const [line, values] of ways) {
    const browser = await world.signIn();
    const [got, said] = await sent(line, await values());
    expect([got, await isSignedIn(browser)]).toEqual([said, false]);
  }

  const browser = await world.signIn();
  const waiting = [{ one: await okta.set(world.url) }];
  upstream.instead.set('/ssf/poll', (_req, res) => void res.writeHead(200).end(JSON.stringify({ sets: waiting.shift() ?? {} })));
  expect((await api.patch(`/connections/${world.connection.id}`, JSON.parse(poll))).status).toBe(200);
  expect(await pollConnection(service.deps, world.connection, new Map())).toBe(1);
  expect(await isSignedIn(browser)).toBe(false);
  expect(upstream.asked('/ssf/poll')[0]?.headers.authorization).toBe('Bearer POLL_TOKEN');
});
