// Responses of a SAML provider, and of others who would like to be it (docs/security.md, section 44): each is refused, and nobody is signed in.
import { beforeAll, beforeEach, describe, expect, test } from 'vitest';
import type { ConnectionRow } from '../../src/db/tables/connections.js';
import { table } from '../../src/db/scope.js';
import { readResponse } from '../../src/domain/saml/gate.js';
import { SamlRefusal } from '../../src/domain/saml/saml-refusal.js';
import { flushRequestTraces } from '../../src/domain/request-traces/request-traces.js';
import { optionProblems } from '../../src/domain/connections/options.js';
import { samlKeys } from '../../src/domain/saml-certificates/saml-certificates.js';
import { Browser } from '../support/browser.js';
import {
  assertionXml,
  ecKeyPair,
  encrypted,
  entityId,
  responseXml,
  samlKeyPair,
  sign,
  type SamlKeyPair,
  type Signing,
  type Told,
} from '../support/saml-provider.js';
import { costOf, mostHeld } from '../support/cost/event-loop.js';
import { addSamlConnection, answer, beginAt, post, signedAssertion } from '../support/saml-sign-in.js';
import { contextOf, sharedService } from '../support/shared-service.js';
import { codeOf } from '../support/sso.js';

const service = sharedService();
const ctx = contextOf(service);
let key: SamlKeyPair;
let stranger: SamlKeyPair;
let connection: ConnectionRow;
let browser: Browser;

beforeAll(async () => {
  [key, stranger] = [await samlKeyPair(), await samlKeyPair()];
  connection = await addSamlConnection(ctx, key);
});
beforeEach(() => {
  browser = new Browser(service.url);
});

async function state(): Promise<string> {
  const names = ['users', 'identities', 'sessions', 'saml_assertions'];
  return (await Promise.all(names.map(async (name) => (await table(ctx.scope, name).select('environment_id')).length))).join();
}

/** What a response comes to that is made of what an honest one would say. */
async function refusalOf(make: (told: Told) => string | Promise<string>, to = connection): Promise<string> {
  const { request, told } = await beginAt(ctx, browser, to);
  const before = await state();
  const response = await answer(browser, to, await make(told), request.relay_state);
  expect(await state()).toBe(before);
  expect(browser.cookies.has('idp_session')).toBe(false);
  expect(response.status).toBeLessThan(500);
  return codeOf(response);
}

/** The response, which is refused before anything of it is verified. */
function unverifiable(xml: string): string {
  expect(() => readResponse(xml)).toThrow(SamlRefusal);
  return xml;
}

const signatureOf = (xml: string) => /<ds:Signature[\s\S]*?<\/ds:Signature>/.exec(xml)?.[0] ?? '';
const assertionOf = (xml: string) => /<saml:Assertion [\s\S]*<\/saml:Assertion>/.exec(xml)?.[0] ?? '';
/** The same of somebody else, under another ID and without the signature. */
const forged = (assertion: string) =>
  assertion
    .replace(signatureOf(assertion), '')
    .replace(/ ID="[^"]*"/, ' ID="_evil"')
    .replace('>ada<', '>eve<');

describe('signature wrapping', () => {
  const wrapped: Readonly<Record<string, (signed: string, assertion: string) => string>> = {
    // XSW 1 and 2: a forged response around, or before, the signed one.
    'XSW 1': (signed) => {
      const evil = signed.replace(/ ID="_r[^"]*"/, ' ID="_evil"').replace('>ada<', '>eve<');
      return evil.replace(
        signatureOf(evil),
        signatureOf(signed).replace('</ds:Signature>', `<ds:Object>${signed.replace(signatureOf(signed), '')}</ds:Object></ds:Signature>`),
      );
    },
    'XSW 2': (signed) => {
      const evil = signed.replace(/ ID="_r[^"]*"/, ' ID="_evil"').replace('>ada<', '>eve<');
      return evil.replace(signatureOf(evil), `${signatureOf(signed)}${signed.replace(signatureOf(signed), '')}`);
    },
    'XSW 3': (signed, assertion) => signed.replace(assertion, `${forged(assertion)}${assertion}`),
    'XSW 4': (signed, assertion) =>
      signed.replace(assertion, forged(assertion).replace('</saml:Assertion>', `${assertion}</saml:Assertion>`)),
    'XSW 5': (signed, assertion) =>
      signed.replace(
        assertion,
        `${assertion.replace('>ada<', '>eve<').replace(/ ID="[^"]*"/, ' ID="_evil"')}${assertion.replace(signatureOf(assertion), '')}`,
      ),
    'XSW 6': (signed, assertion) => {
      const evil = assertion.replace('>ada<', '>eve<').replace(/ ID="[^"]*"/, ' ID="_evil"');
      return signed.replace(
        assertion,
        evil.replace('</ds:Signature>', `<ds:Object>${assertion.replace(signatureOf(assertion), '')}</ds:Object></ds:Signature>`),
      );
    },
    'XSW 7': (signed, assertion) => signed.replace(assertion, `<samlp:Extensions>${forged(assertion)}</samlp:Extensions>${assertion}`),
    'XSW 8': (signed, assertion) => {
      const evil = assertion.replace('>ada<', '>eve<').replace(/ ID="[^"]*"/, ' ID="_evil"');
      return signed.replace(
        assertion,
        evil.replace('</ds:Signature>', `</ds:Signature><ds:Object>${assertion.replace(signatureOf(assertion), '')}</ds:Object>`),
      );
    },
    'a forged assertion under the same ID': (signed, assertion) =>
      signed.replace(assertion, `${forged(assertion).replace('_evil', / ID="([^"]*)"/.exec(assertion)?.[1] ?? '')}${assertion}`),
    'an assertion of another namespace': (signed, assertion) =>
      signed.replace(assertion, `<x:Assertion xmlns:x="urn:x" ID="_x"/>${assertion}`),
  };
  test.each(Object.keys(wrapped))('%s is refused (attack 44.1360)', async (name) => {
    const make = wrapped[name];
    const isOfResponse = name === 'XSW 1' || name === 'XSW 2';
    const of = (told: Told) => (isOfResponse ? sign(responseXml(told, assertionXml(told)), 'Response', key) : signedAssertion(told, key));
    const to = isOfResponse ? await addSamlConnection(ctx, key, { signed_part: 'response' }) : connection;
    const whole = (told: Told) => {
      const signed = of(told);
      return unverifiable(make?.(signed, assertionOf(signed)) ?? '');
    };
    expect(await refusalOf(whole, to)).toBe('saml_invalid');
  });
});

describe('what isn’t plain XML', () => {
  const changed: Readonly<Record<string, (xml: string) => string>> = {
    'a comment in the NameID (attack 44.1361)': (xml) => xml.replace('>ada<', '>ada<!---->.evil.example<'),
    'a processing instruction in the NameID (attack 44.1361)': (xml) => xml.replace('>ada<', '>ada<?x?>.evil<'),
    'CDATA (attack 44.1361)': (xml) => xml.replace('>ada<', '><![CDATA[ada]]><'),
    'an external entity (attack 44.1362)': (xml) =>
      `<!DOCTYPE r [<!ENTITY x SYSTEM "file:///etc/passwd">]>${xml.replace('>ada<', '>&x;<')}`,
    'entities that grow (attack 44.1363)': (xml) =>
      `<!DOCTYPE r [<!ENTITY a "aaaaaaaaaa"><!ENTITY b "&a;&a;&a;&a;&a;&a;&a;&a;&a;&a;">]>${xml.replace('>ada<', '>&b;<')}`,
    'an entity that nobody declared (attack 44.1363)': (xml) => xml.replace('>ada<', '>&ada;<'),
    'an attribute without quotes (attack 44.1370)': (xml) => xml.replace('Version="2.0"', 'Version=2.0'),
    'two roots (attack 44.1370)': (xml) => `${xml}${xml}`,
    'text behind the root (attack 44.1370)': (xml) => `${xml}evil`,
    'an attribute that occurs twice (attack 44.1370)': (xml) => xml.replace(' Version="2.0"', ' Version="2.0" Version="2.0"'),
    'an element that doesn’t end (attack 44.1370)': (xml) => xml.replace('</samlp:Status>', ''),
    'a prefix that nobody declared (attack 44.1370)': (xml) => xml.replace('<samlp:Status>', '<y:x/><samlp:Status>'),
    'a NUL character (attack 44.1370)': (xml) => xml.replace('>ada<', '>ada&#0;<'),
    'nested too deeply (attack 44.1371)': (xml) =>
      xml.replace('<samlp:Status>', `${'<samlp:a>'.repeat(5000)}${'</samlp:a>'.repeat(5000)}<samlp:Status>`),
    'too many elements (attack 44.1371)': (xml) => xml.replace('<samlp:Status>', `${'<samlp:a/>'.repeat(9000)}<samlp:Status>`),
  };
  test.each(Object.keys(changed))('%s is refused', async (name) => {
    expect(await refusalOf((told) => unverifiable(changed[name]?.(signedAssertion(told, key)) ?? ''))).toBe('saml_invalid');
  });

  test('what is longer than 256 KiB is refused (attack 44.1371)', async () => {
    expect(
      await refusalOf((told) =>
        signedAssertion({ ...told, in_response: `<samlp:Extensions>${'x'.repeat(262_144)}</samlp:Extensions>` }, key),
      ),
    ).toBe('saml_invalid');
    const { request } = await beginAt(ctx, browser, connection);
    expect((await post(service.url, connection, 'x'.repeat(400_000), request.relay_state)).status).toBe(413);
  });

  test('what is no Base64 is refused (attack 44.1371)', async () => {
    const { request } = await beginAt(ctx, browser, connection);
    const posted = await new Browser(service.url).post(`/auth/sso/${connection.id}/callback`, {
      SAMLResponse: '%%%',
      RelayState: request.relay_state,
    });
    expect(
      await codeOf(
        await browser.get(
          new URL(posted.headers.get('location') ?? '', service.url).pathname +
            new URL(posted.headers.get('location') ?? '', service.url).search,
        ),
      ),
    ).toBe('saml_invalid');
  });
});

describe('a response that takes long to read holds up nobody else', () => {
  const filled = (of: (count: number) => string, most: number) => {
    let count = 1;
    while (of(count * 2).length < most) count *= 2;
    return of(count);
  };
  const heavy: Readonly<Record<string, () => string>> = {
    'elements in each other that declare namespaces': () =>
      filled((count) => `${'<a xmlns:b="u">'.repeat(count)}${'</a>'.repeat(count)}`, 250_000),
    'thousands of elements with attributes': () => filled((count) => '<a b="" c="" d="" e="" f="" g=""/>'.repeat(count), 250_000),
    'an element of thousands of attributes': () =>
      `<a ${filled((count) => Array.from({ length: count }, (_, at) => `a${at}=""`).join(' '), 250_000)}/>`,
  };
  test.each(Object.keys(heavy))('%s, signed by a stranger (attack 71.1960)', async (name) => {
    const in_response = `<samlp:Extensions>${heavy[name]?.()}</samlp:Extensions>`;
    const { ms } = await costOf(async () => {
      const { request, told } = await beginAt(ctx, browser, connection);
      const xml = signedAssertion(told, stranger).replace('<samlp:Status>', `${in_response}<samlp:Status>`);
      const response = await answer(browser, connection, xml, request.relay_state);
      expect(await codeOf(response)).toBe('saml_invalid');
      return response.status;
    });
    expect(ms).toBeLessThan(mostHeld);
  });

  test('as much as is read signs in, beside what is signed and in it (attack 71.1960)', async () => {
    const values = '<saml:AttributeValue xmlns:xs="u" xmlns:xsi="v" xsi:type="xs:string">group</saml:AttributeValue>'.repeat(700);
    const in_assertion = `<saml:AttributeStatement><saml:Attribute Name="groups">${values}</saml:Attribute></saml:AttributeStatement>`;
    const { ms } = await costOf(async () => {
      const one = new Browser(service.url);
      const { request, told } = await beginAt(ctx, one, connection);
      const xml = signedAssertion({ ...told, in_assertion }, key).replace(
        '<samlp:Status>',
        `<samlp:Extensions>${'<a b=""/>'.repeat(700)}</samlp:Extensions><samlp:Status>`,
      );
      const response = await answer(one, connection, xml, request.relay_state);
      expect(one.cookies.has('idp_session')).toBe(true);
      return response.status;
    });
    expect(ms).toBeLessThan(mostHeld);
  });
});

describe('signatures', () => {
  const rsaSha1 = { signatureAlgorithm: 'http://www.w3.org/2000/09/xmldsig#rsa-sha1' };
  const withComments = 'http://www.w3.org/2001/10/xml-exc-c14n#WithComments';
  const enveloped = 'http://www.w3.org/2000/09/xmldsig#enveloped-signature';
  const made: Readonly<Record<string, (told: Told) => string>> = {
    'none (attack 44.1364)': (told) => responseXml(told, assertionXml(told)),
    'of the response alone, around an unsigned assertion (attack 44.1365)': (told) =>
      sign(responseXml(told, assertionXml(told)), 'Response', key),
    'by a stranger (attack 44.1366)': (told) => signedAssertion(told, stranger),
    'by a stranger who sends the certificate along (attack 44.1366)': (told) =>
      responseXml(told, sign(assertionXml(told), 'Assertion', stranger, { withKeyInfo: true })),
    'by a stranger around a right one (attack 44.1366)': (told) => sign(signedAssertion(told, key), 'Response', stranger),
    'with SHA-1 (attack 44.1367)': (told) => responseXml(told, sign(assertionXml(told), 'Assertion', key, rsaSha1)),
    'of a digest with SHA-1 (attack 44.1367)': (told) =>
      responseXml(told, sign(assertionXml(told), 'Assertion', key, { digestAlgorithm: 'http://www.w3.org/2000/09/xmldsig#sha1' })),
    'canonicalized with comments (attack 44.1368)': (told) =>
      responseXml(told, sign(assertionXml(told), 'Assertion', key, { transforms: [enveloped, withComments] })),
    'canonicalized inclusively (attack 44.1368)': (told) =>
      responseXml(told, sign(assertionXml(told), 'Assertion', key, { c14n: 'http://www.w3.org/TR/2001/REC-xml-c14n-20010315' })),
    'with one transform (attack 44.1368)': (told) =>
      responseXml(told, sign(assertionXml(told), 'Assertion', key, { transforms: [enveloped] })),
    'of something that was changed (attack 44.1369)': (told) => signedAssertion(told, key).replace('>ada<', '>eve<'),
    'of an attribute that was added (attack 44.1369)': (told) =>
      signedAssertion(told, key).replace('<saml:AttributeStatement>', '<saml:AttributeStatement><saml:Attribute Name="x"/>'),
    // CVE-2025-25291, -25292: two SignedInfo, of which one parser reads the one and another the other.
    'with two SignedInfo (attack 44.1370)': (told) => {
      const xml = signedAssertion(told, key);
      const info = /<ds:SignedInfo>[\s\S]*?<\/ds:SignedInfo>/.exec(xml)?.[0] ?? '';
      return xml.replace(info, `${info}${info}`);
    },
    // CVE-2025-29775: a digest behind a comment.
    'with a comment in the digest (attack 44.1370)': (told) =>
      signedAssertion(told, key).replace('<ds:DigestValue>', '<ds:DigestValue><!--x-->'),
    'with two digests (attack 44.1370)': (told) => signedAssertion(told, key).replace(/(<ds:DigestValue>[^<]*<\/ds:DigestValue>)/, '$1$1'),
    'of the whole document (attack 44.1368)': (told) => signedAssertion(told, key).replace(/URI="#[^"]*"/, 'URI=""'),
    'with an Object (attack 44.1360)': (told) => signedAssertion(told, key).replace('</ds:Signature>', '<ds:Object/></ds:Signature>'),
    'somewhere else (attack 44.1360)': (told) =>
      signedAssertion(told, key).replace(
        '<saml:Conditions ',
        '<ds:Signature xmlns:ds="http://www.w3.org/2000/09/xmldsig#"/><saml:Conditions ',
      ),
  };
  test.each(Object.keys(made))('%s: refused', async (name) => {
    expect(await refusalOf((told) => made[name]?.(told) ?? '')).toBe('saml_invalid');
  });
});

describe('what it says', () => {
  const at = (seconds: number) => new Date(ctx.clock.now().getTime() + seconds * 1000);
  const persistent = 'urn:oasis:names:tc:SAML:2.0:nameid-format:persistent';
  const said: Readonly<Record<string, [string, () => Partial<Told>]>> = {
    'another audience (attack 44.1372)': ['saml_wrong_audience', () => ({ audience: 'https://other.example' })],
    'another recipient (attack 44.1373)': ['saml_wrong_audience', () => ({ recipient: 'https://other.example/acs' })],
    'another destination (attack 44.1372)': ['saml_wrong_audience', () => ({ destination: 'https://other.example/acs' })],
    'another issuer (attack 44.1375)': ['saml_invalid', () => ({ issuer: 'https://other.example' })],
    'another issuer of the assertion alone (attack 44.1375)': [
      'saml_invalid',
      () => ({ issuer: 'https://other.example', response_issuer: entityId }),
    ],
    'another issuer of the response alone (attack 44.1375)': ['saml_invalid', () => ({ response_issuer: 'https://other.example' })],
    'a failed status (attack 44.1376)': ['saml_invalid', () => ({ status: 'Responder' })],
    'that it has expired (attack 44.1377)': ['saml_expired', () => ({ from: at(-600), until: at(-120) })],
    'that it begins later (attack 44.1377)': ['saml_expired', () => ({ from: at(180) })],
    'that the session there has ended (attack 44.1377)': ['saml_expired', () => ({ session_until: at(-1) })],
    'no request (attack 44.1378)': ['saml_unsolicited', () => ({ request_id: null })],
    'no request in the confirmation (attack 44.1378)': ['saml_unsolicited', () => ({ confirmed_request: null })],
    'another request (attack 44.1378)': ['saml_unsolicited', () => ({ request_id: '_other' })],
    'another request in the confirmation (attack 44.1378)': ['saml_unsolicited', () => ({ confirmed_request: '_other' })],
    'nobody (specification 16.7.3)': ['saml_no_identity', () => ({ name_id: null })],
    'somebody by a name for this once (specification 16.7.3)': [
      'saml_no_identity',
      () => ({ format: 'urn:oasis:names:tc:SAML:2.0:nameid-format:transient' }),
    ],
    'nobody, beside an attribute of its name (attack 68.1934)': [
      'saml_no_identity',
      () => ({ name_id: null, attributes: { name_id: 'ada' } }),
    ],
    'an address by an attribute of the NameID’s name (attack 68.1934)': [
      'sso_email_missing',
      () => ({ name_id: 'mallory', format: persistent, attributes: { name_id_email: 'ada@corp.example' } }),
    ],
    'an address elsewhere (specification 16.4.1)': [
      'sso_domain_not_allowed',
      () => ({ name_id: 'mallory', attributes: { email: 'ada@other.example' } }),
    ],
  };
  test.each(Object.entries(said))('%s: refused', async (_name, [code, changes]) => {
    const got = await refusalOf((told) => signedAssertion({ ...told, ...changes() }, key));
    expect(got).toBe(code === 'sso_domain_not_allowed' ? 'sso_email_unverified' : code);
  });

  test('that the person said no: as at other providers (specification 16.7.3)', async () => {
    const status =
      'Responder"><samlp:StatusCode Value="urn:oasis:names:tc:SAML:2.0:status:RequestDenied"/></samlp:StatusCode><samlp:StatusMessage>no</samlp:StatusMessage><!';
    const declined = (told: Told) =>
      responseXml({ ...told, status: 'Responder' }, '').replace(
        /<samlp:Status>.*<\/samlp:Status>/,
        `<samlp:Status><samlp:StatusCode Value="urn:oasis:names:tc:SAML:2.0:status:${status.slice(0, status.indexOf('<samlp:StatusMessage>'))}</samlp:Status>`,
      );
    expect(await refusalOf(declined)).toBe('sso_access_denied');
  });
});

// Certificates of keys that SAML has no method for, or that nobody asks for.
const ed25519 =
  'MIIBTDCB/6ADAgECAhRi2k7YTacOXmnXlan7whMHcfNztzAFBgMrZXAwGzEZMBcGA1UEAwwQcHJvdmlkZXIuZXhhbXBsZTAgFw0yNjExMjcxNDQ3MTBaGA8yMTI2MTEwMzE0NDcxMFowGzEZMBcGA1UEAwwQcHJvdmlkZXIuZXhhbXBsZTAqMAUGAytlcAMhAI5Z+uPvIl/Xi5QPt9f7eK0zD1Wt5Vsq9XwGOva5pEZqo1MwUTAdBgNVHQ4EFgQUeWpHWf3fFvdQadLcuUvlqjsr8l0wHwYDVR0jBBgwFoAUeWpHWf3fFvdQadLcuUvlqjsr8l0wDwYDVR0TAQH/BAUwAwEB/zAFBgMrZXADQQDHY3IoiPHWG0Cx2WXR1RKvhHip4hQ6iqir9eP8EaczpH/RGHI7XSIa6oRj9BSA9KCys/lU5ClfQV2/v04KQ4EO';
const secp256k1 =
  'MIIBijCCATCgAwIBAgIUMXWBVxnriqMsZPrMrQzmKj6DZgwwCgYIKoZIzj0EAwIwGzEZMBcGA1UEAwwQcHJvdmlkZXIuZXhhbXBsZTAgFw0yNjExMjcxNDQ3MTBaGA8yMTI2MTEwMzE0NDcxMFowGzEZMBcGA1UEAwwQcHJvdmlkZXIuZXhhbXBsZTBWMBAGByqGSM49AgEGBSuBBAAKA0IABOxdb2zl4j0MRP4tacaJwsg0AwjbvLn80VmnUdet8vTlp1rCDdiCQ8xQBLoAf3f2D1uI8kRsSoEGGvlAVXc0AC2jUzBRMB0GA1UdDgQWBBTK6hlOgjn3P4VFbsDxLkGrAdJ2NDAfBgNVHSMEGDAWgBTK6hlOgjn3P4VFbsDxLkGrAdJ2NDAPBgNVHRMBAf8EBTADAQH/MAoGCCqGSM49BAMCA0gAMEUCIQCTTW4o1wvxtjm6dah0JIIGsY24fAdwFMM1D1XC9/tw5AIgE9uBPr5Xp+VkYJTH6DjRCvgWanbDb0Rc1t5+OtgPlQg=';

describe('keys and methods that do not fit each other (attack 44.1388)', () => {
  const more = (name: string) => `http://www.w3.org/2001/04/xmldsig-more#${name}`;
  const ecdsa = more('ecdsa-sha256');
  test.each([
    ['a key for ECDSA, by a method of RSA', more('rsa-sha384'), 'der'],
    ['ECDSA in DER', ecdsa, 'der'],
    ['ECDSA with SHA-1', more('ecdsa-sha1'), 'ieee-p1363'],
    ['ECDSA with SHA-224', more('ecdsa-sha224'), 'ieee-p1363'],
  ] as const)('%s: refused', async (_name, signatureAlgorithm, encoding) => {
    const pair = await ecKeyPair();
    const to = await addSamlConnection(ctx, pair);
    const signed = (signing: Signing) => (told: Told) => responseXml(told, sign(assertionXml(told), 'Assertion', pair, signing));
    expect(await refusalOf(signed({ signatureAlgorithm, encoding }), to)).toBe('saml_invalid');
  });

  test('a certificate of another kind is none', () => {
    const options = { idp_entity_id: 'https://provider.example', idp_sso_url: 'https://provider.example/sso' };
    const problems = (certificate: string) =>
      optionProblems({ strategy: 'saml', options: { ...options, idp_certificates: [certificate] } }, { allowPrivateNetwork: false });
    expect(problems(key.certificate)).toEqual([]);
    expect([problems(ed25519), problems(secp256k1)]).toMatchObject([[{ code: 'invalid_value' }], [{ code: 'invalid_value' }]]);
  });
});

describe('encrypted assertions', () => {
  const made: Readonly<Record<string, (told: Told, certificate: string) => Promise<string>>> = {
    'unsigned inside (attack 44.1385)': (told, certificate) => encrypted(assertionXml(told), certificate),
    'by a stranger inside (attack 44.1385)': (told, certificate) => encrypted(sign(assertionXml(told), 'Assertion', stranger), certificate),
    'for somebody else (attack 44.1385)': (told) => encrypted(sign(assertionXml(told), 'Assertion', key), stranger.certificate),
    'with PKCS #1 v1.5 (attack 44.1385)': (told, certificate) =>
      encrypted(sign(assertionXml(told), 'Assertion', key), certificate, { key: 'http://www.w3.org/2001/04/xmlenc#rsa-1_5' }),
    'with Triple DES (attack 44.1385)': (told, certificate) =>
      encrypted(sign(assertionXml(told), 'Assertion', key), certificate, { content: 'http://www.w3.org/2001/04/xmlenc#tripledes-cbc' }),
    'no assertion at all (attack 44.1385)': (_told, certificate) => encrypted('<x/>', certificate),
    'with a comment inside (attack 44.1361)': (told, certificate) =>
      encrypted(sign(assertionXml(told), 'Assertion', key).replace('>ada<', '>ada<!---->.evil<'), certificate),
  };
  test.each(Object.keys(made))('%s: one answer', async (name) => {
    const { primary } = await samlKeys(ctx);
    expect(await refusalOf(async (told) => responseXml(told, (await made[name]?.(told, primary.pem)) ?? ''))).toBe('saml_invalid');
  });
});

describe('whose answer it is', () => {
  test('a response is good once: the flow is spent before it is read (attack 44.1379)', async () => {
    const { request, told } = await beginAt(ctx, browser, connection);
    const xml = signedAssertion({ ...told, audience: 'https://other.example' }, key);
    expect(await codeOf(await answer(browser, connection, xml, request.relay_state))).toBe('saml_wrong_audience');
    expect(await codeOf(await answer(browser, connection, signedAssertion(told, key), request.relay_state))).toBe('saml_unsolicited');
  });

  test('a refusal leaves a trace with the rule that failed, and nothing of the assertion (specification 15.10.1)', async () => {
    const traceOf = async (response: Response) => {
      await flushRequestTraces(service.deps);
      const where = { id: response.headers.get('x-request-id') };
      return table<Record<string, unknown>>(ctx.scope, 'request_traces').where(where as never);
    };
    // Refusals before have used this minute’s up.
    service.clock.advance(61_000);
    const { request, told } = await beginAt(ctx, browser, connection);
    const refused = await answer(
      browser,
      connection,
      signedAssertion({ ...told, audience: 'https://other.example' }, key),
      request.relay_state,
    );
    const [trace] = await traceOf(refused);
    expect(trace).toMatchObject({ step: 'provider', rule: 'provider_answer_refused', error: 'saml_wrong_audience' });
    expect(JSON.stringify(trace?.['steps'])).toContain('audience:');
    expect(JSON.stringify(trace?.['steps'])).not.toContain('ada');
    const [unsolicited] = await traceOf(await post(service.url, connection, signedAssertion(told, key), ''));
    expect(unsolicited).toMatchObject({ rule: 'provider_answer_refused', error: 'saml_unsolicited' });
  });

  test('the first response that is posted stays (attack 44.1379)', async () => {
    const { request, told } = await beginAt(ctx, browser, connection);
    await post(service.url, connection, signedAssertion({ ...told, audience: 'https://other.example' }, key), request.relay_state);
    expect(await codeOf(await answer(browser, connection, signedAssertion(told, key), request.relay_state))).toBe('saml_wrong_audience');
  });

  test('an assertion signs in once, at whichever process (attack 44.1380)', async () => {
    const first = await beginAt(ctx, browser, connection);
    const other = new Browser(service.url);
    const second = await beginAt(ctx, other, connection);
    const assertion_id = '_once';
    expect(
      (await answer(browser, connection, signedAssertion({ ...first.told, assertion_id }, key), first.request.relay_state)).status,
    ).toBe(303);
    const replayed = await answer(other, connection, signedAssertion({ ...second.told, assertion_id }, key), second.request.relay_state);
    expect([replayed.status, await codeOf(replayed), other.cookies.has('idp_session')]).toEqual([400, 'saml_replayed', false]);
  });

  test('another browser gets nothing of it (attack 44.1381)', async () => {
    const { request, told } = await beginAt(ctx, browser, connection);
    const victim = new Browser(service.url);
    await beginAt(ctx, victim, connection);
    expect(await codeOf(await answer(victim, connection, signedAssertion(told, key), request.relay_state))).toBe('sso_state_mismatch');
  });

  test('RelayState is no address (attack 44.1383)', async () => {
    const { told } = await beginAt(ctx, browser, connection);
    const posted = await post(service.url, connection, signedAssertion(told, key), 'https://evil.example/');
    expect([posted.headers.get('location'), await codeOf(posted)]).toEqual([null, 'saml_unsolicited']);
  });

  test('what the address of the callback says is not taken for a response (attack 44.1384)', async () => {
    const { request, told } = await beginAt(ctx, browser, connection);
    const code = Buffer.from(signedAssertion(told, key)).toString('base64');
    const response = await browser.get(`/auth/sso/callback?${new URLSearchParams({ state: request.relay_state, code })}`);
    expect(await codeOf(response)).toBe('sso_state_mismatch');
  });

  test('a response at the address of another connection answers no flow of this one (attack 44.1384)', async () => {
    const other = await addSamlConnection(ctx, key, {}, { domains: ['other.example'] });
    const { request, told } = await beginAt(ctx, browser, connection);
    expect(await codeOf(await post(service.url, other, signedAssertion(told, key), request.relay_state))).toBe('saml_unsolicited');
  });
});
