// A browser that has signed in before isn't locked out, refused or kept waiting because of what strangers do.
import { setImmediate } from 'node:timers/promises';
import { describe, expect, test } from 'vitest';
import { isKnownTo } from '../../src/domain/sessions/known-browsers.js';
import { createPasswordHasher } from '../../src/domain/passwords/passwords.js';
import type { UserRow } from '../../src/db/tables/users.js';
import { Browser } from '../support/browser.js';
import { addUser, password } from '../support/data.js';
import { setEnvironment } from '../support/factors.js';
import { jsonFrom } from '../support/from-address.js';
import { passTime } from '../support/rate-limits.js';
import { startTestService } from '../support/service.js';
import { contextOf, sharedService } from '../support/shared-service.js';

const service = sharedService();
const ctx = contextOf(service);

/** A browser that signed in and out again: it has no session, but the account knows it. */
async function knownBrowser(user: UserRow, at = service): Promise<Browser> {
  const browser = new Browser(at.url);
  await browser.login(user.email, password);
  browser.cookies.delete('idp_session');
  expect(browser.cookies.has('idp_device')).toBe(true);
  return browser;
}
const signIn = async (browser: Browser, email: string, given: string) =>
  (await browser.postJson('/login', { email, password: given })).status;

async function lockedOut(user: UserRow): Promise<void> {
  for (let i = 0; i < 10; i++) expect(await signIn(new Browser(service.url), user.email, 'wrong password')).toBe(401);
  expect(await signIn(new Browser(service.url), user.email, password)).toBe(401);
}

describe('lockout', () => {
  test('by strangers does not concern a known browser, whose sign-in does not end it for them (attack 10.263)', async () => {
    const user = await addUser(ctx);
    const browser = await knownBrowser(user);
    await lockedOut(user);
    expect(await signIn(browser, user.email, password)).toBe(200);
    expect(await signIn(new Browser(service.url), user.email, password)).toBe(401);
    service.clock.advance(901_000);
    expect(await signIn(new Browser(service.url), user.email, password)).toBe(200);
  });

  test('by its own guesses locks a known browser, and strangers with it, as ever', async () => {
    const user = await addUser(ctx);
    const [guesser, other] = [await knownBrowser(user), await knownBrowser(user)];
    for (let i = 0; i < 10; i++) expect(await signIn(guesser, user.email, 'wrong password')).toBe(401);
    expect(await signIn(guesser, user.email, password)).toBe(401);
    expect(await signIn(new Browser(service.url), user.email, password)).toBe(401);
    expect(await signIn(other, user.email, password)).toBe(200);
    service.clock.advance(901_000);
    expect(await signIn(guesser, user.email, password)).toBe(200);
    expect(await service.deps.db.knex('browser_lockouts')).toEqual([]);
  });
});

describe('who is known', () => {
  const known = async (browser: Browser, user: UserRow): Promise<boolean> => {
    await lockedOut(user);
    const status = await signIn(browser, user.email, password);
    expect([200, 401]).toContain(status);
    return status === 200;
  };

  test('a browser to whom somebody else signed in, or whose cookie was changed, is a stranger', async () => {
    const [user, other] = [await addUser(ctx), await addUser(ctx)];
    const browser = await knownBrowser(other);
    const forged = await knownBrowser(user);
    forged.cookies.set('idp_device', `${forged.cookies.get('idp_device')?.slice(0, -2)}AA`);
    expect(await known(browser, user)).toBe(false);
    expect(await signIn(forged, user.email, password)).toBe(401);
  });

  test('for 400 days', () => {
    const at = service.clock.now().getTime();
    const user = { id: 'u', password_changed_at: null };
    const device = (days: number) => ({ id: 'd', users: [['u', at - days * 86_400_000] as const] });
    expect([isKnownTo(ctx, device(399), user), isKnownTo(ctx, device(400), user), isKnownTo(ctx, null, user)]).toEqual([
      true,
      false,
      false,
    ]);
  });

  test('not after a new password, for whoever had the old one may have used any browser', async () => {
    const user = await addUser(ctx);
    const browser = await knownBrowser(user);
    service.clock.advance(1000);
    await ctx.db.knex('users').where({ id: user.id }).update({ password_changed_at: service.clock.now() });
    expect(await known(browser, user)).toBe(false);
  });
});

test('strangers who use an account’s limit up do not keep a known browser out, which has one of its own', async () => {
  const limited = await startTestService({ RATE_LIMITS: 'on' });
  try {
    const user = await addUser(await limited.context());
    const known = await knownBrowser(user, limited);
    const cookie = `idp_device=${known.cookies.get('idp_device')}`;
    let host = 1;
    const ask = async (headers: Record<string, string>, given = password) =>
      (await jsonFrom(`127.0.3.${host++}`, `${limited.url}/login`, { email: user.email, password: given }, headers)).status;
    const statuses: number[] = [];
    for (let i = 0; i < 11; i++) statuses.push(await ask({}, 'wrong password'));
    expect(statuses.at(-1)).toBe(429);
    expect(await ask({}, password)).toBe(429);
    expect(await ask({ cookie })).toBe(200);
    for (let i = 0; i < 9; i++) await ask({ cookie }, 'wrong password');
    expect(await ask({ cookie })).toBe(429);
  } finally {
    await limited.stop();
  }
});

test.each([
  ['/password/forgot', 1],
  ['/login/code', 3],
])(
  'strangers who have mails sent to somebody by %s, as many as they may, keep no known browser from it (attack 12.1059)',
  async (path, minutes) => {
    const limited = await startTestService({ RATE_LIMITS: 'on' });
    try {
      await setEnvironment(limited, { email_code_sign_in_enabled: true });
      const user = await addUser(await limited.context());
      const known = await knownBrowser(user, limited);
      const ask = async () => (await jsonFrom('127.0.3.200', `${limited.url}${path}`, { email: user.email })).status;
      for (let minute = 0; minute < minutes; minute++) {
        await passTime(limited, 61_000);
        for (let i = 0; i < 10; i++) expect(await ask()).toBe(202);
        // The minute's limit, then the longer one: each has a window of its own for the browser that the account knows.
        expect(await ask()).toBe(429);
        expect((await known.postJson(path, { email: user.email })).status).toBe(202);
      }
      await passTime(limited, 61_000);
      expect(await ask()).toBe(429);
      expect((await known.postJson(path, { email: user.email })).status).toBe(202);
      // Of another account it knows nothing: it is anybody there.
      const other = await addUser(await limited.context());
      for (let i = 0; i < 10; i++)
        expect((await jsonFrom('127.0.3.201', `${limited.url}${path}`, { email: other.email })).status).toBe(202);
      expect((await known.postJson(path, { email: other.email })).status).toBe(429);
    } finally {
      await limited.stop();
    }
  },
);

test('under a flood a known browser goes before strangers, who get 503 with Retry-After instead of a long wait', async () => {
  const passwords = createPasswordHasher({ concurrency: 1, queueMax: 2 });
  const flooded = await startTestService({}, { overrides: { passwords } });
  const stranger = { environment_id: (await flooded.context()).environment.id, priority: 'stranger' } as const;
  const theirs = await passwords.hash('another password');
  let over = false;
  let checked = 0;
  const flood = async () => {
    while (!over)
      await passwords.verify(theirs, 'a guess', stranger).then(
        () => void checked++,
        () => setImmediate(),
      );
  };
  try {
    const user = await addUser(await flooded.context());
    const browser = await knownBrowser(user, flooded);
    // One is being checked and two wait, all the time.
    const strangers = [flood(), flood(), flood()];
    await expect.poll(() => checked, { timeout: 20_000 }).toBeGreaterThan(0);
    const refused = await new Browser(flooded.url).postJson('/login', { email: user.email, password });
    expect([refused.status, Number(refused.headers.get('retry-after')) > 0]).toEqual([503, true]);
    const before = checked;
    expect(await signIn(browser, user.email, password)).toBe(200);
    // Two strangers waited before it; at most one of them had begun.
    expect(checked - before).toBeLessThanOrEqual(2);
    over = true;
    await Promise.all(strangers);
  } finally {
    over = true;
    await flooded.stop();
  }
});
