// SECRET_KEY from the outside: the wrong one, and two processes of which one has the next one already.
import { randomBytes } from 'node:crypto';
import { readFile, writeFile } from 'node:fs/promises';
import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { authorizeQuery, s256 } from '../support/authorize.js';
import { ConfigError } from '../../src/config.js';
import { createSealer } from '../../src/lib/seal.js';
import { loadSecretKey } from '../../src/process/secret-key.js';
import { signedInWith } from '../support/administrators.js';
import { Browser } from '../support/browser.js';
import { programArguments } from '../support/compiled.js';
import { addClient, addUser, password } from '../support/data.js';
import { createTestDatabase, type TestDatabase } from '../support/database.js';
import { codeIn, lastMailTo } from '../support/mailbox.js';
import { managementClient, manage } from '../support/management.js';
import { authorizeCode, redeem, tokenRequest } from '../support/oauth.js';
import { freePort, startTestService, type TestService } from '../support/service.js';
import { directoryOfTest } from '../support/temporary-directory.js';

const key = () => randomBytes(32).toString('base64');
let database: TestDatabase;
const running: TestService[] = [];

async function start(secretKey: string, previous: string[] = [], environment: Record<string, string> = {}): Promise<TestService> {
  const given = { SECRET_KEY_PREVIOUS: previous.join(), ...environment };
  const service = await startTestService(given, { database: { url: database.url, secretKey } });
  running.push(service);
  return service;
}

beforeEach(async () => {
  database = await createTestDatabase();
});
afterEach(async () => {
  for (const service of running.splice(0)) await service.stop();
  await database.drop();
});

describe('a SECRET_KEY that is not this database’s', () => {
  test('ends the start before anything is written, exit 78, naming both keys and what to do', async () => {
    const [right, wrong] = [key(), key()];
    await (await start(right)).stop();
    running.pop();
    const refused = start(wrong).catch((error: unknown) => error);
    expect(await refused).toBeInstanceOf(ConfigError);
    const answer = spawnSync(process.execPath, await programArguments('main'), {
      env: { PATH: process.env['PATH'], PORT: String(await freePort()), DATABASE_URL: database.url, SECRET_KEY: wrong },
      encoding: 'utf8',
    });
    expect(answer.status).toBe(78);
    expect(answer.stderr).toContain('SECRET_KEY does not open the signing key of environment default');
    expect(answer.stderr).toContain(`It names the key ${createSealer(right).key_id}; given are ${createSealer(wrong).key_id}.`);
    expect(answer.stderr).toContain('or add that key to SECRET_KEY_PREVIOUS');
    expect(answer.stderr).not.toContain(wrong);
    expect(answer.stderr.split('\n').filter(Boolean)).toHaveLength(2);
    expect((await start(wrong, [right])).url).toContain('http');
  });

  test('a process that the others’ key was kept from is no longer ready', async () => {
    const [first, second] = [key(), key()];
    const old = await start(first);
    expect(await (await fetch(`${old.url}/readyz`)).json()).toEqual({ status: 'ready' });
    const ctx = await old.context();
    const [row] = (await ctx.db.knex('signing_keys').where({ status: 'primary' })) as { kid: string; private_sealed: Buffer }[];
    const place = `signing_keys/${row?.kid ?? ''}` as const;
    const private_sealed = createSealer(second).seal(ctx.crypto.sealer.open(row?.private_sealed as Buffer, place), place);
    await ctx.db.knex('signing_keys').where({ kid: row?.kid }).update({ private_sealed });
    // A busy process goes by its last look for up to six seconds.
    const readiness = async () => {
      const answer = await fetch(`${old.url}/readyz`);
      return [answer.status, await answer.json()];
    };
    const refusal = [503, { status: 'unavailable', reason: 'SECRET_KEY does not open the signing key' }];
    await expect.poll(readiness, { timeout: 10_000 }).toEqual(refusal);
    expect((await fetch(`${old.url}/healthz`)).status).toBe(200);
  });
});

describe('the key in DATA_DIR', () => {
  let directory: string;
  beforeEach(() => {
    directory = directoryOfTest();
  });

  test('is made once and read from then on', async () => {
    const made = await loadSecretKey(directory);
    expect(Buffer.from(made, 'base64')).toHaveLength(32);
    expect([await loadSecretKey(directory), (await readFile(join(directory, 'secret.key'), 'utf8')).trim()]).toEqual([made, made]);
  });

  test('one that somebody put there by hand must be as good', async () => {
    await writeFile(join(directory, 'secret.key'), 'correct horse battery staple, correct horse battery staple\n');
    const refusal = await loadSecretKey(directory).catch((error: unknown) => error);
    expect(refusal).toBeInstanceOf(ConfigError);
    expect(String(refusal)).toContain('secret.key holds the secret key of this installation and must be 32 random bytes');
    expect(String(refusal)).not.toContain('horse');
  });
});

describe('one process has the next key already, the other does not seal with it yet', () => {
  /** A and B on one database; what one of them makes the other must understand. */
  async function pair(environment: Record<string, string> = {}) {
    const [k1, k2] = [key(), key()];
    const a = await start(k1, [k2], environment);
    const b = await start(k2, [k1], { ...environment, PORT: String(await freePort()), BASE_URL: a.url });
    return { a, b, urlOf: ({ config }: TestService) => `http://localhost:${config.port}` };
  }

  /** The same browser at another process. */
  function at(browser: Browser, url: string): Browser {
    const moved = new Browser(url);
    for (const [name, value] of browser.cookies) moved.cookies.set(name, value);
    return moved;
  }

  test.each(['from the old key to the new one', 'from the new key to the old one'])(
    'codes, forms and pending requests go on, %s',
    async (direction) => {
      const { a, b, urlOf } = await pair();
      const [from, to] = direction.startsWith('from the old') ? [a, b] : [b, a];
      const ctx = await a.context();
      const client = await addClient(ctx, { first_party: true });
      const user = await addUser(ctx);
      // A passcode, and the mail that holds it.
      const registration = await (await new Browser(urlOf(from)).postJson('/register', { email: 'grace@example.com' })).json();
      const code = codeIn(await lastMailTo(a.url, 'grace@example.com'));
      const verified = await new Browser(urlOf(to)).postJson('/register/verify', { ...(registration as object), code });
      expect(verified.status).toBe(200);
      // A recovery by the link of its mail.
      const started = (await (await new Browser(urlOf(from)).postJson('/password/forgot', { email: user.email })).json()) as {
        reset_id: string;
      };
      const link = new URL(/http\S+\/password\/reset\?\S+/.exec((await lastMailTo(a.url, user.email)).text)?.[0] ?? '');
      const reset = { reset_id: started.reset_id, code: link.searchParams.get('code'), password: 'a new password for the summer' };
      expect((await new Browser(urlOf(to)).postJson('/password/reset', reset)).status).toBe(200);
      // An authorization request that waits at the login page of one process, whose form goes to the other.
      const browser = new Browser(urlOf(from));
      const query = authorizeQuery(client, s256());
      const sent = await browser.get(`/oauth/authorize?${query}`);
      const login = await browser.get(sent.headers.get('location') ?? '');
      const html = await login.text();
      const field = (name: string) => new RegExp(`name="${name}" value="([^"]*)"`).exec(html)?.[1]?.replaceAll('&amp;', '&') ?? '';
      const other = at(browser, urlOf(to));
      const form = { _csrf: field('_csrf'), return_to: field('return_to'), email: user.email, password: reset.password };
      expect(Object.values(form).every(Boolean)).toBe(true);
      const answer = await other.post('/login', form);
      expect([answer.status, answer.headers.get('location')]).toEqual([303, expect.stringContaining('/oauth/authorize/resume?request=')]);
      const resumed = await at(other, urlOf(from)).get(answer.headers.get('location') ?? '');
      expect(resumed.headers.get('location')).toContain('code=');
    },
  );

  test('a refresh token that both rotate has one successor, also at once (attack 61.1828)', async () => {
    const { a, b, urlOf } = await pair();
    const ctx = await a.context();
    const client = await addClient(ctx, { first_party: true, token_endpoint_auth_method: 'none', application_type: 'spa' });
    const user = await addUser(ctx);
    for (const [first, second] of [
      [a, b],
      [b, a],
    ] as const) {
      const browser = new Browser(a.url);
      await browser.login(user.email, password);
      const grant = await authorizeCode(browser, client);
      const { body } = await redeem(urlOf(first), client, grant);
      const refresh = (service: TestService, refresh_token = '') =>
        tokenRequest(urlOf(service), client, { grant_type: 'refresh_token', refresh_token });
      const answers = [
        await refresh(first, body.refresh_token),
        await refresh(second, body.refresh_token),
        await refresh(first, body.refresh_token),
      ];
      expect(answers.map(({ status }) => status)).toEqual([200, 200, 200]);
      expect(answers.map((answer) => answer.body.refresh_token)).toEqual(answers.map(() => answers[0]?.body.refresh_token));
      const [next, other] = await Promise.all([first, second].map((one) => refresh(one, answers[1]?.body.refresh_token)));
      expect([next?.status, other?.status, other?.body.refresh_token]).toEqual([200, 200, next?.body.refresh_token]);
      expect((await refresh(second, next?.body.refresh_token)).status).toBe(200);
    }
  });

  test('lists and repeated writes of the Management API go on at the other process', async () => {
    const settings = { MANAGEMENT_CLIENT_ID: managementClient.id, MANAGEMENT_CLIENT_SECRET: managementClient.client_secret };
    const { a, b, urlOf } = await pair(settings);
    for (const [one, other] of [
      [a, b],
      [b, a],
    ] as const) {
      const api = await manage(a.url);
      const ask = (service: TestService, path: string, init: RequestInit = {}) =>
        fetch(`${urlOf(service)}${path}`, {
          ...init,
          headers: { authorization: `Bearer ${api.token}`, 'content-type': 'application/vnd.api+json', ...init.headers },
        });
      const body = JSON.stringify({ data: { type: 'role', attributes: { name: `role of ${one.config.port}` } } });
      const write = (service: TestService) =>
        ask(service, '/api/roles', { method: 'POST', body, headers: { 'idempotency-key': `k${one.config.port}` } });
      const [made, again] = [await write(one), await write(other)];
      expect([made.status, again.status, again.headers.get('idempotent-replayed')]).toEqual([201, 201, 'true']);
      expect(await again.text()).toBe(await made.text());
      const page = (await (await ask(one, '/api/permissions?page[size]=2')).json()) as { links: { next: string } };
      const next = new URL(page.links.next);
      expect((await ask(other, next.pathname + next.search)).status).toBe(200);
    }
  });
});

test('operators see in the settings how far a change of the key has come', async () => {
  const [k1, k2] = [key(), key()];
  const service = await start(k2, [k1]);
  const ctx = await service.context();
  const browser = await signedInWith(service, 'environments:read');
  const text = async () => (await (await browser.get('/dashboard/settings')).text()).replace(/(<[^>]+>|\s)+/g, ' ');
  const status = (change: object) =>
    ctx.db
      .knex('secret_keys')
      .where({ id: createSealer(k1).key_id })
      .update(change);
  await expect.poll(text).toContain(`Key ${createSealer(k2).key_id} Encrypts new values`);
  await expect.poll(text).toMatch(new RegExp(`Key ${createSealer(k1).key_id} Nothing is encrypted with it (?!;)`));
  const now = ctx.clock.now();
  await status({ sealing_since: new Date(0), sealing_seen_at: now, pending_count: 1234, emptied_at: null });
  expect(await text()).toContain(`Values to re-encrypt 1,234 values`);
  expect(await text()).toContain(`Key ${createSealer(k1).key_id} Still needed: 1,234 values`);
  await status({ pending_count: 0, emptied_at: now });
  const tomorrow = new Date(now.getTime() + 86_400_000).toISOString().slice(0, 10);
  expect(await text()).toContain(`Nothing is encrypted with it; it can be removed after ${tomorrow}`);
  await status({ sealing_seen_at: new Date(0) });
  expect(await text()).toContain('Nothing is encrypted with it; it can be removed');
});
