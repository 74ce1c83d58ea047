// An application that is challenged by its API, and the person who proves more for it (RFC 9470).
import { strict as assert } from 'node:assert';
import { Secret, TOTP } from 'otpauth';
import { Browser } from '../support/browser.js';
import { open } from '../support/journey.js';

type Person = { readonly email: string; readonly password: string };
type Answer = Record<string, unknown>;

/** The code that an authenticator app shows, so many time steps from now. */
const codeAt = (secret: string, steps: number) =>
  new TOTP({ secret: Secret.fromBase32(secret) }).generate({ timestamp: Date.now() + steps * 30_000 });

async function post(browser: Browser, path: string, body: object): Promise<Answer> {
  const response = await browser.postJson(path, body, { accept: 'application/json' });
  const answer = (await response.json()) as Answer;
  assert.ok(response.ok, `${path}: ${response.status} ${JSON.stringify(answer)}`);
  return answer;
}

/**
 * A person adds an authenticator app and has their browser remembered, so that signing in is one step. The application's API challenges the transfer:
 * they are asked for a code alone, and the transfer goes through.
 * @throws when something else happens
 */
export async function stepUpIsAsked(issuer: string, home: string, { email, password }: Person): Promise<void> {
  const account = new Browser(issuer);
  await post(account, '/login', { email, password });
  const { authenticator_id, secret } = (await post(account, '/account/authenticators/totp', { name: 'Phone' })) as Record<string, string>;
  // A code works once: the app's last, present and next one are used here.
  await post(account, '/account/authenticators/totp/verify', { authenticator_id, code: codeAt(secret as string, -1) });

  const person = new Browser(issuer);
  const half = await post(person, '/login', { email, password });
  assert.equal(half['user'], null);
  await post(person, '/login/verify', { method: 'totp', code: codeAt(secret as string, 0), remember_device: true });
  person.cookies.delete('idp_session');
  assert.notEqual((await post(person, '/login', { email, password }))['user'], null);

  const application = new Browser(home);
  const browsers = [person, application];
  assert.match((await open(browsers, new URL('/login', home))).text, /^Signed in with class 1\./);
  const asked = await open(browsers, new URL('/transfer', home));
  assert.deepEqual([asked.url.origin, asked.url.pathname], [new URL(issuer).origin, '/login/verify']);
  const [acr_values, return_to] = [asked.url.searchParams.get('acr_values'), asked.url.searchParams.get('return_to')];
  assert.equal(acr_values, '2');
  const { redirect_to } = await post(person, '/login/verify', { method: 'totp', code: codeAt(secret as string, 1), acr_values, return_to });
  const done = await open(browsers, new URL(String(redirect_to), issuer));
  assert.deepEqual([done.url.pathname, done.text], ['/transfer', 'The transfer is sent.']);
  assert.match((await open(browsers, new URL('/', home))).text, /^Signed in with class 2\./);
}
