// FAPI 2.0 Message Signing: requests that are signed (RFC 9101) and pushed, answers that are (JARM), and introspection (RFC 9701).
import { decodeProtectedHeader } from 'jose';
import { beforeAll, beforeEach, describe, expect, test } from 'vitest';
import type { UserRow } from '../../src/db/tables/users.js';
import { locationParameters, type Browser } from '../support/browser.js';
import { addUser } from '../support/data.js';
import { Fapi2Client, signWithEs256 } from '../support/fapi2.js';
import { claimsOf, type TokenAnswer } from '../support/oauth.js';
import { sharedService } from '../support/shared-service.js';
import { signedIn } from '../support/signed-in.js';
import { unsignedJwt } from '../support/signed-jwt.js';

const service = sharedService();
let bank: Fapi2Client;
let user: UserRow;
let browser: Browser;

const signed = { authorization_signed_response_alg: 'ES256', introspection_signed_response_alg: 'ES256' } as const;

beforeAll(async () => {
  await signWithEs256(service);
  bank = await Fapi2Client.add(service, { ...signed, require_signed_request_object: true });
  user = await addUser(await service.context());
});
beforeEach(async () => {
  browser = await signedIn(service, user);
});

const errorOf = ({ status, body }: TokenAnswer) => [status, body.error];
const envelope = (changes: Record<string, unknown> = {}) => {
  const { id } = bank.client;
  return { iss: id, client_id: id, aud: service.url, nbf: bank.now, exp: bank.now + 300, iat: bank.now, ...changes };
};
const objectOf = (changes: Record<string, unknown> = {}, header: Record<string, unknown> = {}) =>
  bank.key.sign({ ...bank.request().fields, ...envelope(changes) }, header);

describe('a pushed request', () => {
  test('that is signed leads to an answer that is, and to introspection that is', async () => {
    const { fields, verifier } = bank.request({ state: 's'.repeat(384), nonce: 'n'.repeat(384) });
    const request = await bank.key.sign({ ...fields, ...envelope() }, { typ: 'oauth-authz-req+jwt' });
    const pushed = await bank.push({ request });
    expect(pushed.status).toBe(201);
    const back = locationParameters(await bank.open(browser, pushed.body['request_uri'] as string));
    expect([...back.keys()]).toEqual(['response']);
    const response = back.get('response') as string;
    expect(decodeProtectedHeader(response).alg).toBe('ES256');
    const answer = claimsOf(response);
    expect(answer).toMatchObject({ iss: service.url, aud: bank.client.id, state: 's'.repeat(384) });
    const { body } = await bank.redeem({ code: answer['code'] as string, verifier });
    expect(claimsOf(body.id_token as string)['nonce']).toBe('n'.repeat(384));

    const form = { token: body.access_token, client_assertion_type: 'urn:ietf:params:oauth:client-assertion-type:jwt-bearer' };
    const introspected = await fetch(`${service.url}/oauth/introspect`, {
      method: 'POST',
      body: new URLSearchParams({ ...form, client_assertion: await bank.assertion() }),
    });
    const jwt = await introspected.text();
    expect([introspected.headers.get('content-type'), decodeProtectedHeader(jwt).alg]).toEqual([
      'application/token-introspection+jwt',
      'ES256',
    ]);
    expect(claimsOf(jwt)['token_introspection']).toMatchObject({
      active: true,
      sub: user.id,
      token_type: 'DPoP',
      cnf: { jkt: bank.proofKey.jkt },
    });
  });

  test('of plain parameters, unsigned, or beside other parameters alone, is refused (attack 32.670)', async () => {
    expect(errorOf(await bank.push(bank.request().fields))).toEqual([400, 'invalid_request']);
    const none = unsignedJwt({ ...bank.request().fields, ...envelope() });
    expect(errorOf(await bank.push({ request: none }))).toEqual([400, 'invalid_request_object']);
    const answer = await browser.get(`/oauth/authorize?${new URLSearchParams({ client_id: bank.client.id, ...bank.request().fields })}`);
    expect(claimsOf(locationParameters(answer).get('response') as string)).toMatchObject({ error: 'invalid_request' });
  });

  test.each<[string, (now: number) => Record<string, unknown>]>([
    ['no aud', () => ({ aud: undefined })],
    ['another aud', () => ({ aud: 'https://other.example' })],
    ['no nbf', () => ({ nbf: undefined })],
    ['no exp', () => ({ exp: undefined })],
    ['nbf as text', (now) => ({ nbf: String(now) })],
    ['a life of more than an hour', (now) => ({ nbf: now, exp: now + 3_610 })],
    ['a beginning more than an hour ago', (now) => ({ nbf: now - 3_610, exp: now + 30 })],
    ['a beginning a minute ahead', (now) => ({ nbf: now + 60 })],
    ['an end that has passed', (now) => ({ nbf: now - 60, exp: now - 11 })],
    ['another client_id', () => ({ client_id: 'somebody' })],
    ['another iss', () => ({ iss: 'somebody' })],
    ['a sub that makes it an assertion', () => ({ sub: bank.client.id })],
    ['a request in the request', () => ({ request_uri: 'https://elsewhere.example' })],
  ])('with %s in its object is refused (attack 32.671)', async (_name, changes) => {
    expect(errorOf(await bank.push({ request: await objectOf(changes(bank.now)) }))).toEqual([400, 'invalid_request_object']);
  });

  test.each<[string, (now: number) => Record<string, unknown>]>([
    ['several audiences, ours among them', () => ({ aud: ['https://other.example', service.url] })],
    ['nbf a few seconds ahead', (now) => ({ nbf: now + 8 })],
    ['an hour to go', (now) => ({ nbf: now, exp: now + 3_600 })],
    ['a beginning nearly an hour ago', (now) => ({ nbf: now - 3_590, exp: now + 5 })],
  ])('with %s is taken', async (_name, changes) => {
    expect((await bank.push({ request: await objectOf(changes(bank.now)) })).status).toBe(201);
  });

  test('what stands beside the object counts for nothing (attack 26.451)', async () => {
    const outside = { state: 'outside', nonce: 'outside', scope: 'openid email', redirect_uri: 'https://evil.example/' };
    const { fields, verifier } = bank.request({ state: undefined });
    const request = await bank.key.sign({ ...fields, ...envelope() });
    const pushed = await bank.push({ ...outside, request });
    const answer = claimsOf(locationParameters(await bank.open(browser, pushed.body['request_uri'] as string)).get('response') as string);
    expect(answer['state']).toBeUndefined();
    const { body } = await bank.redeem({ code: answer['code'] as string, verifier });
    expect([claimsOf(body.id_token as string)['nonce'], body['scope']]).toEqual(['n-1', 'openid offline_access']);
  });

  test('without redirect_uri or PKCE in the object is refused, wherever else they stand', async () => {
    const { redirect_uri: _uri, ...without } = bank.request().fields;
    const request = await bank.key.sign({ ...without, ...envelope() });
    expect(errorOf(await bank.push({ request, redirect_uri: bank.redirect_uri }))).toEqual([400, 'invalid_request']);
    const plain = await objectOf({ code_challenge_method: 'plain' });
    expect(errorOf(await bank.push({ request: plain }))).toEqual([400, 'invalid_request']);
  });
});

test('a client without these settings that asks for signed answers gets them as its profile wants, never with RS256', async () => {
  const own = await Fapi2Client.add(service);
  for (const response_mode of ['jwt', 'query.jwt']) {
    const pushed = await own.push(own.request({ response_mode }).fields);
    const back = locationParameters(await own.open(browser, pushed.body['request_uri'] as string));
    expect(decodeProtectedHeader(back.get('response') as string).alg).toBe('ES256');
  }
  const form = { token: 'at_x', client_assertion_type: 'urn:ietf:params:oauth:client-assertion-type:jwt-bearer' };
  const introspected = await fetch(`${service.url}/oauth/introspect`, {
    method: 'POST',
    headers: { accept: 'application/token-introspection+jwt' },
    body: new URLSearchParams({ ...form, client_assertion: await own.assertion() }),
  });
  expect(decodeProtectedHeader(await introspected.text()).alg).toBe('ES256');
});
