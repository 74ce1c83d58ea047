// What somebody sees who starts the service for the first time, at a terminal.
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { createServer, type AddressInfo } from 'node:net';
import { beforeAll, expect, test, vi } from 'vitest';
import { migrationNames } from '../../src/db/migrations/migrate.js';
import { Browser } from '../support/browser.js';
import { createEmptyDatabase } from '../support/database.js';
import { runProgram, startProgram } from '../support/program.js';
import { freePort } from '../support/service.js';
import { shared } from '../support/shared-service.js';

// A shared machine takes its time to start processes.
vi.setConfig({ testTimeout: 150_000 });

let settings: Record<string, string>;
const database = shared(
  () => createEmptyDatabase(),
  (made) => made.drop(),
);

beforeAll(async () => {
  settings = { DATABASE_URL: database.url, SECRET_KEY: randomBytes(32).toString('base64'), LOG_FORMAT: 'pretty' };
});

test('a first start at a terminal is one line for the migrations, then where to go on; a request is one line (specification 1.2.6)', async () => {
  const PORT = String(await freePort());
  const url = `http://localhost:${PORT}`;
  const { kill, ended, prints } = await startProgram('main', [], { ...settings, PORT });
  await prints(`  Ready at ${url}\n`);
  await fetch(`${url}/login`);
  kill('SIGTERM');
  const { stdout, stderr, code } = await ended;
  expect([stderr, code]).toEqual(['', 0]);
  expect(stdout.split('\n')).toEqual([
    expect.stringMatching(`^[\\d:]{8}  .* database\\.migrated migration=\\S+ count=${(await migrationNames()).length}$`),
    '',
    `  Ready at ${url}`,
    '',
    `  Dashboard      ${url}/dashboard`,
    expect.stringMatching(`^  Set up         ${url}/dashboard/setup\\?token=\\S{40,}$`),
    '                 makes the first administrator, within an hour',
    `  Mailbox        ${url}/dev/mailbox`,
    `  Documentation  ${url}/docs`,
    '',
    expect.stringMatching(/^[\d:]{8} {2}200 {2}GET \/login {2}\d+ ms$/),
    expect.stringMatching(/^[\d:]{8} {2}stopping {2}service\.stopping signal=SIGTERM$/),
    '',
  ]);
});

test('the demonstration has an administrator, says whom to sign in as, and says it again when it is started again (specification 1.3.5)', async () => {
  const [PORT, port] = [String(await freePort()), String(await freePort())];
  const url = `http://localhost:${PORT}`;
  const start = async () => {
    const demo = await startProgram('programs/demo', ['--app-port', port], { ...settings, PORT });
    await demo.prints('  Example application  ');
    return demo;
  };
  const stop = ({ kill, ended }: Awaited<ReturnType<typeof start>>) => {
    kill('SIGTERM');
    return ended;
  };
  const { code, stdout, stderr } = await stop(await start());
  const found = stdout.match(/password (\S+)\n\n {2}Dashboard {2}\S+\n {4}sign in as (\S+), password (\S+)\n/);
  const [, , email = '', password = ''] = found ?? [];
  expect([code, stderr, email]).toEqual([0, '', 'admin@example.com']);
  expect(stdout).not.toContain('/dashboard/setup');
  expect(stdout).not.toContain('role.assigned');
  const again = await start();
  const browser = new Browser(url);
  await browser.login(email, password);
  expect((await browser.get('/dashboard')).status).toBe(200);
  expect((await stop(again)).stdout).toContain(`    sign in as ${email}, password ${password}\n`);
});

test('a port in use ends the start by one line that says what to do, before the database is opened (specification 1.2.7)', async () => {
  const other = createServer().listen(0, '127.0.0.1');
  await once(other, 'listening');
  const { port } = other.address() as AddressInfo;
  try {
    for (const WEB_CONCURRENCY of ['1', '2'])
      expect(
        await runProgram('main', [], {
          ...settings,
          DATABASE_URL: 'postgres://nobody@127.0.0.1:1/none',
          PORT: String(port),
          WEB_CONCURRENCY,
        }),
      ).toEqual({
        code: 1,
        stdout: '',
        stderr: `port ${port} is in use: stop the program that listens there, or choose another port with PORT=${port + 1}.\n`,
      });
  } finally {
    other.close();
  }
  const elsewhere = await runProgram('main', [], { ...settings, HOST: '192.0.2.1', PORT: String(port) });
  expect(elsewhere).toMatchObject({ code: 1, stderr: 'HOST 192.0.2.1 is no address of this machine.\n' });
});
