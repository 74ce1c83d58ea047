// A checkout that belongs to somebody else and may not be written, with sources newer than what is built: its commands run what is there.
import { spawn, spawnSync, type ChildProcess } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { chmodSync, cpSync, mkdirSync, mkdtempSync, readdirSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import { afterAll, afterEach, beforeAll, expect, vi } from 'vitest';
import { beside, programArguments } from '../support/compiled.js';
import { createTestDatabase } from '../support/database.js';
import { needsRoot } from '../support/programs.js';
import { freePort } from '../support/service.js';
import { eventually } from '../support/webhooks.js';

vi.setConfig({ testTimeout: 150_000 });

/** Root writes everywhere: what root tests is run by nobody. */
const isRoot = process.getuid?.() === 0;
const somebody = isRoot ? { uid: 65_534, gid: 65_534 } : {};
/** A root whose home holds the project lets nobody read it. */
const isReadable = spawnSync('test', ['-r', resolve('node_modules/.bin/tsc')], somebody).status === 0;

let checkout: string;
let database: Awaited<ReturnType<typeof createTestDatabase>>;
let child: ChildProcess | null = null;
const closed = () => ['src', 'bin', 'dist', 'dist/programs', 'dist/chunks', '.'].map((name) => join(checkout, name));

beforeAll(async () => {
  database = await createTestDatabase();
  checkout = mkdtempSync(join(tmpdir(), 'identity-provider-checkout-'));
  const dist = dirname((await programArguments('main')).at(-1) as string);
  for (const name of beside) symlinkSync(resolve(name), join(checkout, name));
  cpSync('bin', join(checkout, 'bin'), { recursive: true });
  cpSync(dist, join(checkout, 'dist'), { recursive: true, preserveTimestamps: true });
  mkdirSync(join(checkout, 'src'));
  writeFileSync(join(checkout, 'src/main.ts'), 'this is no program');
  for (const directory of closed()) chmodSync(directory, 0o555);
});

afterEach(() => {
  child?.kill('SIGKILL');
  child = null;
});

afterAll(async () => {
  for (const directory of closed().reverse()) chmodSync(directory, 0o755);
  rmSync(checkout, { recursive: true, force: true });
  await database?.drop();
});

const settings = () => ({
  cwd: checkout,
  // Somebody without a home of their own.
  env: {
    PATH: process.env['PATH'],
    HOME: '/nonexistent',
    DATABASE_URL: database.url,
    SECRET_KEY: randomBytes(32).toString('base64'),
  } as Record<string, string | undefined>,
  ...somebody,
});

const run = (...words: string[]) => {
  const { status, stdout, stderr } = spawnSync('npm', ['run', '-s', ...words], { ...settings(), encoding: 'utf8' });
  return { status, stdout, stderr };
};

const there = needsRoot(isReadable);

there('the doctor looks, commands tell what they do, and nothing is built or written', () => {
  // What is linked belongs to the suite, which writes below node_modules meanwhile.
  const names = () => [checkout, ...['bin', 'dist', 'src'].map((one) => join(checkout, one))].flatMap((one) => readdirSync(one).toSorted());
  const before = names();
  const looked = run('doctor', '--', '--check', 'config', '--json');
  expect(looked.stderr).toBe('');
  expect(JSON.parse(looked.stdout)).toMatchObject({ checks: [{ id: 'config', level: 'ok' }] });
  for (const name of ['cli', 'backup', 'migrate'])
    expect(run(name, '--', '--help')).toMatchObject({ status: 0, stdout: expect.stringMatching(`^Usage: ${name} `) as string, stderr: '' });
  expect(names()).toEqual(before);
  expect(spawnSync('touch', [join(checkout, 'dist/one')], { ...somebody }).status).not.toBe(0);
});

there('the service starts, and ends at a signal', async () => {
  const port = await freePort();
  const { env, ...where } = settings();
  child = spawn('npm', ['start'], { ...where, env: { ...env, PORT: String(port) }, stdio: ['ignore', 'ignore', 'inherit'] });
  await eventually(() => fetch(`http://localhost:${port}/readyz`).then(({ ok }) => ok, () => false), 90_000, 50); // prettier-ignore
  const ended = once(child, 'exit');
  child.kill('SIGTERM');
  expect(await ended).toEqual([0, null]);
});
