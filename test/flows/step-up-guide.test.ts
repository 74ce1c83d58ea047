// docs/guides/step-up.md as it stands there: an openid-client application, its API's challenge (RFC 9470), and the person who proves more.
import { spawn, type ChildProcess } from 'node:child_process';
import { afterEach, expect, test } from 'vitest';
import { stepUpIsAsked } from '../clients/step-up.js';
import { Browser, locationParameters } from '../support/browser.js';
import { addClient, addResource, addUser, password, type TestClient } from '../support/data.js';
import { freePort } from '../support/service.js';
import { sharedService } from '../support/shared-service.js';
import { eventually } from '../support/webhooks.js';

const service = sharedService();
let application: ChildProcess | null = null;
afterEach(() => void application?.kill('SIGTERM'));

async function start(): Promise<string> {
  const home = `http://localhost:${await freePort()}/`;
  const client: TestClient = await addClient(await service.context(), { redirect_uris: [`${home}callback`] });
  application = spawn(process.execPath, ['examples/clients/step-up/server.js'], {
    env: { PATH: process.env['PATH'], ISSUER: service.url, CLIENT_ID: client.id, CLIENT_SECRET: client.client_secret, APP_URL: home },
    stdio: ['ignore', 'ignore', 'inherit'],
  });
  await eventually(() => fetch(home).then(() => true, () => null), 30_000); // prettier-ignore
  return home;
}

test('the application is challenged, asks the person for a second factor alone, and goes on', async () => {
  await addResource(await service.context(), { identifier: 'https://transfers.example.org' });
  const user = await addUser(await service.context());
  await stepUpIsAsked(service.url, await start(), { email: user.email, password });
});

test('who has no second factor comes back as before, and is told', async () => {
  const user = await addUser(await service.context());
  const [person, home] = [new Browser(service.url), await start()];
  await person.login(user.email, password);
  const here = new Browser(home);
  let response = await here.get('/transfer');
  // Twice: for the first token, and for the one that the API asks for.
  for (let round = 0; round < 2; round++) {
    const sent = new URL(response.headers.get('location') ?? '');
    expect(sent.searchParams.get('acr_values')).toBe(round === 0 ? null : '2');
    const back = await person.get(sent.pathname + sent.search);
    expect(locationParameters(back).has('code')).toBe(true);
    const callback = new URL(back.headers.get('location') ?? '');
    const onwards = await here.get(callback.pathname + callback.search);
    response = await here.get(onwards.headers.get('location') ?? '');
  }
  expect([response.status, await response.text()]).toEqual([403, expect.stringContaining('Add one to your account')]);
});
