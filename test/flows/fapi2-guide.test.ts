// docs/guides/fapi2.md as it stands there: the client by its document, the openid-client application with a key of its own, and a person who signs in and out.
import { spawn, type ChildProcess } from 'node:child_process';
import { readFile } from 'node:fs/promises';
import { afterEach, expect, test } from 'vitest';
import { Browser } from '../support/browser.js';
import { addUser, password } from '../support/data.js';
import { manage, type Document } from '../support/management.js';
import { freePort } from '../support/service.js';
import { sharedManagedService } from '../support/shared-service.js';
import { eventually } from '../support/webhooks.js';

const service = sharedManagedService();
let application: ChildProcess | null = null;
afterEach(() => void application?.kill('SIGTERM'));

test('the guide’s client and application: signed in by a pushed request, with tokens bound to the key', async () => {
  const home = `http://localhost:${await freePort()}/`;
  const text = await readFile('examples/clients/fapi2/client.json', 'utf8');
  const made = await (await manage(service.url)).post('/clients', JSON.parse(text.replaceAll('http://localhost:3007/', home)));
  expect([made.status, (made.body['data'] as Document)['attributes']]).toMatchObject([
    201,
    { profile: 'fapi2', id_token_signed_response_alg: 'ES256' },
  ]);
  const CLIENT_ID = made.body['data'].id as string;
  application = spawn(process.execPath, ['examples/clients/fapi2/server.js'], {
    env: { PATH: process.env['PATH'], ISSUER: service.url, CLIENT_ID, APP_URL: home },
    stdio: ['ignore', 'ignore', 'inherit'],
  });
  await eventually(() => fetch(home).then(() => true, () => null), 30_000); // prettier-ignore

  const user = await addUser(await service.context());
  const [person, here] = [new Browser(service.url), new Browser(home)];
  await person.login(user.email, password);
  const sent = new URL((await here.get('/login')).headers.get('location') ?? '');
  expect([...sent.searchParams.keys()].sort()).toEqual(['client_id', 'request_uri']);
  const back = new URL((await person.get(sent.pathname + sent.search)).headers.get('location') ?? '');
  expect(back.searchParams.get('iss')).toBe(service.url);
  expect((await here.get(back.pathname + back.search)).headers.get('location')).toBe('/');
  expect(await (await here.get('/')).text()).toContain(user.email);
  const out = new URL((await here.get('/logout')).headers.get('location') ?? '');
  expect(out.href.startsWith(`${service.url}/oauth/logout?`)).toBe(true);
  expect(await (await here.get('/')).text()).toContain('Sign in');
});
