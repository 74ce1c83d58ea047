// What signs somebody in beside a password: passkeys, authenticator apps, recovery codes, two-step, remembered devices; each row and each refusal.
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { RegistrationResponseJSON } from '@simplewebauthn/server';
import { Secret, TOTP } from 'otpauth';
import { beforeEach, describe, expect, onTestFinished, test } from 'vitest';
import { transaction } from '../../src/domain/context.js';
import { rememberBrowser } from '../../src/domain/sessions/remembered-browsers.js';
import { listAuthenticatorsOfUser } from '../../src/db/tables/authenticators.js';
import { listDevicesOfUser } from '../../src/db/tables/devices.js';
import { updateEnvironment, type EnvironmentRow } from '../../src/db/tables/environments.js';
import { findUser, updateUser, type UserRow } from '../../src/db/tables/users.js';
import { attestedByAndroid } from '../support/attestation.js';
import { Browser, csrfOf } from '../support/browser.js';
import { addUser, password } from '../support/data.js';
import { mailTo } from '../support/mailbox.js';
import { auditRows } from '../support/security-events.js';
import { contextOf, sharedService } from '../support/shared-service.js';
import { SoftwareAuthenticator } from '../support/software-authenticator.js';

const service = sharedService();
let user: UserRow;
let browser: Browser;
let device: SoftwareAuthenticator;

const at = '/account/authenticators';
type Answer = { status: number; body: Record<string, unknown> };

async function post(path: string, body: object = {}, as = browser): Promise<Answer> {
  const response = await as.postJson(path, body, { origin: service.url });
  return { status: response.status, body: (await response.json()) as Record<string, unknown> };
}
const codeOf = ({ status, body }: Answer) => [status, body['error']];

/** Signs in as somebody new; the clock goes on, so that codes of an earlier step are over. */
async function signedIn(row: Partial<UserRow> = {}): Promise<[UserRow, Browser]> {
  const made = await addUser(ctx, row);
  const own = new Browser(service.url, { 'user-agent': 'Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0' });
  await own.login(made.email, password);
  return [made, own];
}

const codeAt = (secret: string, at: Date) => new TOTP({ secret: Secret.fromBase32(secret) }).generate({ timestamp: at.getTime() });

async function addTotp(as = browser): Promise<{ id: string; secret: string; recovery_codes: string[] }> {
  const { body } = await post(`${at}/totp`, {}, as);
  const [id, secret] = [body['authenticator_id'] as string, body['secret'] as string];
  const verified = await post(`${at}/totp/verify`, { authenticator_id: id, code: codeAt(secret, service.clock.now()) }, as);
  expect(verified.status).toBe(200);
  return { id, secret, recovery_codes: verified.body['recovery_codes'] as string[] };
}

async function newCredential(how: Partial<Parameters<SoftwareAuthenticator['create']>[1]> = {}): Promise<unknown> {
  const { status, body } = await post(`${at}/passkey/options`);
  expect(status).toBe(200);
  return device.create(body as never, { origin: service.url, ...how });
}

async function addPasskey(): Promise<string> {
  const { status, body } = await post(`${at}/passkey`, { credential: await newCredential() });
  expect(status).toBe(201);
  return (body['authenticator'] as { id: string }).id;
}

const list = async (as = browser) =>
  (await (await as.get(at, { accept: 'application/json' })).json()) as {
    authenticators: { id: string; kind: string; name: string; codes_left?: number }[];
    two_step_enabled: boolean;
    devices: { id: string; device: string }[];
  };
const kinds = async () => (await listAuthenticatorsOfUser(ctx.scope, user.id)).map(({ kind }) => kind).toSorted();
const subjects = async () => (await mailTo(service.url, user.email)).map(({ subject }) => subject);

/** With other settings of the environment while something is done. */
async function withSettings(settings: Partial<EnvironmentRow>, work: () => Promise<void>): Promise<void> {
  const { environment } = ctx;
  const set = async (values: Partial<EnvironmentRow>) => {
    await updateEnvironment(ctx.scope, environment.id, values);
    service.deps.cache.clear();
  };
  const before = Object.fromEntries(Object.keys(settings).map((name) => [name, environment[name as keyof EnvironmentRow]]));
  await set(settings);
  await work().finally(() => set(before));
}

const ctx = contextOf(service);
beforeEach(async () => {
  service.clock.advance(60_000);
  device = new SoftwareAuthenticator();
  [user, browser] = await signedIn();
});

describe('passkeys', () => {
  test('are made, listed, renamed and removed; the owner is told of each change by mail, the audit log has it', async () => {
    const id = await addPasskey();
    const { authenticators, two_step_enabled } = await list();
    expect(authenticators).toMatchObject([{ id, kind: 'passkey', name: 'Firefox on Linux' }]);
    expect(JSON.stringify(authenticators)).not.toMatch(/public_key|credential|secret|digest/);
    expect(two_step_enabled).toBe(false);
    const renamed = await post(`${at}/${id}/rename`, { name: 'Desk' });
    expect([renamed.status, (renamed.body['authenticator'] as { name: string }).name]).toEqual([200, 'Desk']);
    expect(await post(`${at}/${id}/remove`)).toEqual({ status: 200, body: {} });
    expect(await kinds()).toEqual([]);
    expect(await subjects()).toEqual([expect.stringMatching(/^A passkey was removed/), expect.stringMatching(/^A passkey was added/)]);
    for (const action of ['authenticator.created', 'authenticator.removed'])
      expect((await auditRows(service, action)).filter(({ target_id }) => target_id === id)).toHaveLength(1);
  });

  test('the options name the person, bind the browser, prefer a resident key and exclude what is there', async () => {
    await addPasskey();
    const { body } = await post(`${at}/passkey/options`);
    expect(body).toMatchObject({
      rp: { id: 'localhost' },
      user: { name: user.email, displayName: 'Ada Lovelace', id: Buffer.from(user.id.replaceAll('-', ''), 'hex').toString('base64url') },
      excludeCredentials: [{ id: device.credentials[0]?.id }],
      authenticatorSelection: { residentKey: 'preferred', userVerification: 'preferred' },
      attestation: 'none',
    });
  });

  test('one that was refused, is known, came late, or from another browser or site', async () => {
    const known = await newCredential();
    expect((await post(`${at}/passkey`, { credential: known })).status).toBe(201);
    expect(codeOf(await post(`${at}/passkey`, { credential: known }))).toEqual([410, 'challenge_expired']);
    device = new SoftwareAuthenticator();
    const credential_id = Buffer.from((known as { id: string }).id, 'base64url');
    expect(codeOf(await post(`${at}/passkey`, { credential: await newCredential({ credential_id }) }))).toEqual([409, 'passkey_exists']);
    device = new SoftwareAuthenticator();
    const foreign = [await newCredential({ origin: 'https://evil.example' }), await newCredential({ type: 'webauthn.get' })];
    for (const credential of [undefined, 'x', {}, ...foreign])
      expect(codeOf(await post(`${at}/passkey`, { credential }))).toEqual([422, 'passkey_refused']);
    const late = await newCredential();
    service.clock.advance(301_000);
    expect(codeOf(await post(`${at}/passkey`, { credential: late }))).toEqual([410, 'challenge_expired']);
    const options = await newCredential();
    browser.cookies.set('idp_csrf', 'A'.repeat(43));
    expect(codeOf(await post(`${at}/passkey`, { credential: options }))).toEqual([422, 'passkey_refused']);
  });

  test('a certificate of the attestation sends the service nowhere: none is looked at (attack 71.1962)', async () => {
    const asked: string[] = [];
    const inside = createServer((req, res) => {
      asked.push(req.url ?? '');
      res.end();
    }).listen(0, '127.0.0.1');
    onTestFinished(() => void inside.close());
    await new Promise((resolve) => inside.once('listening', resolve));
    const made = (await newCredential({ algorithm: -7 })) as RegistrationResponseJSON;
    const key = device.credentials[0]?.key;
    if (!key) throw new Error('no credential was made');
    const list = `http://127.0.0.1:${(inside.address() as AddressInfo).port}/latest/meta-data`;
    expect(codeOf(await post(`${at}/passkey`, { credential: await attestedByAndroid(made, key, list) }))).toEqual([422, 'passkey_refused']);
    expect(asked).toEqual([]);
    expect(await kinds()).toEqual([]);
  });

  test('a challenge of somebody else makes no passkey, with whatever browser (attack 25.570)', async () => {
    const credential = await newCredential();
    const { cookies } = browser;
    const [, other] = await signedIn();
    other.cookies.set('idp_csrf', cookies.get('idp_csrf') as string);
    expect(codeOf(await post(`${at}/passkey`, { credential }, other))).toEqual([422, 'passkey_refused']);
  });

  test('a form posts it too, and the page says so', async () => {
    const html = await (await browser.get('/account')).text();
    const credential = JSON.stringify(await newCredential());
    const answer = await browser.post(`${at}/passkey`, { _csrf: csrfOf(html), credential });
    expect([answer.status, answer.headers.get('location')]).toEqual([303, '/account?done=passkey']);
    expect(await (await browser.get('/account?done=passkey')).text()).toContain('Passkey added.');
    const refused = await browser.post(`${at}/passkey`, { _csrf: csrfOf(html), credential: '{' });
    expect([refused.status, await refused.text()]).toEqual([422, expect.stringContaining('That passkey couldn’t be used')]);
  });

  test('twenty are enough', async () => {
    await transaction(ctx, async (tx) => {
      for (let count = 0; count < 20; count++) await tx.scope.knex('authenticators').insert(passkeyRow(count));
    });
    expect(codeOf(await post(`${at}/passkey`, { credential: await newCredential() }))).toEqual([409, 'too_many']);
  });

  test('where passkeys are off, or nothing may be enrolled: 403', async () => {
    await withSettings({ passkeys_enabled: false }, async () => {
      expect(codeOf(await post(`${at}/passkey/options`))).toEqual([403, 'passkeys_disabled']);
      expect(codeOf(await post(`${at}/passkey`, {}))).toEqual([403, 'passkeys_disabled']);
      expect(await (await browser.get('/account')).text()).not.toContain('Add a passkey');
    });
    await withSettings({ second_factor_policy: 'off' }, async () => {
      expect(codeOf(await post(`${at}/passkey/options`))).toEqual([403, 'enrollment_disabled']);
      expect(codeOf(await post(`${at}/totp`))).toEqual([403, 'enrollment_disabled']);
      expect(await (await browser.get('/account')).text()).not.toContain('Sign-in methods');
    });
    await withSettings({ totp_enabled: false }, async () => expect(codeOf(await post(`${at}/totp`))).toEqual([403, 'totp_disabled']));
  });
});

const passkeyRow = (count: number) => ({
  environment_id: ctx.environment.id, id: crypto.randomUUID(), user_id: user.id, kind: 'passkey', name: `Key ${count}`, status: 'active',
  credential_id: `${user.id}-${count}`, public_key: 'pQ', rp_id: 'localhost', sign_count: 0, transports: [], backup_eligible: false, backed_up: false,
  discoverable: true, created_at: new Date(), updated_at: new Date(),
}); // prettier-ignore

describe('authenticator apps', () => {
  test('the first one begins two-step and brings ten recovery codes, once; having it is a proof', async () => {
    const { recovery_codes } = await addTotp();
    expect(recovery_codes).toHaveLength(10);
    for (const code of recovery_codes) expect(code).toMatch(/^[BCDFGHJKLMNPQRSTVWXZ2-9]{5}-[BCDFGHJKLMNPQRSTVWXZ2-9]{5}$/);
    expect(await list()).toMatchObject({
      two_step_enabled: true,
      authenticators: [{ kind: 'totp' }, { kind: 'recovery_codes', codes_left: 10 }],
    });
    expect((await subjects()).join('\n')).toMatch(/Two-step sign-in is on/);
    const recorded = (await auditRows(service, 'authenticator.created')).filter(({ actor_id }) => actor_id === user.id);
    expect(recorded.map(({ target_display }) => target_display).sort()).toEqual([expect.any(String), 'Recovery codes']);
    // Of the second class by now: what takes it needs nothing further.
    expect((await post(`${at}/recovery_codes`)).status).toBe(201);
  });

  test('the address for the app bears the name of the service and of the account', async () => {
    const { body, status } = await post(`${at}/totp`, { name: 'Phone' });
    const uri = new URL(body['otpauth_uri'] as string);
    expect([status, body['expires_in'], uri.protocol, uri.host]).toEqual([201, 600, 'otpauth:', 'totp']);
    expect(decodeURIComponent(uri.pathname)).toContain(user.email);
    expect(Object.fromEntries(uri.searchParams)).toMatchObject({
      secret: body['secret'],
      issuer: ctx.environment.name,
      algorithm: 'SHA1',
      digits: '6',
      period: '30',
    });
  });

  test('a wrong code, one that comes late, and the app of somebody else', async () => {
    const { body } = await post(`${at}/totp`);
    const id = body['authenticator_id'] as string;
    const right = () => codeAt(body['secret'] as string, service.clock.now());
    const wrong = String((Number(right()) + 1) % 1_000_000).padStart(6, '0');
    expect(codeOf(await post(`${at}/totp/verify`, { authenticator_id: id, code: wrong }))).toEqual([422, 'invalid_code']);
    const [, other] = await signedIn();
    expect(codeOf(await post(`${at}/totp/verify`, { authenticator_id: id, code: right() }, other))).toEqual([410, 'code_expired']);
    expect(codeOf(await post(`${at}/totp/verify`, { authenticator_id: 'x', code: right() }))).toEqual([410, 'code_expired']);
    service.clock.advance(599_000);
    await browser.post('/account/confirm', {});
    service.clock.advance(2_000);
    expect((await post('/account/confirm', { password })).status).toBe(200);
    expect(codeOf(await post(`${at}/totp/verify`, { authenticator_id: id, code: right() }))).toEqual([410, 'code_expired']);
    expect(await kinds()).toEqual([]);
  });

  test('as pages: the QR code, the secret in groups of four; a wrong code keeps both, the right one leads to the recovery codes', async () => {
    const _csrf = csrfOf(await (await browser.get('/account')).text());
    const setUp = await (await browser.post(`${at}/totp`, { _csrf })).text();
    expect(setUp).toMatch(/<svg class="qr" role="img" aria-label="QR code/);
    const secret = /<code id="totp-secret">([A-Z2-7 ]+)<\/code>/.exec(setUp)?.[1] ?? '';
    expect(secret.split(' ').every((group) => group.length === 4)).toBe(true);
    const authenticator_id = /name="authenticator_id" value="([^"]+)"/.exec(setUp)?.[1] ?? '';
    const again = await browser.post(`${at}/totp/verify`, { _csrf, authenticator_id, code: '1' });
    expect([again.status, (await again.text()).includes(secret)]).toEqual([422, true]);
    const code = codeAt(secret.replaceAll(' ', ''), service.clock.now());
    const codes = await browser.post(`${at}/totp/verify`, { _csrf, authenticator_id, code });
    const html = await codes.text();
    expect(codes.status).toBe(200);
    expect(codes.headers.get('cache-control')).toBe('no-store');
    expect(html).toMatch(/<pre id="recovery-codes"[^>]*>[A-Z0-9\-\n]+<\/pre>/);
    expect(html).toMatch(/href="data:text\/plain[^"]+" download="recovery-codes.txt"/);
  });

  test('five are enough', async () => {
    for (let count = 0; count < 5; count++) {
      await addTotp();
      service.clock.advance(60_000);
    }
    expect(codeOf(await post(`${at}/totp`))).toEqual([409, 'too_many']);
  });
});

describe('recovery codes', () => {
  test('a new set kills the old one; without a factor there is nothing to recover', async () => {
    expect(codeOf(await post(`${at}/recovery_codes`))).toEqual([409, 'factor_missing']);
    const { recovery_codes } = await addTotp();
    const { status, body } = await post(`${at}/recovery_codes`);
    expect([status, (body['recovery_codes'] as string[]).length]).toEqual([201, 10]);
    const old = await post('/account/confirm', { method: 'recovery_code', code: recovery_codes[0] });
    expect(codeOf(old)).toEqual([422, 'invalid_code']);
    const [fresh] = body['recovery_codes'] as string[];
    expect((await post('/account/confirm', { method: 'recovery_code', code: ` ${fresh?.toLowerCase().replace('-', ' ')} ` })).status).toBe(
      200,
    );
    expect((await list()).authenticators.find(({ kind }) => kind === 'recovery_codes')).toMatchObject({ codes_left: 9 });
    expect((await subjects()).slice(0, 2)).toEqual([
      expect.stringMatching(/^A recovery code was used/),
      expect.stringMatching(/^New recovery codes/),
    ]);
  });

  test('a page of their own', async () => {
    await addPasskey();
    const _csrf = csrfOf(await (await browser.get('/account')).text());
    const page = await browser.post(`${at}/recovery_codes`, { _csrf });
    expect([page.status, await page.text()]).toEqual([201, expect.stringContaining('Save your recovery codes')]);
  });
});

describe('names', () => {
  test.each(['', ' ', 'x'.repeat(101), 'a\u0000b', 'a\nb'])('%j is none', async (name) => {
    const id = await addPasskey();
    const { status } = await post(`${at}/${id}/rename`, { name });
    expect([400, 422]).toContain(status);
    expect((await list()).authenticators[0]?.name).toBe('Firefox on Linux');
  });
});

describe('taking away', () => {
  test('the last factor ends two-step and the recovery codes', async () => {
    const { id } = await addTotp();
    expect((await post(`${at}/${id}/remove`)).status).toBe(200);
    expect(await list()).toEqual({ authenticators: [], two_step_enabled: false, devices: [] });
  });

  test('the only way in stays: 409, also as a page', async () => {
    const id = await addPasskey();
    await updateUser(ctx.scope, user.id, { password_hash: null });
    expect(codeOf(await post(`${at}/${id}/remove`))).toEqual([409, 'last_way_in']);
    const _csrf = csrfOf(await (await browser.get('/account')).text());
    const page = await browser.post(`${at}/${id}/remove`, { _csrf });
    expect([page.status, await page.text()]).toEqual([409, expect.stringContaining('This is your only way to sign in')]);
  });

  test('what the policy demands stays: 409 for the last factor and for two-step', async () => {
    const { id } = await addTotp();
    await withSettings({ second_factor_policy: 'required' }, async () => {
      expect(codeOf(await post(`${at}/${id}/remove`))).toEqual([409, 'factor_required']);
      expect(codeOf(await post('/account/two_step', { enabled: false }))).toEqual([409, 'factor_required']);
      const passkey = await addPasskey();
      expect((await post(`${at}/${id}/remove`)).status).toBe(200);
      expect(codeOf(await post(`${at}/${passkey}/remove`))).toEqual([409, 'factor_required']);
    });
  });

  test('what is somebody else’s can neither be renamed nor removed, nor what is in no form an id (attack 25.571)', async () => {
    const id = await addPasskey();
    const [, other] = await signedIn();
    for (const path of [`${at}/${id}/rename`, `${at}/${id}/remove`, `${at}/x/rename`, `${at}/x/remove`])
      expect(codeOf(await post(path, { name: 'Mine' }, other))).toEqual([404, 'not_found']);
    expect((await list()).authenticators).toMatchObject([{ id, name: 'Firefox on Linux' }]);
  });
});

describe('two-step', () => {
  test('is offered by a passkey beside a password, and brings recovery codes; off and on again brings none', async () => {
    await addPasskey();
    const on = await post('/account/two_step', { enabled: true });
    expect([on.status, on.body['two_step_enabled'], (on.body['recovery_codes'] as string[]).length]).toEqual([200, true, 10]);
    expect(await post('/account/two_step', { enabled: false })).toEqual({ status: 200, body: { two_step_enabled: false } });
    expect(await post('/account/two_step', { enabled: true })).toEqual({ status: 200, body: { two_step_enabled: true } });
    expect((await findUser(ctx.scope, user.id))?.two_step_enabled).toBe(true);
    expect(await auditRows(service, 'two_step.changed').then((rows) => rows.filter(({ actor_id }) => actor_id === user.id))).toHaveLength(
      3,
    );
  });

  test('without a factor 409, without an answer 422', async () => {
    expect(codeOf(await post('/account/two_step', { enabled: true }))).toEqual([409, 'factor_missing']);
    expect(codeOf(await post('/account/two_step', { enabled: 'maybe' }))).toEqual([422, 'invalid_value']);
  });
});

describe('remembered devices', () => {
  const origin = { ip_address: '203.0.113.5', user_agent: null, request_id: null };
  const remember = async (id: string, owner = user) => transaction(ctx, (tx) => rememberBrowser(tx, { id }, owner.id, origin));
  const remembered = async (owner = user) => listDevicesOfUser(ctx.scope, owner.id, service.clock.now());

  test('one, or all of them, are forgotten', async () => {
    await addTotp();
    for (const id of ['one', 'two', 'three']) await remember(`${id}-${user.id}`);
    const { devices } = await list();
    expect(devices).toHaveLength(3);
    expect(await post(`/account/devices/${devices[0]?.id}/forget`)).toEqual({ status: 200, body: {} });
    expect(await remembered()).toHaveLength(2);
    expect(codeOf(await post(`/account/devices/${devices[0]?.id}/forget`))).toEqual([404, 'not_found']);
    expect(await post('/account/devices/forget_all')).toEqual({ status: 200, body: { forgotten: 2 } });
    expect(await remembered()).toEqual([]);
  });

  test('those of somebody else stay (attack 25.571)', async () => {
    await remember(`four-${user.id}`);
    const [own] = await remembered();
    const [, other] = await signedIn();
    expect(codeOf(await post(`/account/devices/${own?.id}/forget`, {}, other))).toEqual([404, 'not_found']);
    expect(codeOf(await post('/account/devices/x/forget', {}, other))).toEqual([404, 'not_found']);
    expect(await post('/account/devices/forget_all', {}, other)).toEqual({ status: 200, body: { forgotten: 0 } });
    expect(await remembered()).toHaveLength(1);
  });

  test('end with a factor that is removed', async () => {
    const { id } = await addTotp();
    await addPasskey();
    await remember(`five-${user.id}`);
    expect((await post(`${at}/${id}/remove`)).status).toBe(200);
    expect(await remembered()).toEqual([]);
  });
});

describe('from outside', () => {
  const changes = [
    `${at}/passkey/options`, `${at}/passkey`, `${at}/totp`, `${at}/totp/verify`, `${at}/recovery_codes`, `${at}/x/rename`, `${at}/x/remove`, '/account/two_step',
    '/account/devices/x/forget', '/account/devices/forget_all', '/account/confirm', '/account/confirm/passkey/options',
  ]; // prettier-ignore

  test.each(changes)('%s is for nobody without a session', async (path) => {
    expect(codeOf(await post(path, {}, new Browser(service.url)))).toEqual([401, 'login_required']);
    const page = await new Browser(service.url).post(path, {});
    expect([page.status, page.headers.get('location')]).toEqual([303, '/login?return_to=%2Faccount']);
  });

  test.each(changes)('%s takes no form without our token, and nothing from another site (attack 25.563)', async (path) => {
    expect((await browser.post(path, { enabled: 'false' })).status).toBe(403);
    const _csrf = csrfOf(await (await browser.get('/account')).text());
    const foreign = { origin: 'https://evil.example' };
    expect((await browser.post(path, { _csrf }, foreign)).status).toBe(403);
    const json = await browser.postJson(path, {}, foreign);
    expect([json.status, ((await json.json()) as { error: string }).error]).toEqual([403, 'csrf_failed']);
    const [, other] = await signedIn();
    const theirs = csrfOf(await (await other.get('/account')).text());
    expect((await browser.post(path, { _csrf: theirs })).status).toBe(403);
  });

  test.each(['/account', '/account/confirm'])('no other site frames %s (attack 25.564)', async (path) => {
    const { headers } = await browser.get(path);
    expect([headers.get('x-frame-options'), headers.get('content-security-policy')]).toEqual([
      'DENY',
      expect.stringContaining("frame-ancestors 'none'"),
    ]);
  });

  test('the list is for its owner', async () => {
    const stranger = new Browser(service.url);
    expect((await stranger.get(at, { accept: 'application/json' })).status).toBe(401);
    const page = await browser.get(at);
    expect([page.status, page.headers.get('location')]).toEqual([303, '/account#sign-in-methods-title']);
  });
});
