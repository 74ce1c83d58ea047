import { createRequire } from 'node:module';
import { expect, test } from 'vitest';
import { shapeOf } from '../../src/domain/passwords/decoys.js';
import { passwordHashWork } from '../../src/domain/passwords/hash-formats.js';
import { formatSamples } from '../support/password-hashes.js';
import { createPasswordHasher } from '../../src/domain/passwords/passwords.js';
import { findDearestImportedHash } from '../../src/db/tables/user_proofs.js';
import { findUser, type UserRow } from '../../src/db/tables/users.js';
import { Browser, csrfOf } from '../support/browser.js';
import { addUser, password } from '../support/data.js';
import { jsonFrom } from '../support/from-address.js';
import { startTestService } from '../support/service.js';
import { sharedService } from '../support/shared-service.js';

const service = sharedService(() => startTestService({}, { overrides: { passwords: createPasswordHasher() } }));

const newUser = async (row: Partial<UserRow> = {}) => addUser(await service.context(), row);
const login = (email: string, secret: string) => new Browser(service.url).postJson('/login', { email, password: secret });

test('unknown, wrong, suspended and passwordless look alike (attack 10.112)', async () => {
  const [known, suspended, passwordless] = [await newUser(), await newUser({ status: 'blocked' }), await newUser({ password_hash: null })];
  const bodies: string[] = [];
  const headers: string[] = [];
  for (const email of [known.email, suspended.email, passwordless.email, 'nobody-here@example.com']) {
    const answer = await login(email, 'not the password');
    expect(answer.status).toBe(401);
    bodies.push((await answer.text()).replace(/"request_id":"[^"]+"/, ''));
    headers.push([...answer.headers.keys()].join());
  }
  expect(new Set(bodies).size).toBe(1);
  expect(new Set(headers).size).toBe(1);
  const right = await login(suspended.email, password);
  expect([right.status, ((await right.json()) as { error: string }).error]).toEqual([403, 'account_blocked']);
});

test('guesses from fifty addresses and spellings count at one account (attack 10.114)', async () => {
  const user = await newUser({ email: 'many.guesses@example.com' });
  const spellings = ['many.guesses@example.com', 'MANY.GUESSES@EXAMPLE.COM', ' Many.Guesses@example.com', 'many.guesses@Example.Com '];
  for (let i = 0; i < 50; i++) {
    const answer = await jsonFrom(`127.0.1.${i + 1}`, `${service.url}/login`, { email: spellings[i % 4], password: `guess ${i}` });
    expect(answer.status).toBe(401);
  }
  expect((await findUser((await service.context()).scope, user.id))?.locked_until).not.toBeNull();
  expect((await login(user.email, password)).status).toBe(401);
});

test('parallel wrong passwords are all counted (attack 10.114)', async () => {
  const user = await newUser();
  // A busy machine tells some to come back: those are not counted, for nothing was compared.
  const wrong = async () => {
    await expect.poll(async () => (await login(user.email, 'wrong')).status, { timeout: 30_000 }).toBe(401);
  };
  await Promise.all(Array.from({ length: 10 }, wrong));
  expect((await login(user.email, password)).status).toBe(401);
}, 60_000);

test('a password of a megabyte is refused unread (attack 10.117)', async () => {
  const user = await newUser();
  const before = service.deps.crypto.passwords.spent();
  expect((await login(user.email, 'x'.repeat(1_000_000))).status).toBe(413);
  expect((await login(user.email, 'x'.repeat(10_000))).status).toBe(400);
  expect(service.deps.crypto.passwords.spent()).toBe(before);
});

test('of a burst of sign-ins some are checked, the rest are told to come back; nobody waits for all of them (attack 10.117)', async () => {
  const crowded = await startTestService({}, { overrides: { passwords: createPasswordHasher({ concurrency: 1, queueMax: 5 }) } });
  try {
    const attempt = (index: number) =>
      new Browser(crowded.url).postJson('/login', { email: `burst-${index}@example.com`, password: 'wrong' });
    const answers = await Promise.all(Array.from({ length: 60 }, (_, index) => attempt(index)));
    const checked = answers.filter((answer) => answer.status === 401);
    const refused = answers.filter((answer) => answer.status === 503);
    expect(checked.length + refused.length).toBe(60);
    expect([checked.length > 0, refused.length > 0]).toEqual([true, true]);
    for (const answer of refused) expect(Number(answer.headers.get('retry-after'))).toBeGreaterThan(0);
  } finally {
    await crowded.stop();
  }
});

test('a password is taken as typed, to its last character (attack 10.118)', async () => {
  const ctx = await service.context();
  const long = `${'pass phrase '.repeat(10)}🔑 ünï`;
  const [one, other] = [`${'k'.repeat(36)}${'7'.repeat(36)} one`, `${'k'.repeat(36)}${'7'.repeat(36)} two`];
  const user = await newUser({ password_hash: await ctx.crypto.passwords.hash(long) });
  expect((await login(user.email, long)).status).toBe(200);
  expect((await login(user.email, long.trimEnd().slice(0, -1))).status).toBe(401);
  const twin = await newUser({ password_hash: await ctx.crypto.passwords.hash(one) });
  expect([(await login(twin.email, one)).status, (await login(twin.email, other)).status]).toEqual([200, 401]);
  const holed = await newUser({ password_hash: await ctx.crypto.passwords.hash('before\0 after it') });
  const form = new Browser(service.url);
  expect([(await login(holed.email, 'before\0 after it')).status, (await login(holed.email, 'before')).status]).toEqual([200, 401]);
  expect((await form.login(holed.email, 'before\0 after it')).status).toBe(303);
});

test('a sign-in from another site, or with another browser’s token, gives no session (attack 10.120)', async () => {
  const user = await newUser();
  const [browser, stranger] = [new Browser(service.url), new Browser(service.url)];
  const foreign = csrfOf(await (await stranger.get('/login')).text());
  await browser.get('/login');
  const fields = { email: user.email, password };
  const attempts = [
    await browser.post('/login', fields),
    await browser.post('/login', { ...fields, _csrf: foreign }),
    await browser.post('/login', fields, { origin: 'https://evil.example' }),
    await browser.postJson('/login', fields, { origin: 'https://evil.example' }),
    await browser.postJson('/login', fields, { 'sec-fetch-site': 'cross-site' }),
  ];
  for (const attempt of attempts) {
    expect(attempt.status).toBe(403);
    expect(attempt.headers.getSetCookie().filter((cookie) => cookie.startsWith('idp_session='))).toEqual([]);
  }
});

test('on plain http no cookie has a name that an application on another port uses', async () => {
  const user = await newUser();
  const browser = new Browser(service.url);
  await browser.login(user.email, password);
  expect([...browser.cookies.keys()].sort()).toEqual(['idp_csrf', 'idp_device', 'idp_session']);
});

test('a cookie that was set before the sign-in is worth nothing after it (attack 10.121)', async () => {
  const user = await newUser();
  const browser = new Browser(service.url);
  const planted = 'A'.repeat(43);
  browser.cookies.set('idp_session', planted);
  expect((await browser.login(user.email, password)).status).toBe(303);
  const first = browser.cookies.get('idp_session');
  expect(first).not.toBe(planted);
  await browser.postJson('/login', { email: user.email, password });
  expect(browser.cookies.get('idp_session')).not.toBe(first);
  for (const stale of [planted, first]) {
    const answer = await fetch(`${service.url}/account`, { headers: { accept: 'application/json', cookie: `idp_session=${stale}` } });
    expect(answer.status).toBe(401);
  }
});

test('fields in the address are never tried and not logged (attack 10.123)', async () => {
  const user = await newUser();
  const answer = await fetch(`${service.url}/login?email=${user.email}&password=${encodeURIComponent(password)}`, { redirect: 'manual' });
  expect(answer.status).toBe(200);
  expect(answer.headers.getSetCookie().some((cookie) => cookie.startsWith('idp_session='))).toBe(false);
  expect(await answer.text()).not.toContain(password);
  expect((await findUser((await service.context()).scope, user.id))?.login_count).toBe(0);
  expect(service.log.join('\n')).not.toContain(password);
});

test('a hash of other parameters is replaced at the next sign-in, and only by a right password', async () => {
  const ctx = await service.context();
  const bcrypt = createRequire(import.meta.url)('bcryptjs') as { hash(password: string, rounds: number): Promise<string> };
  const password_hash = await bcrypt.hash(password, 4);
  const user = await newUser({ password_hash });
  const stored = async () => (await findUser(ctx.scope, user.id))?.password_hash;
  expect(await findDearestImportedHash(ctx.scope)).toBe(passwordHashWork(password_hash));
  expect((await login(user.email, 'not it')).status).toBe(401);
  expect(await stored()).toBe(password_hash);
  expect((await login(user.email, password)).status).toBe(200);
  expect(await stored()).toMatch(/^\$argon2id\$/);
  expect(await findDearestImportedHash(ctx.scope)).toBeNull();
  expect((await login(user.email, password)).status).toBe(200);
});

test('new hashes cost what PASSWORD_HASH says, and others get that at a sign-in', async () => {
  const dear = await startTestService({ PASSWORD_HASH: '12288/3' });
  try {
    const ctx = await dear.context();
    const earlier = await addUser(ctx, { password_hash: await createPasswordHasher().hash(password) });
    const hashOf = async () => (await findUser(ctx.scope, earlier.id))?.password_hash;
    expect((await new Browser(dear.url).login(earlier.email, 'not the password')).status).toBe(401);
    expect(await hashOf()).toBe(earlier.password_hash);
    expect((await new Browser(dear.url).login(earlier.email, password)).status).toBe(303);
    expect(await hashOf()).toMatch(/^\$argon2id\$v=19\$m=12288,t=3,p=1\$/);
    expect((await new Browser(dear.url).login(earlier.email, password)).status).toBe(303);
    expect((await new Browser(dear.url).login(earlier.email, 'not the password')).status).toBe(401);
    const { isOwn } = dear.deps.crypto.passwords;
    const hashes = [earlier.password_hash, await hashOf(), (await hashOf())?.replace('t=3', 't=4')];
    expect(hashes.map((hash) => isOwn(hash ?? ''))).toEqual([true, true, false]);
  } finally {
    await dear.stop();
  }
});

test('the database knows what hashes of each format cost, and their shape, as the process does', async () => {
  const { scope } = await service.context();
  const hashes = formatSamples.map(({ hash }) => hash);
  const { rows } = await scope.knex.raw<{ rows: { work: number; shape: string }[] }>(
    'select password_hash_work(x) as work, password_hash_shape(x) as shape from unnest(?::text[]) with ordinality as t (x, n) order by n',
    [hashes],
  );
  expect(rows).toEqual(hashes.map((hash) => ({ work: passwordHashWork(hash), shape: shapeOf(hash) })));
});

test('the database knows the work of imported hashes as the process does, and which is the dearest', async () => {
  const ctx = await service.context();
  const hashes = [
    '$argon2id$v=19$m=19456,t=2,p=1$c2FsdHNhbHRzYWx0$aGFzaGhhc2hoYXNoaGFzaGhhc2hoYXNo',
    '$argon2i$t=3,p=1,m=4096$c2FsdHNhbHRzYWx0$aGFzaGhhc2hoYXNoaGFzaGhhc2hoYXNo',
    `$2a$08$${'a'.repeat(53)}`,
    '$argon2id$v=19$m=65536,t=3,p=4$c2FsdHNhbHRzYWx0$aGFzaGhhc2hoYXNoaGFzaGhhc2hoYXNo',
    `$2y$12$${'b'.repeat(53)}`,
    `$2b$14$${'a'.repeat(53)}`,
  ];
  const dearest: (number | null)[] = [];
  for (const password_hash of hashes) {
    await newUser({ password_hash });
    dearest.push(await findDearestImportedHash(ctx.scope));
  }
  // Each is dearer than those before it; the first is of our own kind.
  expect(dearest).toEqual([null, ...hashes.slice(1).map(passwordHashWork)]);
  const { rows } = await ctx.scope.knex.raw<{ rows: { work: number | null }[] }>(
    'select password_hash_work(x) as work from unnest(array[?, ?, ?, ?]::text[]) with ordinality as t (x, n) order by n',
    ['', 'plain', '$1$abc$def', `$argon2id$v=19$m=9999999,t=9999999,p=1$${'a'.repeat(22)}$${'a'.repeat(43)}`],
  );
  expect(rows.map(({ work }) => work)).toEqual([null, null, null, 2_147_483_647]);
});

test('the sign-in page is at its path with a slash behind it too, and nowhere else; other methods are refused with those that it has', async () => {
  const ask = async (method: string, path: string) => {
    const { status, headers } = await fetch(service.url + path, { method, redirect: 'manual' });
    return [status, headers.get('allow')];
  };
  const guarded = ['content-security-policy', 'x-frame-options', 'x-content-type-options', 'referrer-policy', 'cache-control'];
  const headersOf = async (path: string) => {
    const { headers } = await fetch(new URL(path, service.url));
    expect(headers.get('x-request-id')).toMatch(/^[\w-]{36}$/);
    return guarded.map((name) => headers.get(name)?.replaceAll(/'nonce-[^']+'/g, ''));
  };
  for (const path of ['/login', '/login/', '/login?a=b']) {
    for (const method of ['GET', 'HEAD']) expect([path, await ask(method, path)]).toEqual([path, [200, null]]);
    for (const method of ['PUT', 'DELETE', 'PATCH']) expect(await ask(method, path)).toEqual([405, 'GET, HEAD, POST, OPTIONS']);
    expect(await ask('OPTIONS', path)).toEqual([204, null]);
    // Without its CSRF token.
    expect(await ask('POST', path)).toEqual([403, null]);
  }
  for (const path of ['/LOGIN', '/login//', '//login', '/login/x', '/login;a'])
    expect([path, await ask('GET', path)]).toEqual([path, [404, null]]);
  expect(await headersOf('/login')).toEqual(await headersOf('/register'));
});
