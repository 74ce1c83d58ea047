// The doctor on installations that are really broken: it names the fix of each, and what it names, run as it stands, mends it.
import { spawnSync } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { chmod, mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import pg from 'pg';
import { request } from 'undici';
import { afterEach, expect, test, vi } from 'vitest';
import { transaction } from '../../src/domain/context.js';
import { createLogStream } from '../../src/domain/log-streams/log-streams.js';
import type { CheckId } from '../../src/domain/diagnostics/check-ids.js';
import type { CheckResult } from '../../src/domain/diagnostics/diagnose.js';
import { pathOf, needs } from '../support/programs.js';
import { programArguments } from '../support/compiled.js';
import { addConnection } from '../support/connections.js';
import { addClient, addUser, password } from '../support/data.js';
import { createTestDatabase } from '../support/database.js';
import { apply, findingsOf, printedFindings, runDoctor, type Variables } from '../support/doctor.js';
import { killReplicas, startReplica, type Replica } from '../support/replica.js';
import { freePort } from '../support/service.js';
import { startSmtpServer } from '../support/smtp.js';
import { openContext } from '../support/standalone.js';
import { addWebhook } from '../support/webhooks.js';

// Each test starts a handful of processes, one after the other.
vi.setConfig({ testTimeout: 240_000 });

const cleanups: (() => unknown)[] = [];
afterEach(async () => {
  killReplicas();
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup();
});

const newKey = () => randomBytes(32).toString('base64');

/** An installation on a database of its own: its variables, and a door to its database. */
async function installation(more: Variables = {}) {
  const database = await createTestDatabase();
  cleanups.push(() => database.drop());
  const SECRET_KEY = newKey();
  const port = String(await freePort());
  const client = { MANAGEMENT_CLIENT_ID: 'ops', MANAGEMENT_CLIENT_SECRET: randomBytes(16).toString('hex') };
  const env: Variables = { DATABASE_URL: database.url, SECRET_KEY, PORT: port, LOG_FORMAT: 'json', RATE_LIMITS: 'off', ...client, ...more };
  const opened = await openContext(database.url, SECRET_KEY, env);
  cleanups.push(() => opened.close());
  return { env, ctx: opened.ctx, sql: (text: string) => opened.ctx.db.knex.raw(text) };
}

/** The service of the installation, at the port that its variables name. */
async function start({ DATABASE_URL = '', SECRET_KEY = '', ...env }: Variables): Promise<Replica> {
  return { ...(await startReplica(DATABASE_URL, SECRET_KEY, env)), url: `http://localhost:${env['PORT']}` };
}

async function directory(): Promise<string> {
  const made = await mkdtemp(join(tmpdir(), 'identity-provider-doctor-'));
  cleanups.push(() => rm(made, { recursive: true, force: true }));
  return made;
}

/** What hurts, of one check. */
const hurting = (checks: readonly CheckResult[]) => checks.filter(({ level }) => level === 'problem' || level === 'warning');

/** Finds one thing that is wrong, does what is named as its fix, and finds nothing any more. */
async function mends(env: Variables, check: CheckId, expected: { finding: RegExp; fix: RegExp; code?: number }): Promise<Variables> {
  const { checks, code } = await findingsOf(env, check);
  const [found, ...others] = hurting(checks);
  expect(others).toEqual([]);
  expect(found?.finding).toMatch(expected.finding);
  expect(found?.fix).toMatch(expected.fix);
  expect(code).toBe(expected.code ?? 1);
  const then = await apply(found?.fix ?? '', env);
  const after = await findingsOf(then, check);
  expect([hurting(after.checks), after.code]).toEqual([[], 0]);
  return then;
}

test('a BASE_URL that is not what the proxy in front is asked for', async () => {
  const { env, sql } = await installation({ TRUST_PROXY: 'loopback', BASE_URL: 'https://old.example.com' });
  const { url } = await start(env);
  const headers = { 'x-forwarded-host': 'id.example.com', 'x-forwarded-proto': 'https', 'x-forwarded-for': '203.0.113.9' };
  const sampled = async () => {
    await request(`${url}/login`, { headers });
    await sql("select pg_notify('outbox', 'processes')");
    const { rows } = (await sql("select (forwarded->>'sampled')::integer as count from processes")) as { rows: { count: number }[] };
    return rows[0]?.count;
  };
  await expect.poll(sampled, { timeout: 30_000 }).toBeGreaterThanOrEqual(3);
  const { checks } = await findingsOf(env, 'proxy');
  expect(checks[0]).toMatchObject({ fix: 'BASE_URL=https://id.example.com', subject: 'BASE_URL' });
  await mends(env, 'proxy', { finding: /asked for id\.example\.com, but BASE_URL is https:\/\/old\.example\.com/, fix: /^BASE_URL=/ });
});

test('a mail server that is down', async () => {
  const port = await freePort();
  const { env } = await installation({ SMTP_URL: `smtp://user:the-password@127.0.0.1:${port}` });
  const { checks } = await findingsOf(env, 'mail');
  expect(checks).toEqual([
    expect.objectContaining({ level: 'problem', finding: `The mail server 127.0.0.1:${port} can not be reached.`, fix: 'SMTP_URL' }),
  ]);
  expect(JSON.stringify(checks)).not.toContain('the-password');
  const server = await startSmtpServer();
  cleanups.push(() => server.close());
  const then = await apply(`SMTP_URL=smtp://127.0.0.1:${server.port}`, env);
  expect((await findingsOf(then, 'mail')).status).toBe('ok');
  expect(server.received).toEqual([]);
});

needs('faketime')('a clock that is five minutes off', async () => {
  const { env } = await installation();
  // The machine's clock is wrong until somebody has it set, which `timedatectl` does here by taking the file away.
  const bin = await directory();
  const flag = join(bin, 'wrong');
  await writeFile(flag, '');
  await writeFile(join(bin, 'sudo'), '#!/bin/sh\nexec "$@"\n', { mode: 0o755 });
  await writeFile(join(bin, 'timedatectl'), `#!/bin/sh\n[ "$*" = "set-ntp true" ] && rm ${flag}\n`, { mode: 0o755 });
  const told = spawnSync(pathOf('faketime'), ['-m', '-f', '+5m', 'env'], { encoding: 'utf8' }).stdout;
  const LD_PRELOAD = /^LD_PRELOAD=(.+)$/m.exec(told)?.[1] as string;
  const bent = { ...env, LD_PRELOAD, FAKETIME: '+5m', FAKETIME_DONT_FAKE_MONOTONIC: '1' };
  const [found] = hurting((await printedFindings(bent, '--check', 'clock')).checks);
  expect(found).toMatchObject({ level: 'problem', fix: 'sudo timedatectl set-ntp true' });
  expect(found?.finding).toMatch(/^This machine's clock is (299|300|301)\.\d s ahead of the database's\.$/);
  await apply(found?.fix ?? '', { ...env, PATH: `${bin}:${process.env['PATH']}` });
  expect(spawnSync('ls', [bin], { encoding: 'utf8' }).stdout).not.toContain('wrong');
  expect((await findingsOf(env, 'clock')).status).toBe('ok');
});

test('a schema that lacks migrations', async () => {
  const { env, sql } = await installation();
  await sql('drop schema public cascade; create schema public');
  const { checks } = await findingsOf(env);
  expect(checks.find(({ id }) => id === 'webhooks')).toMatchObject({
    level: 'skipped',
    finding: 'Not looked at: migrations are pending (migrations).',
  });
  await mends(env, 'migrations', {
    finding: /^The database lacks the migration 0001_baseline( and \d+ more)?\.$/,
    fix: /^npm run -s migrate$/,
  });
});

test('a data directory that is closed', async () => {
  const home = await directory();
  const DATA_DIR = join(home, 'data');
  await mkdir(DATA_DIR);
  const isRoot = process.getuid?.() === 0;
  // Nothing is closed to root, but PostgreSQL runs as another user there.
  await chmod(isRoot ? home : DATA_DIR, isRoot ? 0o700 : 0o500);
  const expected = isRoot
    ? { finding: /is closed to the user "\w+", who runs PostgreSQL for root/, fix: /^DATA_DIR=\/var\/lib\/identity-provider-data$/ }
    : { finding: /is closed to the user/, fix: /^chmod u\+rwx / };
  await mends({ DATA_DIR, PORT: String(await freePort()) }, 'config', expected);
});

test('a SECRET_KEY that is not the one of the embedded database, which can’t start', async () => {
  const DATA_DIR = join(await directory(), 'data');
  await chmod(join(DATA_DIR, '..'), 0o755);
  const env: Variables = { DATA_DIR, PORT: String(await freePort()), LOG_FORMAT: 'json' };
  const first = await start({ ...env, DATABASE_URL: '', SECRET_KEY: '' });
  expect(await first.end('SIGTERM')).toBe(0);
  const wrong = { ...env, SECRET_KEY: newKey() };
  const refused = spawnSync(process.execPath, await programArguments('main'), {
    env: { PATH: process.env['PATH'], ...wrong },
    encoding: 'utf8',
  });
  expect(refused.status).toBe(78);
  const then = await mends(wrong, 'secret_key', {
    finding: /^1 values in signing_keys need the key [0-9a-f]{8}; given are [0-9a-f]{8}\.$/,
    fix: /^unset SECRET_KEY$/,
  });
  const again = await start({ ...then, DATABASE_URL: '', SECRET_KEY: '' });
  expect(await again.end('SIGTERM')).toBe(0);
});

test('a SECRET_KEY that is not the database’s: the variable is named, and the key by its id', async () => {
  const { env } = await installation();
  const other = newKey();
  const { checks, code } = await findingsOf({ ...env, SECRET_KEY: other }, 'secret_key');
  expect([checks[0]?.fix, code]).toEqual(['SECRET_KEY_PREVIOUS', 1]);
  expect(JSON.stringify(checks)).not.toContain(other);
  const listed = await findingsOf({ ...env, SECRET_KEY: other, SECRET_KEY_PREVIOUS: env['SECRET_KEY'] ?? '' }, 'secret_key');
  expect(listed.checks[0]).toMatchObject({ level: 'warning', fix: 'npm run -s rekey' });
  await mends({ ...env, SECRET_KEY: other, SECRET_KEY_PREVIOUS: env['SECRET_KEY'] ?? '' }, 'secret_key', {
    finding: /sealed with an earlier key/,
    fix: /rekey/,
    code: 2,
  });
});

test('a webhook whose receiver is gone', async () => {
  const { env, ctx } = await installation();
  const port = await freePort();
  const { webhook } = await addWebhook(ctx, `http://127.0.0.1:${port}/hook?token=hidden`);
  await start(env);
  const { checks } = await findingsOf(env, 'webhooks');
  expect(checks[0]).toMatchObject({ level: 'warning', subject: `webhooks/${webhook.id}` });
  expect(JSON.stringify(checks)).not.toContain('hidden');
  await mends(env, 'webhooks', {
    finding: /can not be reached: http:\/\/127\.0\.0\.1:\d+ takes no connection\.$/,
    fix: /webhooks update .* --status disabled$/,
    code: 2,
  });
});

test('whatever the command line is named for, of every kind of record, mends by itself', async () => {
  const { env, ctx, sql } = await installation();
  await start(env);
  const gone = `http://127.0.0.1:${await freePort()}`;
  await addWebhook(ctx, `${gone}/hook`);
  await addConnection(ctx, { issuer: gone });
  await addClient(ctx, { redirect_uris: ['http://app.example.com/cb?a=1', 'https://app.example.com/cb'] });
  await transaction(ctx, (tx) => createLogStream(tx, { name: 'SIEM', url: `${gone}/in`, format: 'native', sources: ['security_events'] }));
  await sql(`update environments set kind = 'production', lockout_threshold = 500`);
  const look = async () => {
    const { checks } = await findingsOf(env, 'webhooks', 'connections', 'log_streams', 'clients', 'settings', 'administrators');
    return checks.filter(({ fix }) => fix?.startsWith('npm run -s cli'));
  };
  const found = await look();
  expect(found.map(({ id }) => id).sort()).toEqual(['administrators', 'clients', 'connections', 'log_streams', 'settings', 'webhooks']);
  for (const { fix } of found) await apply(fix ?? '', env);
  // One administrator is better than none, and a second one better still: the same command with another address.
  expect((await look()).map(({ id, finding }) => [id, finding])).toEqual([['administrators', 'Only one person administers the service.']]);
});

test('a primary signing key that is too old', async () => {
  const { env, ctx, sql } = await installation();
  // What changes keys over stands still: somebody holds its lock.
  const holder = await ctx.db.knex.transaction();
  cleanups.push(() => holder.rollback());
  await holder.raw(`set local idle_in_transaction_session_timeout = 0; select pg_advisory_xact_lock(hashtextextended('signing_keys', 0))`);
  await start(env);
  await sql(`update signing_keys set activated_at = now() - interval '130 days' where status = 'primary'`);
  await mends(env, 'signing_keys', {
    finding: /has signed for 130 days, and there is no next one/,
    fix: /signing_keys create --algorithm RS256$/,
    code: 2,
  });
  // One that waits for longer than its day can be activated at once.
  await sql(`update signing_keys set created_at = now() - interval '3 days' where status = 'next'`);
  await mends(env, 'signing_keys', { finding: /though the next one waits/, fix: /signing_keys activate \S+$/, code: 2 });
});

test('a BASE_URL on http beyond loopback', async () => {
  const env = { BASE_URL: 'http://id.example.com:3000', DATA_DIR: join(await directory(), 'none') };
  const then = await mends(env, 'cookies', { finding: /is plain http beyond this machine/, fix: /^BASE_URL=https:\/\/id\.example\.com$/ });
  expect(then['BASE_URL']).toBe('https://id.example.com');
});

test('a single administrator', async () => {
  const { env, sql } = await installation({ ADMIN_EMAIL: 'only@example.com', ADMIN_PASSWORD: password });
  await sql(`update environments set kind = 'production'`);
  await start({ ...env, ADMIN_PASSWORD: '', ADMIN_EMAIL: '' });
  const { ADMIN_EMAIL: _email, ADMIN_PASSWORD: _password, ...without } = env;
  await mends(without, 'administrators', {
    finding: /^Only one person administers the service\.$/,
    fix: /create-administrator second\.administrator@example\.com$/,
    code: 2,
  });
  const { checks } = await findingsOf(env, 'administrators');
  expect(checks).toEqual([
    expect.objectContaining({ level: 'warning', fix: 'unset ADMIN_EMAIL ADMIN_PASSWORD', subject: 'ADMIN_PASSWORD' }),
  ]);
  expect(JSON.stringify(checks)).not.toContain(password);
});

test('a variable with a wrong name, and wrong values: all of them at once, and the rest is looked at', async () => {
  const { env } = await installation();
  const { checks, code } = await printedFindings({ ...env, SMTP_URI: 'smtp://u:hidden@127.0.0.1', PORT: 'many', METRICS_TOKEN: 'short' });
  expect(code).toBe(1);
  const config = checks.filter(({ id }) => id === 'config').map(({ level, subject }) => [level, subject]);
  expect(config).toEqual([['problem', 'PORT'], ['problem', 'METRICS_TOKEN'], ['warning', 'SMTP_URI']]); // prettier-ignore
  expect(checks.find(({ id }) => id === 'issuer')?.level).toBe('skipped');
  expect(checks.find(({ id }) => id === 'secret_key')?.level).toBe('ok');
  expect(JSON.stringify(checks)).not.toMatch(/hidden|short/);
  await mends({ ...env, SMTP_URI: 'smtp://127.0.0.1' }, 'config', {
    finding: /the variable is called SMTP_URL\.$/,
    fix: /^export SMTP_URL="\$SMTP_URI"; unset SMTP_URI$/,
    code: 2,
  });
});

test('nothing that hangs keeps it, and it says what it could not look at', async () => {
  const silent = createServer(() => undefined);
  await new Promise<void>((resolve) => silent.listen(0, '127.0.0.1', resolve));
  cleanups.push(() => silent.close());
  const { port } = silent.address() as { port: number };
  const began = performance.now();
  const env = {
    DATABASE_URL: `postgres://u:hidden@127.0.0.1:${port}/x`,
    SECRET_KEY: newKey(),
    SMTP_URL: `smtp://127.0.0.1:${port}`,
    BASE_URL: `http://localhost:${port}`,
  };
  const { checks, code } = await printedFindings(env);
  // Some ten seconds; a busy machine takes longer to start the process, and a look without a deadline takes minutes.
  expect(performance.now() - began).toBeLessThan(45_000);
  expect(code).toBe(1);
  expect(checks.find(({ id }) => id === 'mail')?.finding).toMatch(/does not greet in time|took longer than/);
  expect(checks.filter(({ id }) => ['database', 'issuer'].includes(id)).map(({ level }) => level)).toEqual(
    expect.arrayContaining(['problem']),
  );
  expect(checks.find(({ id }) => id === 'webhooks')?.level).toBe('skipped');
  expect(JSON.stringify(checks)).not.toContain('hidden');
});

test('a database that does not exist, or refuses the password', async () => {
  const { env } = await installation();
  const url = new URL(env['DATABASE_URL'] ?? '');
  const missing = new URL(url);
  missing.pathname = `/missing_${randomBytes(4).toString('hex')}`;
  const [found] = (await findingsOf({ ...env, DATABASE_URL: missing.href }, 'database')).checks;
  expect(found?.fix).toMatch(new RegExp(`^createdb -h ${url.hostname} -p ${url.port} -U \\w+ -- ${missing.pathname.slice(1)}$`));
  const refused = new URL(url);
  refused.password = 'wrong-password';
  const [second] = (await findingsOf({ ...env, DATABASE_URL: refused.href }, 'database')).checks;
  expect(second).toMatchObject({ level: 'problem', fix: 'DATABASE_URL' });
  expect(JSON.stringify([found, second])).not.toContain('wrong-password');
});

test('a look makes no directory, no key and no row', async () => {
  const home = await directory();
  const DATA_DIR = join(home, 'data');
  const { code } = await printedFindings({ DATA_DIR, PORT: String(await freePort()) });
  expect(code).toBe(1);
  expect(spawnSync('ls', ['-A', home], { encoding: 'utf8' }).stdout).toBe('');
  const { env, ctx } = await installation();
  await addUser(ctx);
  const client = new pg.Client({ connectionString: env['DATABASE_URL'] });
  await client.connect();
  cleanups.push(() => client.end());
  const state = async () => {
    const { rows } = await client.query<{ name: string }>(
      `select relname as name from pg_class where relkind = 'r' and relnamespace = 'public'::regnamespace order by 1`,
    );
    const parts = rows.map(
      ({ name }) => `select '${name}' as name, md5(coalesce(string_agg(t::text, ',' order by t::text), '')) as sum from ${name} t`,
    );
    return (await client.query(parts.join(' union all '))).rows;
  };
  const before = await state();
  await printedFindings(env);
  expect(await state()).toEqual(before);
});

test('the commands that fixes name are scripts of the project', async () => {
  const { scripts } = JSON.parse(await readFile('package.json', 'utf8')) as { scripts: Record<string, string> };
  for (const name of ['doctor', 'migrate', 'rekey', 'cli']) expect(scripts[name]).toBe(`exec sh bin/run.sh ${name}`);
});

test('for people: the worst first, each with its fix; wrong arguments are 64', async () => {
  const { env } = await installation({ SMTP_URL: `smtp://127.0.0.1:${await freePort()}` });
  const { stdout, code } = await runDoctor(env, '--check', 'mail', 'cookies', 'versions');
  expect(code).toBe(1);
  expect(stdout).toMatch(/^problem {2}mail: The mail server 127\.0\.0\.1:\d+ can not be reached\.\n {9}Codes and notices wait/);
  expect(stdout).toMatch(/\n {9}fix: SMTP_URL\n/);
  expect(stdout).toMatch(/\nok {7}cookies\n/);
  expect((await runDoctor(env, '--check', 'constructor')).code).toBe(64);
  expect((await runDoctor(env, '--fail-on', 'never')).code).toBe(64);
  expect((await runDoctor(env, '--check', 'cookies')).code).toBe(0);
});
