// Which addresses an answer may go to (docs/security.md, attacks of section 2).
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { authorizeGet, authorizeQuery, expectPage400 } from '../support/authorize.js';
import { locationParameters, type Browser } from '../support/browser.js';
import { addClient, addUser, type TestClient } from '../support/data.js';
import { authorizeCode, redeem, tokenRequest } from '../support/oauth.js';
import { startTestService } from '../support/service.js';
import { sharedService } from '../support/shared-service.js';
import { signedIn } from '../support/signed-in.js';

const service = sharedService(() => startTestService({ ALLOW_PRIVATE_NETWORK: 'off' }));
let client: TestClient;
let browser: Browser;

beforeAll(async () => {
  const ctx = await service.context();
  const user = await addUser(ctx);
  client = await addClient(ctx);
  await service.deps.db.knex('environments').where({ id: ctx.environment.id }).update({ dynamic_registration_enabled: true });
  service.deps.cache.clear();
  browser = await signedIn(service, user);
});

const page400 = (redirect_uri: string) => expectPage400(service, () => authorizeGet(browser, authorizeQuery(client, { redirect_uri })));

/** The value as it stands in the query, without encoding it first. */
const page400Raw = (redirect_uri: string) =>
  expectPage400(service, () =>
    authorizeGet(browser, `${authorizeQuery(client, { redirect_uri: undefined })}&redirect_uri=${redirect_uri}`),
  );

const registration = (redirect_uris: string[]): Promise<Response> =>
  fetch(`${service.url}/oauth/register`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ redirect_uris, client_name: 'x', application_type: 'web' }),
  });

describe('where an answer may go', () => {
  test('another path is refused, however it is spelled (attack 2.28)', async () => {
    for (const uri of ['/cb/', '/cb/x', '/cb/../evil', '/cb/%2e%2e/evil', '/CB', '/cb?x=1', '/cb;x', '//cb'])
      await page400(`https://app.example${uri}`);
  });

  test('a fragment is refused, plain or encoded, also at registration (attack 2.30)', async () => {
    for (const uri of ['https://app.example/cb#', 'https://app.example/cb#x', 'https://app.example/cb%23x']) await page400(uri);
    const response = await registration(['https://app.example/cb#x']);
    expect([response.status, await response.json()]).toMatchObject([400, { error: 'invalid_redirect_uri' }]);
  });

  test('a user name or a backslash is refused (attack 2.31)', async () => {
    const uris = [
      'https://app.example@evil.example/cb',
      'https://app.example:pw@evil.example/cb',
      'https://evil.example\\@app.example/cb',
      'https:\\\\app.example/cb',
    ];
    for (const uri of uris) await page400(uri);
  });

  test('scheme or host in other case, another scheme or port is refused (attack 2.33)', async () => {
    const uris = [
      'HTTPS://app.example/cb',
      'https://APP.example/cb',
      'http://app.example/cb',
      'https://app.example:8443/cb',
      'https://app.example:443/cb',
    ];
    for (const uri of uris) await page400(uri);
  });

  test('control characters, double encoding and look-alikes are refused, and no header is split (attack 2.34)', async () => {
    for (const uri of [
      'https://app.example/cb\t',
      'https://app.example/cb\r\nX-Evil: 1',
      ' https://app.example/cb',
      'https://app．example/cb',
      'https://аpp.example/cb',
    ]) {
      await page400(uri);
    }
    for (const uri of [
      'https://app.example/cb%00',
      'https%253A%252F%252Fapp.example%252Fcb',
      'https://app.example/cb%0d%0aX-Evil:%201',
      'https://app.example/cb%ff',
    ]) {
      await page400Raw(uri);
    }
  });

  test('schemes that run code, wildcards, fragments, user names and public http can not be registered (attack 2.36)', async () => {
    const uris = [
      'javascript:alert(1)', 'data:text/html,x', 'blob:https://app.example/1', 'https://*.app.example/cb', 'https://app.example/cb#x', 'https://user@app.example/cb',
      'http://app.example/cb', 'https://app.example/cb?code=1', 'https://app.example/cb?state=1', '/cb', 'https:app.example', 'com.example:/cb', 'https://app.example/c b',
    ]; // prettier-ignore
    const before = await service.deps.db.knex('clients').count('* as count');
    for (const uri of uris) {
      const response = await registration([uri]);
      expect([uri, response.status, ((await response.json()) as { error: string }).error]).toEqual([uri, 400, 'invalid_redirect_uri']);
    }
    expect(await service.deps.db.knex('clients').count('* as count')).toEqual(before);
  });

  test('another or no redirect_uri is refused at the token endpoint (attack 2.37)', async () => {
    const grant = await authorizeCode(browser, client);
    const other = await redeem(service.url, client, { ...grant, redirect_uri: 'https://app.example/other' });
    expect([other.status, other.body.error]).toEqual([400, 'invalid_grant']);
    const again = await authorizeCode(browser, client);
    const none = await tokenRequest(service.url, client, {
      grant_type: 'authorization_code',
      code: again.code,
      code_verifier: again.verifier,
    });
    expect([none.status, none.body.error]).toEqual([400, 'invalid_request']);
  });

  test('a registered query is kept, and the answer is added to it', async () => {
    const uri = 'https://app.example/cb?tenant=a%20b';
    const withQuery = await addClient(await service.context(), { redirect_uris: [uri] });
    const response = await authorizeGet(browser, authorizeQuery(withQuery));
    expect(response.headers.get('location')?.startsWith(`${uri}&code=`)).toBe(true);
    expect(locationParameters(response).get('tenant')).toBe('a b');
  });

  test('a native client listens on any port of the loopback address it registered (RFC 8252 7.3)', async () => {
    const native = await addClient(await service.context(), { application_type: 'native', redirect_uris: ['http://127.0.0.1/cb'] });
    const allowed = await authorizeGet(browser, authorizeQuery(native, { redirect_uri: 'http://127.0.0.1:51234/cb' }));
    expect(allowed.headers.get('location')?.startsWith('http://127.0.0.1:51234/cb?code=')).toBe(true);
    for (const redirect_uri of ['http://127.0.0.1:51234/cb2', 'http://localhost:51234/cb', 'http://127.0.0.1:51234@evil.example/cb']) {
      await expectPage400(service, () => authorizeGet(browser, authorizeQuery(native, { redirect_uri })));
    }
  });
});

describe('a redirect URI that is not registered', () => {
  const sent = 'https://app.example/other?secret=s3cret&<b>=1';
  const shown = 'https://app.example/other?secret=s3cret&amp;&lt;b&gt;=1';
  const lines = () =>
    service.log
      .map((line) => JSON.parse(line) as Record<string, unknown>)
      .filter(({ event }) => event === 'authorization.redirect_uri_mismatch');

  async function pageOf(kind: string, redirect_uri = sent): Promise<string> {
    const ctx = await service.context();
    await service.deps.db.knex('environments').where({ id: ctx.environment.id }).update({ kind });
    service.deps.cache.clear();
    return page400(redirect_uri);
  }
  afterAll(async () => {
    await service.deps.db
      .knex('environments')
      .where({ id: (await service.context()).environment.id })
      .update({ kind: 'development' });
    service.deps.cache.clear();
  });

  test('in a development environment the page shows what came and what is registered, as text', async () => {
    const page = await pageOf('development');
    expect(page).toContain(shown);
    expect(page).toContain('<code>https://app.example/cb</code>');
  });

  test.each(['staging', 'production'])('in one of kind %s it shows neither', async (kind) => {
    const page = await pageOf(kind);
    expect(page).toContain('invalid_redirect_uri');
    expect(page).not.toContain('app.example');
  });

  test.each(['development', 'production'])('the log has both, under the request id, without values of a query (%s)', async (kind) => {
    const before = lines().length;
    const page = await pageOf(kind);
    expect(lines().slice(before)).toMatchObject([
      { client_id: client.id, redirect_uri: 'https://app.example/other?secret=...&<b>=...', registered: ['https://app.example/cb'] },
    ]);
    expect(page).toContain(String(lines().at(-1)?.['request_id']));
  });

  test('what looks like a secret in a path is in the log neither of them: not as sent, not as registered, nor at our own addresses (attack 35.1017)', async () => {
    const secret = 'at_4ZcVbXq9wPq0m2k7Hs8dT1yR6uE3iO5a';
    const registered = await addClient(await service.context(), { redirect_uris: [`https://app.example/hook/${secret}/cb`] });
    await authorizeGet(browser, authorizeQuery(registered, { redirect_uri: `https://app.example/${secret}/other` }));
    expect(lines().at(-1)).toMatchObject({
      redirect_uri: 'https://app.example/[hidden]/other',
      registered: ['https://app.example/hook/[hidden]/cb'],
    });
    const paths = () =>
      service.log
        .map((line) => JSON.parse(line) as Record<string, unknown>)
        .filter(({ event }) => event === 'http.request')
        .map(({ path }) => path);
    for (const path of [`/userinfo/${secret}`, `/api/users/${secret}`]) await fetch(`${service.url}${path}`);
    await expect.poll(paths).toEqual(expect.arrayContaining(['/userinfo/[hidden]', '/api/users/[hidden]']));
    expect(service.log.filter((line) => line.includes(secret))).toEqual([]);
  });

  const seen = async (redirect_uri: string) => {
    const page = await pageOf('development', redirect_uri);
    return { page, line: lines().at(-1) as Record<string, unknown> };
  };
  const shownAs = (page: string) => /<dt>Address sent<\/dt><dd><code>(.*?)<\/code>/s.exec(page)?.[1];

  test('what cannot be seen is shown encoded, on the page and in the log (attack 2.414)', async () => {
    const hidden: [string, string][] = [
      ['https://app.example/cb\u202egpj.exe', 'https://app.example/cb%E2%80%AEgpj.exe'],
      ['https://app.example/cb\u200b', 'https://app.example/cb%E2%80%8B'],
      ['https://app.example/cb ', 'https://app.example/cb%20'],
      ['https://app.example/cb\r\nInjected: 1', 'https://app.example/cb%0D%0AInjected:%201'],
      ['https://\u0430pp.example/cb', 'https://%D0%B0pp.example/cb'],
    ];
    for (const [sent, shown] of hidden) {
      const { page, line } = await seen(sent);
      expect(shownAs(page)).toBe(shown);
      expect(line['redirect_uri']).toBe(shown);
    }
  });

  test('markup and addresses that run code are text, and nothing to follow (attack 2.415)', async () => {
    for (const sent of [
      'data:text/html,<script>alert(1)</script>',
      'javascript:alert(1)',
      '"><img src=x onerror=alert(1)>',
      '</code><a href=//evil.example>x</a>',
    ]) {
      const { page } = await seen(sent);
      const text = shownAs(page);
      expect(text).toBeDefined();
      expect(text).not.toMatch(/[<>"]/);
      expect(page).not.toMatch(/<script>alert|<img src=x|<a [^>]*href="?(javascript|data|\/\/evil)/i);
    }
  });

  test('of a very long one the beginning is shown, and that it goes on (attack 2.416)', async () => {
    const { page, line } = await seen(`https://app.example/${'a'.repeat(6000)}`);
    expect(shownAs(page)).toMatch(/^https:\/\/app\.example\/a{480}\.\.\.$/);
    expect(String(line['redirect_uri']).length).toBeLessThan(600);
  });

  test('user names, passwords and values without a name stay out of the log too (attack 21.417)', async () => {
    for (const sent of [
      'https://ada:s3cret@app.example/cb',
      'https://app.example/cb?s3cret',
      'https://app.example/cb?a=1&s3cret#s3cret',
      'https://app.example/cb?a=s3=cret;b=s3cret',
    ])
      expect((await seen(sent)).line['redirect_uri']).not.toMatch(/s3|1&|ada/);
  });
});
