// What strangers, applications and people try at the identity provider of SAML applications (docs/security.md, section 47).
import { sign } from 'node:crypto';
import { SignedXml } from 'xml-crypto';
import { beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { table } from '../../src/db/scope.js';
import { csrfOf, type Browser } from '../support/browser.js';
import { addClient, addUser, type TestClient } from '../support/data.js';
import { authorizeQuery } from '../support/authorize.js';
import { costOf, mostHeld } from '../support/cost/event-loop.js';
import {
  acsUrl,
  addSamlClient,
  applicationOf,
  ask,
  deflated,
  follow,
  postedBy,
  postRequest,
  requestXml,
  sendRequest,
  takenBy,
} from '../support/saml-application.js';
import { ecKeyPair, samlKeyPair, type SamlKeyPair } from '../support/saml-provider.js';
import { contextOf, shared, sharedService } from '../support/shared-service.js';
import { signedIn } from '../support/signed-in.js';

const service = sharedService();
const ctx = contextOf(service);
const user = shared(() => addUser(ctx, { email: 'mallory@corp.example', email_verified: true, first_name: `]]><b a="'">\u0001&\n` }));
const client = shared(() => addSamlClient(ctx));
let browser: Browser;
beforeEach(async () => {
  browser = await signedIn(service, user);
});

/** Our own page, which sends nobody anywhere and holds no answer. */
async function expectPage(response: Response, found: string): Promise<void> {
  const html = await response.text();
  expect([response.status, response.headers.get('location')]).toEqual([400, null]);
  expect(html).toContain(found);
  expect(html).not.toMatch(/SAMLResponse|form-post/);
}

const unknown = 'We don’t recognize the application';
const unregistered = 'isn’t registered for it';

test('a request of nobody that is known here, or of a client that is disabled, is answered by a page (attack 47.1390)', async () => {
  await expectPage(await sendRequest(browser, requestXml({ saml_entity_id: 'https://stranger.example' })), unknown);
  await expectPage(await sendRequest(browser, requestXml(await addSamlClient(ctx, { status: 'disabled' }))), unknown);
  await expectPage(await sendRequest(browser, requestXml({ saml_entity_id: 'x'.repeat(2000) })), unknown);
});

test('an address for the answer that is not registered to the letter is sent nothing (attack 47.1391)', async () => {
  for (const url of [
    'https://evil.example/acs',
    `${acsUrl}/`,
    `${acsUrl}?x`,
    acsUrl.toUpperCase(),
    `${acsUrl}.evil.example`,
    'javascript:alert(1)',
    '',
  ]) {
    const attributes = ` AssertionConsumerServiceURL="${url}"`;
    await expectPage(await sendRequest(browser, requestXml(client, { attributes })), unregistered);
  }
  const several = await addSamlClient(ctx, { saml_acs_urls: [acsUrl, 'https://wiki.example/other'] });
  const other = await sendRequest(
    browser,
    requestXml(several, { attributes: ' AssertionConsumerServiceURL="https://wiki.example/other"' }),
  );
  expect((await postedBy(other)).action).toBe('https://wiki.example/other');
  await expectPage(await sendRequest(browser, requestXml(several, { attributes: ' AssertionConsumerServiceIndex="1"' })), 'ServiceIndex');
});

test('a small request that inflates to megabytes is read to 64 KiB and no further (attack 47.1392)', async () => {
  await expectPage(await sendRequest(browser, requestXml(client, { content: ' '.repeat(5_000_000) })), '64 KiB');
  await expectPage(await postRequest(browser, requestXml(client, { content: ' '.repeat(70_000) })), '64 KiB');
});

test('a request of elements in each other holds up nobody else (attack 71.1960)', async () => {
  const content = `${'<a xmlns:b="u">'.repeat(2_500)}${'</a>'.repeat(2_500)}`;
  for (const send of [sendRequest, postRequest]) {
    const { status, ms } = await costOf(async () => (await send(browser, requestXml(client, { content }))).status);
    expect(status).toBe(400);
    expect(ms).toBeLessThan(mostHeld);
  }
});

test('a document type, an entity or a comment is not read (attack 47.1393)', async () => {
  const plain = requestXml(client);
  await expectPage(await sendRequest(browser, `<!DOCTYPE a [<!ENTITY e SYSTEM "file:///etc/passwd">]>${plain}`), 'document type');
  await expectPage(await sendRequest(browser, plain.replace('</saml:Issuer>', '<!-- -->.evil</saml:Issuer>')), 'comment');
  await expectPage(await sendRequest(browser, plain.replace('</saml:Issuer>', '&e;</saml:Issuer>')), 'not well-formed');
});

describe('where requests have to be signed', () => {
  let key: SamlKeyPair;
  let stranger: SamlKeyPair;
  let signing: TestClient;
  beforeAll(async () => {
    [key, stranger] = [await samlKeyPair(), await samlKeyPair()];
    signing = await addSamlClient(ctx, { saml_request_certificates: [key.certificate] });
  });

  const here = () => ` Destination="${service.url}/saml/sso"`;
  const xml = (more = '') => requestXml(signing, { attributes: here() + more });
  const algorithm = 'http://www.w3.org/2001/04/xmldsig-more#rsa-sha256';

  function signedQuery(by: SamlKeyPair, sent: Record<string, string>, SigAlg = algorithm, hash = 'sha256'): string {
    const query = new URLSearchParams({ ...sent, SigAlg }).toString();
    const Signature = sign(hash, Buffer.from(query), by.privateKey).toString('base64');
    return `${query}&${new URLSearchParams({ Signature }).toString()}`;
  }

  function signedXml(text: string, by: SamlKeyPair, id = '_r1', place = '/*', method = algorithm): string {
    const signer = new SignedXml({
      privateKey: by.privateKey,
      publicCert: by.certificate,
      signatureAlgorithm: method as never,
      canonicalizationAlgorithm: 'http://www.w3.org/2001/10/xml-exc-c14n#',
    });
    signer.addReference({
      xpath: `//*[@ID='${id}']`,
      transforms: ['http://www.w3.org/2000/09/xmldsig#enveloped-signature', 'http://www.w3.org/2001/10/xml-exc-c14n#'],
      digestAlgorithm: 'http://www.w3.org/2001/04/xmlenc#sha256',
    });
    signer.computeSignature(text, { location: { reference: `${place}/*[local-name(.)='Issuer']`, action: 'after' } });
    return signer.getSignedXml();
  }

  test('one that is not is refused, by either binding (attack 47.1394)', async () => {
    await expectPage(await sendRequest(browser, xml()), 'not signed');
    await expectPage(await postRequest(browser, xml()), 'not signed');
    const only = { SAMLRequest: deflated(xml()), Signature: 'AAAA' };
    await expectPage(await browser.get(`/saml/sso?${new URLSearchParams(only).toString()}`), 'not signed');
  });

  test('a signature by another key is refused, whatever KeyInfo says (attack 47.1395)', async () => {
    await expectPage(await browser.get(`/saml/sso?${signedQuery(stranger, { SAMLRequest: deflated(xml()) })}`), 'registered certificates');
    await expectPage(await postRequest(browser, signedXml(xml(), stranger)), 'registered certificates');
    expect((await postRequest(browser, signedXml(xml(), key))).status).toBe(303);
  });

  test('SHA-1 is refused (attack 47.1396)', async () => {
    const sha1 = 'http://www.w3.org/2000/09/xmldsig#rsa-sha1';
    await expectPage(await browser.get(`/saml/sso?${signedQuery(key, { SAMLRequest: deflated(xml()) }, sha1, 'sha1')}`), 'SHA-256');
    await expectPage(await postRequest(browser, signedXml(xml(), key, '_r1', '/*', sha1)), 'SignatureMethod');
  });

  test('a key for ECDSA signs by methods of ECDSA alone (attack 44.1388)', async () => {
    const pair = await ecKeyPair('P-384');
    const own = await addSamlClient(ctx, { saml_request_certificates: [pair.certificate] });
    const request = { SAMLRequest: deflated(requestXml(own, { attributes: here() })) };
    const signedAs = (method: string, dsaEncoding: 'der' | 'ieee-p1363') => {
      const query = new URLSearchParams({ ...request, SigAlg: `http://www.w3.org/2001/04/xmldsig-more#${method}` }).toString();
      const Signature = sign('sha384', Buffer.from(query), { key: pair.privateKey, dsaEncoding }).toString('base64');
      return browser.get(`/saml/sso?${query}&${new URLSearchParams({ Signature }).toString()}`);
    };
    expect((await postedBy(await signedAs('ecdsa-sha384', 'ieee-p1363'))).action).toBe(acsUrl);
    await expectPage(await signedAs('ecdsa-sha384', 'der'), 'registered certificates');
    await expectPage(await signedAs('rsa-sha384', 'der'), 'registered certificates');
    await expectPage(await signedAs('ecdsa-sha1', 'ieee-p1363'), 'SHA-256');
  });

  test('what was signed is what counts: changed, added, wrapped or moved it is refused (attack 47.1397)', async () => {
    const query = signedQuery(key, { SAMLRequest: deflated(xml()), RelayState: 'a' });
    expect((await browser.get(`/saml/sso?${query}`)).status).toBe(200);
    await expectPage(await browser.get(`/saml/sso?${query.replace('RelayState=a', 'RelayState=b')}`), 'registered certificates');
    await expectPage(await browser.get(`/saml/sso?${query.replace('RelayState=a&', '')}`), 'registered certificates');
    const without = signedQuery(key, { SAMLRequest: deflated(xml()) });
    for (const added of ['RelayState=b', 'Relay%53tate=b'])
      await expectPage(await browser.get(`/saml/sso?${without}&${added}`), 'registered certificates');
    const signed = signedXml(xml(), key);
    await expectPage(await postRequest(browser, signed.replace('Version=', 'ForceAuthn="true" Version=')), 'registered certificates');
    const inner = signed.slice(signed.indexOf('<samlp:'));
    const wrapped = xml(' Consent="x"')
      .replace('ID="_r1"', 'ID="_evil"')
      .replace('</saml:Issuer>', `</saml:Issuer><samlp:Extensions>${inner}</samlp:Extensions>`);
    await expectPage(await postRequest(browser, wrapped), 'a signature in AuthnRequest');
  });

  test('a request for another provider is no request here (attack 47.1408)', async () => {
    const elsewhere = requestXml(signing, { attributes: ' Destination="https://other.example/saml/sso"' });
    await expectPage(await browser.get(`/saml/sso?${signedQuery(key, { SAMLRequest: deflated(elsewhere) })}`), 'not for this address');
    await expectPage(await browser.get(`/saml/sso?${signedQuery(key, { SAMLRequest: deflated(requestXml(signing)) })}`), 'not for this');
    const named = requestXml(signing, { attributes: ` Destination="${service.url}/saml/sso?organization=acme"` });
    for (const more of ['', '&organization=globex'])
      await expectPage(await browser.get(`/saml/sso?${signedQuery(key, { SAMLRequest: deflated(named) })}${more}`), 'not for this address');
    const unsigned = requestXml(client, { attributes: ' Destination="https://other.example/saml/sso"' });
    await expectPage(await sendRequest(browser, unsigned), 'not for this address');
  });
});

test('markup in RelayState is text, and more than 1 KiB of it is refused (attack 47.1398)', async () => {
  const RelayState = `"><script>alert(1)</script>&amp;'`;
  const response = await sendRequest(browser, requestXml(client), { RelayState });
  expect(await response.clone().text()).not.toContain('<script>alert');
  expect((await postedBy(response)).RelayState).toBe(RelayState);
  await expectPage(await sendRequest(browser, requestXml(client), { RelayState: 'é'.repeat(513) }), 'RelayState is longer');
  expect((await sendRequest(browser, requestXml(client), { RelayState: 'é'.repeat(512) })).status).toBe(200);
});

test('a parameter that comes twice, is missing, or can not be read is refused (attack 47.1399)', async () => {
  const SAMLRequest = encodeURIComponent(deflated(requestXml(client)));
  for (const [query, found] of [
    [`SAMLRequest=${SAMLRequest}&SAMLRequest=${SAMLRequest}`, 'SAMLRequest twice'],
    [`SAMLRequest=${SAMLRequest}&RelayState=a&RelayState=b`, 'RelayState twice'],
    ['', 'SAMLRequest is missing'],
    ['SAMLRequest=%25%25', 'not Base64'],
    ['SAMLRequest=AAAA', 'not deflated'],
    [`SAMLRequest=${SAMLRequest}&SAMLEncoding=urn:x`, 'SAMLEncoding'],
    [`SAMLRequest=${encodeURIComponent(deflated('<a/>'))}`, 'no AuthnRequest'],
    [`SAMLRequest=${encodeURIComponent(deflated('\u00ff<'))}`, 'not well-formed'],
  ] as const)
    await expectPage(await browser.get(`/saml/sso?${query}`), found);
  await expectPage(await browser.post('/saml/sso', { client_id: client.id }), 'SAMLRequest is missing');
});

test('what a request says is read strictly (attack 47.1400)', async () => {
  for (const [how, found] of [
    [{ id: 'a&quot; b=&quot;' }, 'its ID is none'],
    [{ id: '1' }, 'its ID is none'],
    [{ attributes: ' IsPassive="yes"' }, 'neither true nor false'],
    [{ attributes: ' ProtocolBinding="urn:oasis:names:tc:SAML:2.0:bindings:HTTP-Artifact"' }, 'ProtocolBinding'],
    [{ content: '<saml:Issuer>x</saml:Issuer>' }, 'more than one Issuer'],
    [{ content: '<samlp:RequestedAuthnContext Comparison="better"/>' }, 'Comparison'],
    [{ content: '<samlp:RequestedAuthnContext/>' }, 'names no class'],
  ] as const)
    await expectPage(await sendRequest(browser, requestXml(client, how)), found);
  await expectPage(await sendRequest(browser, requestXml(client).replace('Version="2.0"', 'Version="1.1"')), 'version');
});

test('a name with markup or control characters stays a name (attack 47.1401)', async () => {
  const telling = await addSamlClient(ctx, { saml_attributes: { 'first"<name>': 'given_name' } });
  const application = await applicationOf(ctx, telling);
  expect((await takenBy(application, await ask(browser, application)))['first"<name>']).toBe(`]]><b a="'">\ufffd&\n`);
});

test('a request that waits goes on in its own protocol alone (attack 47.1402)', async () => {
  const foreign = await addSamlClient(ctx, { first_party: false });
  const app = await addClient(ctx, { first_party: false });
  const waiting = async (page: Response) => /name="request" value="([^"]+)"/.exec(await page.text())?.[1] ?? '';
  const saml = await waiting(await sendRequest(browser, requestXml(foreign)));
  const oauth = await waiting(await browser.get(`/oauth/authorize?${authorizeQuery(app)}`));
  for (const [path, request] of [
    ['/oauth/authorize/resume', saml],
    ['/saml/resume', oauth],
    ['/saml/resume', `${saml.slice(0, -2)}AA`],
  ] as const)
    expect((await browser.get(`${path}?${new URLSearchParams({ request }).toString()}`)).status).toBe(400);
});

test('a yes, and a choice, without the CSRF token count for nothing (attack 47.1403)', async () => {
  const foreign = await addSamlClient(ctx, { first_party: false });
  const html = await (await sendRequest(browser, requestXml(foreign))).text();
  const request = /name="request" value="([^"]+)"/.exec(html)?.[1] ?? '';
  expect((await browser.post('/saml/consent', { request, decision: 'allow' })).status).toBe(403);
  expect((await browser.post('/saml/organization', { request, organization: '' })).status).toBe(403);
  expect((await browser.post('/saml/consent', { _csrf: csrfOf(html), request, decision: 'allow' })).status).toBe(200);
});

test('a link that nobody asked for signs in nowhere unless the application lets it (attack 47.1404)', async () => {
  await expectPage(await browser.get(`/saml/sso?client_id=${client.id}`), 'begins there');
  const app = await addClient(ctx);
  await expectPage(await browser.get(`/saml/sso?client_id=${app.id}`), unknown);
});

test('an application that is disabled, or an address that is taken away, during the sign-in gets nothing (attack 47.1405)', async () => {
  for (const change of [{ status: 'disabled' }, { saml_acs_urls: ['https://wiki.example/new'] }]) {
    const changing = await addSamlClient(ctx);
    const posted = await postRequest(browser, requestXml(changing));
    await table(ctx.scope, 'clients').where({ id: changing.id }).update(change);
    ctx.cache.invalidate(ctx.environment.id, 'clients');
    await expectPage(await follow(browser, posted), 'status' in change ? unknown : unregistered);
  }
});

test('a SAML application gets no tokens, and nobody is sent to it by OAuth (attack 47.1407)', async () => {
  const answer = await browser.get(`/oauth/authorize?${authorizeQuery(client, { redirect_uri: acsUrl })}`);
  expect([answer.status, answer.headers.get('location')]).toEqual([400, null]);
  for (const grant_type of ['authorization_code', 'client_credentials', 'refresh_token', 'urn:ietf:params:oauth:grant-type:device_code']) {
    const asked = await browser.post('/oauth/token', { client_id: client.id, grant_type, code: 'x', device_code: 'x', refresh_token: 'x' });
    expect([grant_type, asked.status]).toEqual([grant_type, 400]);
  }
});
