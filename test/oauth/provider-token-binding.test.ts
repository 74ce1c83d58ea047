// The provider's access token for what is bound to a key (RFC 9449).
import { expect, test } from 'vitest';
import type { ProofKey } from '../support/dpop.js';
import { createProofKey } from '../support/dpop.js';
import { accessTokenType, tokenExchangeGrantType } from '../../src/lib/grant-types.js';
import { authorizeCode, oauthPost, type TokenAnswer } from '../support/oauth.js';
import { accessAddress, addPerson, allowAccess, expire, sharedVault } from '../support/provider-tokens.js';
import { shared, sharedService } from '../support/shared-service.js';

const service = sharedService();
const vault = sharedVault(service);
const now = () => service.clock.now().getTime();
const key = shared(() => createProofKey('ES256', now));
const other = shared(() => createProofKey('EdDSA', now));

const proof = (by: ProofKey = key) => by.proof({ htu: `${service.url}/oauth/token` });
const post = (fields: Record<string, string>, dpop: string | null): Promise<TokenAnswer> =>
  oauthPost(service.url, '/oauth/token', vault.app, fields, dpop === null ? {} : { dpop });
const refusal = ({ status, body }: TokenAnswer) => [status, body.error];

/** Asks with somebody's token, who has allowed the application and whose token is bound to the key. */
async function addBound() {
  const { user, browser } = await addPerson(service, vault);
  await allowAccess(browser, vault, user, accessAddress(vault));
  const { code, redirect_uri, verifier } = await authorizeCode(browser, vault.app, { scope: 'openid' });
  const bound = await post({ grant_type: 'authorization_code', code, redirect_uri, code_verifier: verifier }, await proof());
  expect(bound.body['token_type']).toBe('DPoP');
  const fields = { grant_type: tokenExchangeGrantType, subject_token_type: accessTokenType, connection: vault.connection.id };
  return { user, ask: (dpop: string | null) => post({ ...fields, subject_token: bound.body.access_token }, dpop) };
}

test('a bound subject token gives it with a proof of its key alone, and the token is the provider’s: Bearer (attack 59.1800)', async () => {
  const { ask } = await addBound();
  for (const dpop of [null, await proof(other)]) expect(refusal(await ask(dpop))).toEqual([400, 'invalid_request']);
  const { status, body } = await ask(await proof());
  expect([status, body['token_type'], body['issued_token_type']]).toEqual([200, 'Bearer', accessTokenType]);
});

test('a proof is good once, whether or not the token is refreshed (attack 59.1800)', async () => {
  const { user, ask } = await addBound();
  for (const isExpired of [false, true]) {
    if (isExpired) await expire(vault, user);
    const used = await proof();
    const answers = await Promise.all([ask(used), ask(used)]);
    expect(answers.map(refusal).toSorted()).toEqual([[200, undefined], [400, 'invalid_dpop_proof']]); // prettier-ignore
  }
});
