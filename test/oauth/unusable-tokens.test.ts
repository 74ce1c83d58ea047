// What a token that is not good is told to be: at userinfo and at the Management API in the answer, of introspection in the log.
import { generateKeyPairSync, sign } from 'node:crypto';
import { expect, test } from 'vitest';
import { signerFor } from '../../src/domain/signing-keys/signing-keys.js';
import { signJwt } from '../../src/domain/tokens/formats/jwt.js';
import { updateUser, type UserRow } from '../../src/db/tables/users.js';
import { addMachine, addClient, addEnvironment, addResource, addUser } from '../support/data.js';
import { managementToken } from '../support/management.js';
import { contextOf, shared, sharedManagedService } from '../support/shared-service.js';
import { authorizeCode, oauthPost, redeem, tokenRequest } from '../support/oauth.js';
import { signedIn } from '../support/signed-in.js';

const service = sharedManagedService();
const ctx = contextOf(service);
const client = shared(() => addClient(ctx));
const resource = shared(() => addResource(ctx));
const machine = shared(() => addMachine(ctx, resource));
let user: UserRow;

async function tokens(parameters: Record<string, string> = {}) {
  user = await addUser(ctx);
  const browser = await signedIn(service, user);
  return (await redeem(service.url, client, await authorizeCode(browser, client, parameters))).body;
}
const machineToken = async () =>
  (await tokenRequest(service.url, machine, { grant_type: 'client_credentials', resource: resource.identifier })).body.access_token;
const revoke = (token: string, as = client) => oauthPost(service.url, '/oauth/revoke', as, { token });

/** The challenge and the description must say the same (RFC 6750 3), in the characters that it allows. */
async function reasonAtUserinfo(token: string): Promise<string> {
  const answer = await fetch(`${service.url}/oauth/userinfo`, { headers: { authorization: `Bearer ${token}` } });
  const { error, error_description } = (await answer.json()) as Record<string, string>;
  expect([answer.status, error]).toEqual([401, 'invalid_token']);
  expect(answer.headers.get('www-authenticate')).toBe(
    `Bearer realm="oauth", error="invalid_token", error_description="${error_description}", DPoP realm="oauth", algs="ES256 PS256 EdDSA Ed25519"`,
  );
  expect(error_description).toMatch(/^[\x20\x21\x23-\x5b\x5d-\x7e]+$/);
  return error_description as string;
}

/** A JWT that somebody else signed, with the header and claims of one of ours but for what is named. */
function forged(token: string, header: object, claims: object): string {
  const [head = '', body = ''] = token.split('.').map((part) => Buffer.from(part, 'base64url').toString());
  const text = (one: string, more: object) =>
    Buffer.from(JSON.stringify({ ...(JSON.parse(one) as object), ...more })).toString('base64url');
  const input = `${text(head, header)}.${text(body, claims)}`;
  const { privateKey } = generateKeyPairSync('rsa', { modulusLength: 2048 });
  return `${input}.${sign('sha256', Buffer.from(input), privateKey).toString('base64url')}`;
}

test('userinfo says which kind of token it was given instead of an access token of this environment', async () => {
  const { id_token = '', refresh_token = '' } = await tokens({ scope: 'openid offline_access' });
  expect(await reasonAtUserinfo(id_token)).toBe('this is an ID token, not an access token');
  expect(await reasonAtUserinfo(refresh_token)).toBe('this is a refresh token, not an access token');
  expect(await reasonAtUserinfo(`at_${'x'.repeat(43)}`)).toContain('this opaque access token is not known here');
  expect(await reasonAtUserinfo('something')).toBe('this is not an access token of this service');
  expect(await reasonAtUserinfo('a.b.c')).toBe('this is not a well-formed JWT');
});

test('userinfo says who issued a token of another environment or service, and which key is not ours', async () => {
  const second = await addEnvironment(service.deps, 'staging');
  const theirs = second.environment.issuer;
  const own = await machineToken();
  const claims = JSON.parse(Buffer.from(own.split('.')[1] as string, 'base64url').toString()) as object;
  const token = await signJwt(second, await signerFor(second, 'RS256'), 'at+jwt', { ...claims, iss: theirs });
  expect(await reasonAtUserinfo(token)).toBe(`this token was issued by ${theirs}, and this is ${service.url}`);
  expect(await reasonAtUserinfo(forged(own, {}, { iss: 'https://a.example/"\\\r\nX: 1' }))).toContain('https://a.example/????X:?1');
  expect(await reasonAtUserinfo(forged(own, { kid: 'other' }, {}))).toContain('signed by a key that');
  expect(await reasonAtUserinfo(forged(own, { alg: 'HS256' }, {}))).toContain('signed with HS256');
  expect(await reasonAtUserinfo(forged(own, {}, {}))).toBe('the signature of this token is not right');
});

test('userinfo says since when a token is expired, and what became of one that is not', async () => {
  const [opaqueRevoked, jwtRevoked] = [(await tokens()).access_token, await machineToken()];
  await revoke(opaqueRevoked);
  await revoke(jwtRevoked, machine);
  expect(await reasonAtUserinfo(opaqueRevoked)).toContain('it was revoked');
  expect(await reasonAtUserinfo(jwtRevoked)).toBe('the access token was revoked');
  const blocked = (await tokens()).access_token;
  await updateUser(ctx.scope, user.id, { status: 'blocked' });
  expect(await reasonAtUserinfo(blocked)).toBe('the person of the access token is gone or blocked');
  const [opaque, jwt] = [(await tokens()).access_token, await machineToken()];
  const issued = Math.floor(service.clock.now().getTime() / 1000);
  service.clock.advance(7_200_000);
  for (const [token, lifetime] of [
    [opaque, 3600],
    [jwt, resource.access_token_lifetime],
  ] as const) {
    const reason = await reasonAtUserinfo(token);
    const [, time = ''] = /^the access token expired at (\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ)$/.exec(reason) ?? [];
    expect(Math.abs(Date.parse(time) / 1000 - issued - lifetime)).toBeLessThan(60);
  }
});

test('the Management API names the audience that it wants', async () => {
  const token = await machineToken();
  const answer = await fetch(`${service.url}/api/roles`, { headers: { authorization: `Bearer ${token}` } });
  const { errors } = (await answer.json()) as { errors: { detail: string }[] };
  expect([answer.status, errors[0]?.detail]).toEqual([
    401,
    `the access token is for ${resource.identifier}; ask for resource=${service.url}/api`,
  ]);
  expect(
    (await fetch(`${service.url}/api/roles`, { headers: { authorization: `Bearer ${await managementToken(service.url)}` } })).status,
  ).toBe(200);
});

test('introspection answers the same for all of them, and the log says why, never the token', async () => {
  const { access_token, id_token = '', refresh_token = '' } = await tokens();
  await revoke(access_token);
  const cases = {
    [access_token]: 'was revoked',
    [id_token]: 'an ID token',
    [refresh_token]: 'the refresh token is unknown',
    nothing: 'not an access token',
  };
  for (const [token, reason] of Object.entries(cases)) {
    service.log.length = 0;
    const answer = await oauthPost(service.url, '/oauth/introspect', machine, { token });
    expect([answer.status, answer.body]).toEqual([200, { active: false }]);
    const lines = service.log.map((line) => JSON.parse(line) as Record<string, unknown>);
    const line = lines.find(({ event }) => event === 'introspection.inactive');
    expect(line).toMatchObject({ client_id: machine.id, reason: expect.stringContaining(reason), request_id: expect.any(String) });
    expect(service.log.join('\n')).not.toContain(token === 'nothing' ? 'a token' : token);
  }
});
