// Whatever changes how somebody signs in takes a proof of the last minutes, of the second class where two-step is on.
import { beforeEach, describe, expect, test } from 'vitest';
import { guessableTries } from '../../src/domain/sign-ins/second-step.js';
import { acrOf } from '../../src/domain/sessions/authentication-context.js';
import { proofNow, proofsOf } from '../../src/domain/proofs/proofs.js';
import { listAuthenticatorsOfUser } from '../../src/db/tables/authenticators.js';
import { updateEnvironment } from '../../src/db/tables/environments.js';
import { findSessionByToken, renewSession, type SessionRow } from '../../src/db/tables/sessions.js';
import { updateUser, type UserRow } from '../../src/db/tables/users.js';
import { digest } from '../../src/lib/digest.js';
import { permit } from '../support/administrators.js';
import { Browser, csrfOf } from '../support/browser.js';
import { addClient, addUser, password } from '../support/data.js';
import { giveTotp, totpCode } from '../support/factors.js';
import { startTestService } from '../support/service.js';
import { contextOf, sharedService } from '../support/shared-service.js';
import { signedIn } from '../support/signed-in.js';
import { SoftwareAuthenticator } from '../support/software-authenticator.js';

const service = sharedService();
let user: UserRow;
let browser: Browser;

const at = '/account/authenticators';
type Answer = { status: number; body: Record<string, unknown> };

async function post(path: string, body: object = {}, as = browser): Promise<Answer> {
  const response = await as.postJson(path, body, { origin: as.origin });
  return { status: response.status, body: (await response.json()) as Record<string, unknown> };
}
const codeOf = ({ status, body }: Answer) => [status, body['error']];
const confirm = (body: object, as = browser) => post('/account/confirm', body, as);
const codeNow = (secret: string) => totpCode(secret, service.clock.now());
const sessionIn = async (as = browser) =>
  (await findSessionByToken(ctx.scope, digest(as.cookies.get('idp_session') as string))) as SessionRow;
const later = () => service.clock.advance(601_000);
/** Past the step of a code that was spent, within the time of a confirmation. */
const nextStep = () => service.clock.advance(60_000);
const factors = async () => (await listAuthenticatorsOfUser(ctx.scope, user.id)).length;

async function addPasskey(device: SoftwareAuthenticator, how: { user_verified?: boolean } = {}): Promise<void> {
  const { body } = await post(`${at}/passkey/options`);
  const added = await post(`${at}/passkey`, { credential: device.create(body as never, { origin: service.url, ...how }) });
  expect(added.status).toBe(201);
}

async function passkeyAnswer(device: SoftwareAuthenticator, how: object = {}): Promise<unknown> {
  const { body } = await post('/account/confirm/passkey/options');
  return device.get(body as never, { origin: service.url, ...how });
}

const ctx = contextOf(service);
beforeEach(async () => {
  nextStep();
  user = await addUser(ctx);
  browser = await signedIn(service, user);
});

const changes = [
  ['passkey/options', `${at}/passkey/options`],
  ['passkey', `${at}/passkey`],
  ['totp', `${at}/totp`],
  ['totp/verify', `${at}/totp/verify`],
  ['recovery_codes', `${at}/recovery_codes`],
  ['rename', `${at}/{id}/rename`],
  ['remove', `${at}/{id}/remove`],
  ['two_step', '/account/two_step'],
  ['forget', '/account/devices/{id}/forget'],
  ['forget_all', '/account/devices/forget_all'],
] as const;

describe('what is asked for', () => {
  test.each(changes)('%s takes a proof of the last ten minutes, or as many as confirmation_lifetime says', async (_name, path) => {
    later();
    expect(codeOf(await post(path.replace('{id}', user.id), { name: 'x', enabled: false }))).toEqual([403, 'confirmation_required']);
    expect((await confirm({ password })).status).toBe(200);
    expect(codeOf(await post(path.replace('{id}', user.id), { name: 'x', enabled: false }))[1]).not.toBe('confirmation_required');
  });

  test.each(changes)(
    '%s with a session that was found open, though its password is fresh: two-step wants its second step (attack 25.565)',
    async (_name, path) => {
      const { id } = await giveTotp(ctx, user.id);
      nextStep();
      for (const proof of [{}, { current_password: password }])
        expect(codeOf(await post(path.replace('{id}', id), { name: 'x', enabled: false, ...proof }))).toEqual([
          403,
          'confirmation_required',
        ]);
      expect(await factors()).toBe(2);
    },
  );

  test('links to accounts elsewhere take it too (attack 25.565)', async () => {
    await giveTotp(ctx, user.id);
    const refused = await post(`/account/identities/${user.id}/unlink`, { current_password: password });
    expect(codeOf(refused)).toEqual([403, 'fresh_sign_in_required']);
  });

  test('the code makes it of the second class, and the first factor can go', async () => {
    const { id, secret } = await giveTotp(ctx, user.id);
    nextStep();
    const before = browser.cookies.get('idp_session');
    expect(await confirm({ method: 'totp', code: codeNow(secret), return_to: '/account?done=x' })).toEqual({
      status: 200,
      body: { redirect_to: '/account?done=x' },
    });
    expect(browser.cookies.get('idp_session')).not.toBe(before);
    expect(acrOf(await sessionIn())).toBe('2');
    expect((await post(`${at}/${id}/remove`)).status).toBe(200);
    expect(await factors()).toBe(0);
  });

  test('a browser that skips the second step is asked for it here (attack 25.565)', async () => {
    const { secret } = await giveTotp(ctx, user.id);
    const session = await sessionIn();
    const proofs = [...proofsOf(session), proofNow('device', service.clock.now(), user.id)];
    await renewSession(ctx.scope, session.id, { proofs });
    expect(codeOf(await post(`${at}/recovery_codes`))).toEqual([403, 'confirmation_required']);
    nextStep();
    expect((await confirm({ code: codeNow(secret) })).status).toBe(200);
    expect((await post(`${at}/recovery_codes`)).status).toBe(201);
  });

  test('after a code by mail as the first step, the password is missing too: one after the other', async () => {
    const { secret } = await giveTotp(ctx, user.id);
    const session = await sessionIn();
    await renewSession(ctx.scope, session.id, { proofs: [proofNow('email', service.clock.now())] });
    nextStep();
    const first = await confirm({ code: codeNow(secret) });
    expect([...codeOf(first), first.body['methods']]).toEqual([403, 'confirmation_required', ['password', 'totp', 'recovery_code']]);
    expect((await confirm({ password })).status).toBe(200);
    expect(acrOf(await sessionIn())).toBe('2');
  });
});

describe('POST /account/confirm', () => {
  test('a wrong password, none at all, and one that is right but not enough', async () => {
    later();
    expect(codeOf(await confirm({ password: 'wrong' }))).toEqual([401, 'invalid_credentials']);
    const none = await confirm({});
    expect([...codeOf(none), none.body['methods']]).toEqual([403, 'confirmation_required', ['password']]);
    await giveTotp(ctx, user.id);
    const weak = await confirm({ password });
    expect([...codeOf(weak), weak.body['acr_values'], weak.body['methods']]).toEqual([
      403,
      'confirmation_required',
      '2',
      ['totp', 'recovery_code'],
    ]);
  });

  test('more can be asked for: a class beyond the person’s own', async () => {
    const asked = await confirm({ password, acr_values: '2' });
    expect([...codeOf(asked), asked.body['methods']]).toEqual([403, 'confirmation_required', []]);
    expect((await confirm({ password, acr_values: 'gold' })).status).toBe(200);
    const page = await (await browser.get('/account/confirm?acr_values=2&return_to=%2Fdashboard')).text();
    expect(page).toContain('add a passkey or an authenticator app');
  });

  test('wrong codes lock the second step, of all methods, and not the password (attack 25.566)', async () => {
    const { secret, recovery_codes } = await giveTotp(ctx, user.id);
    nextStep();
    for (let guess = 1; guess <= ctx.environment.lockout_threshold; guess++)
      expect(codeOf(await confirm(guess % 2 ? { code: '000000' } : { method: 'recovery_code', code: 'BBBBB-BBBBB' }))[0]).toBe(422);
    const response = await browser.postJson('/account/confirm', { code: codeNow(secret) }, { origin: service.url });
    const body = (await response.json()) as Record<string, unknown>;
    expect([response.status, body['error'], Number(body['retry_after']) > 0]).toEqual([429, 'second_factor_locked', true]);
    expect(codeOf(await confirm({ method: 'recovery_code', code: recovery_codes[0] }))).toEqual([429, 'second_factor_locked']);
    const other = new Browser(service.url);
    expect((await other.login(user.email, password)).status).toBe(303);
    service.clock.advance(ctx.environment.lockout_lifetime * 1000 + 1000);
    expect((await confirm({ password })).status).toBe(403);
    expect((await confirm({ code: codeNow(secret) })).status).toBe(200);
  });

  test('after too many guesses codes of few digits are closed here as at sign-in, with the same code; a recovery code is taken', async () => {
    const { secret, recovery_codes } = await giveTotp(ctx, user.id);
    const tries = { try_count: 0, total_count: guessableTries, locked_until: null };
    await service.deps.db.knex('second_step_tries').insert({ environment_id: ctx.environment.id, user_id: user.id, ...tries });
    nextStep();
    expect(codeOf(await confirm({ code: codeNow(secret) }))).toEqual([403, 'second_factor_unavailable']);
    expect((await confirm({ method: 'recovery_code', code: recovery_codes[0] })).status).toBe(200);
  });

  test('a code that was used here is used (attack 25.567)', async () => {
    const { secret, recovery_codes } = await giveTotp(ctx, user.id);
    nextStep();
    const code = codeNow(secret);
    expect((await confirm({ code })).status).toBe(200);
    expect(codeOf(await confirm({ code }))).toEqual([422, 'invalid_code']);
    const [own] = recovery_codes;
    const token = browser.cookies.get('idp_session') as string;
    const twin = new Browser(service.url);
    twin.cookies.set('idp_session', token);
    const answers = await Promise.all([browser, twin].map((one) => confirm({ method: 'recovery_code', code: own }, one)));
    expect(answers.filter(({ status }) => status === 200)).toHaveLength(1);
  });

  test('a passkey with its user verified makes it phishing-resistant; a password afterwards takes nothing of that away', async () => {
    const device = new SoftwareAuthenticator();
    await addPasskey(device);
    later();
    expect((await confirm({ credential: await passkeyAnswer(device) })).status).toBe(200);
    expect(acrOf(await sessionIn())).toBe('phr');
    later();
    expect((await confirm({ password })).status).toBe(200);
    expect(acrOf(await sessionIn())).toBe('phr');
  });

  test('a passkey of somebody else, for another purpose, used before, of another browser or site (attack 25.568)', async () => {
    const device = new SoftwareAuthenticator();
    await addPasskey(device);
    const once = await passkeyAnswer(device);
    expect((await confirm({ credential: once })).status).toBe(200);
    expect(codeOf(await confirm({ credential: once }))).toEqual([410, 'challenge_expired']);
    const late = await passkeyAnswer(device);
    service.clock.advance(301_000);
    expect(codeOf(await confirm({ credential: late }))).toEqual([410, 'challenge_expired']);
    const enrolling = (await post(`${at}/passkey/options`)).body['challenge'] as string;
    const wrong = [
      await passkeyAnswer(device, { challenge: enrolling }),
      await passkeyAnswer(device, { origin: 'https://evil.example' }),
      await passkeyAnswer(device, { rp_id: 'evil.example' }),
      'x',
      null,
    ];
    for (const credential of wrong) expect(codeOf(await confirm({ credential }))[0]).not.toBe(200);
    const moved = await passkeyAnswer(device);
    browser.cookies.set('idp_csrf', 'A'.repeat(43));
    expect(codeOf(await confirm({ credential: moved }))).toEqual([401, 'passkey_refused']);
    const owner = browser;
    const other = await addUser(ctx);
    browser = await signedIn(service, other);
    browser.cookies.set('idp_csrf', owner.cookies.get('idp_csrf') as string);
    const { body } = await post('/account/confirm/passkey/options');
    expect(body['allowCredentials'] ?? []).toEqual([]);
    const foreign = device.get(body as never, { origin: service.url }, device.credentials[0]?.id);
    expect(codeOf(await confirm({ credential: foreign }))).toEqual([401, 'passkey_refused']);
  });

  test('one that only notices its user is a second step beside the password, and no more', async () => {
    const device = new SoftwareAuthenticator();
    await addPasskey(device, { user_verified: false });
    await updateUser(ctx.scope, user.id, { two_step_enabled: true });
    later();
    expect((await confirm({ credential: await passkeyAnswer(device, { user_verified: false }) })).status).toBe(200);
  });

  test('leads nowhere but to our own pages', async () => {
    for (const return_to of ['https://evil.example', '//evil.example', '/\\evil.example', 'javascript:alert(1)'])
      expect((await confirm({ password, return_to })).body['redirect_to']).toBe('/account');
  });
});

describe('the page', () => {
  test('sends a stranger to sign in and back, and whoever is confirmed on', async () => {
    const path = '/account/confirm?return_to=%2Fdashboard%2Fclients';
    const stranger = await new Browser(service.url).get(path);
    expect([stranger.status, stranger.headers.get('location')]).toEqual([303, `/login?${new URLSearchParams({ return_to: path })}`]);
    const on = await browser.get(path);
    expect([on.status, on.headers.get('location')]).toEqual([303, '/dashboard/clients']);
    expect(await (await browser.get('/account/confirm')).text()).toContain('Close this tab');
  });

  test('asks for the password of whoever has nothing else, and goes on with the right one', async () => {
    later();
    const html = await (await browser.get('/account/confirm?return_to=%2Faccount%3Fx')).text();
    expect(html).toContain('name="password"');
    expect(html).not.toMatch(/name="code"|data-passkey=/);
    const wrong = await browser.post('/account/confirm', { _csrf: csrfOf(html), password: 'wrong', return_to: '/account?x' });
    expect([wrong.status, await wrong.text()]).toEqual([401, expect.stringContaining('That isn’t your current password')]);
    const right = await browser.post('/account/confirm', { _csrf: csrfOf(html), password, return_to: '/account?x' });
    expect([right.status, right.headers.get('location')]).toEqual([303, '/account?x']);
  });

  test('offers every factor, last used first, and takes a recovery code in a field of its own', async () => {
    const device = new SoftwareAuthenticator();
    await addPasskey(device);
    service.clock.advance(1000);
    const { recovery_codes } = await giveTotp(ctx, user.id);
    later();
    const html = await (await browser.get('/account/confirm')).text();
    const order = ['name="code"', 'data-passkey="get"', 'name="recovery_code"'].map((part) => html.indexOf(part));
    expect(order.every((index) => index > 0)).toBe(true);
    expect(order).toEqual(order.toSorted((a, b) => a - b));
    expect(html).not.toContain('name="password"');
    const wrong = await browser.post('/account/confirm', { _csrf: csrfOf(html), recovery_code: 'BBBBB-BBBBB' });
    expect([wrong.status, await wrong.text()]).toEqual([
      422,
      expect.stringMatching(/<details open>[\s\S]*That isn’t one of your unused recovery codes/),
    ]);
    const right = await browser.post('/account/confirm', { _csrf: csrfOf(html), recovery_code: recovery_codes[0] as string });
    expect([right.status, right.headers.get('location')]).toEqual([303, '/account']);
  });
});

describe('a form that waits for it loses nothing', () => {
  test('at the account: the page holds the form, and does it with the proof', async () => {
    const { id, secret } = await giveTotp(ctx, user.id);
    nextStep();
    const _csrf = csrfOf(await (await browser.get('/account')).text());
    const asked = await browser.post(`${at}/${id}/rename`, { _csrf, name: 'My “phone” <1>' });
    const html = await asked.text();
    expect([asked.status, html.includes(`action="${at}/${id}/rename"`)]).toEqual([403, true]);
    expect(html).toContain('<input type="hidden" name="name" value="My “phone” &lt;1&gt;">');
    expect(html).toContain('name="confirm_code"');
    const wrong = await browser.post(`${at}/${id}/rename`, { _csrf, name: 'Mine', confirm_code: '000000' });
    expect(wrong.status).toBe(422);
    const done = await browser.post(`${at}/${id}/rename`, { _csrf, name: 'Mine', confirm_code: codeNow(secret) });
    expect([done.status, done.headers.get('location')]).toEqual([303, '/account?done=renamed']);
    expect((await listAuthenticatorsOfUser(ctx.scope, user.id)).map(({ name }) => name)).toContain('Mine');
  });

  test('in the dashboard: a form that was filled in too slowly is asked for the code, and saved with it', async () => {
    await permit(ctx, user.id, 'users:read', 'roles:read', 'webhooks:read', 'webhooks:write');
    const { secret } = await giveTotp(ctx, user.id);
    nextStep();
    await confirm({ code: codeNow(secret) });
    const path = '/dashboard/webhooks';
    const form = await (await browser.get(`${path}/new`)).text();
    expect(form).toContain('name="url"');
    later();
    const elsewhere = await (await browser.get(`${path}/new`)).text();
    expect(elsewhere).toContain('/account/confirm?return_to=%2Fdashboard%2Fwebhooks%2Fnew');
    const fields = { _csrf: csrfOf(form), name: 'Slow', url: 'https://hooks.example', 'events:user.created': 'on' };
    const asked = await browser.post(path, fields);
    const html = await asked.text();
    expect([asked.status, html.includes(`action="${path}"`)]).toEqual([422, true]);
    for (const [name, value] of Object.entries(fields).slice(1)) expect(html).toContain(`name="${name}" value="${value}"`);
    const held = Object.fromEntries(
      [...html.matchAll(/type="hidden" name="([^"]+)" value="([^"]*)"/g)].map(([, name, value]) => [name, value]),
    );
    const wrong = await browser.post(path, { ...held, confirm_code: '000000' } as Record<string, string>);
    expect([wrong.status, (await wrong.text()).includes('value="Slow"')]).toEqual([422, true]);
    const saved = await browser.post(path, { ...held, confirm_code: codeNow(secret) } as Record<string, string>);
    expect([saved.status, await saved.text()]).toEqual([200, expect.stringContaining('whsec_')]);
  });

  test('in the dashboard nothing is done by a password where two-step is on (attack 25.565)', async () => {
    await permit(ctx, user.id, 'clients:read', 'clients:write');
    await giveTotp(ctx, user.id);
    const client = await addClient(ctx, { name: 'Guarded' });
    const path = `/dashboard/clients/${client.id}/rotate_secret`;
    const _csrf = csrfOf(await (await browser.get('/account')).text());
    const refused = await browser.post(path, { _csrf, current_password: password });
    expect([refused.status, (await refused.text()).includes('cs_')]).toEqual([422, false]);
  });
});

test('another lifetime of confirmations is kept', async () => {
  await updateEnvironment(ctx.scope, ctx.environment.id, { confirmation_lifetime: 60 });
  service.deps.cache.clear();
  service.clock.advance(61_000);
  expect(codeOf(await post(`${at}/totp`))).toEqual([403, 'confirmation_required']);
  await updateEnvironment(ctx.scope, ctx.environment.id, { confirmation_lifetime: 600 });
  service.deps.cache.clear();
  expect((await post(`${at}/totp`)).status).toBe(201);
});

test('guesses count in the windows of the login: per address, and per account (attack 25.566)', async () => {
  const limited = await startTestService({ RATE_LIMITS: 'on', RATE_LIMIT_LOGIN: '5/60', RATE_LIMIT_STORE: 'memory' });
  try {
    const own = await limited.context();
    const guessed = await addUser(own);
    const guesser = new Browser(limited.url);
    await guesser.login(guessed.email, password);
    const statuses: number[] = [];
    for (let guess = 0; guess < 5; guess++) statuses.push((await confirm({ password: `wrong ${guess}` }, guesser)).status);
    expect(statuses).toEqual([401, 401, 401, 401, 429]);
    expect((await post('/account/confirm/passkey/options', {}, guesser)).status).toBe(200);
  } finally {
    await limited.stop();
  }
});
