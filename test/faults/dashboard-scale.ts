// Fills an environment with many users, sessions and deliveries, and times every list and record page of the dashboard:
// `npx tsx test/faults/dashboard-scale.ts [users] [sessions] [deliveries] [--explain]`; with `--explain` the plans of statements over 30 ms follow.
import pg from 'pg';
import { pino } from 'pino';
import { readConfig } from '../../src/config.js';
import { createDeps, startService } from '../../src/process/service.js';
import { Browser } from '../support/browser.js';
import { freePort } from '../support/service.js';
import { openStandalone } from '../support/standalone.js';

const [users = 100_000, sessions = 10_000, deliveries = 1_000_000] = process.argv
  .slice(2)
  .filter((argument) => !argument.startsWith('-'))
  .map(Number);
const port = await freePort();
const admin = { PORT: String(port), ADMIN_EMAIL: 'root@example.com', ADMIN_PASSWORD: 'nanoseconds of wire' };
const storage = await openStandalone(admin);
const { ctx } = storage;
// Its own connection: the service's pool cuts statements off after five seconds.
const filler = new pg.Client({ connectionString: storage.url });
await filler.connect();
const fill = (sql: string, values: readonly unknown[]) => {
  let place = 0;
  return filler.query(
    sql.replaceAll(/(?<=[\s(])\?/g, () => `$${(place += 1)}`),
    [...values],
  );
};
const env = ctx.environment.id;

console.log(`filling ${users} users, ${sessions} sessions, ${deliveries} deliveries`);
await fill(
  `insert into users (environment_id, id, email, email_key, first_name, last_name, created_at, updated_at)
   select ?::uuid, uuid_v7(now() - i * interval '20 seconds'), 'user' || i || '@example.com', 'user' || i || '@example.com', 'First' || i % 1000, 'Last' || i % 5000, now() - i * interval '20 seconds', now()
   from generate_series(1, ?::int) i`,
  [env, users],
);
await fill(
  `insert into sessions (environment_id, id, token_digest, user_id, ip_address, user_agent, authenticated_at, last_activity_at, expires_at, created_at, updated_at)
   select environment_id, gen_random_uuid(), sha256(id::text::bytea), id, '203.0.113.' || (row_number() over ())::int % 250, 'Mozilla/5.0', now(), now(), now() + interval '30 days', created_at, now()
   from users where environment_id = ? limit ?::int`,
  [env, sessions],
);
await fill(
  `insert into webhooks (environment_id, id, name, url, events, secret_sealed, secret_hint, created_at, updated_at)
   select ?::uuid, gen_random_uuid(), 'Receiver ' || i, 'https://receiver.example/' || i, '{user.created}', '\\x00', 'abcd', now(), now() from generate_series(1, 10) i`,
  [env],
);
await fill(
  `insert into webhook_deliveries (environment_id, id, webhook_id, event_id, event_type, payload, status, attempt_count, last_response_status, completed_at, created_at, updated_at)
   select ?::uuid, gen_random_uuid(), w.id, gen_random_uuid(), case when i % 3 = 0 then 'user.updated' else 'user.created' end, '{"event":"user.created","data":{}}',
     case when i % 49 = 0 then 'failed' else 'succeeded' end, 1, case when i % 49 = 0 then 500 else 200 end, now() - i * interval '2.5 seconds', now() - i * interval '2.5 seconds', now()
   from generate_series(1, ?::int) i join (select id, row_number() over () as n from webhooks where environment_id = ?) w on w.n = i % 10 + 1`,
  [env, deliveries, env],
);
await fill(
  `insert into webhook_delivery_attempts (environment_id, id, delivery_id, attempt_number, started_at, duration_ms, response_status, response_body)
   select environment_id, gen_random_uuid(), id, 1, created_at, 20 + (random() * 200)::int, last_response_status, 'ok' from webhook_deliveries where environment_id = ?`,
  [env],
);
await fill('analyze', []);
await fill('vacuum', []);

const config = readConfig({ RATE_LIMITS: 'off', LOG_LEVEL: 'warn', LOG_FORMAT: 'json', ...admin });
const deps = createDeps(config, pino({ level: 'warn' }), { url: storage.url, directUrl: storage.url, secretKey: storage.secretKey });
const service = await startService(deps, storage.url);
const browser = new Browser(config.baseUrl);
await browser.login(admin.ADMIN_EMAIL, admin.ADMIN_PASSWORD);

const slow = new Map<string, { ms: number; sql: string; bindings: unknown[] }>();
const begun = new Map<string, number>();
deps.knex.on('query', ({ __knexQueryUid: id }: { __knexQueryUid: string }) => void begun.set(id, performance.now()));
deps.knex.on('query-response', (_answer: unknown, query: { __knexQueryUid: string; sql: string; bindings: unknown[] }) => {
  const ms = performance.now() - (begun.get(query.__knexQueryUid) ?? performance.now());
  begun.delete(query.__knexQueryUid);
  if (ms > 30 && ms > (slow.get(query.sql)?.ms ?? 0)) slow.set(query.sql, { ms, sql: query.sql, bindings: query.bindings });
});

const first = async (path: string) => /<a class="row-link" href="([^"]+)"/.exec(await (await browser.get(path)).text())?.[1] ?? path;
const webhook = await first('/dashboard/webhooks');
const user = await first('/dashboard/users');
const paths = [
  '/dashboard', '/dashboard?days=90', '/dashboard/users', '/dashboard/users?search=user5', '/dashboard/users?search=zzz', '/dashboard/users?sort=-last_login_at', '/dashboard/users?sort=email',
  '/dashboard/users?status=blocked', user, `${user}/sessions`, `${user}/activity`, '/dashboard/sessions', '/dashboard/sessions?status=active', '/dashboard/sessions?status=revoked', '/dashboard/sessions?ip_address=203.0.113.9',
  '/dashboard/roles', '/dashboard/clients', '/dashboard/webhooks', webhook, `${webhook}/deliveries`, `${webhook}/deliveries?since=30d`, `${webhook}/deliveries?since=30d&status=failed`, `${webhook}/deliveries?since=30d&status=pending`, `${webhook}/deliveries?since=30d&status=retrying`, `${webhook}/deliveries?since=30d&response_status=5xx`, `${webhook}/deliveries?since=30d&response_status=2xx`, `${webhook}/deliveries?since=30d&response_status=3xx`, `${webhook}/deliveries?since=30d&event_type=user.updated`, `${webhook}/deliveries?since=30d&event_type=token.issued`,
  '/dashboard/webhook_deliveries?since=30d', '/dashboard/webhook_deliveries?since=30d&status=failed', '/dashboard/webhook_deliveries?since=30d&status=retrying', '/dashboard/webhook_deliveries?since=30d&response_status=5xx', '/dashboard/webhook_deliveries?since=30d&response_status=3xx', '/dashboard/identities', `${user}/consents`, '/docs', '/docs/search?q=webhook+signature', '/dashboard/webhook_deliveries?since=30d&event_type=token.issued', '/dashboard/webhook_deliveries?since=30d&event_type=user.updated', await first('/dashboard/webhook_deliveries'), '/dashboard/audit_logs', '/dashboard/event_types', await first('/dashboard/event_types'), '/dashboard/settings',
]; // prettier-ignore
const timed: { path: string; ms: number; status: number }[] = [];
for (const path of paths) {
  const times: number[] = [];
  let status = 0;
  for (let i = 0; i < 5; i++) {
    const started = performance.now();
    const answer = await browser.get(path);
    await answer.text();
    status = answer.status;
    times.push(performance.now() - started);
  }
  timed.push({ path, status, ms: times.sort((one, other) => one - other)[2] ?? 0 });
}
for (const { path, ms, status } of timed.sort((one, other) => other.ms - one.ms))
  console.log(`${ms.toFixed(0).padStart(6)} ms  ${status}  ${path.replace(/[0-9a-f]{8}-[0-9a-f-]{27}/, '{id}')}`);
if (process.argv.includes('--explain')) {
  for (const { ms, sql, bindings } of [...slow.values()].sort((one, other) => other.ms - one.ms).slice(0, 12)) {
    const { rows } = await filler.query<{ 'QUERY PLAN': string }>(`explain (analyze, buffers) ${sql}`, bindings);
    console.log(`\n${ms.toFixed(0)} ms  ${sql}\n${rows.map((row) => row['QUERY PLAN']).join('\n')}`);
  }
}
await filler.end();
await service.stop();
await storage.close();
