// What sign-ins have to be, at the authorization endpoint: asked for where it is to be had, refused where not.
import { beforeEach, describe, expect, test } from 'vitest';
import type { ClientRow } from '../../src/db/tables/clients.js';
import type { UserRow } from '../../src/db/tables/users.js';
import { emailStepProof, type SessionProof } from '../../src/domain/proofs/proofs.js';
import { startSignIn } from '../../src/domain/sessions/half-sign-ins.js';
import { authorizeGet, authorizeQuery, expectRedirectError } from '../support/authorize.js';
import { Browser, locationParameters } from '../support/browser.js';
import { addClient, addResource } from '../support/data.js';
import { authorizeCode, claimsOf, redeem } from '../support/oauth.js';
import { contextOf, shared, sharedService } from '../support/shared-service.js';
import { addUserWith, proofsNow, proveMore, setEnvironment, signedInBy } from '../support/signed-in.js';

const service = sharedService();

const settings = { second_factor_policy: 'optional', second_factor_grace_lifetime: 0, passkeys_enabled: true, totp_enabled: true } as const;

const ctx = contextOf(service);
const client = shared(() => addClient(ctx));
const plain = shared(() => addUserWith(ctx, []));
const withTotp = shared(() => addUserWith(ctx, ['recovery_codes', 'totp']));
const withPasskey = shared(() => addUserWith(ctx, ['passkey']));
const withBoth = shared(() => addUserWith(ctx, ['passkey', 'recovery_codes', 'totp']));
beforeEach(() => setEnvironment(service, settings));

type Asked = Record<string, string | undefined>;
const ask = (browser: Browser, extra: Asked = {}, from = client) => authorizeGet(browser, authorizeQuery(from, extra));
const by = (user: UserRow, ...methods: Parameters<typeof proofsNow>[1][]) => signedInBy(service, user, proofsNow(ctx, ...methods));
/** A session of class 1 in which two-step is no matter: the browser is remembered. */
const remembered = (user: UserRow) => by(user, 'password', 'device');
const aged = (proofs: readonly SessionProof[], seconds: number): SessionProof[] =>
  proofs.map((proof) => ({ ...proof, at: new Date(new Date(proof.at).getTime() - seconds * 1000).toISOString() }));

const essential = (...values: string[]) => JSON.stringify({ id_token: { acr: { essential: true, values } } });

/** Where somebody is sent: the path, and the class that is to be reached. */
function sentTo(response: Response): string {
  const location = response.headers.get('location') ?? `status ${response.status}`;
  const acr_values = locationParameters(response).get('acr_values');
  return location.startsWith('/') ? `${location.split('?')[0]}${acr_values === null ? '' : ` ${acr_values}`}` : 'client';
}

/** The pending request goes on, whole, once more is proven. */
async function goesOn(browser: Browser & { session_id: string }, response: Response, added: SessionProof[]): Promise<Response> {
  const return_to = locationParameters(response).get('return_to') ?? '';
  await proveMore(service, browser, added);
  return browser.get(return_to);
}

const acrOf = async (browser: Browser, extra: Record<string, string> = {}, from = client) => {
  const { body } = await redeem(service.url, from, await authorizeCode(browser, from, extra));
  return claimsOf(body.id_token as string)['acr'];
};

describe('acr_values', () => {
  test('asks whoever has the factor for it, only for what is missing, and the request goes on', async () => {
    const browser = await remembered(withTotp);
    const asked = await ask(browser, { acr_values: '2', nonce: 'n-1', state: 'kept' });
    expect(sentTo(asked)).toBe('/login/verify 2');
    const answer = await goesOn(browser, asked, proofsNow(ctx, 'totp'));
    expect([locationParameters(answer).get('state'), locationParameters(answer).get('code')]).toEqual([
      'kept',
      expect.stringMatching(/^ac_/),
    ]);
    expect(await acrOf(browser, { acr_values: '2' })).toBe('2');
  });

  test('never fails: without the factor, or with unknown values, the code comes with the class that is reached', async () => {
    const browser = await by(plain, 'password');
    for (const acr_values of ['2', 'phr', 'phrh urn:example:unknown', 'phr 2 1', '3'])
      expect(await acrOf(browser, { acr_values })).toBe('1');
  });

  test('goes by the client’s order: the first value that is reached, or that the person has the factors for', async () => {
    expect(sentTo(await ask(await remembered(withBoth), { acr_values: 'phr 2' }))).toBe('/login/verify phr');
    expect(sentTo(await ask(await remembered(withTotp), { acr_values: 'phr 2' }))).toBe('/login/verify 2');
    expect(sentTo(await ask(await remembered(withBoth), { acr_values: '1 phr' }))).toBe('client');
    expect(sentTo(await ask(await by(withBoth, 'password', 'totp'), { acr_values: '2 phr' }))).toBe('client');
  });

  test('an acr claim that is not essential is a wish too', async () => {
    const claims = JSON.stringify({ id_token: { acr: { values: ['2'] } } });
    expect(sentTo(await ask(await remembered(withTotp), { claims }))).toBe('/login/verify 2');
    expect(sentTo(await ask(await by(plain, 'password'), { claims }))).toBe('client');
  });

  test('asks once: who proves something else comes back with the class that is reached', async () => {
    const browser = await remembered(withBoth);
    const asked = await ask(browser, { acr_values: 'phr' });
    const answer = await goesOn(browser, asked, proofsNow(ctx, 'totp'));
    expect(locationParameters(answer).get('code')).toMatch(/^ac_/);
  });

  test('with prompt=none it asks for nothing', async () =>
    expect(sentTo(await ask(await remembered(withTotp), { acr_values: '2', prompt: 'none' }))).toBe('client'));
});

describe('an essential acr', () => {
  test('is asked for, however often it takes', async () => {
    const browser = await remembered(withBoth);
    const asked = await ask(browser, { claims: essential('phr') });
    expect(sentTo(asked)).toBe('/login/verify phr');
    const again = await goesOn(browser, asked, proofsNow(ctx, 'totp'));
    expect(sentTo(again)).toBe('/login/verify phr');
    expect(locationParameters(await goesOn(browser, again, proofsNow(ctx, 'passkey'))).get('code')).toMatch(/^ac_/);
  });

  test('takes whichever value the person has, in the client’s order', async () => {
    expect(sentTo(await ask(await remembered(withTotp), { claims: essential('urn:x', 'phr', '2') }))).toBe('/login/verify 2');
    expect(sentTo(await ask(await remembered(withBoth), { claims: essential('2', 'phr') }))).toBe('/login/verify 2');
  });

  test('is enrolled for where the policy lets', async () => {
    expect(sentTo(await ask(await by(plain, 'password'), { claims: essential('2') }))).toBe('/login/enroll 2');
    expect(sentTo(await ask(await by(plain, 'password'), { claims: essential('phr') }))).toBe('/login/enroll phr');
  });

  test('enrolling takes a sign-in of just now, and class 2 where two-step is on (attack 25.581)', async () => {
    const stale = await signedInBy(service, plain, aged(proofsNow(ctx, 'password'), 601));
    const onwards = async (browser: Browser, claims: string) => {
      const page = await browser.get((await ask(browser, { claims })).headers.get('location') ?? '');
      return page.status === 200 ? 'enrolment' : sentTo(page);
    };
    expect(await onwards(stale, essential('2'))).toBe('/account/confirm');
    // Somebody with an app for codes, whose browser is remembered: a passkey is enrolled with class 2 only.
    expect(await onwards(await remembered(withTotp), essential('phr'))).toBe('/account/confirm');
    expect(await onwards(await by(withTotp, 'password', 'totp'), essential('phr'))).toBe('enrolment');
  });

  test.each([
    ['the policy is off', { second_factor_policy: 'off' as const }, '2'],
    ['passkeys are off', { passkeys_enabled: false }, 'phr'],
    ['the value is no class of ours', { second_factor_policy: 'required_for_management' as const }, 'phrh'],
  ])('is refused where %s', async (_case, changes, value) => {
    await setEnvironment(service, changes);
    const browser = await by(plain, 'password');
    await expectRedirectError(service, client, 'unmet_authentication_requirements', () => ask(browser, { claims: essential(value) }));
    await expectRedirectError(service, client, 'unmet_authentication_requirements', () =>
      ask(browser, { claims: essential(value), prompt: 'none' }),
    );
  });

  test('with prompt=none it is login_required while there is a way to it', async () => {
    for (const browser of [await remembered(withTotp), await by(plain, 'password')])
      await expectRedirectError(service, client, 'login_required', () => ask(browser, { claims: essential('2'), prompt: 'none' }));
  });

  test('a code by mail is no step to a higher class: it takes a sign-in by password first (attack 25.582)', async () => {
    const browser = await by(withTotp, 'email', 'totp');
    expect(sentTo(await ask(browser, { claims: essential('2') }))).toBe('/login');
  });

  test('what exists is asked for while the policy is off', async () => {
    await setEnvironment(service, { second_factor_policy: 'off' });
    expect(sentTo(await ask(await remembered(withTotp), { claims: essential('2') }))).toBe('/login/verify 2');
  });
});

describe('what a client or an API resource requires', () => {
  const strict: Partial<ClientRow> = { required_acr: '2' };
  const resource = shared(() =>
    addResource(ctx, { identifier: 'https://transfers.example', required_acr: 'phr', max_authentication_age: 300 }),
  );

  test('required_acr of the client is asked for, enrolled for, or unmet', async () => {
    const app = await addClient(ctx, strict);
    expect(sentTo(await ask(await remembered(withTotp), {}, app))).toBe('/login/verify 2');
    expect(sentTo(await ask(await by(plain, 'password'), {}, app))).toBe('/login/enroll 2');
    expect(await acrOf(await by(withPasskey, 'passkey'), {}, app)).toBe('2');
    await expectRedirectError(service, app, 'login_required', async () => ask(await remembered(withTotp), { prompt: 'none' }, app));
    await setEnvironment(service, { second_factor_policy: 'off' });
    await expectRedirectError(service, app, 'unmet_authentication_requirements', async () => ask(await by(plain, 'password'), {}, app));
  });

  test('and of the API resource, the higher of the two', async () => {
    const app = await addClient(ctx, strict);
    const asked = { resource: resource.identifier, scope: 'openid read' };
    expect(sentTo(await ask(await by(withBoth, 'password', 'totp'), asked, app))).toBe('/login/verify phr');
    expect(sentTo(await ask(await by(withBoth, 'password', 'totp'), { scope: 'openid' }, app))).toBe('client');
  });

  test('max_authentication_age is a max_age that nobody has to ask for: the whole sign-in is done anew', async () => {
    const asked = { resource: resource.identifier, scope: 'openid read' };
    const old = await signedInBy(service, withPasskey, aged(proofsNow(ctx, 'passkey'), 301));
    expect(sentTo(await ask(old, asked))).toBe('/login');
    await expectRedirectError(service, client, 'login_required', () => ask(old, { ...asked, prompt: 'none' }));
    expect(sentTo(await ask(await signedInBy(service, withPasskey, aged(proofsNow(ctx, 'passkey'), 290)), asked))).toBe('client');
    const app = await addClient(ctx, { max_authentication_age: 60 });
    expect(sentTo(await ask(await signedInBy(service, plain, aged(proofsNow(ctx, 'password'), 61)), {}, app))).toBe('/login');
    // A larger max_age of the request doesn't undo it.
    expect(sentTo(await ask(await signedInBy(service, plain, aged(proofsNow(ctx, 'password'), 61)), { max_age: '6000' }, app))).toBe(
      '/login',
    );
  });

  test('max_age asks for all steps: a fresh second step does not make an old password young (attack 25.583)', async () => {
    const browser = await signedInBy(service, withTotp, [...aged(proofsNow(ctx, 'password'), 3600), ...proofsNow(ctx, 'totp')]);
    expect(sentTo(await ask(browser, { max_age: '600', acr_values: '2' }))).toBe('/login');
    expect(sentTo(await ask(browser, { prompt: 'login' }))).toBe('/login');
    expect(sentTo(await ask(browser, { acr_values: '2' }))).toBe('client');
  });
});

describe('policy', () => {
  test('a session that is older than the person’s two-step takes the second step (attack 25.584)', async () => {
    expect(sentTo(await ask(await by(withTotp, 'password')))).toBe('/login/verify 1');
    expect(sentTo(await ask(await by(withTotp, 'email')))).toBe('/login/verify 1');
    for (const done of [['password', 'totp'], ['password', 'device'], ['passkey']] as const)
      expect([done, sentTo(await ask(await by(withTotp, ...done)))]).toEqual([done, 'client']);
    const byMail = [...proofsNow(ctx, 'password'), emailStepProof(ctx.clock.now())];
    expect(sentTo(await ask(await signedInBy(service, withTotp, byMail)))).toBe('client');
    await expectRedirectError(service, client, 'login_required', async () => ask(await by(withTotp, 'password'), { prompt: 'none' }));
  });

  test('a session of a registration takes it too, and one that began by mail and was confirmed by password (attack 25.584)', async () => {
    expect(sentTo(await ask(await by(withTotp, 'email', 'password')))).toBe('/login/verify 1');
    await setEnvironment(service, { second_factor_policy: 'required' });
    expect(sentTo(await ask(await by(withPasskey, 'email', 'password')))).toBe('/login/verify 1');
  });

  test('a session that is older than the policy is asked too: for a factor, or to enrol one (attack 25.585)', async () => {
    await setEnvironment(service, { second_factor_policy: 'required' });
    expect(sentTo(await ask(await by(withPasskey, 'password')))).toBe('/login/verify 1');
    const browser = await by(plain, 'password');
    expect(sentTo(await ask(browser))).toBe('/login/enroll 2');
    await expectRedirectError(service, client, 'login_required', () => ask(browser, { prompt: 'none' }));
  });

  test('in the time to enrol nobody is asked; it runs from when an old session was first seen', async () => {
    await setEnvironment(service, { second_factor_policy: 'required', second_factor_grace_lifetime: 86_400 });
    const user = await addUserWith(ctx, []);
    const browser = await by(user, 'password');
    expect(sentTo(await ask(browser))).toBe('client');
    service.clock.advance(86_300_000);
    expect(sentTo(await ask(browser))).toBe('client');
    service.clock.advance(200_000);
    expect(sentTo(await ask(browser))).toBe('/login/enroll 2');
    service.clock.advance(-86_500_000);
  });

  test('somebody who is half signed in is a stranger (attack 25.586)', async () => {
    const browser = new Browser(service.url);
    const { token } = await startSignIn(ctx, { user_id: withTotp.id, stage: 'verify', proofs: proofsNow(ctx, 'password') });
    for (const cookie of ['idp_signin', 'idp_session']) browser.cookies.set(cookie, token);
    expect(sentTo(await ask(browser))).toBe('/login');
    await expectRedirectError(service, client, 'login_required', () => ask(browser, { prompt: 'none' }));
  });
});
