// What a start loads: the time until it is ready and the memory that it takes are those of its modules.
import { spawn, spawnSync, type ChildProcess } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { pathToFileURL } from 'node:url';
import { afterEach, expect, test, vi } from 'vitest';
import { programArguments } from '../support/compiled.js';
import { createTestDatabase } from '../support/database.js';
import { noteModules } from '../support/loaded-modules.js';
import { freePort } from '../support/service.js';
import { eventually } from '../support/webhooks.js';
import { shared } from '../support/shared-service.js';

// A shared machine takes its time to start processes.
vi.setConfig({ testTimeout: 150_000 });

/** What only some installations and some requests need. */
const onDemand =
  `@fastify/busboy @opentelemetry/ @peculiar/ @simplewebauthn/server marked nodemailer openid-client parse5 qr redis tar-stream
  tsyringe undici yaml zod-openapi`
    .split(/\s+/)
    .map((name) => `/node_modules/${name}`);
const ownOnDemand = ['/src/dashboard/', '/src/management/', '/src/sso/'];

const SECRET_KEY = randomBytes(32).toString('base64');
let child: ChildProcess | null = null;

const database = shared(
  () => createTestDatabase(),
  (made) => made.drop(),
);

afterEach(() => {
  child?.kill('SIGKILL');
  child = null;
});

async function start(options: readonly string[]): Promise<string> {
  const port = await freePort();
  child = spawn(process.execPath, [...options, ...(await programArguments('main'))], {
    env: { PATH: process.env['PATH'], PORT: String(port), DATABASE_URL: database.url, SECRET_KEY, SMTP_URL: 'smtp://127.0.0.1:9' },
    stdio: ['ignore', 'ignore', 'inherit'],
  });
  const url = `http://localhost:${port}`;
  const isReady = () => fetch(`${url}/readyz`).then(({ ok }) => ok, () => false); // prettier-ignore
  await eventually(isReady, 90_000, 50);
  return url;
}

async function end(): Promise<void> {
  const ended = once(child as ChildProcess, 'exit');
  child?.kill('SIGTERM');
  expect(await ended).toEqual([0, null]);
}

const among = (names: readonly string[], places: readonly string[]) => places.filter((place) => names.some((name) => `${name}/`.includes(place.endsWith('/') ? place : `${place}/`))); // prettier-ignore

test('a process that is ready, and has shown the sign-in page, has loaded nothing that only some need', async () => {
  const modules = noteModules();
  const url = await start(modules.options);
  expect((await fetch(`${url}/login`)).status).toBe(200);
  await end();
  const names = modules.names();
  expect(among(names, ['/node_modules/express', '/node_modules/pg', '/src/oauth/', '/src/account/'])).toHaveLength(4);
  expect(among(names, [...onDemand, ...ownOnDemand])).toEqual([]);
  modules.remove();
});

test('what is left out of a start is loaded by the first request for it, also when several come at once', async () => {
  const modules = noteModules();
  const url = await start(modules.options);
  const statusOf = async (path: string) => (await fetch(`${url}${path}`, { redirect: 'manual' })).status;
  const paths = [
    '/dashboard',
    '/dashboard/users',
    '/dashboards',
    '/api/users',
    '/api',
    '/api/openapi.json',
    '/docs',
    '/docs/oidc',
    '/auth/sso/none',
  ];
  expect(await Promise.all(paths.map(statusOf))).toEqual([303, 303, 404, 401, 404, 200, 200, 200, 404]);
  await end();
  expect(among(modules.names(), [...ownOnDemand, '/node_modules/marked'])).toHaveLength(4);
  modules.remove();
});

test('stacks name the lines that were written', async () => {
  const [enabled, path] = (await programArguments('main')) as [string, string];
  const main = pathToFileURL(path).href;
  // What the program says of its configuration is said from a place of its own, and by a function of none of its files.
  const program = `
    process.stderr.write = function elsewhere() { console.log(new Error('said').stack); return true; };
    await import('${main}');
  `;
  const options = { encoding: 'utf8', env: { PATH: process.env['PATH'], PORT: 'x' } } as const;
  const { stdout, status } = spawnSync(process.execPath, [enabled, '--input-type=module', '--eval', program], options);
  const [said, elsewhere, own] = stdout.split('\n');
  expect([said, elsewhere, status]).toEqual([
    'Error: said',
    expect.stringMatching(/^ {4}at \w+\.elsewhere \[as write\] \(file:\S*\[eval1\]:\d+:\d+\)$/),
    78,
  ]);
  const [, line, column] = /^ {4}at \S+ \(\S*\/src\/process\/run\.ts:(\d+):(\d+)\)$/.exec(own ?? '') ?? [];
  const written = readFileSync('src/process/run.ts', 'utf8').split('\n')[Number(line) - 1] ?? '';
  expect(written.slice(Number(column) - 1)).toMatch(/^write\(/);
});
