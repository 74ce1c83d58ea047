// docs/how-to/cross-app-access.md, followed from an empty directory: its documents, commands and application, at two services and with examples/mcp-server.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { programArguments } from '../support/compiled.js';
import { addUser } from '../support/data.js';
import { manage, managementClient } from '../support/management.js';
import { authorizeCode, redeem } from '../support/oauth.js';
import { contextOf, sharedManagedService } from '../support/shared-service.js';
import { signedIn } from '../support/signed-in.js';
import { lastRow } from '../support/security-events.js';
import { freePort, type TestService } from '../support/service.js';

const [company, tools] = [sharedManagedService(), sharedManagedService()];
const [atCompany, atTools] = [contextOf(company), contextOf(tools)];
const redirect_uri = 'http://localhost:33418/callback';
const secrets = { DESK_SECRET: 'd'.repeat(40), ACME_DESK_SECRET: 'a'.repeat(40) };
let folder: string;
let mcpServer: string;
let stopServer: () => void = () => {};

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'cross-app-access-'));
  await symlink(resolve('node_modules'), join(folder, 'node_modules'));
  mcpServer = `http://localhost:${await freePort()}/mcp`;
});
afterAll(async () => {
  stopServer();
  await rm(folder, { recursive: true, force: true });
});

/** The guide's blocks of a language, with the addresses of this machine. */
async function blocksOf(language: string): Promise<string[]> {
  const guide = (await readFile('docs/how-to/cross-app-access.md', 'utf8'))
    .replaceAll('https://login.acme.example', company.url)
    .replaceAll('https://auth.tools.example', tools.url)
    .replaceAll('https://mcp.tools.example/mcp', mcpServer);
  return [...guide.matchAll(new RegExp(`\`\`\`${language}\n([\\s\\S]*?)\`\`\``, 'g'))].map(([, block = '']) => block);
}

async function run(file: string, words: readonly string[], variables: Record<string, string> = {}) {
  const child = spawn(file, words, { cwd: folder, env: { PATH: process.env['PATH'], ...secrets, ...variables } });
  const printed: Buffer[] = [];
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (some: Buffer) => printed.push(some));
  const [code] = (await once(child, 'close')) as [number | null];
  return { code, out: Buffer.concat(printed).toString() };
}

/** Applies a document as the guide does, where `npm run -s cli --` is the compiled command line. */
async function applyBy(script: string): Promise<void> {
  const cli = [process.execPath, ...(await programArguments('programs/cli'))].join(' ');
  const access = { MANAGEMENT_CLIENT_ID: managementClient.id, MANAGEMENT_CLIENT_SECRET: managementClient.client_secret };
  const { code, out } = await run('bash', ['-c', `set -e\nnpm() { shift 4; ${cli} "$@"; }\n${script}`], access);
  expect([code, out]).toEqual([0, expect.stringContaining('created') as string]);
}

async function startServer(service: TestService): Promise<void> {
  const api = await manage(service.url);
  const [found] = (await api.get('/api_resources?filter[search]=Notes')).body['data'];
  const { metadata_url } = found.attributes as { metadata_url: string };
  const server = spawn(process.execPath, ['examples/mcp-server/server.js'], {
    env: { PATH: process.env['PATH'], ISSUER: service.url, RESOURCE: mcpServer, METADATA_URL: metadata_url },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  stopServer = () => void server.kill('SIGTERM');
  await once(server.stdout, 'data');
}

/** What a sign-in at the company gives the application. */
async function idToken(): Promise<string> {
  const desk = { id: 'desk', client_secret: secrets.DESK_SECRET, redirect_uris: [redirect_uri], token_endpoint_auth_method: 'client_secret_post' } as never; // prettier-ignore
  const browser = await signedIn(company, await addUser(atCompany, { email: 'ada@acme.example' }));
  const { body } = await redeem(company.url, desk, await authorizeCode(browser, desk, { scope: 'openid email', redirect_uri }));
  return body.id_token as string;
}

test('the official MCP client calls tools for somebody who signed in at the company alone', async () => {
  for (const block of [...(await blocksOf('yaml')), ...(await blocksOf('js'))]) {
    const [, name = ''] = /^(?:#|\/\/) (\S+)\n/.exec(block) ?? [];
    await writeFile(join(folder, name), block);
  }
  for (const script of await blocksOf('sh')) await applyBy(script);
  // What a look-up of the TXT record would do.
  await atTools.db.knex('organization_domains').update({ status: 'verified', verified_at: tools.clock.now() });
  for (const kind of ['organization_domains', 'connections']) atTools.cache.invalidate(atTools.environment.id, kind);
  await startServer(tools);

  const ID_TOKEN = await idToken();
  expect(await run(process.execPath, ['desk.mjs'], { ID_TOKEN })).toEqual({ code: 0, out: "[ 'milk' ]\n" });
  expect(await lastRow(company, 'assertion.issued')).toMatchObject({ actor_id: 'desk' });
  expect(await lastRow(tools, 'assertion.redeemed')).toMatchObject({ actor_id: 'acme-desk' });

  await atCompany.db.knex('outbound_grants').update({ status: 'disabled' });
  atCompany.cache.invalidate(atCompany.environment.id, 'outbound_grants');
  const refused = await run(process.execPath, ['desk.mjs'], { ID_TOKEN });
  expect([refused.code, refused.out]).toEqual([1, expect.stringContaining('Token exchange failed: invalid_target') as string]);
});
