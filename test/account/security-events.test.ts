// What signing in, being refused, changing a password and recovering an account leave behind: by name, success and refusal.
import { beforeEach, describe, expect, test } from 'vitest';
import { mailQueue } from '../../src/outbox/mail/send.js';
import type { UserRow } from '../../src/db/tables/users.js';
import { Browser } from '../support/browser.js';
import { addConnection } from '../support/connections.js';
import { addUser, password } from '../support/data.js';
import { addTwoStepUser, givePasskey, halfSignedIn, optionsAt, setEnvironment, totpCode } from '../support/factors.js';
import { codeIn, lastMailTo, otherCode } from '../support/mailbox.js';
import { auditRows, eventLines, lastRow, marks, origin } from '../support/security-events.js';
import { contextOf, sharedService } from '../support/shared-service.js';
import { SoftwareAuthenticator } from '../support/software-authenticator.js';
import { drain } from '../support/outbox-queue.js';

const service = sharedService();
const ctx = contextOf(service);
let user: UserRow;
let browser: Browser;
const newPassword = 'a wholly different sentence';

beforeEach(async () => {
  user = await addUser(ctx);
  browser = new Browser(service.url, marks);
});

const signIn = (secret = password, email = user.email) => browser.postJson('/login', { email, password: secret });
const rowsOf = async (action: string, who = user) => (await auditRows(service, action)).filter(({ target_id }) => target_id === who.id);

describe('sign-in', () => {
  test('login.succeeded: a row with actor, address, request id, and a line (attack 21.277)', async () => {
    expect((await signIn()).status).toBe(200);
    const row = await lastRow(service, 'login.succeeded');
    expect(row).toMatchObject({
      outcome: 'success',
      actor_kind: 'user',
      actor_id: user.id,
      actor_display: user.email,
      target_type: 'session',
      changes: { amr: [null, ['pwd']], methods: [null, ['password']], new_device: [null, true] },
      security_event: true,
      count: 1,
      ...origin,
    });
    const session = (await service.deps.db.knex('sessions').where({ user_id: user.id }).first()) as { id: string };
    expect(row.target_id).toBe(session.id);
    expect(eventLines(service, 'login.succeeded').at(-1)).toMatchObject({
      actor_id: user.id,
      target_id: session.id,
      outcome: 'success',
      ...origin,
    });
  });

  test('login.failed: a wrong password is told of its account, which nobody has proven to own', async () => {
    expect((await signIn('wrong')).status).toBe(401);
    const [row, ...more] = await rowsOf('login.failed');
    expect(more).toEqual([]);
    const said = { outcome: 'failure', reason: 'invalid_credentials', actor_kind: 'anonymous', actor_id: null, ...origin };
    expect(row).toMatchObject({ ...said, target_type: 'user', target_display: user.email, count: 1 });
    expect(eventLines(service, 'login.failed').at(-1)).toMatchObject({ ...said, target_id: user.id });
    expect(await rowsOf('login.succeeded')).toEqual([]);
  });

  describe('login.failed: a right proof that signs nobody in (attack 21.1123)', () => {
    const refused = async (answer: Response) => {
      const { error } = (await answer.json()) as { error: string };
      const rows = (await rowsOf('login.failed')).map(({ reason, outcome, ip_address }) => [reason, outcome, ip_address]);
      return [answer.status, error, rows, await rowsOf('login.succeeded')];
    };
    const counted = async (method: string, outcome: string) =>
      (await service.deps.metrics.logins.get()).values.find(({ labels }) => labels.method === method && labels.outcome === outcome)
        ?.value ?? 0;

    test('a second step after another password', async () => {
      const two = await addTwoStepUser(service);
      user = two.user;
      const half = await halfSignedIn(service, user);
      await ctx.scope.knex('users').where({ id: user.id }).update({ password_hash: 'another' });
      const before = await counted('totp', 'account_changed');
      const code = totpCode(two.secret, service.clock.now());
      const answer = await half.postJson('/login/verify', { method: 'totp', code });
      expect(await refused(answer)).toEqual([410, 'sign_in_expired', [['account_changed', 'failure', '127.0.0.1']], []]);
      expect(await counted('totp', 'account_changed')).toBe(before + 1);
    });

    test('a mailed code after a block', async () => {
      await setEnvironment(service, { email_code_sign_in_enabled: true });
      const { sign_in_id } = (await (await browser.postJson('/login/code', { email: user.email })).json()) as { sign_in_id: string };
      const code = codeIn(await lastMailTo(service.url, user.email));
      await ctx.scope.knex('users').where({ id: user.id }).update({ status: 'blocked' });
      const answer = await browser.postJson('/login/code/verify', { sign_in_id, code });
      await setEnvironment(service, { email_code_sign_in_enabled: false });
      expect(await refused(answer)).toEqual([403, 'account_blocked', [['account_blocked', 'failure', '127.0.0.1']], []]);
    });

    test('a passkey of an address that signs in elsewhere alone', async () => {
      user = await addUser(ctx, { email: 'ada@passkeys.example' });
      const authenticator = new SoftwareAuthenticator();
      await givePasskey(service, user, authenticator);
      await addConnection(ctx, { domains: ['passkeys.example'], required: true });
      const credential = authenticator.get(await optionsAt(browser, '/login/passkey/options'), { origin: service.url });
      const answer = await browser.postJson('/login/passkey', { credential });
      expect(await refused(answer)).toEqual([401, 'passkey_refused', [['connection_required', 'failure', '127.0.0.1']], []]);
    });

    test('a copied passkey of such an address (attack 25.1153)', async () => {
      user = await addUser(ctx, { email: 'ada@copied.example' });
      const authenticator = new SoftwareAuthenticator();
      await givePasskey(service, user, authenticator, { sign_count: 5 });
      await addConnection(ctx, { domains: ['copied.example'], required: true });
      const credential = authenticator.get(await optionsAt(browser, '/login/passkey/options'), { origin: service.url, sign_count: 5 });
      const answer = await browser.postJson('/login/passkey', { credential });
      expect(await refused(answer)).toEqual([401, 'passkey_refused', [['passkey_counter', 'failure', '127.0.0.1']], []]);
    });
  });

  test('login.failed: an address without an account is neither in the row nor in the log', async () => {
    expect((await signIn('wrong', 'my-password-typed-here@example.com')).status).toBe(401);
    const row = await lastRow(service, 'login.failed');
    expect([row.target_id, row.target_display, row.reason]).toEqual([null, null, 'invalid_credentials']);
    expect(JSON.stringify(await auditRows(service, 'login.failed')) + service.log.join()).not.toContain('my-password-typed-here');
  });

  test('login.failed: a blocked account, after the right password', async () => {
    user = await addUser(ctx, { status: 'blocked' });
    expect((await signIn()).status).toBe(403);
    expect(await rowsOf('login.failed')).toMatchObject([{ reason: 'account_blocked', outcome: 'failure' }]);
  });

  test('account.locked: told once, when it happens; later tries say that it is (attack 21.277)', async () => {
    for (let i = 0; i < 10; i++) await signIn(`guess ${i}`);
    expect(await rowsOf('account.locked')).toMatchObject([{ outcome: 'failure', actor_kind: 'anonymous', count: 1, ...origin }]);
    expect(eventLines(service, 'account.locked').filter((line) => line['target_id'] === user.id)).toHaveLength(1);
    expect((await signIn()).status).toBe(401);
    expect((await rowsOf('login.failed')).some(({ reason }) => reason === 'account_locked')).toBe(true);
    expect(await rowsOf('account.locked')).toHaveLength(1);
  });

  test('login.failed: what repeats within a minute shares a row; the log has a line each', async () => {
    const before = eventLines(service, 'login.failed').length;
    for (let i = 0; i < 7; i++) await signIn(`guess ${i}`);
    const rows = await rowsOf('login.failed');
    expect(rows.reduce((sum, { count }) => sum + count, 0)).toBe(7);
    // A minute may have ended in between.
    expect(rows.length).toBeLessThanOrEqual(2);
    expect(eventLines(service, 'login.failed').length - before).toBe(7);
  });

  test('no password, wrong or right, is in the log or in the audit log', async () => {
    await signIn('a very wrong password');
    await signIn();
    const rows = JSON.stringify(await service.deps.db.knex('audit_logs'));
    for (const secret of ['a very wrong password', password]) expect(rows + service.log.join()).not.toContain(secret);
  });
});

describe('the own password', () => {
  test('password.changed: by its owner', async () => {
    await signIn();
    const answer = await browser.postJson('/account/password', { current_password: password, password: newPassword });
    expect(answer.status).toBe(200);
    expect(await rowsOf('password.changed')).toMatchObject([{ actor_id: user.id, outcome: 'success', ...origin }]);
    expect(eventLines(service, 'password.changed').at(-1)).toMatchObject({ actor_id: user.id, ...origin });
  });

  test('password.changed: not when the current one is wrong, which counts as a refused sign-in', async () => {
    await signIn();
    expect((await browser.postJson('/account/password', { current_password: 'wrong', password: newPassword })).status).toBe(401);
    expect(await rowsOf('password.changed')).toEqual([]);
    expect(await rowsOf('login.failed')).toHaveLength(1);
  });
});

describe('recovery', () => {
  const ask = async (email = user.email) => (await (await browser.postJson('/password/forgot', { email })).json()) as { reset_id: string };
  const mailedCode = async () => {
    await drain(mailQueue(service.deps));
    return codeIn(await lastMailTo(service.url, user.email));
  };

  test('recovery.requested and recovery.completed (attack 21.277)', async () => {
    const { reset_id } = await ask();
    expect(await rowsOf('recovery.requested')).toMatchObject([{ outcome: 'success', actor_kind: 'anonymous', ...origin }]);
    const code = await mailedCode();
    expect((await browser.postJson('/password/reset', { reset_id, code, password: newPassword })).status).toBe(200);
    expect(await rowsOf('recovery.completed')).toMatchObject([{ outcome: 'success', actor_id: user.id, ...origin }]);
    expect(eventLines(service, 'recovery.completed').at(-1)).toMatchObject({ actor_id: user.id, severity: 'warning', ...origin });
    expect(JSON.stringify(await service.deps.db.knex('audit_logs')) + service.log.join()).not.toContain(code);
  });

  test('recovery.requested for an unknown address says nothing of the address', async () => {
    await ask('no-such-person@example.com');
    expect(await lastRow(service, 'recovery.requested')).toMatchObject({ target_id: null, target_display: null });
    expect(service.log.filter((line) => line.includes('recovery.requested')).join()).not.toContain('no-such-person');
  });

  test('recovery.failed: a wrong code, and one that is no longer good; nothing is completed', async () => {
    const { reset_id } = await ask();
    const code = await mailedCode();
    const before = (await auditRows(service, 'recovery.completed')).length;
    expect((await browser.postJson('/password/reset', { reset_id, code: otherCode(code), password: newPassword })).status).toBe(422);
    expect(eventLines(service, 'recovery.failed').at(-1)).toMatchObject({ reason: 'invalid_code', outcome: 'failure', ...origin });
    service.clock.advance(3_600_000);
    expect((await browser.postJson('/password/reset', { reset_id, code, password: newPassword })).status).toBe(410);
    expect(await lastRow(service, 'recovery.failed')).toMatchObject({
      reason: 'code_expired',
      outcome: 'failure',
      actor_kind: 'anonymous',
    });
    expect(await auditRows(service, 'recovery.completed')).toHaveLength(before);
  });
});
