// What `npm pack` makes of the typed client and of the command line, in a directory that has nothing else.
import { execFile } from 'node:child_process';
import { mkdir, mkdtemp, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { managementClient } from '../support/management.js';
import { runtimes } from '../support/runtimes.js';
import { sharedManagedService } from '../support/shared-service.js';

const run = promisify(execFile);
const service = sharedManagedService();

async function emptyDirectory(): Promise<string> {
  const directory = await mkdtemp(join(tmpdir(), 'identity-provider-packed-'));
  onTestFinished(() => rm(directory, { recursive: true, force: true }));
  return directory;
}

const npm = async (cwd: string, ...words: string[]) =>
  (await run('npm', [...words, '--offline', '--no-audit', '--no-fund', '--no-update-notifier'], { cwd, maxBuffer: 2 ** 26 })).stdout;

/** The path of the package of a directory, below `to`. */
async function packed(directory: string, to: string, ...options: string[]): Promise<string> {
  const [made] = JSON.parse(/^\[[\s\S]*/m.exec(await npm(directory, 'pack', '--json', '--pack-destination', to, ...options))?.[0] ?? '[]') as { filename: string }[]; // prettier-ignore
  return join(to, made?.filename ?? '');
}

beforeAll(() => run('sh', ['bin/build.sh']), 240_000);

let installation: Promise<string> | null = null;
/** A directory where the typed client is installed with what it names; made once. */
const installed = () =>
  (installation ??= (async () => {
    const directory = await mkdtemp(join(tmpdir(), 'identity-provider-packed-'));
    const { dependencies } = JSON.parse(await readFile('packages/client/package.json', 'utf8')) as { dependencies: Record<string, string> };
    const names = [...Object.keys(dependencies), 'openapi-typescript-helpers'];
    const files = [await packed('packages/client', directory)];
    for (const name of names) files.push(await packed(join('node_modules', name), directory, '--ignore-scripts'));
    await writeFile(join(directory, 'package.json'), '{"type": "module"}');
    await npm(directory, 'install', ...files);
    return directory;
  })());
afterAll(async () => {
  if (installation) await rm(await installation, { recursive: true, force: true });
});

describe.each(runtimes)('$name', ({ name, test: testOf, command }) => {
  testOf()('makes the first call with the typed client that is installed, in JavaScript and TypeScript', async () => {
    const directory = await installed();
    const [, first = ''] = /^```ts\n(.*?)^```/ms.exec(await readFile('packages/client/README.md', 'utf8')) ?? [];
    const { id, client_secret } = managementClient;
    const env = { PATH: process.env['PATH'], HOME: directory, ISSUER: service.url, CLIENT_ID: id, CLIENT_SECRET: client_secret };
    // Node before 22.18 reads no TypeScript.
    for (const file of name === 'Node' ? ['first.js'] : ['first.js', 'first.ts']) {
      await writeFile(join(directory, file), first.replace('ada@', 'packed@'));
      const [program, ...words] = command();
      expect((await run(program, [...words, file], { cwd: directory, env })).stdout).toMatch(/^created \S+$/m);
    }
    expect(await readFile(join(directory, 'node_modules/identity-provider-client/dist/index.d.ts'), 'utf8')).toContain('createManagementClient'); // prettier-ignore
  });
});

test('the command line has in its package what it needs, and lists users', async () => {
  const directory = await emptyDirectory();
  const home = join(directory, 'node_modules/identity-provider');
  await mkdir(home, { recursive: true });
  await run('tar', ['-xzf', await packed('.', directory, '--ignore-scripts'), '--strip-components=1', '-C', home]);
  const { bin, dependencies } = JSON.parse(await readFile(join(home, 'package.json'), 'utf8')) as Record<'bin' | 'dependencies', Record<string, string>>; // prettier-ignore
  // What npm would fetch.
  for (const name of Object.keys(dependencies)) {
    const path = join(directory, 'node_modules', name);
    await mkdir(dirname(path), { recursive: true });
    await symlink(resolve('node_modules', name), path);
  }
  const { id, client_secret } = managementClient;
  const env = {
    PATH: process.env['PATH'],
    HOME: directory,
    BASE_URL: service.url,
    MANAGEMENT_CLIENT_ID: id,
    MANAGEMENT_CLIENT_SECRET: client_secret,
  };
  const idp = async (...words: string[]) =>
    (await run(process.execPath, [join(home, bin['idp'] ?? ''), ...words], { cwd: directory, env })).stdout;
  expect(await idp('--help')).toMatch(/^Usage: idp /);
  expect(await idp('users', 'create', '--help')).toContain('--first-name');
  expect(await idp('users', 'create', '--email', 'by-package@example.com')).toContain('by-package@example.com');
  expect(await idp('users', 'list', '--output', 'yaml')).toContain('by-package@example.com');
});
