// What a stranger tries with documents that are to describe a client (OAuth Client ID Metadata Document 6).
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { createServer, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { createGuardedFetch } from '../../src/platform/fetch/fetch.js';
import { authorizeGet, authorizeQuery, expectPage400 } from '../support/authorize.js';
import { Browser } from '../support/browser.js';
import { describing, json, startDocumentServer, type DocumentServer } from '../support/client-documents.js';
import { addClient, addResource, addUser, password, type TestClient } from '../support/data.js';
import { allowCode, oauthPost, redeem } from '../support/oauth.js';
import { startTestService, type TestService } from '../support/service.js';
import { sharedService } from '../support/shared-service.js';
import { setEnvironment } from '../support/signed-in.js';
import { createClientKey } from '../support/signed-jwt.js';

let documents: DocumentServer;
const service = sharedService(async () => {
  documents = await startDocumentServer([
    'client.example',
    'other.example',
    'third.example',
    'fourth.example',
    'fifth.example',
    'sixth.example',
  ]);
  return startTestService({}, { overrides: { fetch: documents.fetch } });
});
afterAll(() => documents?.close());
let browser: Browser;
const challenge = { code_challenge: 'x'.repeat(43), code_challenge_method: 'S256' };

async function signedIn(at: TestService): Promise<Browser> {
  const user = await addUser(await at.context());
  const one = new Browser(at.url);
  await one.login(user.email, password);
  return one;
}
beforeAll(async () => {
  await setEnvironment(service, { client_id_metadata_documents: 'open' });
  browser = await signedIn(service);
});

let count = 0;
const fresh = (host?: string) => documents.url(`/attacks/${++count}.json`, host);
const at = (url: string) => authorizeQuery({ id: url, redirect_uris: ['https://client.example/cb'] } as TestClient, challenge);
/** The page that refuses the client of the address. */
const refusal = (url: string) => expectPage400(service, () => authorizeGet(browser, at(url)));

describe('a service that may not reach private networks', () => {
  test('asks nobody there for a document, whatever address or name it stands under; all read the same (attack 30.620)', async () => {
    let asked = 0;
    const inside = createServer((_req, res) => void (asked++, res.end()));
    await new Promise<void>((resolve) => inside.listen(0, '127.0.0.1', resolve));
    onTestFinished(() => void inside.close());
    const { port } = inside.address() as AddressInfo;
    // The second look-up of the name leads into the network: what is connected to is what was judged.
    const answers = [['203.0.113.1'], ['127.0.0.1']];
    const resolve = async (name: string) => (name === 'rebinding.example' ? (answers.shift() ?? ['127.0.0.1']) : ['127.0.0.1']);
    const closed = await startTestService(
      { ALLOW_PRIVATE_NETWORK: 'off' },
      { overrides: { fetch: createGuardedFetch({ allowPrivateNetwork: false, resolve }) } },
    );
    onTestFinished(() => closed.stop());
    await setEnvironment(closed, { client_id_metadata_documents: 'open' });
    const person = await signedIn(closed);
    const urls = [
      `https://127.0.0.1:${port}/c`,
      `https://[::1]:${port}/c`,
      'https://169.254.169.254/latest/meta-data',
      'https://10.0.0.1/c',
      `https://inside.example:${port}/c`,
    ];
    const texts = new Set<string>();
    for (const url of urls) {
      const html = await expectPage400(closed, () => authorizeGet(person, at(url)));
      texts.add(/can’t be identified: ([^.]+)\./.exec(html)?.[1] ?? html);
    }
    expect([...texts]).toEqual(['document could not be reached']);
    for (let i = 0; i < 2; i++)
      expect(await expectPage400(closed, () => authorizeGet(person, at(`https://rebinding.example:${port}/c`)))).toContain(
        'could not be reached',
      );
    expect(await expectPage400(closed, () => authorizeGet(person, at(`http://127.0.0.1:${port}/c`)))).toContain('must use https');
    expect(asked).toBe(0);
  }, 30_000);
});

describe('a document', () => {
  test('that redirects is not followed (attack 30.621)', async () => {
    const target = fresh();
    const url = fresh();
    documents.publish(target, { client_id: url });
    documents.serve(url, (_req, res) => res.writeHead(302, { location: target }).end());
    expect(await refusal(url)).toContain('document was answered with status 302');
    expect(documents.requests.some((one) => one.target.endsWith(new URL(target).pathname))).toBe(false);
  });

  test('of 64 KiB, or without end, is not read to the end (attack 30.622)', async () => {
    const large = fresh();
    documents.serve(large, json(describing(large, { padding: 'x'.repeat(65_536) })));
    expect(await refusal(large)).toContain('document is longer than 10240 bytes');
    const endless = fresh();
    let sent = 0;
    documents.serve(endless, (_req, res) => {
      res.writeHead(200, { 'content-type': 'application/json' });
      const more = () => {
        while (!res.destroyed && sent < 50_000_000 && res.write(' '.repeat(16_384))) sent += 16_384;
      };
      res.on('drain', more).on('error', () => {});
      more();
    });
    expect(await refusal(endless)).toContain('document is longer than 10240 bytes');
    expect(sent).toBeLessThan(50_000_000);
  });

  test('that holds back its end is given up after five seconds (attack 30.622)', async () => {
    const url = fresh();
    documents.serve(url, (_req, res) => void res.writeHead(200, { 'content-type': 'application/json' }).write('{'));
    const started = performance.now();
    expect(await refusal(url)).toContain('document could not be reached');
    expect(performance.now() - started).toBeLessThan(30_000);
  });

  test('fifty that hang hold up neither clients that people use nor those of other hosts; those that are not asked for are 503 (attack 30.788)', async () => {
    const used = documents.publish(fresh('other.example'));
    await allowCode(browser, used, { scope: 'openid' });
    service.clock.advance(6 * 60_000);
    const hang = (url: string) => (documents.serve(url, () => undefined), url);
    const here = { redirect_uris: ['https://client.example/cb'] };
    const asked = (url: string) => authorizeGet(new Browser(service.url), at(url));
    const hanging = Array.from({ length: 50 }, () => asked(hang(fresh('third.example'))));
    expect((await authorizeGet(browser, authorizeQuery(used, challenge))).status).toBe(303);
    expect((await asked(documents.publish(fresh('fourth.example'), here).id)).status).toBe(303);
    const answers = await Promise.all(hanging);
    const refused = answers.filter(({ status }) => status === 503);
    expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([400, 503]));
    expect(refused.every(({ headers }) => headers.get('retry-after') === '5')).toBe(true);
  }, 30_000);

  test.each([
    ['a client_id with a trailing slash', (url: string) => json(describing(url, { client_id: `${url}/` }))],
    ['a client_id in capitals', (url: string) => json(describing(url, { client_id: url.toUpperCase() }))],
    ['a list of client_ids', (url: string) => json(describing(url, { client_id: [url] }))],
    ['no client_id', (url: string) => json(describing(url, { client_id: undefined }))],
  ])('with %s describes somebody else (attack 30.623)', async (_what, answer) => {
    const url = fresh();
    documents.serve(url, answer(url));
    expect(await refusal(url)).toContain('client_id does not match');
  });

  test.each([
    ['a list', () => json('[]'), 'document is not a JSON object'],
    ['a page', () => json('<html>', { 'content-type': 'text/html' }), 'document is not JSON'],
    ['JSON by another name', (url: string) => json(describing(url), { 'content-type': 'text/plain' }), 'document is not JSON'],
    ['half a document', () => json('{"client_id":'), 'document is not JSON'],
    [
      'bytes that are no text',
      () => (_req: unknown, res: ServerResponse) => {
        res.writeHead(200, { 'content-type': 'application/json' });
        res.end(Buffer.from([0x22, 0xff, 0x22]));
      },
      'document is not JSON',
    ],
  ])('that is %s is none', async (_what, answer, reason) => {
    const url = fresh();
    documents.serve(url, answer(url));
    expect(await refusal(url)).toContain(reason);
  });

  test('may have a type of its own that is JSON', async () => {
    const url = fresh();
    documents.serve(url, json(describing(url), { 'content-type': 'application/client-metadata+json; charset=utf-8' }));
    expect((await authorizeGet(browser, at(url))).status).toBe(200);
  });

  test.each([
    ['client_secret', { client_secret: 'shared with everybody' }],
    ['client_secret_expires_at', { client_secret_expires_at: 0 }],
    ['a method with a shared secret', { token_endpoint_auth_method: 'client_secret_basic' }],
    ['a method with a shared secret', { token_endpoint_auth_method: 'client_secret_jwt' }],
  ])('that holds %s is refused: everybody reads it (attack 30.624)', async (what, members) => {
    const url = fresh();
    documents.publish(url, members);
    expect(await refusal(url)).toContain(what);
  });

  test('that holds a private or symmetric key is refused (attack 30.624)', async () => {
    const { jwk } = await createClientKey('ES256');
    for (const key of [
      { ...jwk, d: 'AAAA' },
      { kty: 'oct', k: 'AAAA' },
    ]) {
      const url = fresh();
      documents.publish(url, { token_endpoint_auth_method: 'private_key_jwt', jwks: { keys: [key] } });
      expect(await refusal(url)).toContain('document is refused: jwks');
    }
  });

  test.each([
    [['http://evil.example/cb'], 'must use https'],
    [['https://client.example/cb#x'], 'must not hold a fragment'],
    [['https://*.client.example/cb'], 'must not hold a wildcard'],
    [['javascript:alert(1)'], 'must not use the scheme'],
    [Array.from({ length: 11 }, (_, index) => `https://client.example/${index}`), 'at most 10 members'],
  ])('with redirect URIs %j is refused', async (redirect_uris, reason) => {
    const url = fresh();
    documents.publish(url, { redirect_uris });
    expect(await refusal(url)).toContain(reason);
  });

  test('sends nobody to an address that it does not name (attack 30.625)', async () => {
    const client = documents.publish(fresh());
    const html = await expectPage400(service, () =>
      authorizeGet(browser, authorizeQuery({ ...client, redirect_uris: ['https://evil.example/cb'] }, challenge)),
    );
    expect(html).toContain('isn’t registered');
  });

  test.each([
    ['<script>alert(1)</script>Bank', '&lt;script&gt;alert(1)&lt;/script&gt;Bank'],
    ['Bank\u202egro.live\u202c', 'Bank gro.live'],
    ['B\u0000a\u200bnk\r\n', 'B a nk'],
  ])('whose name holds markup, controls or directions of writing shows as plain text: %j (attack 30.626)', async (client_name, shown) => {
    const client = documents.publish(fresh(), {
      client_name,
      logo_uri: 'https://client.example/bank.svg',
      tos_uri: 'https://client.example/tos',
    });
    const html = await (await authorizeGet(browser, authorizeQuery(client, challenge))).text();
    expect(html).toContain(`Allow ${shown} to access your account?`);
    expect(html).not.toMatch(/[\u202a-\u202e\u2066-\u2069\u200b]|<script>alert|bank\.svg|\/tos/);
  });

  test('reaches neither the Management API nor an API that lets in no strangers (attack 30.627)', async () => {
    const closed = await addResource(await service.context(), { identifier: 'https://closed.example' });
    const client = documents.publish(fresh());
    for (const resource of [`${service.url}/api`, `${service.url}/api/`, closed.identifier]) {
      const location = (await authorizeGet(browser, authorizeQuery(client, { ...challenge, resource }))).headers.get('location') ?? '';
      expect(new URL(location).searchParams.get('error')).toBe('invalid_target');
    }
    await service.deps.db.knex('clients').where({ id: client.id }).delete();
    await setEnvironment(service, { client_id_metadata_hosts: ['client.example'] });
    const location =
      (await authorizeGet(browser, authorizeQuery(client, { ...challenge, resource: `${service.url}/api` }))).headers.get('location') ?? '';
    expect(new URL(location).searchParams.get('error')).toBe('invalid_target');
    await setEnvironment(service, { client_id_metadata_hosts: [] });
  });

  test('does not take the place of a registered client, nor change it (attack 30.628)', async () => {
    const url = fresh();
    const ctx = await service.context();
    await addClient(ctx, { id: url, name: 'Of an administrator', redirect_uris: ['https://own.example/cb'] });
    documents.publish(url, { client_name: 'Somebody else' });
    expect(await refusal(url)).toContain('isn’t registered');
    expect((await service.deps.db.knex('clients').where({ id: url }).first()).name).toBe('Of an administrator');
    expect(documents.requests.some((one) => one.target.endsWith(new URL(url).pathname))).toBe(false);
  });

  test('that stops to name a key is of no use to whoever still has it (attack 30.629)', async () => {
    const [old, current] = [await createClientKey('ES256', 'old'), await createClientKey('ES256', 'new')];
    const members = (key: typeof old) => ({ token_endpoint_auth_method: 'private_key_jwt', jwks: { keys: [key.jwk] } });
    const client = documents.publish(fresh(), members(old));
    const seconds = () => Math.floor(service.clock.now().getTime() / 1000);
    const proof = async (key: typeof old, jti: string) => ({
      client_assertion_type: 'urn:ietf:params:oauth:client-assertion-type:jwt-bearer',
      client_assertion: await key.sign({ iss: client.id, sub: client.id, aud: service.url, jti, iat: seconds(), exp: seconds() + 60 }),
    });
    const grant = await allowCode(browser, client, { scope: 'openid' });
    const { body } = await redeem(service.url, { ...client, token_endpoint_auth_method: 'none' }, grant, await proof(old, 'one'));
    documents.publish(client.id, members(current));
    service.clock.advance(6 * 60_000);
    await authorizeGet(browser, authorizeQuery(client, challenge));
    const refresh = { grant_type: 'refresh_token', refresh_token: body.refresh_token ?? '' };
    expect((await oauthPost(service.url, '/oauth/token', null, { ...refresh, ...(await proof(old, 'two')) })).status).toBe(401);
    expect((await oauthPost(service.url, '/oauth/token', null, { ...refresh, ...(await proof(current, 'three')) })).status).toBe(200);
  });
});

describe('with limits', () => {
  const limited = sharedService(() => startTestService({ RATE_LIMITS: 'on', TRUST_PROXY: '1' }, { overrides: { fetch: documents.fetch } }));

  const askFrom = async (from: string, host: string) => {
    const before = documents.requests.length;
    const headers = { 'x-forwarded-for': from };
    const { status } = await fetch(`${limited.url}/oauth/authorize?${at(fresh(host))}`, { redirect: 'manual', headers });
    return [status, documents.requests.length - before];
  };
  const exhaust = async (host: string, addresses: readonly string[]) => {
    for (const from of addresses) {
      for (let i = 0; i < 10; i++) expect(await askFrom(from, host)).toEqual([400, 1]);
      expect(await askFrom(from, host)).toEqual([429, 0]);
    }
  };
  beforeAll(() => setEnvironment(limited, { client_id_metadata_documents: 'open' }));

  test('an address has ten new documents fetched a minute, a host is asked thirty times a minute (attack 30.630)', async () => {
    await exhaust('third.example', ['203.0.113.1', '203.0.113.2', '203.0.113.3']);
    expect(await askFrom('203.0.113.4', 'third.example')).toEqual([429, 0]);
  });

  test('a client that people use goes on while its host is asked no more (attack 30.630)', async () => {
    const client = documents.publish(fresh('other.example'));
    const person = await signedIn(limited);
    await allowCode(person, client, { scope: 'openid' });
    await exhaust('other.example', ['203.0.113.5', '203.0.113.6']);
    for (let i = 0; i < 9; i++) expect(await askFrom('203.0.113.7', 'other.example')).toEqual([400, 1]);
    expect(await askFrom('203.0.113.7', 'other.example')).toEqual([429, 0]);
    limited.clock.advance(6 * 60_000);
    expect((await authorizeGet(person, authorizeQuery(client, challenge))).status).toBe(303);
  });

  test('nor is anybody shut out who comes back to it after a night (attack 30.764)', async () => {
    const client = documents.publish(fresh('fourth.example'));
    const person = await signedIn(limited);
    await allowCode(person, client, { scope: 'openid' });
    limited.clock.advance(9 * 3_600_000);
    await exhaust('fourth.example', ['203.0.113.8', '203.0.113.9']);
    for (let i = 0; i < 9; i++) expect(await askFrom('203.0.113.10', 'fourth.example')).toEqual([400, 1]);
    expect(await askFrom('203.0.113.10', 'fourth.example')).toEqual([429, 0]);
    expect((await authorizeGet(await signedIn(limited), authorizeQuery(client, challenge))).status).toBe(200);
  });

  test('a document that is gone is asked for ten times a minute (attack 30.630)', async () => {
    const client = documents.publish(fresh('fifth.example'));
    const person = await signedIn(limited);
    await allowCode(person, client, { scope: 'openid' });
    limited.clock.advance(6 * 60_000);
    documents.serve(client.id, (_req, res) => void res.writeHead(404).end());
    const before = documents.requests.length;
    for (let i = 0; i < 12; i++) expect((await authorizeGet(person, authorizeQuery(client, challenge))).status).toBe(400);
    expect(documents.requests.length - before).toBe(10);
  });
});
