// What packages/client/README.md says, done by each runtime that it names, against the service.
import { spawn } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, onTestFinished } from 'vitest';
import { clientBundle } from '../support/client-bundle.js';
import { addMachine, addResource } from '../support/data.js';
import { now } from '../support/event-feed.js';
import { manage, managementClient } from '../support/management.js';
import { tokenRequest } from '../support/oauth.js';
import { startReceiver } from '../support/receiver.js';
import { runtimes } from '../support/runtimes.js';
import { sharedManagedService } from '../support/shared-service.js';
import { addWebhook } from '../support/webhooks.js';

const service = sharedManagedService();

/** Runs a program until its end, and answers what it has printed. */
async function printed(
  [file, ...words]: readonly [string, ...string[]],
  contents: string,
  more: Record<string, string> = {},
): Promise<string> {
  const directory = await mkdtemp(join('node_modules', '.readme-'));
  onTestFinished(() => rm(directory, { recursive: true, force: true }));
  const path = join(directory, 'readme.mjs');
  await writeFile(path, await clientBundle(contents, 'node'));
  const { id, client_secret } = managementClient;
  const env = { PATH: process.env['PATH'], HOME: directory, ISSUER: service.url, CLIENT_ID: id, CLIENT_SECRET: client_secret, ...more };
  const child = spawn(file, [...words, path], { env, stdio: ['ignore', 'pipe', 'inherit'] });
  let text = '';
  child.stdout.on('data', (data: Buffer) => (text += data.toString()));
  expect(await new Promise((resolve) => child.once('close', resolve))).toBe(0);
  return text;
}

const blocks = async () =>
  [...(await readFile('packages/client/README.md', 'utf8')).matchAll(/^```ts(?: no-run)?\n(.*?)^```/gms)].map(([, code = '']) => code);

describe.each(runtimes)('$name does what the README says', ({ test: testOf, command }) => {
  const test = testOf();

  test('the first call', async () => {
    const [first = ''] = await blocks();
    const text = await printed(command(), first);
    expect(text).toMatch(/^created \S+$/m);
    expect(text).toContain('ada@example.com');
  });

  test('events, webhooks and access tokens, of the service itself', async () => {
    const [, events = '', webhook = '', tokens = '', ...more] = await blocks();
    expect(more).toEqual([]);
    const api = await manage(service.url);
    const email = `readme-${randomUUID()}@example.com`;
    const from = await now(api);
    const receiver = await startReceiver();
    onTestFinished(() => receiver.close());
    const ctx = await service.context();
    const { signing_secret } = await addWebhook(ctx, receiver.url, { events: ['user.created'] });
    await api.create('users', { email });
    const imports = (names: string) => `import { ${names} } from 'identity-provider-client';\n`;
    const follows = `${imports('clientCredentials, createManagementClient, feed')}
      const { ISSUER: url = '', CLIENT_ID: clientId = '', CLIENT_SECRET: clientSecret = '', CURSOR } = process.env;
      const client = createManagementClient({ url, token: clientCredentials({ url, clientId, clientSecret }) });
      const readCursor = async () => CURSOR;
      const writeCursor = async (cursor: string) => { if (cursor !== CURSOR && seen) process.exit(0); };
      let seen = false;
      const deal = async ({ attributes }) => { seen ||= attributes.payload_text.includes('${email}'); console.log(attributes.event_type, attributes.payload_text); };
      ${events}`;
    expect(await printed(command(), follows, { CURSOR: from })).toMatch(new RegExp(`^user\\.created .*${email}`, 'm'));

    const [post] = await receiver.received(1);
    const believes = `${imports('verifyWebhook')}
      const request = new Request('http://localhost/', { method: 'POST', headers: JSON.parse(process.env.HEADERS), body: process.env.BODY });
      ${webhook}`;
    const sent = { WEBHOOK_SECRET: signing_secret, HEADERS: JSON.stringify(post?.headers), BODY: String(post?.body) };
    expect(await printed(command(), believes, sent)).toContain(email);

    const identifier = `https://${randomUUID()}.example.com`;
    const machine = await addMachine(ctx, await addResource(ctx, { identifier, token_format: 'jwt' }, ['orders:read']));
    const { body: issued } = await tokenRequest(service.url, machine, { grant_type: 'client_credentials', resource: identifier });
    const checks = `${imports('createTokenVerifier')}
      const bearerToken = process.env.TOKEN ?? '';
      ${tokens.replace('https://login.example.com', service.url).replace('https://orders.example.com', identifier)}
      console.log(sub, permissions);`;
    expect(await printed(command(), checks, { TOKEN: String(issued['access_token']) })).toContain(machine.id);
  });
});
