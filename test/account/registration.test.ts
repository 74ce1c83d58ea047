import { describe, expect, test } from 'vitest';
import { createPasswordHasher } from '../../src/domain/passwords/passwords.js';
import { findUserByEmailKey, updateUser } from '../../src/db/tables/users.js';
import { insertRole, listRoleNamesOfUser } from '../../src/db/tables/roles.js';
import { Browser } from '../support/browser.js';
import { addUser } from '../support/data.js';
import { codeIn, lastMailTo, mailTo, otherCode } from '../support/mailbox.js';
import { startTestService } from '../support/service.js';
import { sharedService } from '../support/shared-service.js';
import { signedIn } from '../support/signed-in.js';

const service = sharedService(() => startTestService({}, { overrides: { passwords: createPasswordHasher() } }));
let sequence = 0;

const newAddress = () => `new-${++sequence}@example.com`;
const strong = 'seven brown foxes at dawn';

type Answer = { status: number; body: Record<string, unknown> & { fields?: Record<string, string[]> }; headers: Headers };

async function post(path: string, body: unknown, browser = new Browser(service.url)): Promise<Answer> {
  const response = await browser.postJson(path, body);
  return { status: response.status, body: (await response.json()) as Answer['body'], headers: response.headers };
}

async function start(email: string): Promise<{ registration_id: string; code: string }> {
  const { status, body } = await post('/register', { email });
  expect(status).toBe(202);
  return { registration_id: body['registration_id'] as string, code: codeIn(await lastMailTo(service.url, email)) };
}

async function proven(email: string): Promise<string> {
  const { status, body } = await post('/register/verify', await start(email));
  expect(status).toBe(200);
  return body['registration_token'] as string;
}

const sorted = (values: number[]) => values.toSorted((one, other) => one - other);
const names = { first_name: 'Grace', last_name: 'Hopper' };
const usersOf = async (email: string) => findUserByEmailKey((await service.context()).scope, email);

describe('by JSON', () => {
  test('address, code, name and password make an account that is signed in', async () => {
    const ctx = await service.context();
    const now = ctx.clock.now();
    const role = { id: '01990000-0000-7000-8000-000000000001', name: 'member', is_default: true, created_at: now, updated_at: now };
    await insertRole(ctx.scope, role);
    const email = newAddress();
    const started = await post('/register', { email });
    expect(started.status).toBe(202);
    expect(started.headers.get('cache-control')).toBe('no-store');
    expect(started.body).toEqual({ registration_id: expect.any(String), expires_in: expect.closeTo(600, -1.5), resend_after: 60 });
    const mail = await lastMailTo(service.url, email);
    expect(mail).toMatchObject({ to: email, html: expect.stringContaining(codeIn(mail)) });
    expect(mail.subject).not.toMatch(/\d{6}/);
    const { registration_id } = started.body;
    const verified = await post('/register/verify', { registration_id, code: codeIn(mail) });
    expect([verified.status, verified.body]).toEqual([200, { registration_token: expect.any(String), expires_in: 1800 }]);

    const browser = new Browser(service.url);
    const completed = await post('/register/complete', { ...verified.body, ...names, password: strong }, browser);
    expect(completed.status).toBe(201);
    const made = { email, email_verified: true, ...names, status: 'active', last_login_at: expect.stringMatching(/Z$/) };
    expect(completed.body).toMatchObject({ user: made, redirect_to: '/account' });
    expect((await usersOf(email))?.login_count).toBe(1);
    expect(browser.cookies.has('idp_session')).toBe(true);
    const user = await usersOf(email);
    expect(user?.password_hash).toMatch(/^\$argon2id\$/);
    expect(await listRoleNamesOfUser(ctx.scope, user?.id ?? '')).toEqual(['member']);
    const sessions = (await ctx.db.knex('sessions').where({ user_id: user?.id })) as { amr: string[] }[];
    expect(sessions.map((session) => session.amr)).toEqual([['otp', 'pwd']]);
    expect((await new Browser(service.url).login(email, strong)).status).toBe(303);
  });

  test('an invalid address is refused by field', async () => {
    const { status, body } = await post('/register', { email: 'not an address' });
    expect([status, body['error'], body.fields]).toEqual([422, 'invalid_email', { email: ['invalid_email'] }]);
    expect((await post('/register', {})).body.fields).toEqual({ email: ['required'] });
    expect((await post('/register', { email: { $ne: 1 } })).status).toBe(422);
  });

  test('fields of the last step are refused one by one, and refusals do not spend the token', async () => {
    const email = newAddress();
    const registration_token = await proven(email);
    const complete = (fields: Record<string, unknown>) =>
      post('/register/complete', { registration_token, ...names, password: strong, ...fields });
    const refusals: [Record<string, unknown>, string, string][] = [
      [{ password: 'short' }, 'password', 'password_too_short'],
      [{ password: 'password123' }, 'password', 'password_common'],
      [{ password: `${email}!` }, 'password', 'password_contains_email'],
      [{ password: 'x'.repeat(129) }, 'password', 'password_too_long'],
      [{ password: undefined }, 'password', 'required'],
      [{ first_name: ' ' }, 'first_name', 'required'],
      [{ last_name: 5 }, 'last_name', 'required'],
      [{ last_name: 'x'.repeat(256) }, 'last_name', 'too_long'],
      [{ first_name: 'a\r\nBcc: b' }, 'first_name', 'invalid_value'],
    ];
    for (const [fields, name, code] of refusals) {
      const { status, body } = await complete(fields);
      expect([status, body['error'], body.fields?.[name]]).toEqual([422, code, [code]]);
    }
    expect((await complete({})).status).toBe(201);
    expect((await complete({})).status).toBe(410);
  });

  test('a token that nobody was given is refused', async () => {
    expect((await post('/register/complete', { registration_token: 'x'.repeat(43), ...names, password: strong })).status).toBe(410);
    expect((await post('/register/complete', { ...names, password: strong })).body.fields).toEqual({ registration_token: ['required'] });
    const late = await proven(newAddress());
    service.clock.advance(1_801_000);
    expect((await post('/register/complete', { registration_token: late, ...names, password: strong })).body['error']).toBe('code_expired');
  });

  test('of two registrations of one address the first to complete wins; the other one is told email_taken', async () => {
    const email = newAddress();
    const [one, other] = [await proven(email), await proven(email)];
    const finish = (registration_token: string) => post('/register/complete', { registration_token, ...names, password: strong });
    const answers = await Promise.all([finish(one), finish(other)]);
    expect(sorted(answers.map((answer) => answer.status))).toEqual([201, 409]);
    expect(answers.find((answer) => answer.status === 409)?.body['error']).toBe('email_taken');
  });

  test('only allowed domains may register', async () => {
    const ctx = await service.context();
    await ctx.db
      .knex('environments')
      .where({ id: ctx.environment.id })
      .update({ allowed_email_domains: ['Corp.Example'] });
    try {
      await expect.poll(async () => (await post('/register', { email: newAddress() })).body['error']).toBe('domain_not_allowed');
      for (const email of ['u@corp.example.evil', 'u@evil.corp.example', 'u@notcorp.example']) {
        const { status, body } = await post('/register', { email });
        expect([status, body.fields]).toEqual([422, { email: ['domain_not_allowed'] }]);
      }
      expect((await post('/register', { email: 'U@CORP.EXAMPLE' })).status).toBe(202);
    } finally {
      await ctx.db.knex('environments').where({ id: ctx.environment.id }).update({ allowed_email_domains: [] });
      await expect.poll(async () => (await post('/register', { email: newAddress() })).status).toBe(202);
    }
  });
});

describe('another code', () => {
  test('once a minute and five times an hour; the earlier one dies', async () => {
    const email = newAddress();
    const { registration_id, code } = await start(email);
    const early = await post('/register/resend', { registration_id });
    expect([early.status, early.body['error']]).toEqual([429, 'rate_limited']);
    expect(Number(early.headers.get('retry-after'))).toBeGreaterThan(50);
    for (let i = 0; i < 5; i++) {
      service.clock.advance(60_000);
      const again = await post('/register/resend', { registration_id });
      expect([again.status, again.body]).toEqual([202, { registration_id, expires_in: expect.closeTo(600, -1.5), resend_after: 60 }]);
    }
    service.clock.advance(60_000);
    const sixth = await post('/register/resend', { registration_id });
    expect(sixth.status).toBe(429);
    expect(Number(sixth.headers.get('retry-after'))).toBeGreaterThan(3000);
    expect(await mailTo(service.url, email)).toHaveLength(6);
    const old = await post('/register/verify', { registration_id, code });
    expect([old.status, old.body['error']]).toEqual([410, 'code_expired']);
    const fresh = codeIn(await lastMailTo(service.url, email));
    expect((await post('/register/verify', { registration_id, code: fresh })).status).toBe(200);
  });

  test('a registration that is proven, unknown or old gets none', async () => {
    const { registration_id, code } = await start(newAddress());
    await post('/register/verify', { registration_id, code });
    service.clock.advance(61_000);
    const old = await start(newAddress());
    for (const id of [registration_id, 'x', '01990000-0000-7000-8000-000000000000']) {
      expect((await post('/register/resend', { registration_id: id })).status).toBe(410);
    }
    service.clock.advance(3_600_000);
    expect((await post('/register/resend', { registration_id: old.registration_id })).status).toBe(410);
    expect((await post('/register/resend', {})).body.fields).toEqual({ registration_id: ['required'] });
  });

  test('both at the same moment send one mail', async () => {
    const email = newAddress();
    const { registration_id } = await start(email);
    service.clock.advance(60_000);
    const answers = await Promise.all([1, 2, 3, 4].map(() => post('/register/resend', { registration_id })));
    expect(sorted(answers.map((answer) => answer.status))).toEqual([202, 429, 429, 429]);
    expect(await mailTo(service.url, email)).toHaveLength(2);
  });
});

describe('attacks', () => {
  test('of fifty parallel wrong codes five are looked at, then even the right one is refused (attack 11.124)', async () => {
    const { registration_id, code } = await start(newAddress());
    const guesses = await Promise.all(
      Array.from({ length: 50 }, () => post('/register/verify', { registration_id, code: otherCode(code) })),
    );
    const wrong = guesses.filter((guess) => guess.status === 422);
    expect(sorted(wrong.map((guess) => guess.body['attempts_left'] as number))).toEqual([0, 1, 2, 3, 4]);
    expect(guesses.filter((guess) => guess.status === 410)).toHaveLength(45);
    const right = await post('/register/verify', { registration_id, code });
    expect([right.status, right.body['error']]).toEqual([410, 'code_expired']);
  });

  test('the right code among parallel guesses is spent once (attack 11.124)', async () => {
    const { registration_id, code } = await start(newAddress());
    const answers = await Promise.all(Array.from({ length: 5 }, () => post('/register/verify', { registration_id, code })));
    expect(sorted(answers.map((answer) => answer.status))).toEqual([200, 410, 410, 410, 410]);
  });

  test('asking for code after code gives no endless tries (attack 11.124)', async () => {
    service.clock.advance(3_601_000);
    const email = newAddress();
    const lengths: number[] = [];
    for (let i = 0; i < 4; i++) {
      const { registration_id, code } = await start(email);
      lengths.push(code.length);
      for (let j = 0; j < 5; j++) expect((await post('/register/verify', { registration_id, code: otherCode(code) })).status).toBe(422);
    }
    // Ten wrong ones are half of the address's budget: what comes then can't be guessed (specification 4.4.3).
    expect(lengths).toEqual([6, 6, 10, 10]);
    service.clock.advance(3_601_000);
    expect((await post('/register/verify', await start(email))).status).toBe(200);
  });

  test('a code is good once, until another is sent, for ten minutes (attack 11.126)', async () => {
    const first = await start(newAddress());
    expect((await post('/register/verify', first)).status).toBe(200);
    expect((await post('/register/verify', first)).status).toBe(410);
    const late = await start(newAddress());
    service.clock.advance(601_000);
    expect((await post('/register/verify', late)).status).toBe(410);
  });

  test('the code of one address proves no other (attack 11.127)', async () => {
    const [one, other] = [await start(newAddress()), await start(newAddress())];
    const crossed = await post('/register/verify', { registration_id: one.registration_id, code: other.code });
    expect([crossed.status, crossed.body['error'], crossed.body['attempts_left']]).toEqual([422, 'invalid_code', 4]);
    expect((await post('/register/verify', one)).status).toBe(200);
  });

  test.each([
    'a@evil.example,b@victim.example',
    '"a@evil.example x"@victim.example',
    'a@evil.example@victim.example',
    'a\uFF20victim.example',
    'a@victim.example\r\nBcc: b@victim.example',
    'a@victim.example\n',
    '-oQ/tmp@victim.example',
    `${'x'.repeat(400)}@victim.example`,
    'a b@victim.example',
    'a@[127.0.0.1]',
  ])('%j is no address, and nobody gets mail (attack 11.129)', async (email) => {
    const ctx = await service.context();
    const before = await ctx.db.knex('mails').count('* as count').first();
    const { status, body } = await post('/register', { email });
    expect([status, body['error']]).toEqual([422, 'invalid_email']);
    expect(await ctx.db.knex('mails').count('* as count').first()).toEqual(before);
  });

  test('a known address gets the same answer and another mail (attack 11.130)', async () => {
    const ctx = await service.context();
    const known = await addUser(ctx);
    const [to_known, to_new] = [
      await post('/register', { email: known.email.toUpperCase() }),
      await post('/register', { email: newAddress() }),
    ];
    const shape = (answer: Answer) => ({ ...answer.body, registration_id: typeof answer.body['registration_id'] });
    expect([to_known.status, shape(to_known)]).toEqual([to_new.status, shape(to_new)]);
    const mail = await lastMailTo(service.url, known.email);
    expect(mail.subject).toContain('already have an account');
    expect(mail.text).not.toMatch(/\b\d{6}\b/);
    const { registration_id } = to_known.body;
    const guess = await post('/register/verify', { registration_id, code: '123456' });
    expect([guess.status, guess.body['error'], guess.body['attempts_left']]).toEqual([422, 'invalid_code', 4]);
    service.clock.advance(60_000);
    expect((await post('/register/resend', { registration_id })).status).toBe(202);
    expect(await mailTo(service.url, known.email)).toHaveLength(2);
  });

  test('switched off, every step is refused, also of what is half done (attack 11.132)', async () => {
    const ctx = await service.context();
    const begun = await start(newAddress());
    const registration_token = await proven(newAddress());
    await ctx.db.knex('environments').where({ id: ctx.environment.id }).update({ registration_enabled: false });
    try {
      await expect.poll(async () => (await post('/register', { email: newAddress() })).body['error']).toBe('registration_disabled');
      const steps: [string, object][] = [
        ['/register', { email: newAddress() }],
        ['/register/verify', begun],
        ['/register/resend', begun],
        ['/register/complete', { registration_token, ...names, password: strong }],
      ];
      for (const [path, body] of steps) expect((await post(path, body)).status).toBe(403);
      expect((await fetch(`${service.url}/register`)).status).toBe(403);
    } finally {
      await ctx.db.knex('environments').where({ id: ctx.environment.id }).update({ registration_enabled: true });
      await expect.poll(async () => (await post('/register', { email: newAddress() })).status).toBe(202);
    }
  });

  test('fields that nobody asked for are not stored (attack 11.133)', async () => {
    const email = newAddress();
    const registration_token = await proven(email);
    const id = '01990000-0000-7000-8000-00000000000a';
    const extra = {
      id,
      role: 'administrator',
      roles: ['administrator'],
      environment_id: id,
      email: 'other@example.com',
      status: 'blocked',
      metadata: { a: 1 },
      external_id: 'x',
    };
    expect((await post('/register/complete', { ...extra, registration_token, ...names, password: strong })).status).toBe(201);
    const user = await usersOf(email);
    expect(user).toMatchObject({ email, status: 'active', metadata: {}, external_id: null });
    expect(user?.id).not.toBe(id);
    expect(await listRoleNamesOfUser((await service.context()).scope, user?.id ?? '')).not.toContain('administrator');
  });

  test('before the address is proven there is no account and no session (attack 11.135)', async () => {
    const email = newAddress();
    const browser = new Browser(service.url);
    await post('/register', { email, password: strong, ...names }, browser);
    expect(await usersOf(email)).toBeNull();
    expect(browser.cookies.has('idp_session')).toBe(false);
    expect((await new Browser(service.url).login(email, strong)).status).toBe(401);
  });

  test('no code is in the database in a readable form (attack 21.228)', async () => {
    const email = newAddress();
    const { code } = await start(email);
    const ctx = await service.context();
    const dump = JSON.stringify(
      [await ctx.db.knex('passcodes').where({ email }), await ctx.db.knex('mails').where({ recipient: email })],
      (_key, value: unknown) =>
        typeof value === 'object' && value !== null && 'type' in value && 'data' in value
          ? Buffer.from(value.data as number[]).toString('latin1')
          : value,
    );
    expect(dump).not.toContain(code);
    expect(service.log.join('\n')).not.toContain(code);
  });
});

describe('as pages', () => {
  test('the whole way by forms, back to where the person wanted to go', async () => {
    const browser = new Browser(service.url);
    const email = newAddress();
    const sent = await browser.submit('/register?return_to=%2Faccount%3Ftab%3D1', { email, return_to: '/account?tab=1' }, '/register');
    expect(sent.status).toBe(303);
    const path = sent.headers.get('location') ?? '';
    expect(await (await browser.get(path)).text()).toContain(email);
    const registration_id = new URL(path, service.url).searchParams.get('registration_id') ?? '';
    const code = codeIn(await lastMailTo(service.url, email));
    const fields = { registration_id, return_to: '/account?tab=1' };
    const wrong = await browser.submit(path, { ...fields, code: otherCode(code) }, '/register/verify');
    expect(wrong.status).toBe(422);
    expect(await wrong.text()).toContain('That code is incorrect');
    const empty = await browser.submit(path, { ...fields, code: '' }, '/register/verify');
    expect(await empty.text()).toContain('Fill in this field');
    const right = await browser.submit(path, { ...fields, code: `${code.slice(0, 3)} ${code.slice(3)}` }, '/register/verify');
    const html = await right.text();
    const token = /name="registration_token" value="([^"]+)"/.exec(html)?.[1] ?? '';
    expect(html).toContain(`value="${email}"`);
    const csrf = /name="_csrf" value="([^"]+)"/.exec(html)?.[1] ?? '';
    const finish = (password: string) =>
      browser.post('/register/complete', { _csrf: csrf, registration_token: token, return_to: '/account?tab=1', ...names, password });
    const refused = await finish('short');
    expect(refused.status).toBe(422);
    expect(await refused.text()).toContain('Choose a password of at least 8 characters.');
    const done = await finish(strong);
    expect([done.status, done.headers.get('location')]).toEqual([303, '/account?tab=1']);
    expect(browser.cookies.has('idp_session')).toBe(true);
  });

  test('asking again too soon says how long to wait', async () => {
    const browser = new Browser(service.url);
    const path = (await browser.submit('/register', { email: newAddress() })).headers.get('location') ?? '';
    const registration_id = new URL(path, service.url).searchParams.get('registration_id') ?? '';
    const answer = await browser.submit(path, { registration_id }, '/register/resend');
    expect([answer.status, answer.headers.has('retry-after')]).toEqual([429, true]);
    expect(await answer.text()).toContain('You can request another in');
    service.clock.advance(60_000);
    const again = await browser.submit(path, { registration_id }, '/register/resend');
    expect(await (await browser.get(again.headers.get('location') ?? '')).text()).toContain('We’ve sent a new code');
  });

  test('a bad address comes back with the form', async () => {
    const answer = await new Browser(service.url).submit('/register', { email: 'grace@' });
    const html = await answer.text();
    expect(answer.status).toBe(422);
    expect(html).toContain('value="grace@"');
    expect(html).toContain('Enter an email address such as');
  });

  test('somebody who is signed in is sent on', async () => {
    const ctx = await service.context();
    const user = await addUser(ctx);
    const browser = await signedIn(service, user);
    expect((await browser.get('/register')).headers.get('location')).toBe('/account');
    await updateUser(ctx.scope, user.id, { status: 'blocked' });
    expect((await browser.get('/register')).status).toBe(200);
  });

  test('a form without its token, or from another site, is refused', async () => {
    const email = newAddress();
    const browser = new Browser(service.url);
    expect((await browser.post('/register', { email })).status).toBe(403);
    expect((await browser.postJson('/register', { email }, { origin: 'https://evil.example' })).status).toBe(403);
    expect(await mailTo(service.url, email)).toEqual([]);
  });
});
