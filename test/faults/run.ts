// Faults that the service survives: `npx tsx test/faults/run.ts [F05 F07 ...]` after `npm run build`. Everything runs on this machine,
// on a PostgreSQL of its own, and is ended again. What each must show: docs/faults.md.
import { randomUUID } from 'node:crypto';
import { closeSync, openSync, rmSync, statfsSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { inspect } from 'node:util';
import { asks, endAll, isReady, mountDisk, must, post, signs, startLoad, startPostgres, startProxy, startReplica } from './harness.js';

const opaqueActive = async (url: string, token: string) => (await post(url, '/oauth/introspect', { token })).text.includes('"active":true');

/** The database is restarted at once and without mercy, under load. */
async function F05(): Promise<void> {
  const postgres = await startPostgres();
  const replica = await startReplica(postgres.url);
  const token = JSON.parse((await signs(replica.url)).text) as { access_token: string };
  const load = startLoad([() => signs(replica.url), () => asks(replica.url)], 100);
  await delay(2000);
  const old = await postgres.postmaster();
  process.kill(old, 'SIGQUIT');
  const killed = performance.now();
  for (;;) {
    const current = await postgres.postmaster().catch(() => old);
    if (current !== old) break;
    await delay(50);
  }
  const up = performance.now();
  await delay(6000);
  const { statuses, slowest, total } = await load.stop();
  const recovered = Math.max(0, load.lastFailure() - up);
  console.log(
    `PostgreSQL was away for ${Math.round(up - killed)} ms; ${total} requests ${JSON.stringify(statuses)}, slowest ${slowest} ms`,
  );
  must(
    Object.keys(statuses).every((status) => ['200', '503'].includes(status)),
    'no answer but 200 and 503',
  );
  must(recovered <= 10_000, `the last failure came ${Math.round(recovered)} ms after the database was back (at most 10 s)`);
  must((await asks(replica.url)).status === 200 && replica.process.exitCode === null, 'it answers again, without a restart');
  must(await opaqueActive(replica.url, token.access_token), 'a token from before is still good');
}

/** Connections of the service are ended one after the other. */
async function F07(): Promise<void> {
  const postgres = await startPostgres();
  const replica = await startReplica(postgres.url);
  const load = startLoad([() => signs(replica.url), () => asks(replica.url)], 50);
  for (let second = 0; second < 20; second++) {
    await delay(1000);
    await postgres.query(
      `select pg_terminate_backend(pid) from (select pid from pg_stat_activity
       where application_name in ('identity-provider', 'listener') order by random() limit 1) victim`,
    );
  }
  const { statuses, total } = await load.stop();
  const failed = total - (statuses[200] ?? 0);
  console.log(`${total} requests ${JSON.stringify(statuses)}`);
  must(failed / total < 0.01, `${((failed / total) * 100).toFixed(2)} % failed (less than 1 %)`);
  must(
    Object.keys(statuses).every((status) => ['200', '503'].includes(status)),
    'no answer but 200 and 503',
  );
  const stuck = await postgres.query(
    `select count(*)::int as n from pg_stat_activity where state like 'idle in transaction%' and state_change < now() - interval '3 seconds'`,
  );
  must((stuck.rows[0] as { n: number }).n === 0, 'no transaction is left open');
}

/** The connections to the database fall silent without being closed. */
async function F08(): Promise<void> {
  const postgres = await startPostgres();
  const proxy = await startProxy(postgres.url);
  const replica = await startReplica(proxy.url);
  await Promise.all(Array.from({ length: 20 }, () => asks(replica.url)));
  proxy.swallow();
  const answers = await Promise.all(Array.from({ length: 10 }, () => asks(replica.url)));
  const slowest = Math.max(...answers.map(({ ms }) => ms));
  must(
    answers.every(({ status }) => status === 503 || status === 200),
    `silence is answered with 503 (${answers.map(({ status }) => status).join(' ')})`,
  );
  must(slowest < 7000, `after ${Math.round(slowest)} ms at the most (a time-out of 5.5 s)`);
  const took = await isReady(replica, 15_000);
  must((await asks(replica.url)).status === 200, `it answers again, ${Math.round(took)} ms later`);
  const since = performance.now();
  let listening = false;
  while (!listening && performance.now() - since < 25_000) {
    const { rows } = await postgres.query(
      `select count(*)::int as n from pg_stat_activity where application_name = 'listener' and backend_start > now() - interval '30 seconds'`,
    );
    listening = (rows[0] as { n: number }).n > 0;
    await delay(200);
  }
  must(listening, `the listener has a new connection ${Math.round(performance.now() - since)} ms later`);
}

/** Somebody holds a lock on one user's row. */
async function F10(): Promise<void> {
  const postgres = await startPostgres();
  const replica = await startReplica(postgres.url);
  const login = (email: string) =>
    fetch(`${replica.url}/login`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', origin: replica.url },
      body: JSON.stringify({ email, password: 'a password of the fault scripts' }),
    }).then((answer) => answer.status);
  must((await login('admin@example.com')) === 200, 'the sign-in works');
  const locked = await postgres.hold('begin; select 1 from users for update');
  const load = startLoad([() => signs(replica.url), () => asks(replica.url)], 40);
  const started = performance.now();
  const touching = await Promise.all([1, 2, 3].map(() => login('admin@example.com')));
  const waited = performance.now() - started;
  const { statuses } = await load.stop();
  await locked.release();
  console.log(`beside it: ${JSON.stringify(statuses)}`);
  must(
    touching.every((status) => status === 503),
    `what needs the row is refused with 503 (${touching.join(' ')})`,
  );
  must(waited < 10_000, `after ${Math.round(waited)} ms (a statement may take 5 s; before it the three wait in line for their hash)`);
  must(Object.keys(statuses).join() === '200', 'everything else goes on');
  must((await login('admin@example.com')) === 200, 'and when the lock is gone, the sign-in too');
}

/** The disk that the database is on has no byte left. PostgreSQL can't write its log then, and ends; the one that we look after is started again. */
async function F11(): Promise<void> {
  const disk = mountDisk(160);
  const data = join(disk, 'data');
  const postgres = await startPostgres(data);
  const replica = await startReplica(postgres.url);
  const { access_token } = JSON.parse((await signs(replica.url)).text) as { access_token: string };
  const type = 'application/vnd.api+json';
  const kept: string[] = [];
  const store = async () => {
    const started = performance.now();
    const name = `role ${randomUUID()}`;
    const body = JSON.stringify({ data: { type: 'role', attributes: { name } } });
    const headers = { authorization: `Bearer ${access_token}`, 'content-type': type, accept: type };
    const status = await fetch(`${replica.url}/api/roles`, { method: 'POST', headers, body }).then((answer) => answer.status, () => 0); // prettier-ignore
    if (status === 201) kept.push(name);
    return { status, ms: performance.now() - started };
  };
  must((await store()).status === 201, 'a role is stored');
  const filling = openSync(join(disk, 'filling'), 'w');
  const isFull = () => statfsSync(disk).bavail === 0;
  while (!isFull()) writeSync(filling, Buffer.alloc(Math.min(1 << 20, statfsSync(disk).bavail * 4096)));
  const healthz = async () => {
    const started = performance.now();
    const status = await fetch(`${replica.url}/healthz`).then((answer) => answer.status, () => 0); // prettier-ignore
    return { status, ms: performance.now() - started };
  };
  const load = startLoad([store, () => asks(replica.url), healthz], 150);
  for (let second = 0; second < 40 && (load.statuses.get(503) ?? 0) < 50; second++) await delay(1000);
  const { statuses, slowest } = await load.stop();
  console.log(`while the disk was full: ${JSON.stringify(statuses)}, slowest ${slowest} ms`);
  must((statuses[503] ?? 0) > 0, 'what can not be stored is refused');
  must(
    Object.keys(statuses).every((status) => ['200', '201', '503'].includes(status)),
    'no answer but success and 503',
  );
  closeSync(filling);
  rmSync(join(disk, 'filling'));
  const took = await isReady(replica, 60_000);
  console.log(`with room again it was ready after ${Math.round(took)} ms`);
  must((await store()).status === 201 && replica.process.exitCode === null, 'it stores again, without a restart or repair by hand');
  const { rows } = await postgres.query('select name from roles');
  const there = new Set(rows.map((row) => (row as { name: string }).name));
  must(
    kept.every((name) => there.has(name)),
    `all ${kept.length} roles that were acknowledged are there`,
  );
}

/** Two replicas start together on an empty database, several times. */
async function F16(): Promise<void> {
  const postgres = await startPostgres();
  for (let round = 1; round <= Number(process.env['ROUNDS'] ?? 3); round++) {
    const name = `empty_${round}`;
    await postgres.query(`create database ${name}`);
    const url = new URL(postgres.url);
    url.pathname = `/${name}`;
    const replicas = [await startReplica(url.href, {}, false), await startReplica(url.href, {}, false)];
    const times = await Promise.all(replicas.map((replica) => isReady(replica)));
    const keys = await Promise.all(replicas.map(async ({ url: at }) => (await fetch(`${at}/.well-known/jwks.json`)).text()));
    must(keys[0] === keys[1], `round ${round}: both ready (${times.map(Math.round).join(' and ')} ms), one key`);
    const migrated = replicas.filter((replica) => replica.log().includes('"database.migrated"')).length;
    must(migrated === 1, `round ${round}: one of them migrated`);
    for (const replica of replicas) replica.process.kill('SIGTERM');
    must(
      (await Promise.all(replicas.map(({ exited }) => exited))).every((code) => code === 0),
      `round ${round}: both end with 0`,
    );
  }
}

/** A termination while a hundred requests are in flight on kept-alive connections. */
async function F29(): Promise<void> {
  const postgres = await startPostgres();
  const replica = await startReplica(postgres.url);
  await Promise.all(Array.from({ length: 100 }, () => signs(replica.url)));
  const inFlight = Array.from({ length: 100 }, (_, i) =>
    i % 20 === 0
      ? post(replica.url, '/register', { email: `f29-${i}@example.com` })
      : i % 2 === 0 ? signs(replica.url) : asks(replica.url),
  ); // prettier-ignore
  await delay(30);
  const started = performance.now();
  replica.process.kill('SIGTERM');
  const answers = await Promise.all(inFlight);
  const code = await replica.exited;
  const took = performance.now() - started;
  const statuses = answers.map(({ status }) => status);
  must(!statuses.includes(0), `no request in flight was reset (${statuses.filter((status) => status === 0).length} of ${statuses.length})`);
  must(!statuses.some((status) => status >= 500), 'none failed');
  must(code === 0 && took < 15_000, `it ended with ${code} after ${Math.round(took)} ms`);
  const { rows } = await postgres.query(
    `select count(*)::int as n from pg_stat_activity where application_name in ('identity-provider', 'listener')`,
  );
  must((rows[0] as { n: number }).n === 0, 'no connection to the database is left');
}

const faults: Record<string, () => Promise<void>> = { F05, F07, F08, F10, F11, F16, F29 };

for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => void endAll().then(() => process.exit(1)));
const asked = process.argv.slice(2);
for (const [name, fault] of Object.entries(faults)) {
  if (asked.length > 0 && !asked.includes(name)) continue;
  console.log(`--- ${name}`);
  await fault()
    // With the cause: "fetch failed" alone tells nothing.
    .catch((error: unknown) => must(false, inspect(error)))
    .finally(endAll);
}
process.exit();
