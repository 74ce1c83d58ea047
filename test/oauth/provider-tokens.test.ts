// A provider's access token for a client, by token exchange: the provider is a real one.
import { describe, expect, test } from 'vitest';
import { accessTokenType, tokenExchangeGrantType } from '../../src/lib/grant-types.js';
import { providerSecretAad } from '../../src/domain/connections/connections.js';
import { providerProof } from '../../src/domain/proofs/proofs.js';
import { addIdentity, changed, refreshTokenType, signInToApp } from '../support/assertions.js';
import type { Browser } from '../support/browser.js';
import { addConnection } from '../support/connections.js';
import { addClient, addEnvironment, addGrant, addMachine, addResource, addUser } from '../support/data.js';
import { mailTo } from '../support/mailbox.js';
import { authorizeCode, redeem, tokenRequest, type TokenAnswer } from '../support/oauth.js';
import { addDomain, addMembership, addOrganization } from '../support/organizations.js';
import {
  accessAddress, addPerson, addProviderGrant, addProviderToken, allowAccess, asksOf, exchange, expire, isLiveThere, openedOf, redirectUri, revokeThere, sharedVault, tokensOf,
} from '../support/provider-tokens.js'; // prettier-ignore
import { auditRows } from '../support/security-events.js';
import { observeApp } from '../support/observed-app.js';
import { sharedService } from '../support/shared-service.js';
import { proofsNow, proveMore, signedIn, signedInBy } from '../support/signed-in.js';

const service = sharedService();
const vault = sharedVault(service);

/** Somebody who has allowed the application. */
async function addAllowed() {
  const person = await addPerson(service, vault);
  const back = await allowAccess(person.browser, vault, person.user, accessAddress(vault));
  expect([back.status, back.headers.get('location')]).toEqual([303, redirectUri]);
  return person;
}

let apis = 0;
const addApi = (row: Parameters<typeof addResource>[1] = {}) =>
  addResource(vault.ctx, { identifier: `https://api-${++apis}.example`, user_access: 'granted', ...row });

const refusal = ({ status, body }: TokenAnswer) => [status, body.error];

describe('a client gets the provider’s access token', () => {
  test('of who allowed it, and never the refresh token (attack 56.1740)', async () => {
    const { user, access_token: subject_token } = await addAllowed();
    const [row] = await tokensOf(vault.ctx, user);
    const kept = row && openedOf(vault.ctx, row);
    const { status, body, headers } = await exchange(service, vault, { subject_token });
    expect([status, headers.get('cache-control')]).toEqual([200, 'no-store']);
    expect(body).toEqual({
      access_token: kept?.access_token,
      token_type: 'Bearer',
      issued_token_type: accessTokenType,
      expires_in: expect.any(Number) as number,
      scope: 'openid email profile calendar',
    });
    expect(kept?.refresh_token).toEqual(expect.any(String));
    expect(JSON.stringify(body)).not.toContain(kept?.refresh_token as string);
    expect(body.expires_in).toBeGreaterThan(60);
    expect(await isLiveThere(vault, body.access_token)).toBe(true);
    const events = (await auditRows(service, 'provider_token.handed_out')).filter((one) => one.target_id === user.id);
    expect(events).toHaveLength(1);
    expect(JSON.stringify(events)).not.toContain(body.access_token);
    expect((await tokensOf(vault.ctx, user))[0]?.last_used_at).not.toBeNull();
  });

  test('by a refresh token of its own, which stays as it is', async () => {
    const { refresh_token: subject_token } = await addAllowed();
    for (let time = 0; time < 2; time++) {
      const { status, body } = await exchange(service, vault, { subject_token, subject_token_type: refreshTokenType, scope: 'calendar' });
      expect([status, body.issued_token_type]).toEqual([200, accessTokenType]);
    }
  });

  test('by the access token of another client for its API', async () => {
    const { user } = await addAllowed();
    const api = await addApi();
    const front = await addClient(vault.ctx, {});
    await addGrant(vault.ctx, front, api, ['read'], 'user');
    const brought = await signInToApp(service, { app: front, user }, { resource: api.identifier, scope: 'read' });
    const ask = () => exchange(service, vault, { subject_token: brought.access_token });
    expect(refusal(await ask())).toEqual([400, 'invalid_request']);
    const other = await addApi();
    const policy = { token_exchange: 'delegation' as const, subject_audiences: [api.identifier] };
    await addGrant(vault.ctx, vault.app, other, ['read'], 'user', policy);
    expect((await ask()).status).toBe(200);
  });

  test('with a minute left at least: else it is refreshed, which is stored before it is handed out', async () => {
    const { user, access_token: subject_token } = await addAllowed();
    const first = await exchange(service, vault, { subject_token });
    await expire(vault, user);
    const second = await exchange(service, vault, { subject_token });
    expect(second.status).toBe(200);
    expect(second.body.access_token).not.toBe(first.body.access_token);
    const [row] = await tokensOf(vault.ctx, user);
    expect(row && openedOf(vault.ctx, row)?.access_token).toBe(second.body.access_token);
    expect((await exchange(service, vault, { subject_token })).body.access_token).toBe(second.body.access_token);
  });

  test('a hundred at once make one refresh (attack 56.1741)', async () => {
    const { user, access_token: subject_token } = await addAllowed();
    await expire(vault, user);
    const before = asksOf(vault);
    const answers = await Promise.all(Array.from({ length: 100 }, () => exchange(service, vault, { subject_token })));
    expect(new Set(answers.map(({ status, body }) => `${status} ${body.access_token}`)).size).toBe(1);
    expect(answers[0]?.status).toBe(200);
    expect(asksOf(vault) - before).toBe(1);
  });

  test('as long as another process refreshes it, after five seconds not yet: 503', async () => {
    const { user, access_token: subject_token } = await addAllowed();
    await expire(vault, user);
    const leased_until = vault.ctx.db.knex.raw(`now() + interval '1 minute'`);
    await vault.ctx.db.knex('provider_tokens').where({ user_id: user.id }).update({ lease_id: user.id, leased_until });
    const answer = await exchange(service, vault, { subject_token });
    expect(refusal(answer)).toEqual([503, 'temporarily_unavailable']);
    expect(answer.headers.get('retry-after')).toBe('5');
    // A lease that has run out is nobody's.
    await vault.ctx.db
      .knex('provider_tokens')
      .where({ user_id: user.id })
      .update({ leased_until: new Date(0) });
    expect((await exchange(service, vault, { subject_token })).status).toBe(200);
  });
});

describe('a request is refused', () => {
  test('that names audience, resource, an actor or another type', async () => {
    const subject_token = 'anything';
    for (const [name, value] of [
      ['audience', 'a'],
      ['resource', 'https://api.example'],
      ['actor_token', 'x'],
      ['requested_token_type', 'x'],
    ] as const)
      expect(refusal(await exchange(service, vault, { subject_token, [name]: value }))).toEqual([400, 'invalid_request']);
    expect(refusal(await exchange(service, vault, { subject_token, subject_token_type: 'x' }))).toEqual([400, 'invalid_request']);
    expect(refusal(await exchange(service, vault, { subject_token }))).toEqual([400, 'invalid_request']);
  });

  test('for a connection that is unknown, of another environment, disabled, keeps nothing, or is not granted (attack 56.1742)', async () => {
    const { access_token: subject_token } = await addAllowed();
    const foreign = await addConnection(await addEnvironment(service.deps, 'vault-elsewhere'), { token_storage: true });
    const off = await addConnection(vault.ctx, {});
    const bare = await addConnection(vault.ctx, { token_storage: true });
    for (const connection of ['no uuid', foreign.id, off.id, bare.id])
      expect(refusal(await exchange(service, vault, { subject_token, connection }))).toEqual([400, 'invalid_target']);
    await changed(vault.ctx, 'provider_grants', { id: vault.grant.id }, { status: 'disabled' });
    expect(refusal(await exchange(service, vault, { subject_token }))).toEqual([400, 'invalid_target']);
    await changed(vault.ctx, 'provider_grants', { id: vault.grant.id }, { status: 'enabled' });
    expect((await exchange(service, vault, { subject_token })).status).toBe(200);
  });

  test('of another client: its own grant and the person’s word for it count (attack 56.1743)', async () => {
    const { user } = await addAllowed();
    const other = await addClient(vault.ctx, { grant_types: ['authorization_code', 'refresh_token', tokenExchangeGrantType] });
    const theirs = await signInToApp(service, { app: other, user });
    const ask = () => exchange(service, vault, { subject_token: theirs.access_token }, other);
    expect(refusal(await ask())).toEqual([400, 'invalid_target']);
    await addProviderGrant(vault.ctx, other.id, vault.connection.id);
    expect(refusal(await ask())).toEqual([400, 'interaction_required']);
    expect(refusal(await exchange(service, vault, { subject_token: theirs.access_token }))).toEqual([400, 'invalid_request']);
    const byRefresh = { subject_token: theirs.refresh_token, subject_token_type: refreshTokenType };
    expect(refusal(await exchange(service, vault, byRefresh))).toEqual([400, 'invalid_grant']);
  });

  test('with a token of a client for itself, or got by impersonation (attack 56.1744)', async () => {
    const { access_token, user } = await addAllowed();
    const api = await addApi();
    const machine = await addMachine(vault.ctx, api, { grant_types: ['client_credentials', tokenExchangeGrantType] });
    await addProviderGrant(vault.ctx, machine.id, vault.connection.id);
    const own = await tokenRequest(service.url, machine, { grant_type: 'client_credentials', resource: api.identifier });
    expect(refusal(await exchange(service, vault, { subject_token: own.body.access_token }, machine))).toEqual([400, 'invalid_request']);
    await addGrant(vault.ctx, vault.app, api, ['read'], 'user');
    for (const token_format of ['jwt', 'opaque'] as const) {
      const target = await addApi({ token_format });
      await addGrant(vault.ctx, vault.app, target, ['read'], 'user', { token_exchange: 'impersonation' });
      const source = await signInToApp(service, { app: vault.app, user }, { resource: api.identifier, scope: 'read' });
      const impersonated = await tokenRequest(service.url, vault.app, {
        grant_type: tokenExchangeGrantType, subject_token_type: accessTokenType, subject_token: source.access_token, resource: target.identifier,
      }); // prettier-ignore
      expect(impersonated.status).toBe(200);
      const answer = await exchange(service, vault, { subject_token: impersonated.body.access_token });
      expect([...refusal(answer), answer.body.error_description]).toEqual([
        400,
        'invalid_request',
        expect.stringContaining('impersonation'),
      ]);
    }
    expect((await exchange(service, vault, { subject_token: access_token })).status).toBe(200);
  });

  test('of somebody blocked: the token is gone, and revoked there (attack 56.1745)', async () => {
    const { user, access_token: subject_token } = await addAllowed();
    const [row] = await tokensOf(vault.ctx, user);
    const refresh_token = (row && openedOf(vault.ctx, row)?.refresh_token) as string;
    await changed(vault.ctx, 'users', { id: user.id }, { status: 'blocked' });
    expect(refusal(await exchange(service, vault, { subject_token }))).toEqual([400, 'invalid_request']);
    expect(await tokensOf(vault.ctx, user)).toEqual([]);
    await expect.poll(() => isLiveThere(vault, refresh_token)).toBe(false);
  });

  test('for more than the grant has: invalid_scope; for more than the person allowed: they are asked (attack 56.1746)', async () => {
    const { access_token: subject_token, browser, user } = await addAllowed();
    expect(refusal(await exchange(service, vault, { subject_token, scope: 'files' }))).toEqual([400, 'invalid_scope']);
    expect(refusal(await exchange(service, vault, { subject_token, scope: 'a"b' }))).toEqual([400, 'invalid_scope']);
    await changed(vault.ctx, 'provider_grants', { id: vault.grant.id }, { scopes: ['calendar', 'files'] });
    const more = await exchange(service, vault, { subject_token, scope: 'files' });
    expect(refusal(more)).toEqual([400, 'interaction_required']);
    const address = new URL(more.body['error_uri'] as string);
    expect([address.origin + address.pathname, Object.fromEntries(address.searchParams)]).toEqual([
      `${service.url}/account/provider_access`,
      { client_id: vault.app.id, connection: vault.connection.id, scope: 'files', return_to: redirectUri },
    ]);
    await allowAccess(browser, vault, user, address.pathname + address.search);
    expect((await exchange(service, vault, { subject_token, scope: 'files' })).body.scope).toContain('files');
    // A grant that shrinks ends what was given by it.
    await changed(vault.ctx, 'provider_grants', { id: vault.grant.id }, { scopes: ['calendar'] });
    expect(await tokensOf(vault.ctx, user)).toEqual([]);
  });

  test('of a client that asks first: without the person’s consent, and after it was withdrawn', async () => {
    const stranger = await addClient(vault.ctx, { grant_types: ['authorization_code', 'refresh_token', tokenExchangeGrantType] });
    await addProviderGrant(vault.ctx, stranger.id, vault.connection.id);
    const user = await addUser(vault.ctx);
    const { browser, access_token: subject_token } = await signInToApp(service, { app: stranger, user });
    await changed(vault.ctx, 'clients', { id: stranger.id }, { first_party: false });
    await allowAccess(browser, vault, user, accessAddress({ ...vault, app: stranger }));
    const consents = () => vault.ctx.db.knex('consents').where({ user_id: user.id, client_id: stranger.id });
    expect(await consents()).toHaveLength(1);
    expect(await tokensOf(vault.ctx, user)).toHaveLength(1);
    const ask = () => exchange(service, vault, { subject_token }, stranger);
    expect((await ask()).status).toBe(200);
    // Given to a client that has said something else of itself since.
    await consents().update({ client_digest: Buffer.alloc(32) });
    expect(refusal(await ask())).toEqual([400, 'interaction_required']);
    await consents().delete();
    expect(await tokensOf(vault.ctx, user)).toEqual([]);
  });
});

describe('a sign-in for an organization', () => {
  async function addMember() {
    const { user } = await addAllowed();
    const organization = await addOrganization(vault.ctx);
    await addMembership(vault.ctx, organization, user);
    await changed(vault.ctx, 'clients', { id: vault.app.id }, { organization_usage: 'allow' });
    return { user, organization };
  }
  type Member = Awaited<ReturnType<typeof addMember>>;

  /** What the client gets by a sign-in for the organization in the browser, brought in both ways. */
  async function tokensIn(browser: Browser, { organization }: Member) {
    const code = await authorizeCode(browser, vault.app, { scope: 'openid offline_access', organization: organization.name });
    const { body } = await redeem(service.url, vault.app, code);
    const byRefresh = { subject_token: body.refresh_token as string, subject_token_type: refreshTokenType };
    const ask = async (fields: Record<string, string>) => refusal(await exchange(service, vault, fields));
    return async () => [await ask({ subject_token: body.access_token }), await ask(byRefresh)];
  }

  /** As the organization's own provider lets somebody in. */
  async function asGuest({ user, organization }: Member) {
    const through = await addConnection(vault.ctx, { organization_id: organization.id, token_storage: true });
    const browser = await signedInBy(service, user, [providerProof(vault.ctx.clock.now(), null)]);
    const came = { connection_ids: [through.id], has_local_login: false };
    await changed(vault.ctx, 'sessions', { id: browser.session_id }, came);
    return { browser, through };
  }

  const asked = [400, 'interaction_required'];
  const given = [200, undefined];

  test('through its provider alone gives nothing of what a guest keeps outside of it (attack 67.1913)', async () => {
    const member = await addMember();
    const { browser } = await asGuest(member);
    const ask = await tokensIn(browser, member);
    expect(await ask()).toEqual([asked, asked]);
    const answers = await Promise.all([addConnection(vault.ctx, { token_storage: true }), addConnection(vault.ctx, {})]);
    const later = await tokensIn(browser, member);
    for (const { id } of answers) {
      const { body } = await redeem(
        service.url,
        vault.app,
        await authorizeCode(browser, vault.app, { organization: member.organization.name }),
      );
      const other = await exchange(service, { ...vault, connection: { ...vault.connection, id } }, { subject_token: body.access_token });
      expect(refusal(other)).toEqual([400, 'invalid_target']);
    }
    // Something of the account here makes it good everywhere.
    await proveMore(service, browser, proofsNow(vault.ctx, 'password'));
    expect([await ask(), await later()]).toEqual([
      [given, given],
      [given, given],
    ]);
  });

  test('gives it once the session is gone to who proved something of the account here, and else nothing (attack 67.1913)', async () => {
    const member = await addMember();
    const guest = await asGuest(member);
    const askAsGuest = await tokensIn(guest.browser, member);
    const here = await signedIn(service, member.user);
    const askHere = await tokensIn(here, member);
    expect(await askHere()).toEqual([given, given]);
    await vault.ctx.db.knex('sessions').whereIn('id', [guest.browser.session_id, here.session_id]).delete();
    expect([(await askAsGuest())[1], (await askHere())[1]]).toEqual([asked, given]);
  });

  test('through the provider of an organization that manages the person, or that keeps the token itself, gives it', async () => {
    const member = await addMember();
    const { browser, through } = await asGuest(member);
    const ask = await tokensIn(browser, member);
    const identity = {
      id: await addIdentity(vault.ctx, through, member.user, 'guest'),
      user_id: member.user.id,
      connection_id: through.id,
    };
    await addProviderGrant(vault.ctx, vault.app.id, through.id);
    await addProviderToken(vault.ctx, { identity, client_id: vault.app.id });
    const { body } = await redeem(
      service.url,
      vault.app,
      await authorizeCode(browser, vault.app, { organization: member.organization.name }),
    );
    expect((await exchange(service, { ...vault, connection: through }, { subject_token: body.access_token })).body.access_token).toBe('a');
    await addDomain(vault.ctx, member.organization, 'managed-vault.example');
    await changed(vault.ctx, 'users', { id: member.user.id }, { email: `${member.user.id}@managed-vault.example` });
    expect(await ask()).toEqual([given, given]);
  });
});

test('a token that ends while it is refreshed: nobody gets the new one, and it is revoked there (attack 56.1748)', async () => {
  const { user, access_token: subject_token } = await addAllowed();
  const [row] = await tokensOf(vault.ctx, user);
  await expire(vault, user);
  const revocations = asksOf(vault, '/token/revocation');
  vault.upstream.beforeToken = async () => vault.ctx.db.knex('provider_tokens').where({ id: row?.id }).delete();
  const answer = await exchange(service, vault, { subject_token });
  vault.upstream.beforeToken = null;
  expect(refusal(answer)).toEqual([400, 'interaction_required']);
  await expect.poll(() => asksOf(vault, '/token/revocation') - revocations).toBe(2);
});

test('a connection led to another provider while its token is refreshed: the one before never gets what proves us to the other (attack 69.1940)', async () => {
  const connection = await addConnection(vault.ctx, { issuer: vault.upstream.issuer, token_storage: true });
  await addProviderGrant(vault.ctx, vault.app.id, connection.id);
  const own = { ...vault, connection };
  const { user, browser, access_token: subject_token } = await addPerson(service, vault);
  await allowAccess(browser, own, user, accessAddress(own));
  await expire(vault, user);
  vault.upstream.beforeToken = async () => {
    const sealed = vault.ctx.crypto.sealer.seal('the secret at the other one', providerSecretAad(connection.id));
    const elsewhere = {
      issuer: 'https://other-provider.example',
      provider_client_id: 'us-at-the-other',
      provider_client_secret_sealed: sealed,
    };
    await changed(vault.ctx, 'connections', { id: connection.id }, elsewhere);
  };
  const answer = await exchange(service, own, { subject_token });
  vault.upstream.beforeToken = null;
  expect(answer.status).toBe(400);
  const revocations = () =>
    vault.ctx.db
      .knex('provider_token_revocations')
      .where({ connection_id: connection.id })
      .select('provider_client_id', 'last_response_status');
  // The token that ended, and the one that its refresh gave: the provider takes both back, from the client that it knows.
  const taken = { provider_client_id: 'the-service', last_response_status: 200 };
  await expect.poll(revocations).toEqual([taken, taken]);
});

test('statements: fresh 2, refreshed 4 (specification 21.2.6)', async () => {
  const { user, access_token: subject_token } = await addAllowed();
  const app = await observeApp(service.deps);
  const count = async () => {
    app.take();
    expect((await exchange({ url: app.origin }, vault, { subject_token })).status).toBe(200);
    return app.take().length;
  };
  const refreshed = async () => {
    await expire(vault, user);
    return count();
  };
  // What was written before is still being forgotten for a moment, and read once more.
  await expect.poll(count).toBe(2);
  await expect.poll(refreshed).toBe(4);
  await app.close();
});

test('a client that the person has blocked, or whose authorization they revoked, has nothing any more (attack 56.1754)', async () => {
  for (const change of ['block', 'revoke'] as const) {
    const { user, access_token: subject_token } = await addAllowed();
    const theirs = vault.ctx.db.knex('authorizations').where({ user_id: user.id, client_id: vault.app.id });
    if (change === 'block') await theirs.update({ blocked_at: vault.ctx.clock.now(), blocked_by: 'person' });
    else await theirs.delete();
    expect(await tokensOf(vault.ctx, user)).toEqual([]);
    const refused = change === 'block' ? 'invalid_grant' : 'interaction_required';
    expect(refusal(await exchange(service, vault, { subject_token }))).toEqual([400, refused]);
  }
});

describe('what the provider takes no more', () => {
  test('is lost: the person gets a mail, whoever listens an event, and has to allow it again (attack 56.1747)', async () => {
    const { user, browser, access_token: subject_token } = await addAllowed();
    const [row] = await tokensOf(vault.ctx, user);
    const refresh_token = (row && openedOf(vault.ctx, row)?.refresh_token) as string;
    await revokeThere(vault, refresh_token);
    await expire(vault, user);
    const answers = await Promise.all([1, 2, 3].map(() => exchange(service, vault, { subject_token })));
    expect(answers.map(refusal)).toEqual([1, 2, 3].map(() => [400, 'interaction_required']));
    expect(await tokensOf(vault.ctx, user)).toMatchObject([{ status: 'lost', tokens_sealed: null }]);
    const mails = (await mailTo(service.url, user.email)).filter(({ subject }) => subject.includes('has lost access'));
    expect(mails).toHaveLength(1);
    expect(mails[0]?.text).toContain(`${service.url}/account`);
    expect(await vault.ctx.db.knex('events').where({ event_type: 'provider_token.lost' })).toHaveLength(1);
    await allowAccess(browser, vault, user, accessAddress(vault));
    expect((await exchange(service, vault, { subject_token })).status).toBe(200);
  });

  test('an answer that says nothing of it loses nothing: 503, and the next request asks again', async () => {
    const { user, access_token: subject_token } = await addAllowed();
    await expire(vault, user);
    const [row] = await tokensOf(vault.ctx, user);
    await vault.ctx.db.knex('provider_tokens').where({ user_id: user.id }).update({ token_endpoint: 'http://127.0.0.1:9/closed' });
    expect(refusal(await exchange(service, vault, { subject_token }))).toEqual([503, 'temporarily_unavailable']);
    await vault.ctx.db.knex('provider_tokens').where({ user_id: user.id }).update({ token_endpoint: row?.token_endpoint });
    expect((await exchange(service, vault, { subject_token })).status).toBe(200);
  });
});
