// SAML by another maker, pysaml2 with xmlsec1, on either side: as the provider that our connections lead to, and as an application that signs in here.
import { execFile, spawn } from 'node:child_process';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterEach, beforeAll, describe, expect } from 'vitest';
import { Browser } from '../../support/browser.js';
import { addUser } from '../../support/data.js';
import { needs } from '../../support/programs.js';
import { acsUrl, addSamlClient, follow, postedBy, postRequest } from '../../support/saml-application.js';
import { ecKeyPair, samlKeyPair, type SamlKeyPair } from '../../support/saml-provider.js';
import { addSamlConnection, answer } from '../../support/saml-sign-in.js';
import { contextOf, sharedService } from '../../support/shared-service.js';
import { signedIn } from '../../support/signed-in.js';
import { codeOf, startAt } from '../../support/sso.js';
import { remove } from '../../../src/db/scope.js';
import { findUserByEmailKey } from '../../../src/db/tables/users.js';
import { directoryOfFile } from '../../support/temporary-directory.js';

const test = needs('xmlsec1');
const service = sharedService();
const ctx = contextOf(service);
const run = promisify(execFile);
const directory = directoryOfFile();
let xmlsec1: string;

/** A pair as files, in which the programs look for it. */
type Written = { readonly key: string; readonly certificate: string; readonly pem: string };
let rsa: Written;
let ec: Written;

async function write(name: string, { privateKey, certificate }: SamlKeyPair): Promise<Written> {
  const written = { key: join(directory, `${name}.key`), certificate: join(directory, `${name}.pem`), pem: certificate };
  await writeFile(written.key, privateKey.export({ type: 'pkcs8', format: 'pem' }));
  await writeFile(written.certificate, certificate);
  return written;
}

const ask = (program: string, { key, certificate }: Written, request: Record<string, unknown>): Promise<string> =>
  new Promise((resolve, reject) => {
    const python = spawn(join(directory, '.venv/bin/python'), [join(import.meta.dirname, program)]);
    let [printed, said] = ['', ''];
    python.stdout.on('data', (text: Buffer) => (printed += text.toString()));
    python.stderr.on('data', (text: Buffer) => (said += text.toString()));
    python.on('close', (code) => (code === 0 ? resolve(printed) : reject(new Error(said.slice(-2000)))));
    python.stdin.end(JSON.stringify({ xmlsec1, key, certificate, ...request }));
  });

beforeAll(async () => {
  const found = await run('which', ['xmlsec1']).catch(() => null);
  if (found === null) return;
  xmlsec1 = found.stdout.trim();
  await run('python3', ['-m', 'venv', join(directory, '.venv')]);
  await run(join(directory, '.venv/bin/pip'), ['install', '--quiet', '--requirement', join(import.meta.dirname, 'requirements.txt')]);
  [rsa, ec] = [await write('rsa', await samlKeyPair()), await write('ec', await ecKeyPair())];
}, 300_000);

/** A sign-in with what the provider says to our request. */
async function signIn(how: Readonly<Record<string, unknown>>, signed_part: string, pair = rsa): Promise<Response> {
  const metadata = await ask('identity_provider.py', pair, { action: 'metadata' });
  const options = { idp_metadata_xml: metadata, trust_email: true, signed_part };
  const connection = await addSamlConnection(ctx, { certificate: pair.pem }, {}, { options });
  const browser = new Browser(service.url);
  const service_provider = await (await browser.get(`/auth/sso/${connection.id}/metadata`)).text();
  const query = Object.fromEntries((await startAt(browser, connection)).searchParams);
  const now = Math.floor(ctx.clock.now().getTime() / 1000);
  const xml = await ask('identity_provider.py', pair, { action: 'response', sign_alg: 'rsa-sha256', service_provider, query, now, ...how });
  return answer(browser, connection, xml, query['RelayState'] ?? '');
}

describe('somebody signs in whose response has', () => {
  test.each([
    ['a signed assertion', { sign_assertion: true, sign_response: false, encrypt: null }, 'assertion'],
    ['a signed response', { sign_assertion: false, sign_response: true, encrypt: null }, 'response'],
    ['both signed', { sign_assertion: true, sign_response: true, encrypt: null }, 'both'],
    ['both signed with ECDSA', { sign_assertion: true, sign_response: true, encrypt: null, sign_alg: 'ecdsa-sha256' }, 'both'],
    ['both signed with RSA-SHA384', { sign_assertion: true, sign_response: true, encrypt: null, sign_alg: 'rsa-sha384' }, 'both'],
    ['a signed assertion, encrypted', { sign_assertion: true, sign_response: false, encrypt: 'aes128-cbc' }, 'assertion'],
  ])('%s', async (name, how, signed_part) => {
    const response = await signIn(how, signed_part, name.includes('ECDSA') ? ec : rsa);
    expect([response.status, response.headers.get('location')]).toEqual([303, '/account']);
    expect(await findUserByEmailKey(ctx.scope, 'grace@corp.example')).toMatchObject({ first_name: 'Grace', last_name: 'Hopper' });
    await remove(ctx.scope, 'users', {});
  });
});

test('an assertion that it encrypts with Triple DES is refused', async () =>
  expect(await codeOf(await signIn({ sign_assertion: true, sign_response: false, encrypt: 'tripledes' }, 'assertion'))).toBe(
    'saml_invalid',
  ));

describe('somebody signs in to the application, whose request comes signed', () => {
  afterEach(() => remove(ctx.scope, 'users', {}));
  const person = { email: 'grace@corp.example', email_verified: true, first_name: 'Grace' };

  /** The application, which knows us by our metadata, with a browser in which somebody is signed in. */
  async function application(pair: Written) {
    const saml_attributes = { 'urn:oid:0.9.2342.19200300.100.1.3': 'email', 'urn:oid:2.5.4.42': 'given_name' };
    const client = await addSamlClient(ctx, { saml_attributes, saml_request_certificates: [pair.pem] });
    const browser = await signedIn(service, await addUser(ctx, person));
    const identity_provider = await (await browser.get('/saml/metadata')).text();
    const base = { entity_id: client.saml_entity_id, acs_url: acsUrl, identity_provider };
    const does = async (action: string, more: Record<string, unknown>) =>
      JSON.parse(await ask('service_provider.py', pair, { action, ...base, ...more })) as Record<string, unknown>;
    return { browser, does };
  }

  test.each([
    ['redirect', 'rsa-sha256', () => rsa],
    ['post', 'rsa-sha512', () => rsa],
    ['post', 'ecdsa-sha256', () => ec],
  ])('by HTTP-%s with %s, and it takes the answer', async (binding, sign_alg, pairOf) => {
    const { browser, does } = await application(pairOf());
    const { id, location, page } = await does('request', { binding, sign_alg });
    const [, base64 = ''] = /name="SAMLRequest" value="([^"]*)"/.exec(String(page)) ?? [];
    const response =
      binding === 'post'
        ? await follow(browser, await postRequest(browser, Buffer.from(base64, 'base64').toString(), { RelayState: 'st-1' }))
        : await browser.get(new URL(String(location)).pathname + new URL(String(location)).search);
    const posted = await postedBy(response);
    expect([posted.action, posted.RelayState]).toEqual([acsUrl, 'st-1']);
    expect(await does('response', { response: posted.SAMLResponse, id })).toMatchObject({
      format: 'urn:oasis:names:tc:SAML:2.0:nameid-format:persistent',
      name_id: expect.stringMatching(/^[\w-]{43}$/),
      issuer: `${service.url}/saml/metadata`,
      attributes: { mail: ['grace@corp.example'], givenName: ['Grace'] },
    });
    await expect(
      does('response', { response: posted.SAMLResponse, id: 'another' }),
      'an answer to no request of its own',
    ).rejects.toThrow();
  });

  test('by a key that nobody registered: nobody is sent anywhere', async () => {
    const { browser, does } = await application(rsa);
    const stranger = await write('stranger', await samlKeyPair());
    const { location } = await does('request', { binding: 'redirect', sign_alg: 'rsa-sha256', ...stranger });
    const refused = await browser.get(new URL(String(location)).pathname + new URL(String(location)).search);
    expect([refused.status, refused.headers.get('location')]).toEqual([400, null]);
  });
});
