// Sign-in through a SAML provider, as the service provider of SAML 2.0 Web Browser SSO (specification 16.7).
import { createVerify, X509Certificate } from 'node:crypto';
import { beforeEach, describe, expect, test } from 'vitest';
import { findUserByEmailKey } from '../../src/db/tables/users.js';
import { table } from '../../src/db/scope.js';
import type { ConnectionRow } from '../../src/db/tables/connections.js';
import type { SessionRow } from '../../src/db/tables/sessions.js';
import { samlKeys } from '../../src/domain/saml-certificates/saml-certificates.js';
import { listIdentities } from '../../src/domain/connections/identities.js';
import { connectionTestUrl } from '../../src/domain/connections/connections.js';
import { Browser } from '../support/browser.js';
import { assertionXml, ecKeyPair, encrypted, metadataXml, responseXml, samlKeyPair, sign } from '../support/saml-provider.js';
import { addSamlConnection, answer, beginAt, post, signedAssertion } from '../support/saml-sign-in.js';
import { addDomain, addOrganization } from '../support/organizations.js';
import { contextOf, shared, sharedService } from '../support/shared-service.js';
import { codeOf } from '../support/sso.js';

const service = sharedService();
const ctx = contextOf(service);
let browser: Browser;

const key = shared(() => samlKeyPair());
const connection = shared(() => addSamlConnection(ctx, key));
beforeEach(() => {
  browser = new Browser(service.url);
});

const testTicketOf = (of: ConnectionRow) =>
  new URL(connectionTestUrl(ctx, { permissions: new Set(['users:read']) }, of)).searchParams.get('test') ?? '';
const isSignedIn = (response: Response) => [response.status, response.headers.get('location'), browser.cookies.has('idp_session')];
const signedIn = [303, '/account', true];

test('the request goes by HTTP-Redirect, signed by the certificate of our metadata (specification 16.7.2)', async () => {
  const { request } = await beginAt(ctx, browser, connection);
  const url = (await beginAt(ctx, browser, connection, { prompt: 'login' })).request;
  expect(url.attribute('ForceAuthn')).toBe('true');
  expect(request.attribute('ForceAuthn')).toBeUndefined();
  expect(request.attribute('AssertionConsumerServiceURL')).toBe(`${service.url}/auth/sso/${connection.id}/callback`);
  expect(request.xml).toContain(`>${service.url}/auth/sso/${connection.id}/metadata</saml:Issuer>`);
  expect(request.id).toMatch(/^_[\w-]{43}$/);
  const sent = await browser.get(`/auth/sso/${connection.id}`);
  const query = new URL(sent.headers.get('location') ?? '').search.slice(1);
  const signature = new URLSearchParams(query).get('Signature') ?? '';
  const { primary } = await samlKeys(ctx);
  const verifies = createVerify('sha256')
    .update(query.slice(0, query.indexOf('&Signature=')))
    .verify(new X509Certificate(primary.pem).publicKey, signature, 'base64');
  expect(verifies).toBe(true);
  const metadata = await browser.get(`/auth/sso/${connection.id}/metadata`);
  expect(metadata.headers.get('content-type')).toMatch(/^application\/samlmetadata\+xml/);
  const xml = await metadata.text();
  expect(xml).toContain(`entityID="${service.url}/auth/sso/${connection.id}/metadata"`);
  expect(xml.replaceAll(/\s/g, '')).toContain(primary.pem.replaceAll(/-----[^-]+-----|\s/g, ''));
});

test('a signed assertion signs in, registers, and its attributes fill the profile (specification 16.7.1)', async () => {
  const { request, told } = await beginAt(ctx, browser, connection);
  const response = await answer(browser, connection, signedAssertion(told, key), request.relay_state);
  expect(isSignedIn(response)).toEqual(signedIn);
  expect(await findUserByEmailKey(ctx.scope, 'ada@corp.example')).toMatchObject({
    first_name: 'Ada',
    last_name: 'Lovelace',
    email_verified: true,
  });
});

describe('what has to be signed (specification 16.7.4)', () => {
  test('the response, where the connection says so', async () => {
    const other = await addSamlConnection(ctx, key, { signed_part: 'response' }, { domains: ['response.example'] });
    const { request, told } = await beginAt(ctx, browser, other);
    const said = { ...told, attributes: { email: 'rex@response.example' } };
    const xml = sign(responseXml(said, assertionXml(said)), 'Response', key);
    expect(isSignedIn(await answer(browser, other, xml, request.relay_state))).toEqual(signedIn);
  });

  test('both', async () => {
    const both = await addSamlConnection(ctx, key, { signed_part: 'both' }, { domains: ['both.example'] });
    const { request, told } = await beginAt(ctx, browser, both);
    const said = { ...told, attributes: { email: 'eve@both.example', given_name: 'Eve', family_name: 'Both' } };
    const xml = sign(responseXml(said, sign(assertionXml(said), 'Assertion', key)), 'Response', key);
    expect(isSignedIn(await answer(browser, both, xml, request.relay_state))).toEqual(signedIn);
    browser = new Browser(service.url);
    const again = await beginAt(ctx, browser, both);
    const half = signedAssertion({ ...again.told, attributes: said.attributes }, key);
    expect(await codeOf(await answer(browser, both, half, again.request.relay_state))).toBe('saml_invalid');
  });
});

const rsaOaep = 'http://www.w3.org/2009/xmlenc11#rsa-oaep';
test.each([
  ['AES-GCM', { content: 'http://www.w3.org/2009/xmlenc11#aes256-gcm' }],
  ['AES-CBC', { content: 'http://www.w3.org/2001/04/xmlenc#aes128-cbc' }],
  ['RSA-OAEP of SHA-256', { keyEncryptionDigest: 'sha256' }],
  ['RSA-OAEP of XML Encryption 1.1', { key: rsaOaep, keyEncryptionDigest: 'sha256', keyEncryptionMgf: 'sha256' }],
  ['RSA-OAEP of XML Encryption 1.1 with two hashes', { key: rsaOaep, keyEncryptionDigest: 'sha512', keyEncryptionMgf: 'sha1' }],
])('an assertion encrypted with %s signs in (specification 16.7.5)', async (_name, how) => {
  const { request, told } = await beginAt(ctx, browser, connection);
  const { primary } = await samlKeys(ctx);
  const assertion = await encrypted(sign(assertionXml(told), 'Assertion', key), primary.pem, how);
  expect(isSignedIn(await answer(browser, connection, responseXml(told, assertion), request.relay_state))).toEqual(signedIn);
});

const more = (name: string) => `http://www.w3.org/2001/04/xmldsig-more#${name}`;
const sha384 = more('sha384');
const sha512 = 'http://www.w3.org/2001/04/xmlenc#sha512';
test.each([
  ['rsa-sha384', () => samlKeyPair(), sha384],
  ['rsa-sha512', () => samlKeyPair(), sha512],
  ['ecdsa-sha256', () => ecKeyPair('P-256'), 'http://www.w3.org/2001/04/xmlenc#sha256'],
  ['ecdsa-sha384', () => ecKeyPair('P-384'), sha384],
  ['ecdsa-sha512', () => ecKeyPair('P-521'), sha512],
])('a response and an assertion signed with %s sign in, by metadata (specification 16.7.4)', async (name, pairOf, digestAlgorithm) => {
  const pair = await pairOf();
  const options = { idp_metadata_xml: metadataXml([pair.certificate]), trust_email: true, signed_part: 'both' };
  const at = await addSamlConnection(ctx, pair, {}, { domains: [`${name}.example`], options });
  const { request, told } = await beginAt(ctx, browser, at);
  const how = { signatureAlgorithm: more(name), digestAlgorithm };
  const said = { ...told, name_id: name, attributes: { email: `ada@${name}.example` } };
  const assertion = sign(assertionXml(said), 'Assertion', pair, how);
  const response = sign(responseXml(said, assertion), 'Response', pair, how);
  expect(isSignedIn(await answer(browser, at, response, request.relay_state))).toEqual(signedIn);
});

test.each(['xs', 'xs own'])('a signature takes the namespaces along that it lists: %s (specification 16.7.4)', async (list) => {
  const prefixes = list.split(' ');
  const { request, told } = await beginAt(ctx, browser, connection);
  const typed =
    '<saml:AttributeValue xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance" xmlns:own="urn:own" xsi:type="xs:string">Ada</saml:AttributeValue>';
  const in_assertion = `<saml:AttributeStatement><saml:Attribute Name="typed">${typed}</saml:Attribute></saml:AttributeStatement>`;
  const around = responseXml(told, assertionXml({ ...told, in_assertion })).replace(
    '<samlp:Response ',
    '<samlp:Response xmlns:xs="http://www.w3.org/2001/XMLSchema" xmlns:own="urn:other" xmlns:unused="urn:unused" ',
  );
  const signed = sign(around, 'Assertion', key, { prefixes });
  expect(signed).toContain(`PrefixList="${list}"`);
  expect(isSignedIn(await answer(browser, connection, signed, request.relay_state))).toEqual(signedIn);
  const again = await beginAt(ctx, browser, connection);
  const moved = sign(
    responseXml(again.told, assertionXml(again.told)).replace('<samlp:Response ', '<samlp:Response xmlns:xs="urn:one" '),
    'Assertion',
    key,
    { prefixes },
  );
  const refused = await answer(browser, connection, moved.replace('xmlns:xs="urn:one"', 'xmlns:xs="urn:two"'), again.request.relay_state);
  expect(await codeOf(refused)).toBe('saml_invalid');
});

test('a provider that changes its certificate is known by both; the removed one counts no more (attack 44.1382)', async () => {
  const next = await samlKeyPair();
  const rolled = await addSamlConnection(
    ctx,
    key,
    { idp_certificates: [key.certificate, next.certificate] },
    { domains: ['rolled.example'] },
  );
  const said = { name_id: 'rolled', attributes: { email: 'rolled@rolled.example' } };
  for (const pair of [key, next]) {
    browser = new Browser(service.url);
    const { request, told } = await beginAt(ctx, browser, rolled);
    expect(isSignedIn(await answer(browser, rolled, signedAssertion({ ...told, ...said }, pair), request.relay_state))).toEqual(signedIn);
  }
  const only = await addSamlConnection(ctx, next, {}, { domains: ['only.example'] });
  browser = new Browser(service.url);
  const { request, told } = await beginAt(ctx, browser, only);
  expect(await codeOf(await answer(browser, only, signedAssertion({ ...told, ...said }, key), request.relay_state))).toBe('saml_invalid');
});

test('an organization’s connection speaks for its verified domains alone, where the domain is the proof (specification 16.4.1)', async () => {
  const organization = await addOrganization(ctx);
  await addDomain(ctx, organization, 'customer.example');
  const own = await addSamlConnection(ctx, key, { trust_email: false }, { organization_id: organization.id, domains: [], trusted: false });
  const come = async (name_id: string, email: string) => {
    browser = new Browser(service.url);
    const { request, told } = await beginAt(ctx, browser, own, { test: testTicketOf(own) });
    return (await answer(browser, own, signedAssertion({ ...told, name_id, attributes: { email } }, key), request.relay_state)).text();
  };
  expect(await come('one', 'one@customer.example')).toContain('would create a user with the address one@customer.example');
  expect(await come('two', 'two@elsewhere.example')).toContain('sso_domain_not_allowed');
});

test('SessionNotOnOrAfter bounds the session (specification 16.7.6)', async () => {
  const { request, told } = await beginAt(ctx, browser, connection);
  const session_until = new Date(Math.floor(ctx.clock.now().getTime() / 1000) * 1000 + 3_600_000);
  await answer(browser, connection, signedAssertion({ ...told, session_until }, key), request.relay_state);
  const sessions = await table<SessionRow>(ctx.scope, 'sessions').orderBy('created_at', 'desc');
  expect(sessions[0]?.expires_at).toEqual(session_until);
  expect(sessions[0]?.provider_acr).toBe('urn:oasis:names:tc:SAML:2.0:ac:classes:PasswordProtectedTransport');
});

test('the person may be an attribute instead of the NameID, a transient one too (specification 16.7.3)', async () => {
  const mapped = await addSamlConnection(ctx, key, {}, { domains: ['mapped.example'], claim_mapping: { sub: 'employee' } });
  const format = 'urn:oasis:names:tc:SAML:2.0:nameid-format:transient';
  for (const name_id of ['for this once', 'for another once']) {
    browser = new Browser(service.url);
    const { request, told } = await beginAt(ctx, browser, mapped);
    const said = { ...told, name_id, format, attributes: { email: 'max@mapped.example', employee: 'E-4711' } };
    expect(isSignedIn(await answer(browser, mapped, signedAssertion(said, key), request.relay_state))).toEqual(signedIn);
  }
  const user = await findUserByEmailKey(ctx.scope, 'max@mapped.example');
  expect(await listIdentities(ctx, user?.id ?? '')).toMatchObject([{ subject: 'E-4711' }]);
});

test('a second factor that Entra ID or AD FS tells of is in provider_amr (specification 16.7.6)', async () => {
  const methods = 'http://schemas.microsoft.com/claims/authnmethodsreferences';
  const amrOf = async (...values: string[]) => {
    browser = new Browser(service.url);
    const { request, told } = await beginAt(ctx, browser, connection);
    const attributes = { ...told.attributes, [methods]: values };
    await answer(browser, connection, signedAssertion({ ...told, attributes }, key), request.relay_state);
    const [session] = await table<SessionRow>(ctx.scope, 'sessions').orderBy('id', 'desc');
    return session?.provider_amr;
  };
  const microsoft = 'http://schemas.microsoft.com/';
  expect(await amrOf(`${microsoft}ws/2008/06/identity/authenticationmethod/password`, `${microsoft}claims/multipleauthn`)).toEqual(['mfa']);
  expect(await amrOf(`${microsoft}ws/2008/06/identity/authenticationmethod/password`)).toEqual([]);
});

test('a provider that begins by itself: refused, or begun anew from here, its assertion unread (specification 16.7.7)', async () => {
  const { told } = await beginAt(ctx, browser, connection);
  const unsolicited = signedAssertion({ ...told, request_id: null }, key);
  const refused = await post(service.url, connection, unsolicited);
  expect([refused.status, await codeOf(refused)]).toEqual([400, 'saml_unsolicited']);
  const open = await addSamlConnection(ctx, key, { idp_initiated: true }, { domains: ['portal.example'] });
  for (const relay of [undefined, 'https://evil.example/', 'not a state']) {
    const led = await post(service.url, open, '<nothing>', relay);
    expect([led.status, led.headers.get('location')]).toEqual([303, `${service.url}/auth/sso/${open.id}`]);
  }
});

test('the test of a connection names the rule that failed, and writes nothing (specification 16.7.8)', async () => {
  const actor = { permissions: new Set(['users:read']) };
  const test = new URL(connectionTestUrl(ctx, actor, connection)).searchParams.get('test') ?? '';
  const { request, told } = await beginAt(ctx, browser, connection, { test });
  const page = await (
    await answer(browser, connection, signedAssertion({ ...told, audience: 'https://other.example' }, key), request.relay_state)
  ).text();
  expect(page).toContain('saml_wrong_audience');
  expect(page).toContain('audience: the assertion is for');
});

test('metadata as XML says all that is needed', async () => {
  const options = { idp_metadata_xml: metadataXml([key.certificate]), trust_email: true };
  const described = await addSamlConnection(ctx, key, {}, { domains: ['xml.example'], options });
  const { request, told } = await beginAt(ctx, browser, described);
  const said = { ...told, name_id: 'xml', attributes: { email: 'xml@xml.example' } };
  expect(isSignedIn(await answer(browser, described, signedAssertion(said, key), request.relay_state))).toEqual(signedIn);
});
