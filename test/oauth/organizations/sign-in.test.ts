// Signing in for an organization: whom it lets in, what is chosen, what sign-in it takes (specification 16.2).
import { beforeEach, describe, expect, test } from 'vitest';
import { insert, table } from '../../../src/db/scope.js';
import { findMembershipOf, type MembershipRow } from '../../../src/db/tables/organization_memberships.js';
import type { OrganizationRow } from '../../../src/db/tables/organizations.js';
import type { UserRow } from '../../../src/db/tables/users.js';
import { startSession } from '../../../src/domain/sessions/sessions.js';
import { providerProof } from '../../../src/domain/proofs/proofs.js';
import { flushRequestTraces } from '../../../src/domain/request-traces/request-traces.js';
import { uuidv7 } from '../../../src/lib/random.js';
import { authorizeGet, authorizeQuery, expectRedirectError } from '../../support/authorize.js';
import { Browser, csrfOf, locationParameters, pkcePair } from '../../support/browser.js';
import { addConnection } from '../../support/connections.js';
import { addClient, addUser, type TestClient } from '../../support/data.js';
import { claimsOf, oauthPost, redeem, tokenRequest } from '../../support/oauth.js';
import { addDomain, addMembership, addOrganization, addRoleOf, changeRow } from '../../support/organizations.js';
import { contextOf, shared, sharedService } from '../../support/shared-service.js';
import { addUserWith, proofsNow, signedIn, signedInBy } from '../../support/signed-in.js';

const service = sharedService();
const ctx = contextOf(service);
const clients = shared(async () => ({
  deny: await addClient(ctx),
  allow: await addClient(ctx, { organization_usage: 'allow' }),
  require: await addClient(ctx, { organization_usage: 'require' }),
}));

let user: UserRow;
let browser: Browser & { session_id: string };
let acme: OrganizationRow;
let membership: MembershipRow;

beforeEach(async () => {
  user = await addUser(ctx);
  browser = await signedIn(service, user);
  acme = await addOrganization(ctx, { display_name: 'Acme' });
  membership = await addMembership(ctx, acme, user);
});

const ask = (client: TestClient, extra: Record<string, string | undefined> = {}, by: Browser = browser) =>
  authorizeGet(by, authorizeQuery(client, extra));
const silent = (client: TestClient, error: string, extra: Record<string, string> = {}, by: Browser = browser) =>
  expectRedirectError(service, client, error, () => ask(client, { prompt: 'none', ...extra }, by));

/** The organization of the tokens that a request leads to; null: none, undefined: no code came. */
async function organizationOf(client: TestClient, answer: Response): Promise<unknown> {
  const code = locationParameters(answer).get('code');
  if (code === null) return undefined;
  const { body } = await redeem(service.url, client, { code, verifier: '', redirect_uri: client.redirect_uris[0] as string });
  return claimsOf(body.id_token as string)['org_id'] ?? null;
}

async function chooserIn(answer: Response) {
  expect(answer.status).toBe(200);
  const html = await answer.text();
  const options = [...html.matchAll(/name="organization" value="([^"]*)"/g)].map(([, value]) => value);
  const request = /name="request" value="([^"]+)"/.exec(html)?.[1] ?? '';
  return {
    html,
    options,
    request,
    choose: (organization: string, csrf = csrfOf(html)) => browser.post('/oauth/organization', { _csrf: csrf, request, organization }),
  };
}

/** A browser with a session that came through these connections, and no other way. */
async function through(connections: readonly { id: string; organization_id: string | null }[], whose = user): Promise<Browser> {
  const [connection] = connections;
  const proofs = [providerProof(ctx.clock.now(), ctx.clock.now())];
  const { token } = await startSession(ctx, {
    user_id: whose.id,
    proofs,
    ip_address: null,
    user_agent: null,
    connection: connection ?? null,
  });
  const fresh = new Browser(service.url);
  fresh.cookies.set('idp_session', token);
  return fresh;
}

const connectionOf = (organization: OrganizationRow) => addConnection(ctx, { organization_id: organization.id });

describe('the parameter organization', () => {
  test('is refused of a client that denies it, also when it is pushed (specification 16.2.1)', async () => {
    await expectRedirectError(service, clients.deny, 'invalid_request', () => ask(clients.deny, { organization: acme.name }));
    const redirect_uri = clients.deny.redirect_uris[0] as string;
    const pushed = await oauthPost(service.url, '/oauth/par', clients.deny, {
      response_type: 'code',
      redirect_uri,
      organization: acme.name,
    });
    expect(pushed).toMatchObject({ status: 400, body: { error: 'invalid_request' } });
  });

  test('is taken by id and by name, and pushed (specification 16.2.1)', async () => {
    for (const organization of [acme.id, acme.name])
      expect(await organizationOf(clients.allow, await ask(clients.allow, { organization }))).toBe(acme.id);
    const { challenge } = pkcePair();
    const fields = {
      response_type: 'code',
      redirect_uri: clients.allow.redirect_uris[0] as string,
      scope: 'openid',
      organization: acme.name,
      code_challenge: challenge,
      code_challenge_method: 'S256',
    };
    const { request_uri } = (await oauthPost(service.url, '/oauth/par', clients.allow, fields)).body as { request_uri?: string };
    const answer = await browser.get(
      `/oauth/authorize?${new URLSearchParams({ client_id: clients.allow.id, request_uri: request_uri ?? '' })}`,
    );
    const rows = await table<{ organization_id: string }>(ctx.scope, 'authorization_codes')
      .where({ user_id: user.id } as never)
      .orderBy('expires_at', 'desc');
    expect(locationParameters(answer).get('code')).not.toBeNull();
    expect(rows[0]?.organization_id).toBe(acme.id);
  });

  test('left out leaves out the organization where it is allowed (specification 16.2.1)', async () => {
    expect(await organizationOf(clients.allow, await ask(clients.allow))).toBeNull();
    expect(await organizationOf(clients.deny, await ask(clients.deny))).toBeNull();
  });
});

describe('an organization that does not let the person in', () => {
  const reasons: readonly [string, () => Promise<string>][] = [
    ['unknown', async () => 'no-such-organization'],
    ['unknown by id', async () => uuidv7(0)],
    ['no name at all', async () => '<script>'],
    ['disabled', async () => {
      await changeRow(ctx, 'organizations', { id: acme.id }, { status: 'disabled' });
      return acme.name;
    }],
    ['one that the person is no member of', async () => (await addOrganization(ctx)).name],
    ['one that the person is suspended in', async () => {
      await changeRow(ctx, 'organization_memberships', { id: membership.id }, { status: 'suspended' });
      return acme.name;
    }],
  ]; // prettier-ignore

  test.each(reasons)(
    '%s: one page, that names the account and offers another, or access_denied (specification 16.2.4, attack 43.1312)',
    async (_name, word) => {
      const organization = await word();
      const page = await ask(clients.allow, { organization });
      const html = (await page.text()).replaceAll(/request=[^"&]*|<code>[^<]*<\/code>/g, '');
      expect(page.status).toBe(403);
      expect(html).toContain(user.email);
      expect(html).toContain('Use another account');
      expect(html).not.toContain('Acme');
      const refused = await silent(clients.allow, 'access_denied', { organization });
      expect(refused.get('error_description')).toBe('the person can not sign in for this organization');
    },
  );

  test('says nothing before somebody is signed in (specification 16.2.4)', async () => {
    const stranger = new Browser(service.url);
    await silent(clients.allow, 'login_required', { organization: 'no-such-organization' }, stranger);
    expect((await ask(clients.allow, { organization: 'no-such-organization' }, stranger)).headers.get('location')).toMatch(/^\/login\?/);
  });
});

describe('the chooser', () => {
  test('a client that requires one gets the only one (specification 16.2.3)', async () =>
    expect(await organizationOf(clients.require, await ask(clients.require))).toBe(acme.id));

  test('somebody with several chooses, and is not asked again in this session (specification 16.2.3)', async () => {
    const umbrella = await addOrganization(ctx, { display_name: 'Umbrella', branding: { logo_url: 'https://logo.example/u.png' } });
    await addMembership(ctx, umbrella, user);
    await silent(clients.require, 'interaction_required');
    const chooser = await chooserIn(await ask(clients.require));
    expect(chooser.options).toEqual([acme.name, umbrella.name]);
    for (const text of ['Acme', 'Umbrella', 'https://logo.example/u.png', user.email]) expect(chooser.html).toContain(text);
    expect(chooser.html).not.toContain('Personal account');
    expect(await organizationOf(clients.require, await chooser.choose(umbrella.name))).toBe(umbrella.id);
    expect(await organizationOf(clients.require, await ask(clients.require, { prompt: 'none' }))).toBe(umbrella.id);
    expect(await organizationOf(clients.require, await ask(clients.require, { prompt: 'none', organization: acme.id }))).toBe(acme.id);
    expect((await chooserIn(await ask(clients.require, { organization: 'choose' }))).options).toHaveLength(2);
    await changeRow(ctx, 'organizations', { id: acme.id }, { status: 'disabled' });
    expect(await organizationOf(clients.require, await ask(clients.require, { prompt: 'none' }))).toBe(umbrella.id);
  });

  test('with choose it offers the personal account where no organization is required (specification 16.2.3)', async () => {
    await silent(clients.allow, 'interaction_required', { organization: 'choose' });
    const chooser = await chooserIn(await ask(clients.allow, { organization: 'choose' }));
    expect(chooser.options).toEqual([acme.name, '']);
    expect(await organizationOf(clients.allow, await chooser.choose(''))).toBeNull();
    expect(await organizationOf(clients.allow, await chooser.choose(acme.name))).toBe(acme.id);
  });

  test('what it posts is judged as a request would be: others’ organizations, and none where one is required (attack 43.1313)', async () => {
    const foreign = await addOrganization(ctx);
    const chooser = await chooserIn(await ask(clients.require, { organization: 'choose' }));
    for (const word of [foreign.name, '', 'no-such-organization']) expect((await chooser.choose(word)).status).toBe(403);
  });

  test('without a token of its own, or an answer, it does nothing (attack 43.1314)', async () => {
    const chooser = await chooserIn(await ask(clients.require, { organization: 'choose' }));
    expect((await chooser.choose(acme.name, 'A'.repeat(43))).status).toBe(403);
    const own = csrfOf(chooser.html);
    expect((await browser.post('/oauth/organization', { _csrf: own, request: chooser.request })).status).toBe(400);
    expect((await browser.post('/oauth/organization', { _csrf: own, request: 'changed', organization: acme.name })).status).toBe(400);
  });

  test('shows invitations of the person’s verified address, and none of others (specification 16.2.3)', async () => {
    const inviting = await addOrganization(ctx, { display_name: 'Hooli' });
    const now = ctx.clock.now();
    const expires_at = new Date(now.getTime() + 86_400_000);
    const invite = (email: string, organization: OrganizationRow, digest: string) =>
      insert<Record<string, unknown>>(ctx.scope, 'organization_invitations', {
        id: uuidv7(now.getTime()), organization_id: organization.id, email, email_key: email, token_digest: Buffer.from(digest), expires_at, sent_at: now, created_at: now, updated_at: now,
      }); // prettier-ignore
    await invite(user.email, inviting, user.id);
    await invite('other@example.com', await addOrganization(ctx, { display_name: 'Globex' }), `${user.id} other`);
    const { html, options } = await chooserIn(await ask(clients.require, { organization: 'choose' }));
    expect(html).toContain('You’re invited to Hooli.');
    expect(html).not.toContain('Globex');
    expect(options).toEqual([acme.name]);
    await table(ctx.scope, 'users')
      .where({ id: user.id } as never)
      .update({ email_verified: false } as never);
    expect((await chooserIn(await ask(clients.require, { organization: 'choose' }))).html).not.toContain('Hooli');
  });

  test('somebody without any organization is told so (specification 16.2.4)', async () => {
    const lonely = await signedIn(service, await addUser(ctx));
    expect((await ask(clients.require, {}, lonely)).status).toBe(403);
    await silent(clients.require, 'access_denied', {}, lonely);
  });
});

describe('the login page', () => {
  const login = async (client: TestClient, organization?: string) => {
    const stranger = new Browser(service.url);
    const answer = await ask(client, { organization }, stranger);
    return (await stranger.get(answer.headers.get('location') ?? '')).text();
  };

  test('wears the organization’s looks and offers its connections; the general one never does (specification 16.2.2, attack 43.1315)', async () => {
    await changeRow(
      ctx,
      'organizations',
      { id: acme.id },
      { display_name: 'Acme Corporation', branding: JSON.stringify({ logo_url: 'https://logo.example/a.png', primary_color: '#aa3300' }) },
    );
    const connection = await addConnection(ctx, { organization_id: acme.id, display_name: 'Acme Directory' });
    const own = await login(clients.allow, acme.name);
    for (const text of ['Acme Corporation', 'https://logo.example/a.png', 'Acme Directory', connection.id]) expect(own).toContain(text);
    for (const page of [await login(clients.allow), await login(clients.require), await login(clients.allow, 'no-such-organization')]) {
      expect(page).not.toContain('Acme Corporation');
      expect(page).not.toContain(connection.id);
    }
    await changeRow(ctx, 'organizations', { id: acme.id }, { status: 'disabled' });
    expect(await login(clients.allow, acme.name)).not.toContain(connection.id);
  });

  test('an address of a verified domain leads to its connection, one of a pending domain does not (specification 16.2.8, attack 43.1316)', async () => {
    const connection = await connectionOf(acme);
    await addDomain(ctx, acme, 'acme.example');
    await addDomain(ctx, acme, 'waiting.example', { status: 'pending' });
    const leads = async (email: string) => {
      const stranger = new Browser(service.url);
      const page = await (await stranger.get('/login')).text();
      return (await stranger.post('/login', { _csrf: csrfOf(page), email, password: '' })).headers.get('location') ?? '';
    };
    expect(await leads('ann@acme.example')).toContain(`/auth/sso/${connection.id}`);
    expect(await leads('ann@waiting.example')).toBe('');
  });
});

describe('the sign-in that an organization takes', () => {
  test('require_sso: of everybody, or of managed people, through a connection of it (specification 16.2.6)', async () => {
    const connection = await connectionOf(acme);
    await changeRow(ctx, 'organizations', { id: acme.id }, { require_sso: 'everyone' });
    await silent(clients.allow, 'login_required', { organization: acme.name });
    expect((await ask(clients.allow, { organization: acme.name })).headers.get('location')).toMatch(/^\/login\?/);
    expect(await organizationOf(clients.allow, await ask(clients.allow, { organization: acme.name }, await through([connection])))).toBe(
      acme.id,
    );
    await changeRow(ctx, 'organizations', { id: acme.id }, { require_sso: 'domains' });
    expect(await organizationOf(clients.allow, await ask(clients.allow, { organization: acme.name }))).toBe(acme.id);
    await addDomain(ctx, acme, 'managed.example');
    const managed = await addUser(ctx, { email: `${user.id}@managed.example` });
    await addMembership(ctx, acme, managed);
    await silent(clients.allow, 'login_required', { organization: acme.name }, await signedIn(service, managed));
  });

  test('the page that asks for it shows the form again after a sign-in that does not do, and never loops (specification 16.2.6)', async () => {
    await connectionOf(acme);
    await changeRow(ctx, 'organizations', { id: acme.id }, { require_sso: 'everyone' });
    const location = (await ask(clients.allow, { organization: acme.name })).headers.get('location') ?? '';
    const page = await browser.get(location);
    expect(page.status).toBe(200);
    expect(await page.text()).toContain('/auth/sso/');
  });

  test('each refusal leaves a trace of its rule (specification 15.10.1)', async () => {
    const stranger = (await addOrganization(ctx)).name;
    const rule = async (client: TestClient, extra: Record<string, string>) => {
      const request_id = (await ask(client, extra)).headers.get('x-request-id');
      await flushRequestTraces(service.deps);
      const rows = await table<{ request_id: string; rule: string }>(ctx.scope, 'request_traces').where({ id: request_id } as never);
      return rows[0]?.rule;
    };
    expect(await rule(clients.allow, { organization: stranger })).toBe('not_a_member');
    expect(await rule(clients.allow, { organization: stranger, prompt: 'none' })).toBe('not_a_member');
    expect(await rule(clients.allow, { organization: 'choose', prompt: 'none' })).toBe('organization_open');
    expect(await rule(clients.deny, { organization: acme.name })).toBe('organizations_not_taken');
  });

  test('a session of another organization’s connection alone is good for that one alone (specification 16.2.7, attack 43.1317)', async () => {
    const initech = await addOrganization(ctx);
    await addMembership(ctx, initech, user);
    const bounded = await through([await connectionOf(initech)]);
    expect(await organizationOf(clients.allow, await ask(clients.allow, { organization: initech.name }, bounded))).toBe(initech.id);
    await silent(clients.allow, 'login_required', { organization: acme.name }, bounded);
    for (const client of [clients.allow, clients.deny]) await silent(client, 'login_required', {}, bounded);
    expect((await ask(clients.allow, { organization: acme.name }, bounded)).headers.get('location')).toMatch(/^\/login\?/);
    expect((await bounded.get('/account')).headers.get('location')).toMatch(/^\/login/);
    expect((await bounded.get('/dashboard')).headers.get('location')).toMatch(/login/);
    expect((await bounded.get('/device')).status).not.toBe(500);
  });

  test('unless that organization manages the person (specification 16.2.7)', async () => {
    await addDomain(ctx, acme, `${user.id}.example`);
    const managed = await addUser(ctx, { email: `ann@${user.id}.example` });
    const initech = await addOrganization(ctx);
    for (const one of [acme, initech]) await addMembership(ctx, one, managed);
    const session = await through([await connectionOf(acme)], managed);
    expect(await organizationOf(clients.allow, await ask(clients.allow, { organization: initech.name }, session))).toBe(initech.id);
    expect(await organizationOf(clients.deny, await ask(clients.deny, {}, session))).toBeNull();
    expect((await session.get('/account')).status).toBe(200);
  });

  test('a further login joins the session, which is then good everywhere (specification 16.2.7)', async () => {
    const initech = await addOrganization(ctx);
    await addMembership(ctx, initech, user);
    const bounded = await through([await connectionOf(initech)]);
    const before = bounded.cookies.get('idp_session');
    expect((await bounded.login(user.email, 'correct horse battery staple')).status).toBe(303);
    expect(bounded.cookies.get('idp_session')).not.toBe(before);
    expect(await organizationOf(clients.allow, await ask(clients.allow, { organization: acme.name }, bounded))).toBe(acme.id);
    expect(await organizationOf(clients.allow, await ask(clients.allow, { organization: initech.name }, bounded))).toBe(initech.id);
    const rows = await table<{ connection_ids: string[]; has_local_login: boolean }>(ctx.scope, 'sessions').where({
      user_id: user.id,
      has_local_login: true,
    } as never);
    expect(rows.some(({ connection_ids }) => connection_ids.length === 1)).toBe(true);
  });

  test('a session through the environment’s own connection is good everywhere (specification 16.2.7)', async () => {
    const session = await through([await addConnection(ctx)]);
    expect(await organizationOf(clients.allow, await ask(clients.allow, { organization: acme.name }, session))).toBe(acme.id);
    expect((await session.get('/account')).status).toBe(200);
  });

  test('required_acr and max_authentication_age of the organization hold, of a refresh too (specification 16.2.9)', async () => {
    const { verifier, challenge } = pkcePair();
    const fields = { organization: acme.name, scope: 'openid offline_access', code_challenge: challenge, code_challenge_method: 'S256' };
    const code = locationParameters(await ask(clients.allow, fields)).get('code') ?? '';
    const granted = await redeem(service.url, clients.allow, { code, verifier, redirect_uri: clients.allow.redirect_uris[0] as string });
    const refresh = () =>
      tokenRequest(service.url, clients.allow, { grant_type: 'refresh_token', refresh_token: granted.body.refresh_token as string });
    await changeRow(ctx, 'organizations', { id: acme.id }, { required_acr: '2' });
    await silent(clients.allow, 'login_required', { organization: acme.name });
    expect(await refresh()).toMatchObject({ status: 400, body: { error: 'invalid_grant' } });
    expect(await organizationOf(clients.allow, await ask(clients.allow))).toBeNull();
    await changeRow(ctx, 'organizations', { id: acme.id }, { required_acr: null, max_authentication_age: 60 });
    expect((await refresh()).status).toBe(200);
    service.clock.advance(61_000);
    await silent(clients.allow, 'login_required', { organization: acme.name });
    expect(await refresh()).toMatchObject({ status: 400, body: { error: 'invalid_grant' } });
    expect(await organizationOf(clients.allow, await ask(clients.allow))).toBeNull();
  });

  test('a class of the organization is reached by a second factor, or a passkey alone, and never lowers that of the client (specification 16.2.9)', async () => {
    const strict = await addClient(ctx, { organization_usage: 'allow', required_acr: '2', max_authentication_age: 60 });
    const person = await addUserWith(ctx, ['totp', 'passkey']);
    await addMembership(ctx, acme, person);
    const by = (...methods: Parameters<typeof proofsNow>[1][]) => signedInBy(service, person, proofsNow(ctx, ...methods));
    const [password, totp, passkey] = [await by('password'), await by('password', 'totp'), await by('passkey')];
    const fields = { organization: acme.name };
    const comesTo = async (client: TestClient, session: Browser) => organizationOf(client, await ask(client, fields, session));

    await changeRow(ctx, 'organizations', { id: acme.id }, { required_acr: 'phr' });
    for (const session of [password, totp]) await silent(clients.allow, 'login_required', fields, session);
    expect(await comesTo(clients.allow, passkey)).toBe(acme.id);
    await changeRow(ctx, 'organizations', { id: acme.id }, { required_acr: '2' });
    await silent(clients.allow, 'login_required', fields, password);
    expect(await comesTo(clients.allow, totp)).toBe(acme.id);

    await changeRow(ctx, 'organizations', { id: acme.id }, { required_acr: null, max_authentication_age: 3600 });
    await silent(strict, 'login_required', fields, password);
    expect(await comesTo(strict, totp)).toBe(acme.id);
    service.clock.advance(61_000);
    await silent(strict, 'login_required', fields, totp);
    expect(await comesTo(clients.allow, totp)).toBe(acme.id);
  });
});

describe('members by signing in', () => {
  const member = (organization: OrganizationRow, whose = user) => findMembershipOf(ctx.scope, organization.id, whose.id);

  test('connection: whoever comes through a connection of it, with its default roles (specification 16.2.10)', async () => {
    const api = await ctx.db.knex('api_resources').first();
    const role = await addRoleOf(ctx, api as { id: string }, []);
    const open = await addOrganization(ctx, { auto_membership: 'connection' });
    await insert<Record<string, unknown>>(ctx.scope, 'organization_default_roles', { organization_id: open.id, role_id: role.id });
    await silent(clients.allow, 'access_denied', { organization: open.name });
    const session = await through([await connectionOf(open)]);
    expect(await organizationOf(clients.allow, await ask(clients.allow, { organization: open.name }, session))).toBe(open.id);
    expect(await member(open)).toMatchObject({ source: 'connection', status: 'active' });
    const roles = await table<{ role_id: string }>(ctx.scope, 'organization_membership_roles').where({
      membership_id: (await member(open))?.id,
    } as never);
    expect(roles.map(({ role_id }) => role_id)).toEqual([role.id]);
  });

  test('a client that names none finds who has just come (specification 16.2.10)', async () => {
    const open = await addOrganization(ctx, { auto_membership: 'connection' });
    const somebody = await addUser(ctx);
    const session = await through([await connectionOf(open)], somebody);
    expect(await organizationOf(clients.require, await ask(clients.require, {}, session))).toBe(open.id);
  });

  test('domain: also a verified address of its verified domains, no other (specification 16.2.10, attack 43.1318)', async () => {
    const open = await addOrganization(ctx, { auto_membership: 'domain' });
    await addDomain(ctx, open, 'open.example');
    await addDomain(ctx, open, 'pending.example', { status: 'pending' });
    const [verified, unverified, pending] = [
      await addUser(ctx, { email: `v-${user.id}@open.example` }),
      await addUser(ctx, { email: `u-${user.id}@open.example`, email_verified: false }),
      await addUser(ctx, { email: `p-${user.id}@pending.example` }),
    ];
    expect(
      await organizationOf(clients.allow, await ask(clients.allow, { organization: open.name }, await signedIn(service, verified))),
    ).toBe(open.id);
    expect(await member(open, verified)).toMatchObject({ source: 'domain' });
    for (const one of [unverified, pending, user]) {
      await silent(clients.allow, 'access_denied', { organization: open.name }, await signedIn(service, one));
      expect(await member(open, one)).toBeNull();
    }
  });

  test('none: nobody; and who was removed or suspended stays out (specification 16.2.10, attack 43.1319)', async () => {
    const closed = await addOrganization(ctx, { auto_membership: 'none' });
    await silent(clients.allow, 'access_denied', { organization: closed.name }, await through([await connectionOf(closed)]));
    const open = await addOrganization(ctx, { auto_membership: 'connection' });
    await insert<Record<string, unknown>>(ctx.scope, 'removed_members', {
      organization_id: open.id,
      user_id: user.id,
      removed_at: ctx.clock.now(),
    });
    await silent(clients.allow, 'access_denied', { organization: open.name }, await through([await connectionOf(open)]));
    expect(await member(open)).toBeNull();
    await addMembership(ctx, open, user, { status: 'suspended' });
    await silent(clients.allow, 'access_denied', { organization: open.name }, await through([await connectionOf(open)]));
  });

  test('a request that fails in many tabs at once makes one member (specification 16.2.10)', async () => {
    const open = await addOrganization(ctx, { auto_membership: 'connection' });
    const session = await through([await connectionOf(open)]);
    const answers = await Promise.all([1, 2, 3].map(() => ask(clients.allow, { organization: open.name }, session)));
    for (const answer of answers) expect(locationParameters(answer).get('code')).not.toBeNull();
  });
});
