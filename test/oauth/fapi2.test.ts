// FAPI 2.0 Security Profile at the wire: what a client with `profile` fapi2 gets, and all that it is refused. One test for each thing that the official
// plan `fapi2-security-profile-final` tries.
import { decodeProtectedHeader } from 'jose';
import { beforeAll, beforeEach, describe, expect, test } from 'vitest';
import type { ApiResourceRow } from '../../src/db/tables/api_resources.js';
import { insertFederatedCredential } from '../../src/db/tables/federated_credentials.js';
import { insertTrustedIssuer } from '../../src/db/tables/trusted_issuers.js';
import type { UserRow } from '../../src/db/tables/users.js';
import { tokenExchangeGrantType } from '../../src/lib/grant-types.js';
import { uuidv7 } from '../../src/lib/random.js';
import { expectPage400 } from '../support/authorize.js';
import { csrfOf, locationParameters, pkcePair, type Browser } from '../support/browser.js';
import { addClient, addGrant, addResource, addUser } from '../support/data.js';
import { createProofKey } from '../support/dpop.js';
import { assertionType, Fapi2Client, signWithEs256 } from '../support/fapi2.js';
import { authorizeCode, claimsOf, oauthPost, redeem, type TokenAnswer } from '../support/oauth.js';
import { sharedService } from '../support/shared-service.js';
import { signedIn } from '../support/signed-in.js';
import { createClientKey, unsignedJwt } from '../support/signed-jwt.js';
import { startWorkloadIssuer } from '../support/workload-issuer.js';

const service = sharedService();
let bank: Fapi2Client;
let user: UserRow;
let browser: Browser;
let strong: ApiResourceRow;
let weak: ApiResourceRow;

beforeAll(async () => {
  const ctx = await service.context();
  await signWithEs256(service);
  bank = await Fapi2Client.add(service);
  user = await addUser(ctx);
  strong = await addResource(ctx, { identifier: 'https://api.example/strong', signing_alg: 'ES256' });
  weak = await addResource(ctx, { identifier: 'https://api.example/weak' });
});
beforeEach(async () => {
  browser = await signedIn(service, user);
});

const errorOf = ({ status, body }: TokenAnswer) => [status, body.error];
const invalidClient = [401, 'invalid_client'];
const invalidRequest = [400, 'invalid_request'];
const pushed = async (changes: Record<string, string | undefined> = {}, how?: Parameters<Fapi2Client['push']>[1]) =>
  bank.push(bank.request(changes).fields, how);
const referenceOf = async (of: Fapi2Client = bank) => (await of.push(of.request().fields)).body['request_uri'] as string;

describe('the flow', () => {
  test('from the pushed request to userinfo: a code with iss, tokens bound to the key, nothing signed with RS256', async () => {
    const { fields, verifier } = bank.request();
    const answer = await bank.push(fields);
    expect([answer.status, answer.body['expires_in']]).toEqual([201, 60]);
    const back = await bank.open(browser, answer.body['request_uri'] as string);
    const parameters = locationParameters(back);
    expect([back.status, parameters.get('iss'), parameters.get('state')]).toEqual([303, service.url, 'st-1']);
    const tokens = await bank.redeem({ code: parameters.get('code') as string, verifier });
    expect([tokens.status, tokens.body['token_type'], tokens.body['scope']]).toEqual([200, 'DPoP', 'openid offline_access']);
    const id_token = tokens.body.id_token as string;
    expect([decodeProtectedHeader(id_token).alg, claimsOf(id_token)['nonce'], claimsOf(id_token)['aud']]).toEqual([
      'ES256',
      'n-1',
      bank.client.id,
    ]);
    const userinfo = await bank.userinfo(tokens.body.access_token);
    expect([userinfo.status, ((await userinfo.json()) as { sub: string }).sub]).toEqual([200, user.id]);
  });

  test('an access token without a resource is signed as ID tokens are, where the client wants JWTs', async () => {
    const own = await Fapi2Client.add(service, { access_token_format: 'jwt' });
    const { body } = await own.redeem(await own.code(browser));
    expect([decodeProtectedHeader(body.access_token).alg, claimsOf(body.access_token)['cnf']]).toEqual([
      'ES256',
      { jkt: own.proofKey.jkt },
    ]);
    expect((await own.userinfo(body.access_token)).status).toBe(200);
  });

  test('state and nonce of 384 characters come back as they were sent; without either it works too', async () => {
    const [state, nonce] = ['s'.repeat(384), 'n'.repeat(384)];
    const { fields, verifier } = bank.request({ state, nonce });
    const parameters = locationParameters(await bank.open(browser, (await bank.push(fields)).body['request_uri'] as string));
    expect(parameters.get('state')).toBe(state);
    const { body } = await bank.redeem({ code: parameters.get('code') as string, verifier });
    expect(claimsOf(body.id_token as string)['nonce']).toBe(nonce);
    expect((await bank.redeem(await bank.code(browser, { state: undefined, nonce: undefined }))).status).toBe(200);
  });

  test.each(['PS256', 'ES256', 'EdDSA'] as const)('a client that signs with %s', async (alg) => {
    const own = await Fapi2Client.add(service, {}, alg);
    expect((await own.redeem(await own.code(browser))).status).toBe(200);
  });

  test('the order of scopes, and claims that are asked for by name, are the client’s choice', async () => {
    const claims = JSON.stringify({ id_token: { email: null }, userinfo: { given_name: null } });
    const { body } = await bank.redeem(await bank.code(browser, { scope: 'profile offline_access openid', claims }));
    expect(String(body['scope']).split(' ').sort()).toEqual(['offline_access', 'openid', 'profile']);
    expect(claimsOf(body.id_token as string)['email']).toBe(user.email);
  });

  test('a no of the person comes back as access_denied, with iss', async () => {
    const third = await Fapi2Client.add(service, { first_party: false });
    const html = await (await third.open(browser, await referenceOf(third))).text();
    const request = /name="request" value="([^"]+)"/.exec(html)?.[1] as string;
    const denied = locationParameters(await browser.post('/oauth/consent', { _csrf: csrfOf(html), request, decision: 'deny' }));
    expect([denied.get('error'), denied.get('iss'), denied.get('state')]).toEqual(['access_denied', service.url, 'st-1']);
  });
});

describe('authorization requests', () => {
  test.each<[string, Record<string, string | undefined>]>([
    ['without PKCE', { code_challenge: undefined, code_challenge_method: undefined }],
    ['with plain PKCE', { code_challenge_method: 'plain' }],
    ['with PKCE of no method', { code_challenge_method: undefined }],
    ['without redirect_uri', { redirect_uri: undefined }],
    ['with another redirect_uri', { redirect_uri: 'https://bank.example/cb/other' }],
    ['with request_uri', { request_uri: 'urn:ietf:params:oauth:request_uri:x' }],
    ['for a posted answer', { response_mode: 'form_post' }],
  ])('%s are not taken at PAR (attack 32.663)', async (_name, changes) => expect(errorOf(await pushed(changes))).toEqual(invalidRequest));

  test.each(['token', 'code id_token', 'code token'])('response_type %s is not taken', async (response_type) => {
    expect(errorOf(await pushed({ response_type }))).toEqual([400, 'unsupported_response_type']);
  });

  test.each([{}, { response_mode: 'form_post' }])(
    'in the browser, not pushed, are refused, in the query (attack 32.663)',
    async (extra) => {
      const { fields } = bank.request(extra);
      const answer = await browser.get(`/oauth/authorize?${new URLSearchParams({ client_id: bank.client.id, ...fields })}`);
      const parameters = locationParameters(answer);
      expect([answer.status, parameters.get('error'), parameters.get('code'), parameters.get('iss')]).toEqual([
        303,
        'invalid_request',
        null,
        service.url,
      ]);
    },
  );

  test('in a signed request object that was not pushed, too (attack 32.663)', async () => {
    const { fields } = bank.request();
    const request = await bank.key.sign({
      ...fields,
      client_id: bank.client.id,
      iss: bank.client.id,
      aud: service.url,
      exp: bank.now + 60,
    });
    const query = new URLSearchParams({ client_id: bank.client.id, redirect_uri: bank.redirect_uri, response_type: 'code', request });
    expect(locationParameters(await browser.get(`/oauth/authorize?${query}`)).get('error')).toBe('invalid_request');
  });

  test('another client’s, a used, an old and an unknown reference lead to a page, not back (attack 32.664)', async () => {
    const other = await Fapi2Client.add(service);
    const reference = await referenceOf();
    await expectPage400(service, () => other.open(browser, reference));
    expect(locationParameters(await bank.open(browser, reference)).get('code')).not.toBeNull();
    await expectPage400(service, () => bank.open(browser, reference));
    const old = await referenceOf();
    service.clock.advance(61_000);
    await expectPage400(service, () => bank.open(browser, old));
    await expectPage400(service, () => bank.open(browser, 'urn:ietf:params:oauth:request_uri:unknown'));
  });

  test('signed with RS256 are refused at PAR, whatever key it is (attack 32.665)', async () => {
    const rsa = await createClientKey('RS256');
    const { alg: _alg, ...free } = rsa.jwk;
    const own = await Fapi2Client.add(service, { jwks: { keys: [bank.key.jwk, free] } });
    const { fields } = own.request();
    const claims = { ...fields, client_id: own.client.id, iss: own.client.id, aud: service.url, exp: own.now + 60 };
    const assertion = await bank.key.sign(own.claims());
    expect(errorOf(await own.push({ request: await rsa.sign(claims) }, { proof: null, assertion }))).toEqual([
      400,
      'invalid_request_object',
    ]);
    const good = await own.push({ request: await bank.key.sign(claims) }, { proof: null, assertion: await bank.key.sign(own.claims()) });
    expect(good.status).toBe(201);
  });
});

describe('client assertions', () => {
  const at = ['/oauth/par', '/oauth/token', '/oauth/introspect', '/oauth/revoke'] as const;
  const send = (path: string, assertion: string) => bank.post(path, { grant_type: 'refresh_token', refresh_token: 'rt_x', token: 'rt_x', ...bank.request().fields }, { assertion }); // prettier-ignore

  test.each<[string, () => Record<string, unknown>]>([
    ['a list of audiences', () => ({ aud: [service.url] })],
    ['a list with another audience', () => ({ aud: [service.url, 'https://other.example'] })],
    ['the token endpoint as audience', () => ({ aud: `${service.url}/oauth/token` })],
    ['the endpoint of pushed requests as audience', () => ({ aud: `${service.url}/oauth/par` })],
    ['the issuer with a slash', () => ({ aud: `${service.url}/` })],
    ['no audience', () => ({ aud: undefined })],
    ['a time that has passed', () => ({ exp: bank.now - 11 })],
    ['no end', () => ({ exp: undefined })],
    ['nbf a minute ahead', () => ({ nbf: bank.now + 60 })],
    ['iat a minute ahead', () => ({ iat: bank.now + 60 })],
    ['no jti', () => ({ jti: undefined })],
    ['another iss', () => ({ iss: 'https://other.example' })],
  ])('with %s prove nobody, at any endpoint (attack 32.666)', async (_name, changes) => {
    for (const path of at) expect([path, ...errorOf(await send(path, await bank.assertion(changes())))]).toEqual([path, ...invalidClient]);
  });

  test('ten seconds ahead are taken', async () => {
    for (const changes of [{ iat: bank.now + 9 }, { nbf: bank.now + 9 }, { iat: bank.now + 9, nbf: bank.now + 9 }])
      expect((await pushed({}, { proof: null, assertion: await bank.assertion(changes) })).status).toBe(201);
  });

  test('signed with RS256, or not at all, or by somebody else, prove nobody (attack 32.665)', async () => {
    const rsa = await createClientKey('RS256');
    const { alg: _alg, ...free } = rsa.jwk;
    const own = await Fapi2Client.add(service, { jwks: { keys: [free] } });
    const by = async (assertion: string) => errorOf(await own.push(own.request().fields, { proof: null, assertion }));
    expect(await by(await rsa.sign(own.claims()))).toEqual(invalidClient);
    expect(await by(unsignedJwt(own.claims()))).toEqual(invalidClient);
    expect(await by(await (await createClientKey('PS256')).sign(own.claims()))).toEqual(invalidClient);
    const absent = await oauthPost(service.url, '/oauth/par', null, { client_id: own.client.id, ...own.request().fields });
    expect(errorOf(absent)).toEqual(invalidClient);
  });

  test('a client_id beside them has to be the same', async () => {
    const other = await Fapi2Client.add(service);
    const fields = { ...bank.request().fields, client_id: other.client.id };
    expect(errorOf(await bank.post('/oauth/par', fields, { proof: null }))).toEqual(invalidClient);
  });

  test('other clients may still name the token endpoint, or a list', async () => {
    const columns = { token_endpoint_auth_method: 'private_key_jwt' as const, secret_digest: null, jwks: { keys: [bank.key.jwk] } };
    const plain = await addClient(await service.context(), columns);
    for (const aud of [`${service.url}/oauth/token`, [service.url]]) {
      const client_assertion = await bank.key.sign({ ...bank.claims(), iss: plain.id, sub: plain.id, aud });
      const fields = { client_assertion_type: 'urn:ietf:params:oauth:client-assertion-type:jwt-bearer', client_assertion, token: 'at_x' };
      expect((await oauthPost(service.url, '/oauth/introspect', null, fields)).status).toBe(200);
    }
  });
});

describe('codes', () => {
  test('without a proof there are no tokens, and the code is not spent by that (attack 32.667)', async () => {
    const granted = await bank.code(browser);
    expect(errorOf(await bank.redeem(granted, { proof: null }))).toEqual([400, 'invalid_dpop_proof']);
    expect((await bank.redeem(granted)).status).toBe(200);
  });

  test('without the verifier, or with another, or by another client, they are good for nothing', async () => {
    const granted = await bank.code(browser);
    expect(errorOf(await bank.redeem({ ...granted, verifier: pkcePair().verifier }))).toEqual([400, 'invalid_grant']);
    const second = await bank.code(browser);
    expect(errorOf(await bank.redeem({ ...second, verifier: '' }))).toEqual([400, 'invalid_grant']);
    const other = await Fapi2Client.add(service);
    expect(errorOf(await other.redeem(await bank.code(browser)))).toEqual([400, 'invalid_grant']);
  });

  test('they last a minute', async () => {
    const granted = await bank.code(browser);
    service.clock.advance(55_000);
    expect((await bank.redeem(granted)).status).toBe(200);
    const late = await bank.code(browser);
    service.clock.advance(61_000);
    expect(errorOf(await bank.redeem(late))).toEqual([400, 'invalid_grant']);
  });

  test('the second use takes back what the first gave', async () => {
    const granted = await bank.code(browser);
    const { body } = await bank.redeem(granted);
    expect(errorOf(await bank.redeem(granted))).toEqual([400, 'invalid_grant']);
    expect((await bank.userinfo(body.access_token)).status).toBe(401);
    expect(errorOf(await bank.refresh(body.refresh_token as string))).toEqual([400, 'invalid_grant']);
  });

  test('bound by dpop_jkt, or by a proof at PAR, only that key redeems them; a contradiction is refused', async () => {
    const { jkt } = bank.proofKey;
    const other = await createProofKey('ES256', () => service.clock.now().getTime());
    const htu = (path: string) => ({ htu: service.url + path });
    expect((await bank.redeem(await bank.code(browser, { dpop_jkt: jkt }))).status).toBe(200);
    const bound = await bank.code(browser, { dpop_jkt: jkt });
    expect(errorOf(await bank.redeem(bound, { proof: await other.proof(htu('/oauth/token')) }))).toEqual([400, 'invalid_grant']);
    expect(errorOf(await pushed({ dpop_jkt: jkt }, { proof: await other.proof(htu('/oauth/par')) }))).toEqual([400, 'invalid_dpop_proof']);
    expect((await pushed({ dpop_jkt: jkt }, {})).status).toBe(201);
  });
});

describe('the clock of proofs', () => {
  test.each([
    [9, 200],
    [-50, 200],
    [60, 400],
    [-120, 400],
  ])('%i s off: %i at the token endpoint, and the code is not spent (attack 32.668)', async (off, status) => {
    const granted = await bank.code(browser);
    const proof = await bank.proofKey.proof({ htu: `${service.url}/oauth/token` }, { iat: bank.now + off });
    const answer = await bank.redeem(granted, { proof });
    expect([answer.status, answer.body.error]).toEqual([status, status === 200 ? undefined : 'invalid_dpop_proof']);
    if (status !== 200) expect((await bank.redeem(granted)).status).toBe(200);
  });

  test('a nonce does not make up for it, as it does for other clients (attack 32.668)', async () => {
    const { body, headers } = await bank.redeem(await bank.code(browser));
    const nonce = headers.get('dpop-nonce') as string;
    for (const off of [60, -120, 3_600, -3_600]) {
      const late = { iat: bank.now + off };
      const token = body.access_token;
      const atToken = await bank.proofKey.proof({ htu: `${service.url}/oauth/token`, nonce }, late);
      expect(errorOf(await bank.refresh(body.refresh_token as string, { proof: atToken }))).toEqual([400, 'invalid_dpop_proof']);
      const atPar = await bank.proofKey.proof({ htu: `${service.url}/oauth/par`, nonce }, late);
      expect(errorOf(await pushed({}, { proof: atPar }))).toEqual([400, 'invalid_dpop_proof']);
      const atUserinfo = await bank.proofKey.proof({ htu: `${service.url}/oauth/userinfo`, htm: 'GET', token, nonce }, late);
      const refused = await bank.userinfo(token, { proof: atUserinfo });
      expect([refused.status, refused.headers.get('www-authenticate')]).toEqual([
        401,
        expect.stringContaining('error="invalid_dpop_proof"'),
      ]);
    }
    expect((await bank.refresh(body.refresh_token as string, { nonce })).status).toBe(200);
    expect((await bank.userinfo(body.access_token, { nonce })).status).toBe(200);
  });

  test.each(['/oauth/userinfo', '/api/users'])(
    'is refused at once at %s, not asked for a nonce that would not help (RFC 9449 9, attack 32.1019)',
    async (path) => {
      const { access_token: token } = (await bank.redeem(await bank.code(browser))).body;
      const at = async (off: number, of: { token: string; key: typeof bank.proofKey }, nonce?: string) => {
        const dpop = await of.key.proof({ htu: service.url + path, htm: 'GET', token: of.token, nonce }, { iat: bank.now + off });
        const answer = await fetch(service.url + path, { headers: { authorization: `DPoP ${of.token}`, dpop } });
        return [answer.status, /DPoP [^,]*, error="(\w+)"/.exec(answer.headers.get('www-authenticate') ?? '')?.[1]];
      };
      const own = { token, key: bank.proofKey };
      for (const off of [60, -120, 3_600, -90_000]) {
        expect(await at(off, own)).toEqual([401, 'invalid_dpop_proof']);
        expect(await at(off, own, 'none-of-ours')).toEqual([401, 'invalid_dpop_proof']);
      }
      // Whose token it isn't learns nothing of the client.
      expect(await at(-120, { token, key: await createProofKey('ES256', () => service.clock.now().getTime()) })).not.toEqual([
        200,
        undefined,
      ]);
      expect(await at(-120, { token: 'at_unknown', key: bank.proofKey })).toEqual([401, 'use_dpop_nonce']);
      // A client without the profile is helped.
      const ordinary = await Fapi2Client.add(service, { profile: null });
      const theirs = (await ordinary.redeem(await ordinary.code(browser))).body.access_token;
      expect(await at(-120, { token: theirs, key: ordinary.proofKey })).toEqual([401, 'use_dpop_nonce']);
    },
  );

  test('nbf and exp of a proof count for nothing', async () => {
    const proof = await bank.proofKey.proof({ htu: `${service.url}/oauth/token` }, { nbf: bank.now + 600, exp: bank.now - 600 });
    expect((await bank.redeem(await bank.code(browser), { proof })).status).toBe(200);
  });
});

describe('access tokens', () => {
  test('are taken with a proof of their key alone: not as Bearer, in a body, in the query, or with another key’s (attack 27.470)', async () => {
    const { access_token: token } = (await bank.redeem(await bank.code(browser))).body;
    const address = `${service.url}/oauth/userinfo`;
    expect((await bank.userinfo(token, { proof: null })).status).toBe(401);
    expect((await bank.userinfo(token, { proof: null, scheme: 'DPoP' })).status).toBe(401);
    expect((await fetch(`${address}?access_token=${token}`)).status).toBe(400);
    expect((await fetch(address, { method: 'POST', body: new URLSearchParams({ access_token: token }) })).status).toBe(401);
    const other = await createProofKey('ES256', () => service.clock.now().getTime());
    expect((await bank.userinfo(token, { proof: await other.proof({ htu: address, htm: 'GET', token }) })).status).toBe(401);
    for (const scheme of ['DPoP', 'dpop', 'DPOP']) expect((await bank.userinfo(token, { scheme })).status).toBe(200);
  });

  test('of an API resource that signs with RS256 are not given out: at PAR, for a code, at a refresh, for the client itself (attack 32.665)', async () => {
    const ctx = await service.context();
    expect(errorOf(await pushed({ resource: weak.identifier }))).toEqual([400, 'invalid_target']);
    const resource = { resource: strong.identifier, scope: 'read offline_access' };
    const { body } = await bank.redeem(await bank.code(browser, resource));
    expect([decodeProtectedHeader(body.access_token).alg, claimsOf(body.access_token)['cnf']]).toEqual([
      'ES256',
      { jkt: bank.proofKey.jkt },
    ]);
    const waiting = await bank.code(browser, resource);
    const sign = async (signing_alg: string, token_format = 'jwt') => {
      await ctx.db.knex('api_resources').where({ id: strong.id }).update({ signing_alg, token_format });
      ctx.cache.invalidate(ctx.environment.id, 'api_resources');
    };
    const machine = await Fapi2Client.add(service, { application_type: 'machine', grant_types: ['client_credentials'] });
    await addGrant(ctx, machine.client, strong);
    const own = () => machine.post('/oauth/token', { grant_type: 'client_credentials', resource: strong.identifier });
    expect([(await own()).status, decodeProtectedHeader((await own()).body.access_token).alg]).toEqual([200, 'ES256']);
    try {
      await sign('RS256');
      expect(errorOf(await bank.refresh(body.refresh_token as string))).toEqual([400, 'invalid_target']);
      expect(errorOf(await bank.redeem(waiting))).toEqual([400, 'invalid_target']);
      expect(errorOf(await own())).toEqual([400, 'invalid_target']);
      await sign('RS256', 'opaque');
      expect((await bank.refresh(body.refresh_token as string)).body.access_token).toMatch(/^at_/);
      expect((await own()).body.access_token).toMatch(/^at_/);
    } finally {
      await sign('ES256');
    }
  });
});

describe('for services', () => {
  test('a token of a platform proves no such client, whatever a federated credential says (attack 32.673)', async () => {
    const ctx = await service.context();
    const platform = await startWorkloadIssuer(() => service.clock.now());
    try {
      const now = service.clock.now();
      const stamp = () => ({ id: uuidv7(now.getTime()), created_at: now, updated_at: now });
      const issuer = await insertTrustedIssuer(ctx.scope, { ...stamp(), name: 'Platform', issuer: platform.url });
      const { client } = await Fapi2Client.add(service, { grant_types: ['client_credentials'] });
      await addGrant(ctx, client, strong);
      const audience = service.url;
      const credential = { client_id: client.id, trusted_issuer_id: issuer.id, audience, claims: { sub: 'job' } };
      await insertFederatedCredential(ctx.scope, { ...stamp(), ...credential });
      ctx.cache.invalidate(ctx.environment.id, 'federated_credentials');
      const asked = {
        grant_type: 'client_credentials',
        resource: strong.identifier,
        client_id: client.id,
        client_assertion_type: assertionType,
      };
      const send = async () => oauthPost(service.url, '/oauth/token', null, { ...asked, client_assertion: await platform.sign({ aud: audience, sub: 'job' }) }); // prettier-ignore
      const refused = await send();
      expect([...errorOf(refused), refused.body['error_description']]).toEqual([
        ...invalidClient,
        expect.stringContaining('its own keys only'),
      ]);
      // The same token proves it once it has no profile: nothing else was in the way.
      await ctx.db.knex('clients').where({ id: client.id }).update({ profile: null, dpop_bound_access_tokens: false });
      ctx.cache.invalidate(ctx.environment.id, 'clients');
      expect((await send()).status).toBe(200);
    } finally {
      await platform.close();
    }
  });

  test('token exchange gives bound tokens, and none of an API resource that signs with RS256 (attack 32.665)', async () => {
    const ctx = await service.context();
    const grant_types = [tokenExchangeGrantType];
    const own = await Fapi2Client.add(service, { application_type: 'machine', grant_types, redirect_uris: [] });
    const policy = { token_exchange: 'delegation', subject_audiences: ['https://caller.example'] } as const;
    for (const resource of [strong, weak])
      await addGrant(ctx, own.client, resource, ['read'], 'user', { ...policy, subject_audiences: [...policy.subject_audiences] });
    await addResource(ctx, { identifier: 'https://caller.example' });
    const app = await addClient(ctx);
    const subject = (
      await redeem(service.url, app, await authorizeCode(browser, app, { resource: 'https://caller.example', scope: 'read' }))
    ).body;
    const exchange = (resource: ApiResourceRow) =>
      own.post('/oauth/token', {
        grant_type: tokenExchangeGrantType,
        subject_token: subject.access_token,
        subject_token_type: 'urn:ietf:params:oauth:token-type:access_token',
        resource: resource.identifier,
      });
    expect(errorOf(await exchange(weak))).toEqual([400, 'invalid_target']);
    const { status, body } = await exchange(strong);
    expect([status, body['token_type'], decodeProtectedHeader(body.access_token).alg]).toEqual([200, 'DPoP', 'ES256']);
    expect(claimsOf(body.access_token)['cnf']).toEqual({ jkt: own.proofKey.jkt });
  });
});

describe('refresh tokens', () => {
  const day = 86_400_000;
  const idle = async () => (await service.context()).environment.refresh_token_idle_lifetime * 1000;

  test('stay the same however often and late they are used, with another key too, and last as long as rotated ones would', async () => {
    const first = (await bank.redeem(await bank.code(browser))).body;
    const token = first.refresh_token as string;
    for (let used = 0; used < 3; used++) expect((await bank.refresh(token)).body.refresh_token).toBe(token);
    bank.proofKey = await createProofKey('ES256', () => service.clock.now().getTime());
    // 11.2 days each time of the 14 that one lasts unused, and 30 that the grant lasts.
    for (const wait of [(await idle()) * 0.8, (await idle()) * 0.8, 7 * day]) {
      service.clock.advance(wait);
      const { status, body } = await bank.refresh(token);
      expect([status, body.refresh_token, body['token_type']]).toEqual([200, token, 'DPoP']);
    }
    service.clock.advance(day);
    expect(errorOf(await bank.refresh(token))).toEqual([400, 'invalid_grant']);
  });

  test('take a proof, and belong to their client (attack 32.667)', async () => {
    browser = await signedIn(service, user);
    const { refresh_token: token = '' } = (await bank.redeem(await bank.code(browser))).body;
    expect(errorOf(await bank.refresh(token, { proof: null }))).toEqual([400, 'invalid_dpop_proof']);
    expect(errorOf(await (await Fapi2Client.add(service)).refresh(token))).toEqual([400, 'invalid_grant']);
    expect((await bank.refresh(token)).status).toBe(200);
  });

  test('used at once by several requests they stay one', async () => {
    const { refresh_token: token = '' } = (await bank.redeem(await bank.code(browser))).body;
    service.clock.advance((await idle()) * 0.8);
    const answers = await Promise.all(Array.from({ length: 5 }, () => bank.refresh(token)));
    expect(answers.map(({ status, body }) => [status, body.refresh_token])).toEqual(Array.from({ length: 5 }, () => [200, token]));
    expect((await bank.refresh(token)).status).toBe(200);
  });

  test('that were rotated before the client got the profile still tell their successor for 30 s, and then end the grant', async () => {
    const ctx = await service.context();
    const own = await Fapi2Client.add(service);
    const set = async (profile: 'fapi2' | null) => {
      await ctx.db.knex('clients').where({ id: own.client.id }).update({ profile });
      ctx.cache.invalidate(ctx.environment.id, 'clients');
    };
    browser = await signedIn(service, user);
    const { refresh_token: old = '' } = (await own.redeem(await own.code(browser))).body;
    await set(null);
    service.clock.advance((await idle()) * 0.8);
    const rotated = (await own.refresh(old)).body.refresh_token as string;
    expect(rotated).not.toBe(old);
    await set('fapi2');
    expect((await own.refresh(old)).body.refresh_token).toBe(rotated);
    expect((await own.refresh(rotated)).body.refresh_token).toBe(rotated);
    service.clock.advance(31_000);
    expect(errorOf(await own.refresh(old))).toEqual([400, 'invalid_grant']);
    expect(errorOf(await own.refresh(rotated))).toEqual([400, 'invalid_grant']);
  });
});
