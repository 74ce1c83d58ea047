// PKCE (RFC 7636) (docs/security.md, attacks of section 3).
import { beforeAll, describe, expect, test } from 'vitest';
import { authorizeGet, authorizeQuery, expectRedirectError } from '../support/authorize.js';
import { locationParameters, pkcePair, type Browser } from '../support/browser.js';
import { addClient, addUser, type TestClient } from '../support/data.js';
import { authorizeCode, redeem } from '../support/oauth.js';
import { sharedService } from '../support/shared-service.js';
import { signedIn } from '../support/signed-in.js';

const service = sharedService();
let client: TestClient;
let browser: Browser;

beforeAll(async () => {
  const ctx = await service.context();
  const user = await addUser(ctx);
  client = await addClient(ctx);
  browser = await signedIn(service, user);
});

const refused = (extra: Record<string, string | undefined>, of = client) =>
  expectRedirectError(service, of, 'invalid_request', () => authorizeGet(browser, authorizeQuery(of, extra)));

const { challenge } = pkcePair();

describe('PKCE', () => {
  test('the method plain, none, or any other than S256 is refused (attack 3.39)', async () => {
    for (const code_challenge_method of ['plain', undefined, 's256', 'S512'])
      await refused({ code_challenge: challenge, code_challenge_method });
    await refused({ code_challenge_method: 'S256' });
  });

  test('a challenge of another length, padded, or in another alphabet is refused (attack 3.40)', async () => {
    const challenges = [challenge.slice(1), challenge + 'a'.repeat(86), `${challenge}=`, `${challenge.slice(0, 41)}+/`];
    for (const code_challenge of challenges) await refused({ code_challenge, code_challenge_method: 'S256' });
  });

  test('a verifier is refused where no challenge was set, which was stripped on the way (attack 3.42)', async () => {
    const code = locationParameters(await authorizeGet(browser, authorizeQuery(client))).get('code') ?? '';
    const answer = await redeem(service.url, client, { code, verifier: pkcePair().verifier, redirect_uri: client.redirect_uris[0] ?? '' });
    expect([answer.status, answer.body.error]).toEqual([400, 'invalid_grant']);
  });

  test('a wrong verifier spends the code (attack 3.43)', async () => {
    const grant = await authorizeCode(browser, client);
    const wrong = await redeem(service.url, client, { ...grant, verifier: pkcePair().verifier });
    const right = await redeem(service.url, client, grant);
    expect([wrong.status, wrong.body.error, right.status, right.body.error]).toEqual([400, 'invalid_grant', 400, 'invalid_grant']);
    const none = await authorizeCode(browser, client);
    const missing = await redeem(service.url, client, none, { code_verifier: '' });
    expect([missing.status, missing.body.error]).toEqual([400, 'invalid_grant']);
  });

  test('a client that must use PKCE, confidential or public, is refused without a challenge (attack 3.45)', async () => {
    const ctx = await service.context();
    await refused({}, await addClient(ctx, { require_pkce: true }));
    await refused({}, await addClient(ctx, { token_endpoint_auth_method: 'none', application_type: 'spa' }));
  });
});
