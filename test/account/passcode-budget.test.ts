// Six-digit codes can't be guessed by going from address to address: an environment has a budget of wrong ones.
import { beforeEach, describe, expect, test } from 'vitest';
import { environmentBudget } from '../../src/domain/passcodes/guess-budget.js';
import { Browser, csrfOf } from '../support/browser.js';
import { addEnvironment, addUser } from '../support/data.js';
import { codeIn, lastMailTo, mailTo, otherCode, type CapturedMail } from '../support/mailbox.js';
import { contextOf, shared, sharedService } from '../support/shared-service.js';

const service = sharedService();
let count = 0;

const ctx = contextOf(service);
const browser = shared(async () => new Browser(service.url));
beforeEach(() => service.deps.db.knex('passcode_budgets').delete());

const budget = environmentBudget;

/** As if so many wrong codes had come within this hour. */
const used = (guess_count: number) =>
  service.deps.db
    .knex('passcode_budgets')
    .insert({ environment_id: ctx.environment.id, window_started_at: service.clock.now(), guess_count });
const guesses = async () => ((await service.deps.db.knex('passcode_budgets').first()) as { guess_count: number } | undefined)?.guess_count;

async function started() {
  const email = `guess-${++count}@example.com`;
  const { registration_id } = (await (await browser.postJson('/register', { email })).json()) as { registration_id: string };
  return { email, registration_id, code: codeIn(await lastMailTo(service.url, email)) };
}
async function verify(registration_id: string, code: string) {
  const answer = await browser.postJson('/register/verify', { registration_id, code });
  return { status: answer.status, headers: answer.headers, body: (await answer.json()) as Record<string, unknown> };
}
const logged = (event: string) =>
  service.log.map((line) => JSON.parse(line) as Record<string, unknown>).filter((line) => line['event'] === event);

describe('the budget', () => {
  test('counts wrong codes of registrations and recoveries together, right ones never (attack 11.257)', async () => {
    const { registration_id, code } = await started();
    expect((await verify(registration_id, otherCode(code))).status).toBe(422);
    expect(await guesses()).toBe(1);
    expect((await verify(registration_id, code)).status).toBe(200);
    expect(await guesses()).toBe(1);
    const { reset_id } = (await (await browser.postJson('/password/forgot', { email: 'nobody@example.com' })).json()) as {
      reset_id: string;
    };
    const reset = await browser.postJson('/password/reset', { reset_id, code: '000000', password: 'nine quiet herons' });
    expect([reset.status, await guesses()]).toEqual([422, 2]);
    // What can't be tried costs nothing: nobody uses the budget up with made-up ids.
    expect((await verify('01990000-0000-7000-8000-000000000001', '000000')).status).toBe(410);
    expect(await guesses()).toBe(2);
  });

  test('used up: 429 with Retry-After for every code, the right one too, until the hour is over (attack 11.257)', async () => {
    const { registration_id, code } = await started();
    await used(budget);
    const refused = await verify(registration_id, code);
    expect([refused.status, refused.body['error']]).toEqual([429, 'rate_limited']);
    const wait = Number(refused.headers.get('retry-after'));
    expect(wait).toBeGreaterThan(3500);
    expect(wait).toBeLessThanOrEqual(3600);
    expect(await guesses()).toBe(budget);
    service.clock.advance(3_601_000);
    const later = await started();
    expect((await verify(later.registration_id, otherCode(later.code))).status).toBe(422);
    expect(await guesses()).toBe(1);
    expect((await verify(later.registration_id, later.code)).status).toBe(200);
  });

  test('parallel guesses get no more than is left (attack 11.257)', async () => {
    const open = await Promise.all(Array.from({ length: 8 }, () => started()));
    await used(budget - 3);
    const answers = await Promise.all(open.map(({ registration_id, code }) => verify(registration_id, otherCode(code))));
    expect(answers.map(({ status }) => status).sort()).toEqual([422, 422, 422, 429, 429, 429, 429, 429]);
    expect(await guesses()).toBe(budget);
  });

  test('used up: the pages say so, and the link of a recovery mail still works', async () => {
    const user = await addUser(ctx);
    const { registration_id, code } = await started();
    const { reset_id } = (await (await browser.postJson('/password/forgot', { email: user.email })).json()) as { reset_id: string };
    const mail = await lastMailTo(service.url, user.email);
    await used(budget);
    const html = await (await browser.get(`/register/verify?registration_id=${registration_id}`)).text();
    const page = await browser.post('/register/verify', { _csrf: csrfOf(html), registration_id, code });
    expect([page.status, Number(page.headers.get('retry-after')) > 0]).toEqual([429, true]);
    expect(await page.text()).toContain('Too many wrong codes');
    const fields = { reset_id, password: 'nine quiet herons fly' };
    const byCode = await browser.post('/password/reset', { _csrf: csrfOf(html), ...fields, code: codeIn(mail) });
    expect([byCode.status, Number(byCode.headers.get('retry-after')) > 0]).toEqual([429, true]);
    const token = /[?&]code=([\w-]{43})/.exec(mail.text)?.[1] ?? '';
    expect((await browser.postJson('/password/reset', { ...fields, code: token })).status).toBe(200);
  });

  test('is each environment’s own', async () => {
    const other = await addEnvironment(service.deps, 'elsewhere');
    await service.deps.db
      .knex('passcode_budgets')
      .insert({ environment_id: other.environment.id, window_started_at: service.clock.now(), guess_count: budget });
    const { registration_id, code } = await started();
    expect((await verify(registration_id, code)).status).toBe(200);
  });
});

test('half used: one line in the log and one count for each hour, and another when all is used', async () => {
  const metric = async (state: string) =>
    Number(
      new RegExp(`security_events_total\\{event="passcode.budget_${state}"\\} (\\d+)`).exec(await service.deps.metrics.render())?.[1] ?? 0,
    );
  const before = [await metric('half_used'), await metric('used_up')];
  const lines = logged('passcode.budget_half_used').length;
  await used(budget / 2 - 1);
  for (let i = 0; i < 3; i++) {
    const { registration_id, code } = await started();
    await verify(registration_id, otherCode(code));
  }
  const said = logged('passcode.budget_half_used').slice(lines);
  expect(said).toHaveLength(1);
  expect(said[0]).toMatchObject({
    event: 'passcode.budget_half_used',
    environment_id: ctx.environment.id,
    detail: { guess_count: budget / 2, budget },
    level: 40,
  });
  await service.deps.db.knex('passcode_budgets').update({ guess_count: 0 });
  const { registration_id, code } = await started();
  await service.deps.db.knex('passcode_budgets').update({ guess_count: budget - 1 });
  await verify(registration_id, otherCode(code));
  expect(logged('passcode.budget_used_up').at(-1)).toMatchObject({ detail: { guess_count: budget, budget } });
  expect([await metric('half_used'), await metric('used_up')]).toEqual([(before[0] ?? 0) + 1, (before[1] ?? 0) + 1]);
});

describe('from half of the budget on', () => {
  test('new codes are longer and work when it is used up: strangers keep nobody from registering (attack 11.290)', async () => {
    const waiting = await started();
    await used(budget / 2);
    const longer = await started();
    expect([waiting.code.length, longer.code.length]).toEqual([6, 10]);
    await service.deps.db.knex('passcode_budgets').update({ guess_count: budget });
    expect((await verify(waiting.registration_id, waiting.code)).status).toBe(429);
    expect((await verify(longer.registration_id, '0123456789')).body).toMatchObject({ error: 'invalid_code', attempts_left: 4 });
    expect((await verify(longer.registration_id, longer.code)).status).toBe(200);
    expect(await guesses()).toBe(budget);
    // Whoever has a short one asks for another.
    service.clock.advance(61_000);
    await browser.postJson('/register/resend', { registration_id: waiting.registration_id });
    const [mail] = await mailTo(service.url, waiting.email);
    expect((await verify(waiting.registration_id, codeIn(mail as CapturedMail))).status).toBe(200);
  });

  test('a recovery gets a longer code too, and its tries end like those of any other', async () => {
    const user = await addUser(ctx);
    await used(budget);
    const { reset_id } = (await (await browser.postJson('/password/forgot', { email: user.email })).json()) as { reset_id: string };
    const reset = (code: string) => browser.postJson('/password/reset', { reset_id, code, password: 'nine quiet herons fly' });
    const code = codeIn(await lastMailTo(service.url, user.email));
    expect([code.length, (await reset('0123456789')).status, (await reset(code)).status]).toEqual([10, 422, 200]);
    const guessed = await started();
    for (let tries = 0; tries < 5; tries++) expect((await verify(guessed.registration_id, '0123456789')).status).toBe(422);
    expect((await verify(guessed.registration_id, guessed.code)).status).toBe(410);
  });

  test('codes have six digits again when the hour is over', async () => {
    await used(budget);
    service.clock.advance(3_601_000);
    expect((await started()).code).toHaveLength(6);
  });
});
