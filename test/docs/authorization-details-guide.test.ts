// docs/guides/authorization-details.md, followed in an empty directory: what it creates is created, its programs run, and somebody pays, or doesn't.
import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { readFile, symlink, writeFile } from 'node:fs/promises';
import { createServer, type AddressInfo } from 'node:net';
import { join, resolve } from 'node:path';
import { createInterface } from 'node:readline';
import type { Readable } from 'node:stream';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { addUser } from '../support/data.js';
import { questionOf, typeUserCode } from '../support/device.js';
import { manage } from '../support/management.js';
import { contextOf, sharedManagedService } from '../support/shared-service.js';
import { signedIn } from '../support/signed-in.js';
import { directoryOfFile } from '../support/temporary-directory.js';

const directory = directoryOfFile();
const service = sharedManagedService();
const ctx = contextOf(service);
let env: NodeJS.ProcessEnv;
let bank: ChildProcess | undefined;
afterAll(() => void bank?.kill());

async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  await new Promise((done) => server.close(done));
  return port;
}

beforeAll(async () => {
  const guide = (await readFile('docs/guides/authorization-details.md', 'utf8')).replaceAll(/^ {3}/gm, '');
  const blocks = (language: string) => [...guide.matchAll(new RegExp(`^\`\`\`${language}\\n([\\s\\S]*?)^\`\`\`$`, 'gm'))].map(([, block = '']) => block);
  const [api = '', type = '', client = '', ...none] = blocks('json');
  expect(none).toEqual([]);
  const management = await manage(service.url);
  const made = async (path: string, document: string) => {
    const { status, body } = await management.post(path, JSON.parse(document));
    expect([path, status]).toEqual([path, 201]);
    return body['data'].id as string;
  };
  await made('/authorization_detail_types', type.replace('API_ID', await made('/api_resources', api)));
  const port = await freePort();
  env = { ...process.env, ISSUER: service.url, CLIENT_ID: await made('/clients', client), PORT: String(port), API: `http://127.0.0.1:${port}` };
  const names = [...guide.matchAll(/^`(\w+\.mjs)`/gm)].map(([, name = '']) => name);
  expect(names).toEqual(['api.mjs', 'till.mjs']);
  for (const [index, code] of blocks('js').entries()) await writeFile(join(directory, names[index] ?? ''), code);
  await symlink(resolve('node_modules'), join(directory, 'node_modules'));
  bank = spawn(process.execPath, ['api.mjs'], { cwd: directory, env, stdio: ['ignore', 'pipe', 'inherit'] });
  await once(bank.stdout as Readable, 'data');
}); // prettier-ignore

test.for([
  ['allowed', { detail_0: 'on' }, 'paid 49.90 EUR to Acme Travel for ', /^allowed: \[\{"type":"payment"/],
  ['unticked', {}, 'nobody allowed a payment', /^allowed: \[\]$/],
] as const)('the till shows a code; %s, the API says', async ([, boxes, said, details]) => {
  const user = await addUser(ctx);
  const till = spawn(process.execPath, ['till.mjs'], { cwd: directory, env, stdio: ['ignore', 'pipe', 'inherit'] });
  const lines = createInterface({ input: till.stdout })[Symbol.asyncIterator]();
  const line = async () => String((await lines.next()).value);
  const user_code = / enter (\S+)$/.exec(await line())?.[1] ?? '';
  const browser = await signedIn(service, user);
  const html = await (await typeUserCode(browser, user_code)).text();
  expect(html).toContain('Pay \u2068€49.90\u2069 to \u2068Acme Travel\u2069');
  expect((await browser.post('/device/answer', { ...questionOf(html), decision: 'allow', ...boxes })).status).toBe(200);
  expect(await line()).toMatch(details);
  const answer = await line();
  expect(answer).toContain(said);
  if ('detail_0' in boxes) expect(answer).toContain(user.id);
});
