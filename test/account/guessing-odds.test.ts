// What guessing mailed codes is worth, what it does to their owners, and how long real people wait because of it.
import { beforeAll, beforeEach, describe, expect, test } from 'vitest';
import type { Context } from '../../src/domain/context.js';
import { noOrigin } from '../../src/domain/origin.js';
import { codeLength, budgetWindowMs, environmentBudget, longCodeLength } from '../../src/domain/passcodes/guess-budget.js';
import { startPasscode, tryCode } from '../../src/domain/passcodes/passcodes.js';
import { resendCode, startRegistration, verifyRegistration } from '../../src/domain/registration/registration.js';
import { Browser } from '../support/browser.js';
import { addUser } from '../support/data.js';
import { setEnvironment } from '../support/factors.js';
import { codeIn, lastMailTo, mailTo, otherCode, type CapturedMail } from '../support/mailbox.js';
import { startTestService } from '../support/service.js';
import { sharedService } from '../support/shared-service.js';

const service = sharedService(async () => {
  const started = await startTestService();
  await setEnvironment(started, { email_code_sign_in_enabled: true });
  return started;
});
let ctx: Context;
let count = 0;

beforeAll(async () => void (ctx = await service.context()));
beforeEach(() => service.deps.db.knex('passcode_budgets').delete());

const newAddress = () => ({ email: `odds-${++count}@example.com`, email_key: `odds-${count}@example.com` });
const newestCode = async (email: string) => {
  const mails = (await mailTo(service.url, email)) as CapturedMail[];
  return codeIn(mails[0]!);
};

describe('the odds', () => {
  test('of all who guess at an environment together are one in ten thousand an hour at most (attack 11.994)', () => {
    // An hour between two moments touches two windows at most.
    const short = (2 * environmentBudget) / 10 ** codeLength;
    // Longer codes have no budget: as many tries as somebody makes with fifty a second.
    const long = (50 * 3600) / 10 ** longCodeLength;
    expect(short + long).toBeLessThanOrEqual(1 / 10_000);
  });

  test.each([1, 5, 20])(
    '%i tries a code: no more than two budgets of six-digit guesses in any hour (attack 11.994)',
    async (otp_max_attempts) => {
      const patient = { ...ctx, environment: { ...ctx.environment, otp_max_attempts } };
      /** Guesses with as many six-digit codes as can be had now. @returns how many were looked at */
      const guess = async (wanted: number) => {
        let looked = 0;
        const codes = await Promise.all(
          Array.from({ length: Math.ceil(wanted / otp_max_attempts) }, () =>
            startPasscode(patient, { ...newAddress(), purpose: 'registration', user_id: null, usable: true, lifetime: 600 }),
          ),
        );
        expect(codes.every(({ code }) => code.length === codeLength)).toBe(true);
        for (let i = 0; i < wanted; i++) {
          const { passcode, code } = codes[Math.floor(i / otp_max_attempts)]!;
          if ((await tryCode(patient, 'registration', passcode.id, otherCode(code))).outcome === 'wrong') looked++;
        }
        return looked;
      };
      const first = service.clock.now().getTime();
      const looked = [await guess(1)];
      // The worst for us: the rest at the end of this window, and all of the next at its begin.
      service.clock.advance(budgetWindowMs - 10_000);
      looked.push(await guess(environmentBudget + 5));
      service.clock.advance(11_000);
      looked.push(await guess(environmentBudget + 5));
      expect(looked).toEqual([1, environmentBudget - 1, environmentBudget]);
      expect(service.clock.now().getTime() - first).toBeGreaterThan(budgetWindowMs);
      expect(looked.reduce((sum, one) => sum + one) - 1).toBeLessThan(2 * environmentBudget);
    },
  );
});

describe('owners', () => {
  test('a code that is bound to a browser isn’t ended by guesses in others, however many of its address (attack 11.995)', async () => {
    const { email } = await addUser(ctx);
    const ask = async (browser: Browser) => {
      const { sign_in_id } = (await (await browser.postJson('/login/code', { email })).json()) as { sign_in_id: string };
      return { browser, sign_in_id };
    };
    const prove = ({ browser, sign_in_id }: Awaited<ReturnType<typeof ask>>, code: string) =>
      browser.postJson('/login/code/verify', { sign_in_id, code });
    const owner = await ask(new Browser(service.url));
    const code = await newestCode(email);
    const strangers = [];
    for (let i = 0; i < 5; i++) strangers.push(await ask(new Browser(service.url)));
    const statuses = [];
    for (const stranger of strangers) for (let i = 0; i < 5; i++) statuses.push((await prove(stranger, otherCode(code))).status);
    expect(statuses).toEqual(Array.from({ length: 25 }, () => 422));
    expect((await prove(owner, code)).status).toBe(200);
  });

  test('beyond the budget of the address six digits are over, and who has the mail gets in by ten, again and again (attack 11.996)', async () => {
    const user = await addUser(ctx);
    const browser = new Browser(service.url);
    const start = async (path: string, id: string) => {
      const answer = (await (await browser.postJson(path, { email: user.email })).json()) as Record<string, string>;
      return { id: answer[id]!, code: codeIn(await lastMailTo(service.url, user.email)) };
    };
    const reset = (reset_id: string, code: string) =>
      browser.postJson('/password/reset', { reset_id, code, password: 'nine quiet herons fly' });
    const waiting = await start('/password/forgot', 'reset_id');
    const opened = [];
    for (let i = 0; i < 4; i++) opened.push(await start('/password/forgot', 'reset_id'));
    for (const { id, code } of opened) for (let i = 0; i < 5; i++) expect((await reset(id, otherCode(code))).status).toBe(422);
    // The environment's budget is not what ends it.
    await service.deps.db.knex('passcode_budgets').delete();
    expect((await reset(waiting.id, waiting.code)).status).toBe(410);
    for (let round = 0; round < 3; round++) {
      const stranger = await start('/password/forgot', 'reset_id');
      for (let i = 0; i < 6; i++) await reset(stranger.id, '0123456789');
      const own = await start('/password/forgot', 'reset_id');
      expect([stranger.code.length, own.code.length]).toEqual([longCodeLength, longCodeLength]);
      expect((await reset(own.id, own.code)).status).toBe(200);
    }
    // Ten-digit codes spend nothing of the environment's budget.
    expect(await service.deps.db.knex('passcode_budgets')).toEqual([]);
    // Of another address nothing is longer.
    const other = newAddress();
    await startRegistration(ctx, other, noOrigin);
    expect(await newestCode(other.email)).toHaveLength(codeLength);
  });

  test('the wait: whose code is on its way when strangers use the budget up waits for the next mail, a minute at most; whoever comes later not at all', async () => {
    const people: { email: string; id: string; code: string }[] = [];
    const begin = async () => {
      const address = newAddress();
      const { id } = await startRegistration(ctx, address, noOrigin);
      people.push({ email: address.email, id, code: await newestCode(address.email) });
    };
    for (let i = 0; i < 13; i++) {
      await begin();
      service.clock.advance(10_000);
    }
    const used = { environment_id: ctx.environment.id, window_started_at: service.clock.now(), guess_count: environmentBudget };
    await service.deps.db.knex('passcode_budgets').insert(used);
    await begin();
    /** Seconds that the answers told them to wait, one after the other. */
    let waited = 0;
    const waits: number[] = [];
    // Who asked first is served first: the clock goes on, so the newest are looked at last.
    for (const { email, id, code } of people) {
      let verdict = await verifyRegistration(ctx, id, code);
      if (verdict.outcome === 'right') {
        waits.push(0);
        continue;
      }
      expect(verdict.outcome).toBe('budget_used_up');
      const resent = await resendCode(ctx, id, noOrigin);
      if (resent.outcome === 'too_soon') {
        service.clock.advance(resent.retry_after * 1000);
        waited += resent.retry_after;
        expect((await resendCode(ctx, id, noOrigin)).outcome).toBe('sent');
      }
      verdict = await verifyRegistration(ctx, id, await newestCode(email));
      expect(verdict.outcome).toBe('right');
      waits.push(waited);
    }
    // Those who had asked 130 to 60 seconds before, 50 to 10 seconds before (some of which pass while the test runs), and just then.
    expect(waits.slice(0, 8)).toEqual([0, 0, 0, 0, 0, 0, 0, 0]);
    expect(waits.slice(8, 13).map((wait) => Math.ceil(wait / 10) * 10)).toEqual([10, 20, 30, 40, 50]);
    expect(waits[13]).toBe(0);
  });
});
