// docs/how-to/signals.md, followed from an empty directory: its document and command, and its application, which hears of a session that ends.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFile, symlink, writeFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { beforeAll, expect, onTestFinished, test } from 'vitest';
import { programArguments } from '../support/compiled.js';
import { addUser } from '../support/data.js';
import { manage, managementClient } from '../support/management.js';
import { authorizeCode, claimsOf, redeem } from '../support/oauth.js';
import { contextOf, sharedManagedService } from '../support/shared-service.js';
import { signedIn } from '../support/signed-in.js';
import { directoryOfFile } from '../support/temporary-directory.js';

const service = sharedManagedService();
const ctx = contextOf(service);
const folder = directoryOfFile();
const CRM_SECRET = 'c'.repeat(40);
const access = { MANAGEMENT_CLIENT_ID: managementClient.id, MANAGEMENT_CLIENT_SECRET: managementClient.client_secret };
const redirect_uri = 'https://crm.example.com/callback';

/** The guide's blocks of a language, with the address of this service. */
async function blocksOf(language: string): Promise<string[]> {
  const guide = (await readFile('docs/how-to/signals.md', 'utf8')).replaceAll('https://id.example.com', service.url);
  return [...guide.matchAll(new RegExp(`\`\`\`${language}\n([\\s\\S]*?)\`\`\``, 'g'))].map(([, block = '']) => block);
}

/** Starts a program in the directory; what it has printed, and what it ends with. */
function start(file: string, words: readonly string[]) {
  const child = spawn(file, words, { cwd: folder, env: { PATH: process.env['PATH'], CRM_SECRET, ...access } });
  const printed: Buffer[] = [];
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (some: Buffer) => printed.push(some));
  return { child, out: () => Buffer.concat(printed).toString() };
}

beforeAll(async () => {
  await symlink(resolve('node_modules'), join(folder, 'node_modules'));
  for (const block of [...(await blocksOf('yaml')), ...(await blocksOf('js'))]) {
    const [, name = ''] = /^(?:#|\/\/) (\S+)\n/.exec(block) ?? [];
    await writeFile(join(folder, name), block);
  }
});

test('one document switches signals on, and the application hears that the session of a person has ended', async () => {
  const cli = [process.execPath, ...(await programArguments('programs/cli'))].join(' ');
  const [script = ''] = await blocksOf('sh');
  const applying = start('bash', ['-c', `set -e\nnpm() { shift 4; ${cli} "$@"; }\n${script}`]);
  expect([await once(applying.child, 'close'), applying.out()]).toEqual([[0, null], expect.stringContaining('created')]);

  const crm = { id: 'crm', client_secret: CRM_SECRET, redirect_uris: [redirect_uri], token_endpoint_auth_method: 'client_secret_basic' } as never; // prettier-ignore
  const user = await addUser(ctx);
  const code = await authorizeCode(await signedIn(service, user), crm, { redirect_uri, scope: 'openid' });
  const { sub, sid } = claimsOf((await redeem(service.url, crm, code)).body.id_token as string);

  const hearing = start(process.execPath, ['hear.mjs']);
  onTestFinished(() => void hearing.child.kill());
  await expect.poll(hearing.out).toBe('listening\n');
  const api = await manage(service.url);
  expect((await api.delete(`/sessions/${String(sid)}`)).status).toBe(204);
  await expect.poll(() => hearing.out().split('\n')[1]).toBeTruthy();
  expect(JSON.parse(hearing.out().split('\n')[1] ?? '')).toEqual({
    format: 'complex',
    user: { format: 'iss_sub', iss: service.url, sub },
    session: { format: 'opaque', id: sid },
  });
});
