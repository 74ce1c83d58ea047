// Passkeys as the only step: at /login, and in the place of a password at registration.
import { describe, expect, test } from 'vitest';
import { findUserByEmailKey, type UserRow } from '../../src/db/tables/users.js';
import { insertConnection } from '../../src/db/tables/connections.js';
import { Browser, csrfOf } from '../support/browser.js';
import { addClient, addEnvironment, addUser, password } from '../support/data.js';
import { creationOptionsAt, givePasskey, halfSignedIn, optionsAt, refusalOf, setEnvironment, addTwoStepUser } from '../support/factors.js';
import { jsonFrom } from '../support/from-address.js';
import { codeIn, lastMailTo } from '../support/mailbox.js';
import { startTestService } from '../support/service.js';
import { sharedService } from '../support/shared-service.js';
import { SoftwareAuthenticator, type Behaviour } from '../support/software-authenticator.js';

const service = sharedService(() => startTestService());

const home = () => ({ origin: service.url });

/** Somebody with a passkey, beside a password unless told otherwise. */
async function somebody(row: Partial<UserRow> = {}, how: Partial<Behaviour> = {}) {
  const user = await addUser(await service.context(), row);
  const authenticator = new SoftwareAuthenticator();
  await givePasskey(service, user, authenticator, how);
  return { user, authenticator };
}

/** Signs in as the page's script does; `how` says what goes wrong. */
async function signIn(browser: Browser, authenticator: SoftwareAuthenticator, how: Partial<Behaviour> = {}, more: object = {}) {
  const options = await optionsAt(browser, '/login/passkey/options');
  return browser.postJson('/login/passkey', { credential: authenticator.get(options, { ...home(), ...how }), ...more });
}

const sessionOf = async (browser: Browser) => {
  const answer = await browser.get('/account', { accept: 'application/json' });
  if (answer.status !== 200) return null;
  const { sessions } = (await answer.json()) as { sessions: { current: boolean; amr: string[] }[] };
  return sessions.find(({ current }) => current) ?? null;
};

describe('signing in', () => {
  test('a passkey that verifies its user is the whole sign-in, of somebody with two-step too', async () => {
    const { user } = await addTwoStepUser(service);
    const authenticator = new SoftwareAuthenticator();
    await givePasskey(service, user, authenticator);
    const browser = new Browser(service.url);
    const answer = await signIn(browser, authenticator, {}, { return_to: '/account?x=y' });
    expect(answer.status).toBe(200);
    const body = (await answer.json()) as { user: { email: string; last_login_at: string | null }; redirect_to: string };
    expect([body.user.email, body.redirect_to]).toEqual([user.email, '/account?x=y']);
    expect((await sessionOf(browser))?.amr).toEqual(['pop', 'user', 'mfa']);
    expect((await findUserByEmailKey((await service.context()).scope, user.email_key))?.login_count).toBe(1);
  });

  test('as a form of the page: the credential as text, 303 to where the person was going', async () => {
    const { authenticator } = await somebody();
    const browser = new Browser(service.url);
    const page = await (await browser.get('/login?return_to=%2Faccount%3Fx%3Dy')).text();
    const given = /data-given="([^"]+)"/.exec(page)?.[1]?.replaceAll('&#34;', '"') ?? '';
    const credential = JSON.stringify(authenticator.get(JSON.parse(given), home()));
    const answer = await browser.post('/login/passkey', { _csrf: csrfOf(page), credential, return_to: '/account?x=y' });
    expect([answer.status, answer.headers.get('location')]).toEqual([303, '/account?x=y']);
    expect(await sessionOf(browser)).not.toBeNull();
  });

  test('the options tell nothing of anybody, whatever address is sent along (attack 25.538)', async () => {
    const { user } = await somebody();
    const answers = [];
    for (const body of [{}, { email: user.email }, { email: 'nobody-here@example.com' }]) {
      const options = (await optionsAt(new Browser(service.url), '/login/passkey/options', body)) as object;
      answers.push({ ...options, challenge: '' });
    }
    expect(answers[1]).toEqual(answers[0]);
    expect(answers[2]).toEqual(answers[0]);
    expect(answers[0]).toMatchObject({ rpId: 'localhost', userVerification: 'required', timeout: 300_000 });
    expect((answers[0] as { allowCredentials?: unknown[] }).allowCredentials ?? []).toEqual([]);
  });

  test('an unknown passkey, one that is refused, and one of somebody blocked are told apart; nobody is signed in', async () => {
    const { authenticator } = await somebody();
    const stranger = new SoftwareAuthenticator();
    const foreign = await creationOptionsAt(
      await registering('stranger@example.com'),
      '/register/passkey/options',
      await registrationFields(),
    );
    stranger.create(foreign, home());
    const browser = new Browser(service.url);
    expect(await refusalOf(await signIn(browser, stranger))).toEqual([401, 'passkey_unknown']);
    expect(await refusalOf(await signIn(browser, authenticator, { user_verified: false }))).toEqual([401, 'passkey_refused']);
    const blocked = await somebody({ status: 'blocked' });
    expect(await refusalOf(await signIn(browser, blocked.authenticator))).toEqual([403, 'account_blocked']);
    for (const credential of [undefined, null, 'x', 5, {}, { id: 'x' }, [], '{"id":'])
      expect((await browser.postJson('/login/passkey', { credential })).status).toBe(401);
    expect(browser.cookies.has('idp_session')).toBe(false);
  });

  test('the page of an unknown one names it, so that the browser can forget it', async () => {
    const stranger = new SoftwareAuthenticator();
    stranger.create(
      await creationOptionsAt(await registering('other-stranger@example.com'), '/register/passkey/options', await registrationFields()),
      home(),
    );
    const browser = new Browser(service.url);
    const _csrf = csrfOf(await (await browser.get('/login')).text());
    const credential = stranger.get(await optionsAt(browser, '/login/passkey/options'), home());
    const answer = await browser.post('/login/passkey', { _csrf, credential: JSON.stringify(credential) });
    const page = await answer.text();
    expect([answer.status, page.includes(`data-unknown-passkey="${credential.id}" data-rp-id="localhost"`)]).toEqual([401, true]);
    expect(page).toContain('That passkey no longer signs anyone in here.');
  });

  test('a challenge is good once, for five minutes, in the browser that it was made for (attack 25.501)', async () => {
    const { authenticator } = await somebody();
    const browser = new Browser(service.url);
    const options = await optionsAt(browser, '/login/passkey/options');
    const once = () => browser.postJson('/login/passkey', { credential: authenticator.get(options, home()) });
    expect((await once()).status).toBe(200);
    expect(await refusalOf(await once())).toEqual([410, 'challenge_expired']);

    const late = await optionsAt(browser, '/login/passkey/options');
    service.clock.advance(301_000);
    expect(await refusalOf(await browser.postJson('/login/passkey', { credential: authenticator.get(late, home()) }))).toEqual([
      410,
      'challenge_expired',
    ]);

    const stolen = await optionsAt(new Browser(service.url), '/login/passkey/options');
    const elsewhere = new Browser(service.url);
    await optionsAt(elsewhere, '/login/passkey/options');
    expect(await refusalOf(await elsewhere.postJson('/login/passkey', { credential: authenticator.get(stolen, home()) }))).toEqual([
      401,
      'passkey_refused',
    ]);
    expect(
      await refusalOf(await new Browser(service.url).postJson('/login/passkey', { credential: authenticator.get(stolen, home()) })),
    ).toEqual([401, 'passkey_refused']);
  });

  test('a challenge of another purpose or person is worth nothing (attack 25.540)', async () => {
    const { user } = await addTwoStepUser(service);
    const authenticator = new SoftwareAuthenticator();
    await givePasskey(service, user, authenticator);
    const half = await halfSignedIn(service, user);
    const second = await optionsAt(half, '/login/verify/passkey/options');
    expect(await refusalOf(await half.postJson('/login/passkey', { credential: authenticator.get(second, home()) }))).toEqual([
      401,
      'passkey_refused',
    ]);
    const first = await optionsAt(half, '/login/passkey/options');
    expect(await refusalOf(await half.postJson('/login/verify', { credential: authenticator.get(first, home()) }))).toEqual([
      401,
      'passkey_refused',
    ]);
    // Another person's passkey as the second step.
    const thief = await somebody();
    const asked = await optionsAt(half, '/login/verify/passkey/options');
    const credential = thief.authenticator.get({ ...asked, allowCredentials: [] }, home());
    expect(await refusalOf(await half.postJson('/login/verify', { credential }))).toEqual([401, 'passkey_refused']);
  });

  test.each([
    ['another origin', { origin: 'https://evil.example' }],
    ['a page in a frame of another site', { cross_origin: true }],
    ['a frame below another site', { top_origin: 'https://evil.example' }],
    ['another RP id', { rp_id: 'evil.example' }],
    ['the wrong ceremony', { type: 'webauthn.create' }],
    ['nobody present', { user_present: false }],
    ['another person’s handle', { user_handle: Buffer.alloc(16).toString('base64url') }],
    ['no handle', { user_handle: null }],
  ] as const)('%s is refused (attack 25.541)', async (_what, how) => {
    const { authenticator } = await somebody();
    const browser = new Browser(service.url);
    const options = await optionsAt(browser, '/login/passkey/options');
    const id = authenticator.credentials[0]?.id;
    const credential = authenticator.get(options, { ...home(), ...how }, id);
    expect(await refusalOf(await browser.postJson('/login/passkey', { credential }))).toEqual([401, 'passkey_refused']);
    expect(browser.cookies.has('idp_session')).toBe(false);
  });

  test('another environment knows none of it (attack 25.542)', async () => {
    const { authenticator } = await somebody();
    await addEnvironment(service.deps, 'elsewhere');
    service.deps.cache.clear();
    const { host } = new URL(service.url);
    const origin = `http://elsewhere.${host}`;
    const post = (path: string, body: object, cookie = '') =>
      jsonFrom('127.0.0.1', `${service.url}${path}`, body, { host: `elsewhere.${host}`, origin, cookie });
    const asked = await post('/login/passkey/options', {});
    const cookie = (asked.headers['set-cookie'] ?? []).map((one) => one.split(';')[0]).join('; ');
    const id = authenticator.credentials[0]?.id;
    const options = JSON.parse(asked.text) as Parameters<SoftwareAuthenticator['get']>[0];
    const credential = authenticator.get(options, { origin, rp_id: `elsewhere.${new URL(service.url).hostname}` }, id);
    const answer = await post('/login/passkey', { credential }, cookie);
    expect([answer.status, (JSON.parse(answer.text) as { error: string }).error]).toEqual([401, 'passkey_unknown']);
  });

  test('an address that signs in through one connection alone doesn’t by passkey (attack 25.543)', async () => {
    const ctx = await service.context();
    const { authenticator } = await somebody({ email: 'ada@required.example' });
    const now = ctx.clock.now();
    await insertConnection(ctx.scope, {
      id: '01890000-0000-7000-8000-00000000c0de',
      name: 'required',
      display_name: 'Required',
      strategy: 'oidc',
      issuer: 'https://provider.example',
      provider_client_id: 'x',
      domains: ['required.example'],
      required: true,
      created_at: now,
      updated_at: now,
    });
    service.deps.cache.clear();
    const browser = new Browser(service.url);
    expect(await refusalOf(await signIn(browser, authenticator))).toEqual([401, 'passkey_refused']);
    expect(browser.cookies.has('idp_session')).toBe(false);
  });

  test('a form of another site, or without its token, signs nobody in (attack 25.537)', async () => {
    const { authenticator } = await somebody();
    const browser = new Browser(service.url);
    const page = await (await browser.get('/login')).text();
    const credential = authenticator.get(await optionsAt(browser, '/login/passkey/options'), home());
    const fields = { credential: JSON.stringify(credential) };
    const attempts = [
      await browser.post('/login/passkey', fields),
      await browser.post('/login/passkey', { ...fields, _csrf: csrfOf(page) }, { origin: 'https://evil.example' }),
      await browser.postJson('/login/passkey', { credential }, { origin: 'https://evil.example' }),
      await browser.postJson('/login/passkey/options', {}, { 'sec-fetch-site': 'cross-site' }),
    ];
    expect(attempts.map(({ status }) => status)).toEqual([403, 403, 403, 403]);
    expect((await browser.post('/login/passkey', { ...fields, _csrf: csrfOf(page) })).status).toBe(303);
  });

  test('where the environment has none, every address of theirs refuses and the page offers none', async () => {
    await setEnvironment(service, { passkeys_enabled: false });
    const browser = new Browser(service.url);
    for (const path of ['/login/passkey/options', '/login/passkey', '/register/passkey/options'])
      expect(await refusalOf(await browser.postJson(path, {}))).toEqual([403, 'passkeys_disabled']);
    const page = await (await browser.get('/login')).text();
    expect([page.includes('passkey'), page.includes('autocomplete="username"')]).toEqual([false, true]);
    await setEnvironment(service, { passkeys_enabled: true });
  });

  test('a first-party client’s own origin may call the JSON steps; another’s may not', async () => {
    await addClient(await service.context(), { allowed_origins: ['https://app.example'] });
    const ask = (origin: string) => new Browser(service.url).postJson('/login/passkey/options', {}, { origin, accept: 'application/json' });
    const allowed = await ask('https://app.example');
    expect([
      allowed.status,
      allowed.headers.get('access-control-allow-origin'),
      allowed.headers.get('access-control-allow-credentials'),
    ]).toEqual([200, 'https://app.example', 'true']);
    const refused = await ask('https://other.example');
    expect([refused.status, refused.headers.get('access-control-allow-origin')]).toEqual([403, null]);
  });
});

test('a page of another host than the passkeys’ leads to theirs, for browsers that know no related origins', async () => {
  await setEnvironment(service, { passkey_rp_id: 'keys.example' });
  const { port } = new URL(service.url);
  const page = await (await new Browser(service.url).get('/login?return_to=%2Faccount')).text();
  expect(page).toContain(`http://keys.example:${port}/login?return_to=%2Faccount`);
  await setEnvironment(service, { passkey_rp_id: null });
  expect(await (await new Browser(service.url).get('/login')).text()).not.toContain('keys.example');
});

test('/.well-known/webauthn names the origins that passkeys may be used at (WebAuthn L3 5.11.1)', async () => {
  const answer = await fetch(`${service.url}/.well-known/webauthn`);
  expect([answer.headers.get('content-type'), answer.headers.get('cache-control')]).toEqual([
    'application/json; charset=utf-8',
    'public, max-age=300',
  ]);
  expect(await answer.json()).toEqual({ origins: [service.url] });
});

const tokens = new Map<Browser, string>();
let latest: Browser;

/** A browser that has proven the address, and only lacks name and password. */
async function registering(email: string): Promise<Browser> {
  const browser = new Browser(service.url);
  const { registration_id } = (await (await browser.postJson('/register', { email })).json()) as { registration_id: string };
  const code = codeIn(await lastMailTo(service.url, email));
  const verified = (await (await browser.postJson('/register/verify', { registration_id, code })).json()) as { registration_token: string };
  tokens.set(browser, verified.registration_token);
  latest = browser;
  return browser;
}
const registrationFields = async () => ({ registration_token: tokens.get(latest), first_name: 'Grace', last_name: 'Hopper' });

describe('registering', () => {
  test('with a passkey instead of a password: signed in, two-step on, recovery codes this once', async () => {
    const browser = await registering('grace@example.com');
    const fields = await registrationFields();
    const options = await creationOptionsAt(browser, '/register/passkey/options', fields);
    expect(options).toMatchObject({
      rp: { id: 'localhost' },
      user: { name: 'grace@example.com', displayName: 'Grace Hopper' },
      authenticatorSelection: { residentKey: 'required', userVerification: 'required' },
      attestation: 'none',
    });
    const authenticator = new SoftwareAuthenticator();
    const answer = await browser.postJson('/register/complete', {
      ...fields,
      credential: authenticator.create(options, home()),
      return_to: '/account?a=b',
    });
    expect(answer.status).toBe(201);
    const body = (await answer.json()) as { user: { id: string; has_password: boolean }; redirect_to: string; recovery_codes: string[] };
    expect(body).toMatchObject({ user: { has_password: false }, redirect_to: '/account?a=b' });
    expect(body.recovery_codes).toHaveLength(10);
    expect(Buffer.from(options.user.id, 'base64url').toString('hex')).toBe(body.user.id.replaceAll('-', ''));
    expect(await findUserByEmailKey((await service.context()).scope, 'grace@example.com')).toMatchObject({
      two_step_enabled: true,
      password_hash: null,
      authenticator_kinds: ['passkey', 'recovery_codes'],
    });
    expect(await sessionOf(browser)).not.toBeNull();
    expect((await signIn(new Browser(service.url), authenticator)).status).toBe(200);
    // Its password is nobody's.
    expect((await new Browser(service.url).postJson('/login', { email: 'grace@example.com', password })).status).toBe(401);
  });

  test('as a form: the page of the recovery codes, and on from there', async () => {
    const browser = await registering('form@example.com');
    const page = await (await browser.get('/login')).text();
    const fields = (await registrationFields()) as Record<string, string>;
    const credential = new SoftwareAuthenticator().create(await creationOptionsAt(browser, '/register/passkey/options', fields), home());
    const answer = await browser.post('/register/complete', {
      ...fields,
      _csrf: csrfOf(page),
      credential: JSON.stringify(credential),
      return_to: '/account?a=b',
    });
    const text = await answer.text();
    expect(answer.status).toBe(201);
    expect(text.match(/\b[BCDFGHJ-NP-TV-Z2-9]{5}-[BCDFGHJ-NP-TV-Z2-9]{5}\b/g)?.length).toBeGreaterThanOrEqual(10);
    expect(text).toContain('href="/account?a=b"');
  });

  test('with an authenticator that doesn’t verify its user, another challenge or another registration’s: refused, and the token is good still (attack 25.545)', async () => {
    const browser = await registering('ada-2@example.com');
    const fields = await registrationFields();
    const complete = (credential: unknown) => browser.postJson('/register/complete', { ...fields, credential });
    const options = () => creationOptionsAt(browser, '/register/passkey/options', fields);
    const authenticator = new SoftwareAuthenticator();
    expect(await refusalOf(await complete(authenticator.create(await options(), { ...home(), user_verified: false })))).toEqual([
      422,
      'passkey_refused',
    ]);
    expect(await refusalOf(await complete(authenticator.create(await options(), { ...home(), discoverable: false })))).toEqual([
      422,
      'passkey_refused',
    ]);
    expect(await refusalOf(await complete(authenticator.create(await options(), { origin: 'https://evil.example' })))).toEqual([
      422,
      'passkey_refused',
    ]);
    const other = await registering('ada-3@example.com');
    const foreign = await creationOptionsAt(other, '/register/passkey/options', await registrationFields());
    latest = browser;
    expect(await refusalOf(await complete(authenticator.create(foreign, home())))).toEqual([422, 'passkey_refused']);
    expect(await refusalOf(await complete({ id: 'x' }))).toEqual([422, 'passkey_refused']);
    const { authenticator: taken } = await somebody();
    const [known] = taken.credentials;
    const copy = new SoftwareAuthenticator().create(await options(), {
      ...home(),
      credential_id: Buffer.from(known?.id ?? '', 'base64url'),
    });
    expect(await refusalOf(await complete(copy))).toEqual([409, 'passkey_exists']);
    expect((await complete(authenticator.create(await options(), home()))).status).toBe(201);
  });

  test('the options are for a proven address with names alone', async () => {
    const browser = await registering('ada-4@example.com');
    const fields = await registrationFields();
    expect(await refusalOf(await browser.postJson('/register/passkey/options', { ...fields, first_name: ' ' }))).toEqual([422, 'required']);
    expect(await refusalOf(await browser.postJson('/register/passkey/options', { ...fields, registration_token: 'x'.repeat(43) }))).toEqual(
      [410, 'code_expired'],
    );
    expect(await refusalOf(await browser.postJson('/register/passkey/options', {}))).toEqual([422, 'required']);
  });

  test('an account that was made meanwhile: 409, as with a password', async () => {
    const browser = await registering('ada-5@example.com');
    const fields = await registrationFields();
    const options = await creationOptionsAt(browser, '/register/passkey/options', fields);
    await addUser(await service.context(), { email: 'ada-5@example.com' });
    const credential = new SoftwareAuthenticator().create(options, home());
    expect(await refusalOf(await browser.postJson('/register/complete', { ...fields, credential }))).toEqual([409, 'email_taken']);
  });
});
