// Lists over a real streaming standby: at most twenty seconds old, one's own writes at once, and a list each time, whatever happens to the standby.
import { randomBytes } from 'node:crypto';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { signedInWith } from '../support/administrators.js';
import { diagnose } from '../../src/domain/diagnostics/diagnose.js';
import { installationOf } from '../../src/domain/diagnostics/own-installation.js';
import { Api, managementToken, startManagedService } from '../support/management.js';
import type { Browser } from '../support/browser.js';
import { startPrimaryWithStandby, type PrimaryWithStandby } from '../support/standby.js';
import { freePort, type TestService } from '../support/service.js';
import { eventually } from '../support/webhooks.js';

let servers: PrimaryWithStandby;
let service: TestService;
let api: Api;

beforeAll(async () => {
  servers = await startPrimaryWithStandby();
  const secretKey = randomBytes(32).toString('base64');
  const nobody = `postgres://nobody@127.0.0.1:${await freePort()}/none`;
  const environment = {
    DATABASE_URL: servers.url,
    DATABASE_REPORT_URL: servers.standbyUrl,
    REPORT_MAX_LAG_MS: '20000',
    DATABASE_REPLICA_URLS: `${nobody},${servers.standbyUrl}`,
    SECRET_KEY: secretKey,
  };
  service = await startManagedService(environment, { database: { url: servers.url, secretKey } });
  api = new Api(service.url, await managementToken(service.url));
});
afterAll(async () => {
  await service?.stop();
  await servers?.stop();
});

async function counted(metric: string, result: string): Promise<number> {
  const { values } = await (
    service.deps.metrics.registry.getSingleMetric(metric) as unknown as {
      get(): Promise<{ values: { labels: { result: string }; value: number }[] }>;
    }
  ).get();
  return values.find(({ labels }) => labels.result === result)?.value ?? 0;
}

/** Lists roles until a list was answered so, and says which. */
const listed = (result: string, headers: Record<string, string> = {}) =>
  eventually(async () => {
    const before = await counted('database_report_reads_total', result);
    const answer = await api.get('/roles', headers);
    expect(answer.status).toBe(200);
    const names = (answer.body['data'] as { attributes: { name: string } }[]).map(({ attributes }) => attributes.name);
    return (await counted('database_report_reads_total', result)) > before ? names : null;
  });

const createRole = async (name: string) => {
  const answer = await api.attempt('roles', { name });
  expect(answer.status).toBe(201);
  return answer.headers.get('read-after') ?? '';
};

/** Runs `work` while the standby replays nothing. */
async function paused<T>(work: () => Promise<T>): Promise<T> {
  await servers.ask('standby', 'select pg_wal_replay_pause()');
  await eventually(
    async () => (await servers.ask('standby', 'select pg_get_wal_replay_pause_state() as state'))[0]?.['state'] === 'paused',
  );
  try {
    return await work();
  } finally {
    await servers.ask('standby', 'select pg_wal_replay_resume()');
  }
}

test('a list is read from the report replica, and has there what Read-After names once that is replayed', async () => {
  const written = await createRole('replayed');
  expect(written).toMatch(/^\d+\/[\dA-F]+\/[\dA-F]+$/);
  expect(await listed('served', { 'read-after': written })).toContain('replayed');
});

test('a list that brings what the replica lacks is answered by the primary; one that brings nothing is as old as the replica', async () => {
  await listed('served');
  await paused(async () => {
    const written = await createRole('ahead');
    expect(await listed('behind', { 'read-after': written })).toContain('ahead');
    expect(await listed('served')).not.toContain('ahead');
    for (const made_up of ['1', 'now', `${written}0`, '9/FFFFFFFF/FFFFFFFF', `x/${'9'.repeat(5000)}`])
      expect(await listed('behind', { 'read-after': made_up })).toContain('ahead');
  });
  expect(await listed('served')).toBeDefined();
});

test('reads and refused writes answer no Read-After; one record is read from the primary', async () => {
  expect((await api.get('/roles')).headers.has('read-after')).toBe(false);
  expect((await api.attempt('roles', {})).headers.has('read-after')).toBe(false);
  await listed('served');
  await paused(async () => {
    const { id } = await api.create('roles', { name: 'alone' });
    expect((await api.get(`/roles/${id}`)).status).toBe(200);
  });
});

test('who has just posted a form of the dashboard finds the record in its list', async () => {
  const browser = await signedInWith(service, 'roles:read', 'roles:write');
  await listed('served');
  await paused(async () => {
    const stranger = await signedInWith(service, 'roles:read');
    expect((await browser.submit('/dashboard/roles/new', { name: 'by form' }, '/dashboard/roles')).status).toBe(303);
    expect(await (await browser.get('/dashboard/roles')).text()).toContain('by form');
    expect(await (await stranger.get('/dashboard/roles')).text()).not.toContain('by form');
  });
});

/** What is read of people and roles beside lists: figures, and exports of a list, of the configuration and of all users. */
async function readElsewhere(browser: Browser, headers: Record<string, string> = {}) {
  const before = await counted('database_report_reads_total', 'served');
  const overview = await (await browser.get('/dashboard')).text();
  const list = await (await browser.get('/dashboard/roles/export?format=ndjson')).text();
  const config = JSON.stringify((await api.get('/config', headers)).body['meta']);
  const { id } = await api.create('user_exports', {});
  const users = await (await fetch(`${service.url}/api/user_exports/${id}/data`, { headers: { authorization: `Bearer ${api.token as string}`, ...headers } })).text(); // prettier-ignore
  return { overview, list, config, users, served: (await counted('database_report_reads_total', 'served')) - before };
}

test('figures and exports are read from the report replica too, by Read-After with the write; without one from the primary (specification 1.10.2)', async () => {
  const browser = await signedInWith(service, 'roles:read', 'users:read', 'clients:read');
  await listed('served');
  await paused(async () => {
    const written = await createRole('exported');
    const made = await api.create('users', { email: 'exported@example.com' });
    const old = await readElsewhere(browser);
    // The overview's counts, charts and lists, each export, and the pages around them.
    expect(old.served).toBeGreaterThan(4);
    for (const text of [old.list, old.config]) expect(text).not.toContain('"exported"');
    expect(old.users).not.toContain('exported@example.com');
    const own = await readElsewhere(browser, { 'read-after': written });
    expect(own.config).toContain('"exported"');
    expect(own.users).toContain('exported@example.com');
    expect(made['id']).toBeDefined();
  });
  expect((await readElsewhere(browser)).overview).toMatch(/Users/);
});

test('a replica that is further behind than REPORT_MAX_LAG_MS is asked for nothing', async () => {
  await listed('served');
  await paused(async () => {
    await createRole('late');
    expect(await listed('untrusted')).toContain('late');
    await eventually(async () => service.log.some((line) => line.includes('report_replica.unused')));
  });
  expect(await listed('served')).toContain('late');
});

/** What the doctor says of standbys: the faults' texts by the variable. */
async function diagnosed(): Promise<string[]> {
  const { checks } = await diagnose(installationOf(await service.context()), ['replicas']);
  return checks.map(({ subject, finding }) => `${subject}: ${finding}`.replaceAll(/127\.0\.0\.1:\d+/g, 'host')).sort();
}

test('the doctor names standbys that are away, late, no standbys, or set against what they do (specification 1.10.5)', async () => {
  const away = 'DATABASE_REPLICA_URLS: The standby at host of DATABASE_REPLICA_URLS does not answer.';
  expect(await diagnosed()).toEqual([
    'DATABASE_REPLICA_URLS: max_standby_streaming_delay of the standby at host is 30000 ms.',
    away,
    'DATABASE_REPORT_URL: hot_standby_feedback of the standby at host is off.',
  ].sort()); // prettier-ignore
  for (const setting of ["max_standby_streaming_delay = '1s'", 'hot_standby_feedback = on'])
    await servers.ask('standby', `alter system set ${setting}`);
  await servers.ask('standby', 'select pg_reload_conf()');
  await eventually(async () => (await diagnosed()).length === 1);
  expect(await diagnosed()).toEqual([away]);
  await paused(async () => {
    await createRole('not replayed');
    expect(await diagnosed()).toContain('DATABASE_REPLICA_URLS: The standby at host is more than 1000 ms behind.');
  });
  const own = installationOf(await service.context());
  const config = { ...own.config, databaseReplicaUrls: [servers.url], databaseReport: null };
  const { checks } = await diagnose({ ...own, config }, ['replicas']);
  expect(checks.map(({ finding }) => finding)).toEqual([expect.stringContaining('is no standby')]);
  expect(JSON.stringify(checks)).not.toContain(new URL(servers.url).password);
});

test('look-ups are answered by the replica of the list that is there', async () => {
  const token = api.token as string;
  await eventually(async () => {
    const before = await counted('database_replica_lookups_total', 'served');
    const form = new URLSearchParams({ token });
    const authorization = `Basic ${Buffer.from('management:the secret of the management client').toString('base64')}`;
    const answer = await fetch(`${service.url}/oauth/introspect`, { method: 'POST', body: form, headers: { authorization } });
    expect(answer.status).toBe(200);
    return (await counted('database_replica_lookups_total', 'served')) > before;
  });
});

test('the replica is gone, whatever it was doing: lists are answered by the primary; it is back: it is asked again (fault F46)', async () => {
  await listed('served');
  const stopping = servers.stopStandby();
  let over = false;
  void stopping.finally(() => (over = true));
  while (!over) expect((await api.get('/roles')).status).toBe(200);
  await createRole('meanwhile');
  expect(await listed('untrusted')).toContain('meanwhile');
  const elsewhere = await readElsewhere(await signedInWith(service, 'roles:read', 'users:read'));
  expect([elsewhere.served, elsewhere.overview.includes('Users')]).toEqual([0, true]);
  for (const text of [elsewhere.list, elsewhere.config]) expect(text).toContain('"meanwhile"');
  await servers.startStandby();
  expect(await listed('served')).toContain('meanwhile');
});
