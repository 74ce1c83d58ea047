// Second steps: what is right, what is counted, and what is never taken twice.
import { TOTP } from 'otpauth';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { sharedDatabase } from '../../support/shared-service.js';
import { randomBytes } from 'node:crypto';
import { transaction, type Context } from '../../../src/domain/context.js';
import { activateTotpOf, makeRecoveryCodes, startTotp } from '../../../src/domain/authenticators/enrolment.js';
import {
  guessableTries,
  judgeSecondStep,
  secondStepMethods,
  type SecondStepAnswer,
  type SecondStepVerdict,
} from '../../../src/domain/sign-ins/second-step.js';
import { noOrigin } from '../../../src/domain/origin.js';
import { proofNow } from '../../../src/domain/proofs/proofs.js';
import { judgeEmailSignIn, mayUseEmail, sendSecondStepCode, startEmailSignIn } from '../../../src/domain/sign-ins/email-codes.js';
import { completeSignIn, findHalfSignIn, signInAttempts, startSignIn } from '../../../src/domain/sessions/half-sign-ins.js';
import { listCapturedMails } from '../../../src/domain/mail/mail.js';
import { requestPasswordReset, resetPassword } from '../../../src/domain/credentials/password-reset.js';
import { countRecoveryCodesLeft } from '../../../src/db/tables/recovery_codes.js';
import type { Browser } from '../../../src/domain/sign-ins/browser-session.js';
import type { SignInRow } from '../../../src/db/tables/sign_ins.js';
import { findUser, type UserRow } from '../../../src/db/tables/users.js';
import { addUser } from '../../support/data.js';
import { spent } from '../../support/single-use.js';
import { openContext } from '../../support/standalone.js';

/** Two processes on one database. */
const opened: { ctx: Context; close(): Promise<void> }[] = [];
let ctx: Context;
let other: Context;
let user: UserRow;
let secret: string;

const database = sharedDatabase();
beforeAll(async () => {
  const key = randomBytes(32).toString('base64');
  opened.push(await openContext(database.url, key), await openContext(database.url, key));
  ctx = (opened[0] as { ctx: Context }).ctx;
  other = (opened[1] as { ctx: Context }).ctx;
});
afterAll(async () => {
  for (const one of opened) await one.close();
});
beforeEach(async () => {
  user = await addUser(ctx);
  secret = await enrollTotp(user);
  user = (await findUser(ctx.scope, user.id)) as UserRow;
});

const later = (seconds: number, of: Context = ctx): Context => ({
  ...of,
  clock: { ...of.clock, now: () => new Date(of.clock.now().getTime() + seconds * 1000) },
});
const withSettings = (settings: Partial<Context['environment']>, of: Context = ctx): Context => ({
  ...of,
  environment: { ...of.environment, ...settings },
});
const codeOf = (of: string, at = ctx.clock.now()) => new TOTP({ secret: of }).generate({ timestamp: at.getTime() });
/** A code of six digits that is none of the three right ones. */
function wrongCode(): string {
  const right = [-30, 0, 30].map((seconds) => codeOf(secret, later(seconds).clock.now()));
  return ['000000', '111111', '222222', '333333'].find((code) => !right.includes(code)) as string;
}

async function enrollTotp(owner: UserRow): Promise<string> {
  const started = await startTotp(ctx, { user_id: owner.id, name: 'Phone' });
  if (started.outcome !== 'started') throw new Error(started.outcome);
  const { authenticator_id } = started;
  // A step earlier, so that the code of this one is still to be had.
  const code = codeOf(started.secret, later(-30).clock.now());
  const added = await activateTotpOf(ctx, owner.id, { authenticator_id, code }, noOrigin);
  if (added.outcome !== 'added') throw new Error(added.outcome);
  return started.secret;
}

const halfSignIn = async (): Promise<SignInRow> =>
  (await startSignIn(ctx, { user_id: user.id, stage: 'verify', proofs: [proofNow('password', ctx.clock.now())] })).sign_in;

const browser: Browser = { session: null, device: null, secret: 'b', host: undefined, origin: noOrigin };
/** Judges a second step, and spends what a right one uses up. */
const attempt = (current: SignInRow, answer: SecondStepAnswer, at: Context = ctx): Promise<SecondStepVerdict> =>
  spent(at, judgeSecondStep(at, { user, answer, current, browser }));
const totp = (code: string) => ({ method: 'totp', code }) as const;
const recovery = (code: string) => ({ method: 'recovery_code', code }) as const;
const subjects = async () => (await listCapturedMails(ctx, user.email)).map(({ subject }) => subject);

describe('a TOTP', () => {
  test('the first one begins two-step and brings ten recovery codes; the owner is told', async () => {
    expect(user).toMatchObject({ two_step_enabled: true, authenticator_kinds: ['recovery_codes', 'totp'] });
    expect(await countRecoveryCodesLeft(ctx.scope, user.id)).toBe(10);
    expect(await subjects()).toEqual(
      expect.arrayContaining(['An authenticator app was added to your Default account', 'Two-step sign-in is on at Default']),
    );
  });

  test('a code is taken once, whatever the process; nor is one of an earlier step after it (attack 25.510)', async () => {
    const halves = await Promise.all([halfSignIn(), halfSignIn(), halfSignIn(), halfSignIn()]);
    const code = codeOf(secret);
    const verdicts = await Promise.all(halves.map((half, index) => attempt(half, totp(code), index % 2 === 0 ? ctx : other)));
    expect(verdicts.map(({ outcome }) => outcome).sort()).toEqual(['proven', 'wrong', 'wrong', 'wrong']);
    expect(await attempt(await halfSignIn(), totp(codeOf(secret, later(-30).clock.now())))).toMatchObject({ outcome: 'wrong' });
    const next = later(30);
    expect(await attempt(await halfSignIn(), totp(codeOf(secret, next.clock.now())), next)).toMatchObject({ outcome: 'proven' });
  });

  test('takes the steps on either side, and none beyond; spaces are no part of a code', async () => {
    const at = later(90);
    expect((await attempt(await halfSignIn(), totp(codeOf(secret)), at)).outcome).toBe('wrong');
    const code = codeOf(secret, later(60).clock.now());
    expect((await attempt(await halfSignIn(), totp(`${code.slice(0, 3)} ${code.slice(3)}`), at)).outcome).toBe('proven');
  });

  test('one that waits for its first code is no factor, and ends after ten minutes', async () => {
    const owner = await addUser(ctx);
    const started = await startTotp(ctx, { user_id: owner.id, name: 'Phone' });
    if (started.outcome !== 'started') throw new Error(started.outcome);
    expect(await findUser(ctx.scope, owner.id)).toMatchObject({ two_step_enabled: false, authenticator_kinds: [] });
    const { authenticator_id } = started;
    const at = later(601);
    const code = codeOf(started.secret, at.clock.now());
    expect(await activateTotpOf(at, owner.id, { authenticator_id, code }, noOrigin)).toEqual({ outcome: 'expired' });
    expect(await activateTotpOf(ctx, user.id, { authenticator_id, code: codeOf(started.secret) }, noOrigin)).toEqual({
      outcome: 'expired',
    });
    expect(await activateTotpOf(ctx, owner.id, { authenticator_id, code: 'abcdef' }, noOrigin)).toEqual({ outcome: 'wrong' });
    expect(await activateTotpOf(ctx, owner.id, { authenticator_id, code: codeOf(started.secret) }, noOrigin)).toMatchObject({
      outcome: 'added',
    });
  });
});

describe('recovery codes', () => {
  test('one is taken once, of two at the same moment (attack 25.511); case, spaces and dashes don’t matter', async () => {
    const [code] = (await makeRecoveryCodes(ctx, user.id, noOrigin)) as string[];
    expect(code).toMatch(/^[BCDFGHJKLMNPQRSTVWXZ23456789]{5}-[BCDFGHJKLMNPQRSTVWXZ23456789]{5}$/);
    const typed = ` ${(code as string).toLowerCase().replace('-', ' ')} `;
    const halves = await Promise.all([halfSignIn(), halfSignIn(), halfSignIn()]);
    const verdicts = await Promise.all(halves.map((half, index) => attempt(half, recovery(typed), index === 0 ? other : ctx)));
    expect(verdicts.map(({ outcome }) => outcome).sort()).toEqual(['proven', 'wrong', 'wrong']);
    expect(await countRecoveryCodesLeft(ctx.scope, user.id)).toBe(9);
    expect(await subjects()).toContain('A recovery code was used at Default');
  });

  test('a new set kills the old; another user’s codes are nobody else’s (attack 25.512)', async () => {
    const [old] = (await makeRecoveryCodes(ctx, user.id, noOrigin)) as string[];
    const [fresh] = (await makeRecoveryCodes(ctx, user.id, noOrigin)) as string[];
    expect((await attempt(await halfSignIn(), recovery(old as string))).outcome).toBe('wrong');
    const owner = user;
    user = await addUser(ctx);
    secret = await enrollTotp(user);
    expect((await attempt(await halfSignIn(), recovery(fresh as string))).outcome).toBe('wrong');
    user = owner;
    expect((await attempt(await halfSignIn(), recovery(fresh as string))).outcome).toBe('proven');
  });

  test('one is spent and told by mail, or neither: no mail, no code', async () => {
    const [code] = (await makeRecoveryCodes(ctx, user.id, noOrigin)) as string[];
    await ctx.db.knex.raw('alter table mails add constraint no_mails check (false) not valid');
    await expect(attempt(await halfSignIn(), recovery(code as string))).rejects.toThrow('no_mails');
    await ctx.db.knex.raw('alter table mails drop constraint no_mails');
    expect(await countRecoveryCodesLeft(ctx.scope, user.id)).toBe(10);
    expect((await attempt(await halfSignIn(), recovery(code as string))).outcome).toBe('proven');
  });

  test('there are none without a factor that they stand in for', async () =>
    expect(await makeRecoveryCodes(ctx, (await addUser(ctx)).id, noOrigin)).toBeNull());
});

describe('guesses', () => {
  test(`${signInAttempts} wrong codes end a half sign-in, for the right one too (attack 25.513)`, async () => {
    const half = await halfSignIn();
    const left: unknown[] = [];
    for (let i = 0; i < signInAttempts; i++) left.push(await attempt(half, i % 2 === 0 ? totp(wrongCode()) : recovery('BBBBB-BBBBB')));
    expect(left).toEqual([4, 3, 2, 1, 0].map((attempts_left) => ({ outcome: 'wrong', attempts_left })));
    expect(await attempt(half, totp(codeOf(secret)))).toEqual({ outcome: 'expired' });
  });

  test('count per user over methods, sign-ins and processes at once, and lock the second step (attack 25.514)', async () => {
    const locking = [ctx, other].map((of) => withSettings({ lockout_threshold: 6, lockout_lifetime: 900 }, of));
    const halves = await Promise.all(Array.from({ length: 12 }, halfSignIn));
    const verdicts = await Promise.all(
      halves.map((half, index) => attempt(half, index % 3 === 0 ? recovery('BBBBB-BBBBB') : totp(wrongCode()), locking[index % 2])),
    );
    expect(verdicts.filter(({ outcome }) => outcome === 'wrong')).toHaveLength(6);
    expect(verdicts.filter(({ outcome }) => outcome === 'locked')).toHaveLength(6);
    const [here] = locking as [Context];
    const right = await attempt(await halfSignIn(), totp(codeOf(secret)), here);
    expect(right).toMatchObject({ outcome: 'locked' });
    expect(right.outcome === 'locked' && right.retry_after).toBeGreaterThan(800);
    expect((await subjects()).filter((subject) => subject.startsWith('Your second step is locked'))).toHaveLength(1);
    // The password isn't locked by it.
    expect((await findUser(ctx.scope, user.id))?.locked_until).toBeNull();
    const after = later(901, here);
    const half = (await startSignIn(after, { user_id: user.id, stage: 'verify', proofs: [] })).sign_in;
    expect((await attempt(half, totp(codeOf(secret, after.clock.now())), after)).outcome).toBe('proven');
  });

  test(`after ${guessableTries} without success only what can’t be guessed is taken, until it succeeds (attack 25.515)`, async () => {
    const patient = withSettings({ lockout_threshold: 1000 });
    const [code] = (await makeRecoveryCodes(ctx, user.id, noOrigin)) as string[];
    for (let i = 0; i < guessableTries; i++) await attempt(await halfSignIn(), recovery('BBBBB-BBBBB'), patient);
    expect(await attempt(await halfSignIn(), totp(codeOf(secret)), patient)).toEqual({ outcome: 'method_unavailable' });
    expect(await secondStepMethods(patient, user, [])).toEqual(['recovery_code']);
    expect((await attempt(await halfSignIn(), recovery(code as string), patient)).outcome).toBe('proven');
    expect((await attempt(await halfSignIn(), totp(codeOf(secret)), patient)).outcome).toBe('proven');
  });
});

describe('a half sign-in', () => {
  test('is completed by one of two requests, in whatever process, and lasts ten minutes (attack 25.516)', async () => {
    const half = await halfSignIn();
    const taken = await Promise.all([ctx, other, ctx].map((of) => transaction(of, (tx) => completeSignIn(tx, half))));
    expect(taken.filter((row) => row !== null)).toHaveLength(1);
    const { token } = await startSignIn(ctx, { user_id: user.id, stage: 'verify', proofs: [] });
    expect((await findHalfSignIn(other, token))?.user_id).toBe(user.id);
    expect(await findHalfSignIn(later(601), token)).toBeNull();
    expect(await findHalfSignIn(ctx, 'x'.repeat(43))).toBeNull();
  });
});

describe('codes by mail', () => {
  const mailed = async () => {
    const [mail] = (await listCapturedMails(ctx, user.email)).filter(({ subject }) => subject.endsWith('sign-in code'));
    return /\b\d{6}\b/.exec(mail?.text ?? '')?.[0] ?? '';
  };
  const byMail = () => withSettings({ email_second_factor_enabled: true, email_code_sign_in_enabled: true });

  test('are a second step where the environment has them, once, for the sign-in that asked', async () => {
    const [half, foreign] = [await halfSignIn(), await halfSignIn()];
    expect(await sendSecondStepCode(byMail(), user, half, noOrigin)).toMatchObject({ outcome: 'sent' });
    expect(await sendSecondStepCode(byMail(), user, half, noOrigin)).toMatchObject({ outcome: 'too_soon' });
    const answer = { method: 'email', code: await mailed() } as const;
    expect((await attempt(half, answer)).outcome).toBe('method_unavailable');
    expect((await attempt(foreign, answer, byMail())).outcome).toBe('wrong');
    expect((await attempt(half, answer, byMail())).outcome).toBe('proven');
    expect((await attempt(half, answer, byMail())).outcome).toBe('wrong');
  });

  test('are none after a code by mail, nor while the password came by mail and no other factor was used beside it since (attack 25.517) (attack 25.643)', async () => {
    expect(mayUseEmail(byMail(), user, [proofNow('password', ctx.clock.now())])).toBe(true);
    expect(mayUseEmail(byMail(), user, [proofNow('email', ctx.clock.now())])).toBe(false);
    const address = { email: user.email, email_key: user.email_key };
    const { reset_id } = await requestPasswordReset(ctx, address, noOrigin);
    const [mail] = await listCapturedMails(ctx, user.email);
    const code = /\b\d{6}\b/.exec(mail?.text ?? '')?.[0] ?? '';
    const half = await startSignIn(ctx, { user_id: user.id, stage: 'verify', proofs: [proofNow('password', ctx.clock.now())] });
    expect((await resetPassword(ctx, { reset_id, code, password: 'a wholly new secret', origin: noOrigin })).outcome).toBe('reset');
    // A reset removes no factor, and ends what was begun with the old password (attack 25.518).
    expect(await findHalfSignIn(ctx, half.token)).toBeNull();
    user = (await findUser(ctx.scope, user.id)) as UserRow;
    expect(user).toMatchObject({ two_step_enabled: true, authenticator_kinds: ['recovery_codes', 'totp'] });
    expect(mayUseEmail(byMail(), user, [proofNow('password', ctx.clock.now())])).toBe(false);
    // A factor that is used without the password doesn't say whose the password is.
    const alone = await startSignIn(ctx, { user_id: user.id, stage: 'verify', proofs: [proofNow('email', ctx.clock.now())] });
    const [other_code] = (await makeRecoveryCodes(ctx, user.id, noOrigin)) ?? [];
    expect((await attempt(alone.sign_in, recovery(other_code as string))).outcome).toBe('proven');
    expect(mayUseEmail(byMail(), (await findUser(ctx.scope, user.id)) as UserRow, [])).toBe(false);
    expect((await attempt(await halfSignIn(), totp(codeOf(secret)))).outcome).toBe('proven');
    expect(mayUseEmail(byMail(), (await findUser(ctx.scope, user.id)) as UserRow, [])).toBe(true);
  });

  test('are a first step in the browser that asked, for any address in the same way (attack 25.519)', async () => {
    const address = { email: user.email, email_key: user.email_key };
    const started = await startEmailSignIn(byMail(), address, 'own browser', noOrigin);
    const unknown = await startEmailSignIn(
      byMail(),
      { email: 'nobody@example.com', email_key: 'nobody@example.com' },
      'own browser',
      noOrigin,
    );
    expect(Object.keys(unknown)).toEqual(Object.keys(started));
    const code = await mailed();
    const prove = (browser: string) =>
      spent(byMail(), judgeEmailSignIn(byMail(), { sign_in_id: started.sign_in_id, code, browser, origin: noOrigin }));
    expect((await prove('another browser')).outcome).toBe('expired');
    expect(await prove('own browser')).toMatchObject({ outcome: 'proven', user: { id: user.id }, proof: { method: 'email' } });
    expect((await prove('own browser')).outcome).toBe('expired');
    const nobody = { sign_in_id: unknown.sign_in_id, code: '123456', browser: 'own browser', origin: noOrigin };
    expect((await judgeEmailSignIn(byMail(), nobody)).outcome).toBe('wrong');
  });
});

describe('a factor whose key is lost', () => {
  test('takes no code and is unavailable; the others of its kind, and other methods, go on', async () => {
    const [code] = (await makeRecoveryCodes(ctx, user.id, noOrigin)) as string[];
    const lose = (kind: string) =>
      ctx.db
        .knex('authenticators')
        .where({ user_id: user.id, kind })
        .update({ secret_sealed: Buffer.alloc(64, 1) });
    await lose('totp');
    expect((await attempt(await halfSignIn(), totp(codeOf(secret)))).outcome).toBe('method_unavailable');
    const second = await enrollTotp(user);
    expect((await attempt(await halfSignIn(), totp(codeOf(second)))).outcome).toBe('proven');
    expect((await attempt(await halfSignIn(), totp('000000'))).outcome).toBe('wrong');
    expect((await attempt(await halfSignIn(), recovery(code as string))).outcome).toBe('proven');
    await lose('recovery_codes');
    expect((await attempt(await halfSignIn(), recovery(code as string))).outcome).toBe('method_unavailable');
  });
});
