// Whoever registers somebody else's address first has nothing left of it once its owner proves it, in whatever way.
import { beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { linkIdentity, listIdentities } from '../../src/domain/connections/identities.js';
import { transaction } from '../../src/domain/context.js';
import { noOrigin } from '../../src/domain/origin.js';
import { rememberBrowser, rememberedProof } from '../../src/domain/sessions/remembered-browsers.js';
import { proveAddress } from '../../src/domain/users/address-proof.js';
import { listAuthenticatorsOfUser } from '../../src/db/tables/authenticators.js';
import { addConsent, listConsentsOfUser } from '../../src/db/tables/consents.js';
import type { ConnectionRow } from '../../src/db/tables/connections.js';
import { findUser, updateUser, type UserChanges, type UserRow } from '../../src/db/tables/users.js';
import { uuidv7 } from '../../src/lib/random.js';
import { signedInWith } from '../support/administrators.js';
import { Browser } from '../support/browser.js';
import { addConnection } from '../support/connections.js';
import { addClient, addUser, password, type TestClient } from '../support/data.js';
import { eventsOf, subscribe } from '../support/events.js';
import { giveTotp, halfSignedIn, setEnvironment, totpCode } from '../support/factors.js';
import { codeIn, lastMailTo, mailTo } from '../support/mailbox.js';
import { manage, type Api } from '../support/management.js';
import { authorizeCode, redeem, tokenRequest } from '../support/oauth.js';
import { addDomain, addOrganization } from '../support/organizations.js';
import { auditRows } from '../support/security-events.js';
import { contextOf, sharedManagedService } from '../support/shared-service.js';
import { signedIn } from '../support/signed-in.js';
import { loginThrough, startAt, throughProvider } from '../support/sso.js';
import { ScriptedUpstream } from '../support/upstream-scripted.js';

const service = sharedManagedService();
const ctx = contextOf(service);
const upstream = ScriptedUpstream.shared();
let api: Api;
let admin: Browser;
let client: TestClient;
let connection: ConnectionRow;
let ofOrganization: ConnectionRow;

beforeAll(async () => {
  await setEnvironment(service, { email_code_sign_in_enabled: true });
  await subscribe(service, ['user.updated']);
  api = await manage(service.url);
  admin = await signedInWith(service, 'users:read', 'users:write');
  client = await addClient(ctx, { first_party: true });
  connection = await addConnection(ctx, { issuer: upstream.url, display_name: 'Corp', trusted: false });
  const organization = await addOrganization(ctx);
  await addDomain(ctx, organization, 'owned.example');
  ofOrganization = await addConnection(ctx, { issuer: upstream.url, organization_id: organization.id });
});

const device = { id: 'a device of 256 random bits', users: [] };
const fresh = 'nine quiet herons by the lake';
const reload = async ({ id }: UserRow) => (await findUser(ctx.scope, id)) as UserRow;
const isSignedIn = async (browser: Browser) => (await browser.get('/account')).status === 200;
const confirmed = async ({ email }: UserRow) =>
  (await mailTo(service.url, email)).filter(({ subject }) => subject.includes('is confirmed'));

/** Somebody who has an account with an address that isn't theirs, and has attached to it whatever can be. */
async function squatter(domain = 'example.com') {
  const user = await addUser(ctx, { email: `${uuidv7(ctx.clock.now().getTime())}@${domain}`, email_verified: false });
  const { secret } = await giveTotp(ctx, user.id);
  const browser = await halfSignedIn(service, user);
  service.clock.advance(60_000);
  const code = { method: 'totp', code: totpCode(secret, service.clock.now()) };
  expect((await browser.postJson('/login/verify', code, { origin: service.url })).status).toBe(200);
  expect(await isSignedIn(browser)).toBe(true);
  const granted = await authorizeCode(browser, client, { scope: 'openid offline_access' });
  const waiting = await authorizeCode(browser, client, { scope: 'openid' });
  const { refresh_token = '' } = (await redeem(service.url, client, granted)).body;
  const at = ctx.clock.now();
  await addConsent(ctx.scope, { id: uuidv7(at.getTime()), user_id: user.id, client_id: client.id, client_digest: null, resource: '', scopes: ['openid'], at }); // prettier-ignore
  const account = {
    connection_id: connection.id,
    generation: connection.generation,
    subject: user.id,
    email: 'eve@evil.example',
    claims: {},
  };
  await linkIdentity(ctx, user.id, account);
  upstream.claims = { sub: user.id, email: 'eve@evil.example', email_verified: true };
  await rememberBrowser(ctx, device, user.id, noOrigin);
  const half = await halfSignedIn(service, user);
  return { user: await reload(user), browser, half, secret, refresh_token, waiting };
}

/** Demands that nothing which the squatter attached works any more. */
async function expectNothingLeft({
  user,
  browser,
  half,
  secret,
  refresh_token,
  waiting,
}: Awaited<ReturnType<typeof squatter>>): Promise<void> {
  expect(await isSignedIn(browser)).toBe(false);
  const code = { method: 'totp', code: totpCode(secret, service.clock.now()) };
  expect((await half.postJson('/login/verify', code, { origin: service.url })).status).toBe(410);
  const refreshed = await tokenRequest(service.url, client, { grant_type: 'refresh_token', refresh_token });
  expect([refreshed.status, refreshed.body.error]).toEqual([400, 'invalid_grant']);
  expect((await redeem(service.url, client, waiting)).body.error).toBe('invalid_grant');
  expect(await listConsentsOfUser(ctx.scope, user.id)).toEqual([]);
  expect(await listAuthenticatorsOfUser(ctx.scope, user.id)).toEqual([]);
  expect(await rememberedProof(ctx, device, user.id)).toBeNull();
  const identities = await listIdentities(ctx, user.id);
  expect(identities.filter(({ connection_id }) => connection_id === connection.id)).toMatchObject([{ proven: false }]);
  const through = new Browser(service.url);
  const asked = await loginThrough(through, connection);
  expect([asked.status, through.cookies.has('session')]).toEqual([200, false]);
  expect(await asked.text()).toContain('Reconnect Corp to your account');
  const guessed = new Browser(service.url);
  await guessed.login(user.email, password);
  expect(await isSignedIn(guessed)).toBe(false);
  expect(await reload(user)).toMatchObject({
    email_verified: true,
    two_step_enabled: false,
    authenticator_kinds: [],
    recovery_codes_left: 0,
  });
}

async function byEmailedCode({ email }: UserRow): Promise<Browser> {
  const browser = new Browser(service.url);
  const { sign_in_id } = (await (await browser.postJson('/login/code', { email })).json()) as { sign_in_id: string };
  const answer = await browser.postJson('/login/code/verify', { sign_in_id, code: codeIn(await lastMailTo(service.url, email)) });
  expect(answer.status).toBe(200);
  return browser;
}

async function byReset({ email }: UserRow, link: boolean): Promise<Browser> {
  const browser = new Browser(service.url);
  const { reset_id } = (await (await browser.postJson('/password/forgot', { email })).json()) as { reset_id: string };
  const mail = await lastMailTo(service.url, email);
  const code = link ? (/[?&]code=([\w-]{43})/.exec(mail.text)?.[1] ?? '') : codeIn(mail);
  expect((await browser.postJson('/password/reset', { reset_id, code, password: fresh })).status).toBe(200);
  await browser.login(email, fresh);
  return browser;
}

const patch = async ({ id }: UserRow, attributes: object) => expect((await api.update('users', id, attributes)).status).toBe(200);

/** The provider of the organization whose domain it is says so; nothing of the account is asked for. */
async function byOrganization({ email }: UserRow): Promise<Browser> {
  const { claims } = upstream;
  upstream.claims = { sub: email, email, email_verified: true };
  const browser = new Browser(service.url);
  expect((await loginThrough(browser, ofOrganization)).headers.get('location')).toBe('/account');
  upstream.claims = claims;
  return browser;
}

const proofs: [string, (user: UserRow) => Promise<Browser | null>][] = [
  ['a code by mail', byEmailedCode],
  ['a reset by code', (user) => byReset(user, false)],
  ['a reset by link', (user) => byReset(user, true)],
  ['a PATCH of an administrator', async (user) => (await patch(user, { email_verified: true }), null)],
  ['the connection of an organization', byOrganization],
  [
    'the dashboard',
    async ({ id }) => {
      const place = `/dashboard/users/${id}`;
      expect((await admin.submit(`${place}/verify_email`, {})).headers.get('location')).toBe(`${place}?done=email_verified`);
      return null;
    },
  ],
];

describe.each(proofs)('the first proof of an address, by %s', (_how, prove) => {
  let before: Awaited<ReturnType<typeof squatter>>;
  let owner: Browser | null;

  beforeEach(async () => {
    before = await squatter(prove === byOrganization ? 'owned.example' : undefined);
    owner = await prove(before.user);
  });

  test('leaves nothing of who registered it first: identity, session, authenticator app, tokens, consent, password (attack 11.911)', async () => {
    if (owner) expect(await isSignedIn(owner)).toBe(true);
    await expectNothingLeft(before);
    if (owner) expect(await isSignedIn(owner)).toBe(true);
  });

  test('is told by one mail that names what went, by an event and in the audit log', async () => {
    const { user } = before;
    const [mail, ...more] = await confirmed(user);
    expect(more).toEqual([]);
    const gone = [
      'Passkeys, authenticator apps and recovery codes were removed',
      'Applications lost access',
      'Corp (eve at evil dot example)',
    ];
    for (const text of gone) expect(mail?.text).toContain(text);
    const reset = _how.startsWith('a reset');
    expect(mail?.text.includes('The password was removed')).toBe(!reset);
    expect(mail?.text.includes('All sessions were ended')).toBe(!reset);
    expect(mail?.text.includes('An administrator confirmed')).toBe(owner === null);
    const updated = (await eventsOf(service, user.id)).filter(({ event }) => event === 'user.updated');
    expect(updated.at(-1)?.data).toMatchObject({ email_verified: true, previous_attributes: { email_verified: false } });
    const row = (await auditRows(service, 'address.proven')).find(({ target_id }) => target_id === user.id);
    expect(row).toMatchObject({
      actor_kind: _how.startsWith('a PATCH') ? 'client' : 'user',
      changes: { password: [null, !reset], connected_accounts: [null, 1] },
    });
  });
});

test('another address that is proven first leaves nothing of the one before either (attack 11.911)', async () => {
  const before = await squatter();
  const email = `moved-${before.user.email}`;
  expect((await before.browser.postJson('/account/email', { email })).status).toBe(202);
  const code = codeIn(await lastMailTo(service.url, email));
  expect((await before.browser.postJson('/account/email/verify', { code })).status).toBe(200);
  expect(await confirmed({ ...before.user, email })).toHaveLength(1);
  await expectNothingLeft({ ...before, user: await reload(before.user) });
});

describe('what the first proof leaves alone', () => {
  test('an address that was proven before: the account keeps all that it has', async () => {
    const user = await addUser(ctx);
    const browser = await signedIn(service, user);
    await giveTotp(ctx, user.id);
    await byEmailedCode(user);
    await patch(user, { email_verified: true });
    await patch(user, { email: `moved-${user.email}`, email_verified: true });
    expect(await isSignedIn(browser)).toBe(true);
    expect(await reload(user)).toMatchObject({
      email_verified: true,
      password_hash: user.password_hash,
      authenticator_kinds: ['recovery_codes', 'totp'],
    });
    expect(await confirmed(user)).toEqual([]);
  });

  test('a password that comes with it stays, and an account without anything gets no mail of it', async () => {
    const user = await addUser(ctx, { email_verified: false });
    await patch(user, { email_verified: true, password: fresh });
    await new Browser(service.url).login(user.email, fresh);
    expect(await reload(user)).toMatchObject({ email_verified: true, login_count: 1 });
    const bare = await addUser(ctx, { email_verified: false, password_hash: null });
    expect(await isSignedIn(await byEmailedCode(bare))).toBe(true);
    expect([await confirmed(user), await confirmed(bare)]).toEqual([[], []]);
  });

  test('an account at the connection through which alone the address signs in', async () => {
    const required = await addConnection(ctx, { issuer: upstream.url, domains: ['alone.example'], required: true, trusted: false });
    const user = await addUser(ctx, { email: `ada-${uuidv7(1)}@alone.example`, email_verified: false, password_hash: null });
    await linkIdentity(ctx, user.id, {
      connection_id: required.id,
      generation: 1,
      subject: `alone ${user.id}`,
      email: user.email,
      claims: {},
    });
    upstream.claims = { sub: `alone ${user.id}`, email: user.email, email_verified: true };
    await patch(user, { email_verified: true });
    expect(await listIdentities(ctx, user.id)).toMatchObject([{ proven: true }]);
    expect((await loginThrough(new Browser(service.url), required)).status).toBe(303);
  });

  test('everything, when the transaction of the proof fails', async () => {
    const { user, browser } = await squatter();
    const failing = transaction(ctx, async (tx) => {
      expect(await proveAddress(tx, user, { administrator: null, origin: noOrigin })).toMatchObject({
        email_verified: true,
        password_hash: null,
      });
      throw new Error('undone');
    });
    await expect(failing).rejects.toThrow('undone');
    expect(await reload(user)).toMatchObject({ email_verified: false, authenticator_kinds: ['recovery_codes', 'totp'] });
    expect([await isSignedIn(browser), await confirmed(user)]).toEqual([true, []]);
  });

  test('an address that the account no longer has when the code comes back', async () => {
    const { user } = await squatter();
    await patch(user, { email: `moved-${user.email}` });
    const proven = transaction(ctx, (tx) => proveAddress(tx, user, { administrator: null, origin: noOrigin }));
    expect(await proven).toBeNull();
    expect(await reload(user)).toMatchObject({ email_verified: false, authenticator_kinds: ['recovery_codes', 'totp'] });
  });
});

describe('a sign-in at a provider that is under way while the address is proven', () => {
  /** The answer to a squatter who comes back from the provider when the proof has cleared the account and has yet to commit. */
  async function overtaken(user: UserRow): Promise<[answer: Response, browser: Browser]> {
    await linkIdentity(ctx, user.id, { connection_id: connection.id, generation: connection.generation, subject: user.id, email: null, claims: {} }); // prettier-ignore
    upstream.claims = { sub: user.id, email: 'eve@evil.example', email_verified: true };
    const browser = new Browser(service.url);
    const back = await throughProvider(await startAt(browser, connection));
    let answer: Promise<Response> | undefined;
    await transaction(ctx, async (tx) => {
      await proveAddress(tx, await reload(user), { administrator: null, origin: noOrigin });
      answer = browser.get(back.pathname + back.search);
      const waiting = ctx.db.knex('pg_stat_activity').whereRaw("datname = current_database() and wait_event_type = 'Lock'");
      await expect.poll(async () => (await waiting.clone()).length).toBe(1);
    });
    return [(await answer) as Response, browser];
  }

  test('signs nobody in (attack 11.1057)', async () => {
    const [answer, browser] = await overtaken(await addUser(ctx, { email_verified: false }));
    expect([answer.status, await isSignedIn(browser)]).toEqual([410, false]);
  });

  test('nor half, where a second step was due (attack 11.1057)', async () => {
    const user = await addUser(ctx, { email_verified: false });
    await giveTotp(ctx, user.id);
    const [answer, browser] = await overtaken(user);
    expect([answer.status, browser.cookies.has('idp_signin')]).toEqual([410, false]);
    expect(await ctx.db.knex('sign_ins').where({ user_id: user.id })).toEqual([]);
  });
});

test('no other write proves the address of a user who exists, whatever its types say', async () => {
  const user = await addUser(ctx, { email_verified: false });
  const forbidden = { email_verified: true } as unknown as UserChanges;
  await expect(updateUser(ctx.scope, user.id, forbidden)).rejects.toThrow('setEmailVerified');
  expect((await reload(user)).email_verified).toBe(false);
});

describe('what administrators change is told to the person by mail', () => {
  test('a password (attack 22.915)', async () => {
    const user = await addUser(ctx);
    await patch(user, { password: fresh });
    const mail = await lastMailTo(service.url, user.email);
    expect(mail.subject).toBe('Your Default password was changed');
    for (const text of ['An administrator set a new password', `${service.url}/password/forgot`]) expect(mail.text).toContain(text);
  });

  test('an address, at the old one, which does not learn the new one, and at the new one (attack 22.915)', async () => {
    const user = await addUser(ctx);
    const moved = `moved-${user.email}`;
    await patch(user, { email: moved });
    const [old, now] = [await lastMailTo(service.url, user.email), await lastMailTo(service.url, moved)];
    expect([old.subject, now.subject]).toEqual(Array(2).fill('Your Default email address was changed'));
    expect(old.text).toContain('You can no longer sign in with this address');
    expect(`${old.text}${old.html}`).not.toContain('moved');
    expect(now.text).toContain('made this the email address of your account');
    await patch(user, { email: moved.toUpperCase(), nickname: 'Countess' });
    expect(await mailTo(service.url, moved)).toHaveLength(1);
  });

  test('an authenticator that is moved in or removed (attack 22.915)', async () => {
    const user = await addUser(ctx);
    const relationships = { user: { data: { type: 'user', id: user.id } } };
    const made = await api.attempt(
      'authenticators',
      { kind: 'totp', name: 'Moved', secret: 'JBSWY3DPEHPK3PXPJBSWY3DPEHPK3PXP' },
      relationships,
    );
    expect(made.status).toBe(201);
    const { id } = made.body['data'] as { id: string };
    expect((await lastMailTo(service.url, user.email)).text).toContain('The authenticator app “Moved” was added to your account');
    expect((await api.delete(`/authenticators/${id}`)).status).toBe(204);
    const subjects = (await mailTo(service.url, user.email)).map(({ subject }) => subject);
    expect(subjects).toContain('An authenticator app was removed from your Default account');
  });
});
