import { spawn, spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { connect, createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { freePort } from '../support/service.js';
import { asks, atEnd, must, post, signs, startPostgres, startReplica } from './harness.js';

const installed = (command: string) => spawnSync('sh', ['-c', `command -v ${command}`], { encoding: 'utf8' }).stdout.trim();

/** Runs a program in the foreground with its configuration in a directory of its own; waits until the port takes connections. */
async function run(command: string, args: (file: string) => string[], configuration: string, port: number): Promise<void> {
  const directory = mkdtempSync(join(tmpdir(), 'identity-provider-beside-'));
  const file = join(directory, 'configuration');
  writeFileSync(file, configuration);
  spawnSync('chmod', ['-R', 'a+rX', directory]);
  const child = spawn(command, args(file), { stdio: ['ignore', 'inherit', 'inherit'] });
  const ended = new Promise((resolve) => child.once('exit', resolve));
  atEnd(async () => {
    child.kill('SIGTERM');
    await ended;
    rmSync(directory, { recursive: true, force: true });
  });
  for (let attempt = 0; ; attempt++) {
    const open = await new Promise<boolean>((resolve) => {
      const socket = connect(port, '127.0.0.1', () => resolve(true));
      socket.on('error', () => resolve(false));
      socket.on('connect', () => socket.destroy());
    });
    if (open) return;
    if (attempt === 100 || child.exitCode !== null) throw new Error(`${command} does not listen`);
    await delay(100);
  }
}

const ports = (urls: readonly string[]) => urls.map((url) => new URL(url).port);

/** haproxy or nginx where one is installed, else ten lines that hand connections round. */
async function startBalancer(port: number, urls: readonly string[]): Promise<string> {
  if (installed('haproxy')) {
    const servers = ports(urls).map((one, i) => `  server s${i} 127.0.0.1:${one} check inter 500`);
    const times = 'timeout connect 2s\n  timeout client 30s\n  timeout server 30s';
    const text = `defaults\n  mode http\n  ${times}\n  option redispatch\n  retries 3\nlisten all\n  bind 127.0.0.1:${port}\n  option httpchk GET /readyz\n${servers.join('\n')}\n`;
    await run('haproxy', (file) => ['-db', '-f', file], text, port);
    return 'haproxy';
  }
  if (installed('nginx')) {
    const servers = ports(urls).map((one) => `server 127.0.0.1:${one};`);
    const text = `daemon off; pid /dev/null; error_log stderr; events {} http { access_log off; upstream all { ${servers.join(' ')} }
      server { listen 127.0.0.1:${port}; location / { proxy_pass http://all; proxy_set_header Host $host; proxy_next_upstream error timeout non_idempotent; } } }`;
    await run('nginx', (file) => ['-c', file], text, port);
    return 'nginx';
  }
  let turn = 0;
  const server = createServer((near) => {
    const start = turn++;
    const reach = (tries: number) => {
      const far = connect(Number(ports(urls)[(start + tries) % urls.length]), '127.0.0.1');
      let reached = false;
      far.once('connect', () => {
        reached = true;
        near.pipe(far).pipe(near);
        near.once('close', () => far.destroy());
      });
      far.on('error', () => (tries > 0 && !reached ? reach(tries - 1) : near.destroy()));
    };
    near.on('error', () => near.destroy());
    reach(urls.length - 1);
  });
  await new Promise<void>((resolve) => server.listen(port, '127.0.0.1', resolve));
  atEnd(async () => void server.close());
  return 'a round robin of our own (neither haproxy nor nginx is installed)';
}

/** Two replicas behind a load balancer share everything but the process; one may go. */
export async function balancer(): Promise<void> {
  const postgres = await startPostgres();
  const port = await freePort();
  const BASE_URL = `http://localhost:${port}`;
  const environment = { BASE_URL, RATE_LIMITS: 'on', RATE_LIMIT_TOKEN: '40/60' };
  const replicas = await Promise.all([1, 2].map(() => startReplica(postgres.url, environment)));
  const which = await startBalancer(port, replicas.map(({ url }) => url)); // prettier-ignore
  console.log(`behind ${which}`);
  const token = JSON.parse((await signs(BASE_URL)).text) as { access_token: string };
  const seen = await Promise.all(Array.from({ length: 20 }, () => post(BASE_URL, '/oauth/introspect', { token: token.access_token })));
  must(seen.every(({ text }) => text.includes('"active":true')), 'a token of one is known to both'); // prettier-ignore
  const limited = await Promise.all(Array.from({ length: 60 }, () => signs(BASE_URL)));
  const granted = limited.filter(({ status }) => status === 200).length;
  must(granted === 39, `both count one limit: ${granted + 1} of 40 were granted`);
  const [first, second] = replicas;
  first?.process.kill('SIGTERM');
  must((await first?.exited) === 0, 'one ends in order');
  const after = await Promise.all(Array.from({ length: 20 }, () => asks(BASE_URL)));
  must(after.every(({ status }) => status === 200) && second?.process.exitCode === null, 'the other one answers everything'); // prettier-ignore
}

/** Through pgbouncer in transaction mode, with the direct address for LISTEN and migrations. */
export async function pgbouncer(): Promise<void> {
  const command = process.env['PGBOUNCER'] ?? installed('pgbouncer');
  if (command === '') return console.log('pgbouncer is not installed (PGBOUNCER names it elsewhere): not run');
  const postgres = await startPostgres();
  const server = new URL(postgres.url);
  const port = await freePort();
  const text = `[databases]
* = host=127.0.0.1 port=${server.port} user=${server.username} password=${server.password}
[pgbouncer]
listen_addr = 127.0.0.1
listen_port = ${port}
auth_type = any
pool_mode = transaction
default_pool_size = 5
unix_socket_dir =
logfile =
`;
  await run(command, (file) => ['-q', '-u', 'postgres', file], text, port);
  const pooled = new URL(postgres.url);
  pooled.port = String(port);
  const replica = await startReplica(pooled.href, { DATABASE_DIRECT_URL: postgres.url, DATABASE_PREPARED_STATEMENTS: 'off' });
  const answers = await Promise.all(Array.from({ length: 200 }, (_, i) => (i % 2 === 0 ? signs(replica.url) : asks(replica.url))));
  const statuses = [...new Set(answers.map(({ status }) => status))];
  must(statuses.join() === '200', `200 requests over 5 server connections: ${statuses.join(' ')}`);
  await postgres.query(`update clients set status = 'disabled' where id = 'fault-client'`);
  await delay(1000);
  must((await signs(replica.url)).status === 401, 'a change is heard on the direct connection');
}
