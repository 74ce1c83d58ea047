// What of a provider is kept for a client: at a sign-in, and by the person's own word on /account/provider_access.
import { describe, expect, test } from 'vitest';
import { changed } from '../support/assertions.js';
import { Browser, csrfOf, locationParameters, pkcePair } from '../support/browser.js';
import { addConnection } from '../support/connections.js';
import { addClient } from '../support/data.js';
import {
  accessAddress, addPerson, addProviderGrant, allowAccess, isLiveThere, openedOf, redirectUri, sharedVault, tokensOf,
} from '../support/provider-tokens.js'; // prettier-ignore
import { sharedService } from '../support/shared-service.js';
import { codeOf, loginThrough, startAt } from '../support/sso.js';

const service = sharedService();
const vault = sharedVault(service);

async function addAllowed() {
  const person = await addPerson(service, vault);
  await allowAccess(person.browser, vault, person.user, accessAddress(vault));
  const [row] = await tokensOf(vault.ctx, person.user);
  return { ...person, row, refresh_token: row && openedOf(vault.ctx, row)?.refresh_token };
}

/** A sign-in through the provider, for the client. */
async function pending(browser: Browser, client: { id: string }): Promise<string> {
  const { challenge } = pkcePair();
  const query = new URLSearchParams({
    response_type: 'code', client_id: client.id, redirect_uri: redirectUri, scope: 'openid', state: 's', code_challenge: challenge, code_challenge_method: 'S256',
  }); // prettier-ignore
  return locationParameters(await browser.get(`/oauth/authorize?${query}`)).get('return_to') ?? '';
}

describe('a sign-in', () => {
  test('keeps what the provider gives for the client that it is for, if a grant lets it', async () => {
    vault.upstream.account = { sub: 'signing in', email: 'signing-in@corp.example', email_verified: true };
    vault.upstream.isLasting = true;
    const other = await addClient(vault.ctx);
    for (const [client, kept] of [
      [other, 0],
      [vault.app, 1],
      [vault.app, 1],
    ] as const) {
      const browser = new Browser(service.url);
      await loginThrough(browser, vault.connection, { return_to: await pending(browser, client) });
      const rows = await vault.ctx.db
        .knex('provider_tokens as t')
        .join('identities as i', 'i.id', 't.identity_id')
        .where({ subject: 'signing in' });
      expect(rows).toHaveLength(kept);
    }
    vault.upstream.isLasting = false;
  });

  test('asks for offline access there only (attack 56.1749)', async () => {
    const scopeOf = async (connection: typeof vault.connection, client: { id: string } | null) => {
      const browser = new Browser(service.url);
      const url = await startAt(browser, connection, client ? { return_to: await pending(browser, client) } : {});
      return [url.searchParams.get('scope'), url.searchParams.get('access_type'), url.searchParams.get('prompt')];
    };
    expect(await scopeOf(vault.connection, vault.app)).toEqual(['openid email profile offline_access', null, null]);
    expect(await scopeOf(vault.connection, null)).toEqual(['openid email profile', null, null]);
    expect(await scopeOf(vault.connection, await addClient(vault.ctx))).toEqual(['openid email profile', null, null]);
    const google = await addConnection(vault.ctx, { strategy: 'google', issuer: vault.upstream.issuer, token_storage: true });
    await addProviderGrant(vault.ctx, vault.app.id, google.id);
    expect(await scopeOf(google, vault.app)).toEqual(['openid email profile', 'offline', null]);
    await changed(vault.ctx, 'connections', { id: google.id }, { token_storage: false });
    expect(await scopeOf(google, vault.app)).toEqual(['openid email profile', null, null]);
  });
});

describe('the page', () => {
  test('names client, provider and scopes, and changes nothing', async () => {
    const { browser, user } = await addPerson(service, vault);
    const html = await (await browser.get(accessAddress(vault))).text();
    for (const words of ['Acme Notes', 'Example Corporation', 'calendar', user.email]) expect(html).toContain(words);
    expect(html).toContain(`${redirectUri}?error=access_denied`);
    expect(await tokensOf(vault.ctx, user)).toEqual([]);
  });

  test('is for somebody signed in, by a form of its own (attack 56.1750)', async () => {
    const stranger = new Browser(service.url);
    const toLogin = await stranger.get(accessAddress(vault));
    expect([toLogin.status, locationParameters(toLogin).get('return_to')]).toEqual([303, accessAddress(vault)]);
    const { browser, user } = await addPerson(service, vault);
    const fields = { client_id: vault.app.id, connection: vault.connection.id, scope: 'calendar' };
    expect((await browser.post('/account/provider_access', fields)).status).toBe(403);
    expect(await tokensOf(vault.ctx, user)).toEqual([]);
  });

  test('is refused for what no grant has, and for any return_to but a redirect URI of the client’s (attack 56.1751)', async () => {
    const { browser } = await addPerson(service, vault);
    const foreign = await addClient(vault.ctx, { redirect_uris: ['https://other.example/cb'] });
    const keepsNothing = await addConnection(vault.ctx, {});
    const wrong: Record<string, string>[] = [
      { return_to: 'https://evil.example/cb' },
      { return_to: `${redirectUri}/` },
      { return_to: `${redirectUri}?x=1` },
      { return_to: 'https://other.example/cb' },
      { return_to: '/account' },
      { scope: 'calendar files' },
      { scope: 'a"b' },
      { client_id: foreign.id },
      { client_id: 'nobody' },
      { connection: keepsNothing.id },
      { connection: 'no uuid' },
    ];
    for (const fields of wrong) expect(await codeOf(await browser.get(accessAddress(vault, fields)))).toBe('invalid_request');
    expect(await codeOf(await browser.get(`${accessAddress(vault)}&scope=calendar`))).toBe('invalid_request');
    const html = await (await browser.get(accessAddress(vault))).text();
    const fields = { client_id: vault.app.id, connection: vault.connection.id, return_to: 'https://evil.example/', _csrf: csrfOf(html) };
    expect(await codeOf(await browser.post('/account/provider_access', fields))).toBe('invalid_request');
  });

  test('an account there that somebody else has is not taken, and nothing is kept (attack 56.1752)', async () => {
    const { user: first } = await addAllowed();
    const { browser, user } = await addPerson(service, vault);
    const back = await allowAccess(browser, vault, first, accessAddress(vault));
    expect(await codeOf(back)).toBe('sso_account_exists');
    expect(await tokensOf(vault.ctx, user)).toEqual([]);
  });

  test('without return_to it ends at the account page', async () => {
    const { browser, user } = await addPerson(service, vault);
    const back = await allowAccess(browser, vault, user, accessAddress(vault).replace(/&return_to=.*/, ''));
    expect(back.headers.get('location')).toBe('/account?done=provider_access');
    const html = await (await browser.get('/account?done=provider_access')).text();
    expect(html).toContain('The application now has access to your connected account.');
  });
});

describe('a token ends here, and is revoked there,', () => {
  const gone = async (refresh_token: string | null | undefined) => {
    await expect.poll(() => isLiveThere(vault, refresh_token as string)).toBe(false);
  };

  test('by its person on the account page; nobody else’s', async () => {
    const { browser, user, row, refresh_token } = await addAllowed();
    const html = await (await browser.get('/account')).text();
    expect(html).toContain(`/account/provider_tokens/${row?.id}/revoke`);
    const other = await addPerson(service, vault);
    const theirs = await (await other.browser.get('/account')).text();
    const foreign = await other.browser.post(`/account/provider_tokens/${row?.id}/revoke`, { _csrf: csrfOf(theirs) });
    expect(foreign.status).toBe(404);
    const done = await browser.post(`/account/provider_tokens/${row?.id}/revoke`, { _csrf: csrfOf(html) });
    expect(done.headers.get('location')).toBe('/account?done=provider_token');
    expect(await tokensOf(vault.ctx, user)).toMatchObject([{ status: 'lost', tokens_sealed: null }]);
    expect(await (await browser.get('/account')).text()).not.toContain('/account/provider_tokens/');
    await gone(refresh_token);
    const [queued] = await vault.ctx.db.knex('provider_token_revocations').where({ token_id: row?.id });
    await expect
      .poll(async () => (await vault.ctx.db.knex('provider_token_revocations').where({ id: queued.id }).first()).tokens_sealed)
      .toBeNull();
  });

  test('when the account is disconnected', async () => {
    const { browser, user, row, refresh_token } = await addAllowed();
    const html = await (await browser.get('/account')).text();
    const unlinked = await browser.post(`/account/identities/${row?.identity_id}/unlink`, { _csrf: csrfOf(html) });
    expect(unlinked.status).toBe(303);
    expect(await tokensOf(vault.ctx, user)).toEqual([]);
    await gone(refresh_token);
  });

  test.each([
    ['the client is deleted', 'clients', 'app'],
    ['its grant is deleted', 'provider_grants', 'grant'],
  ] as const)('when %s', async (_when, name, kind) => {
    const { browser, user } = await addPerson(service, vault);
    const app = await addClient(vault.ctx);
    const grant = await addProviderGrant(vault.ctx, app.id, vault.connection.id);
    await allowAccess(browser, vault, user, accessAddress({ ...vault, app }));
    const [row] = await tokensOf(vault.ctx, user);
    await vault.ctx.db.knex(name).where({ id: { app, grant }[kind].id }).delete();
    expect(await tokensOf(vault.ctx, user)).toEqual([]);
    await gone(row && openedOf(vault.ctx, row)?.refresh_token);
  });

  test.each([
    ['has another issuer', { issuer: 'https://elsewhere.example' }],
    ['keeps none any more', { token_storage: false }],
    ['is deleted', null],
  ] as const)('when the connection %s (attack 56.1753)', async (_when, changes) => {
    const connection = await addConnection(vault.ctx, { issuer: vault.upstream.issuer, token_storage: true });
    await addProviderGrant(vault.ctx, vault.app.id, connection.id);
    const person = await addPerson(service, vault);
    await allowAccess(person.browser, vault, person.user, accessAddress({ ...vault, connection }));
    const [row] = await tokensOf(vault.ctx, person.user);
    const refresh_token = row && openedOf(vault.ctx, row)?.refresh_token;
    expect(refresh_token).toEqual(expect.any(String));
    if (changes) await changed(vault.ctx, 'connections', { id: connection.id }, changes);
    else await vault.ctx.db.knex('connections').where({ id: connection.id }).delete();
    expect(await tokensOf(vault.ctx, person.user)).toEqual([]);
    await gone(refresh_token);
  });
});
