import pg from 'pg';
import type { Product } from './targets/product.js';

/** A table and how its rows are made: `sql` inserts those of the numbers from $2 to $3 into the environment $1; $4 is how many there will be. */
type Filled = { readonly table: string; readonly share: number; readonly sql: string };

/** A UUID version 7 of a moment and a number, always the same one. */
const idAt = (at: string, name: string) =>
  `(lpad(to_hex((extract(epoch from ${at}) * 1000)::bigint), 12, '0') || '7' || substr(md5('${name}' || n), 1, 3) || '8' || substr(md5('${name}' || n), 4, 15))::uuid`;

/** When the user of a number was made: over three years, the last one now. */
const userAt = (n: string) => `($5::timestamptz - (1 - ${n}::float8 / $4::bigint) * interval '1095 days')`;
/** When the session of a number began: over the last 36 days. It ends after 30. */
const sessionAt = `($5::timestamptz - (1 - n::float8 / $4::bigint) * interval '36 days')`;
/** Another number for each, in no order: whose a session is, and who has an address. 7919 is prime to all sizes. */
const scattered = `(n * 7919 % $4::bigint)`;
/** A session is used until it ends, and changes with each use; one in a hundred is ended by hand, an hour after it began. */
const revokedAt = `case when n % 100 = 0 then ${sessionAt} + interval '1 hour' end`;
const lastActivityAt = `(${sessionAt} + (least($5::timestamptz, ${sessionAt} + interval '30 days', ${revokedAt}) - ${sessionAt}) * (n * 7919 % 10007 / 10007.0))`;

const userOf = (n: string) => idAt(userAt(n), 'user ').replaceAll(`md5('user ' || n)`, `md5('user ' || ${n})`);
const sessionId = idAt(sessionAt, 'session ');
const digestOf = (name: string) => `sha256(convert_to('${name} ' || n, 'utf8'))`;

const numbers = 'generate_series($2::bigint, $3::bigint) n';

/** Every table of which a service has as many rows as it has people; the digests of tokens are those of their numbers. */
const tables: readonly Filled[] = [
  {
    table: 'users',
    share: 1,
    sql: `insert into users (environment_id, id, email, email_key, first_name, last_name, email_verified, status, external_id, last_login_at, login_count,
            two_step_enabled, created_at, updated_at)
          select $1, ${userOf('n')}, 'person' || ${scattered} || '@example.com', 'person' || ${scattered} || '@example.com', 'First' || n % 5000, 'Last' || n * 7 % 20000,
            n % 500 <> 0, case when n % 1000 = 0 then 'blocked' else 'active' end, case when n % 2 = 0 then 'hr-' || n end,
            case when n % 3 <> 0 then $5::timestamptz - (n * 7919 % 7776000) * interval '1 second' end, n % 50, n % 20 = 0,
            ${userAt('n')}, ${userAt('n')} + (n * 31 % 1000) * interval '1 minute'
          from ${numbers}`,
  },
  {
    table: 'sessions',
    share: 1,
    sql: `insert into sessions (environment_id, id, token_digest, user_id, ip_address, user_agent, amr, acr, authenticated_at, signed_in_at,
            last_activity_at, expires_at, revoked_at, revoke_reason, created_at, updated_at)
          select $1, ${sessionId}, ${digestOf('session')}, ${userOf(scattered)}, '203.0.' || n % 250 || '.' || n * 7919 % 251,
            'Mozilla/5.0 (X11; Linux x86_64; rv:145.0) Gecko/20100101 Firefox/145.0', '{pwd}', '1', ${sessionAt}, ${sessionAt},
            ${lastActivityAt}, ${sessionAt} + interval '30 days', ${revokedAt}, case when n % 100 = 0 then 'signed_out' end, ${sessionAt},
            coalesce(${revokedAt}, ${lastActivityAt})
          from ${numbers}`,
  },
  {
    table: 'access_tokens',
    share: 1,
    sql: `insert into access_tokens (environment_id, digest, jti, grant_id, client_id, user_id, session_id, scope, audience, issued_at, expires_at)
          select $1, ${digestOf('token')}, md5('jti ' || n)::uuid, md5('grant ' || n)::uuid, 'bench', ${userOf(scattered)}, ${sessionId}, 'read',
            'https://opaque.bench.example', $5, $5::timestamptz + interval '1 day' + n::float8 / $4::bigint * interval '1 day'
          from ${numbers}`,
  },
  {
    table: 'refresh_tokens',
    share: 1,
    sql: `insert into refresh_tokens (environment_id, digest, grant_id, client_id, user_id, session_id, scope, auth_time, issued_at, expires_at,
            grant_expires_at, id, generation)
          select $1, ${digestOf('refresh')}, md5('grant ' || n)::uuid, 'bench-public', ${userOf(scattered)}, ${sessionId}, 'openid email offline_access',
            ${sessionAt}, ${sessionAt}, $5::timestamptz + interval '1 day' + n::float8 / $4::bigint * interval '30 days',
            $5::timestamptz + interval '90 days', md5('refresh row ' || n)::uuid, 1
          from ${numbers}`,
  },
  {
    table: 'webhook_deliveries',
    share: 1,
    sql: `insert into webhook_deliveries (environment_id, id, webhook_id, event_id, event_type, payload, status, trigger, attempt_count, failure_reason,
            last_response_status, completed_at, created_at, updated_at)
          select $1, ${idAt(deliveredAt(), 'delivery ')}, (select id from webhooks where environment_id = $1 and name = 'Receiver ' || n % 10),
            ${idAt(deliveredAt(), 'event ')}, (array['user.created', 'user.updated', 'session.created', 'session.revoked'])[1 + n / 10 % 4],
            '{"id":"' || md5('event ' || n)::uuid || '","type":"user.created","data":{"email":"person' || n || '@example.com"}}',
            case when n % 2000 = 0 then 'failed' else 'succeeded' end, case when n % 100000 = 1 then 'redelivery' else 'event' end, 1,
            case when n % 2000 = 0 then 'non_2xx' end, case when n % 2000 = 0 then 500 when n % 50000 = 3 then 202 else 200 end,
            ${deliveredAt()} + interval '1 second', ${deliveredAt()}, ${deliveredAt()} + interval '1 second'
          from ${numbers}`,
  },
  {
    table: 'webhook_delivery_attempts',
    share: 0.1,
    sql: `insert into webhook_delivery_attempts (environment_id, id, delivery_id, attempt_number, started_at, duration_ms, response_status, response_body)
          select $1, md5('attempt ' || n)::uuid, ${idAt(deliveredAt(), 'delivery ')}, 1, ${deliveredAt()}, 20 + n % 200,
            case when n % 2000 = 0 then 500 else 200 end, 'ok'
          from ${numbers}`,
  },
];

/** When the delivery of a number was made: over the last 29 days. */
function deliveredAt(): string {
  return `($5::timestamptz - (1 - n::float8 / $4::bigint) * interval '29 days')`;
}

const chunk = 100_000;

/** A connection whose statements may take their time. */
export async function connectTo(url: string): Promise<pg.Client> {
  const client = new pg.Client({ connectionString: url });
  // A query that fails with it says so.
  client.on('error', () => undefined);
  await client.connect();
  await client.query(`set synchronous_commit = off; set statement_timeout = 0; set work_mem = '256MB'; set maintenance_work_mem = '1GB'`);
  return client;
}

/**
 * Fills the emptied tables with so many rows each, as many tables at once as there are `sessions`, its secondary
 * indexes built at the end. `only`: these tables alone. Statistics and visibility are
 * brought to where autovacuum brings a table that has grown over years.
 */
export async function fillTables({ ctx }: Product, url: string, size: number, sessions: number, only?: readonly string[]): Promise<void> {
  const first = await connectTo(url);
  const at = ctx.clock.now();
  // People who were there before (the bench's own) stay.
  await first.query(
    `truncate access_tokens, refresh_tokens, webhook_deliveries, webhook_delivery_attempts, troubled_deliveries, webhook_queue`,
  );
  await first.query(`delete from sessions`);
  await first.query(`delete from users where email_key like 'person%'`);
  await first.query(
    `insert into webhooks (environment_id, id, name, url, events, secret_sealed, secret_hint, created_at, updated_at)
     select $1, gen_random_uuid(), 'Receiver ' || n, 'https://receiver.example/' || n, '{user.created}', '\\x00', 'abcd', now(), now()
     from generate_series(0, 9) n where not exists (select from webhooks where name = 'Receiver 0')`,
    [ctx.environment.id],
  );
  // The foreign key would look up a user for every session, whose users are right by construction.
  await first.query('alter table sessions drop constraint if exists sessions_environment_id_user_id_fkey');
  const started = performance.now();
  const waiting = tables.filter(({ table }) => only?.includes(table) ?? true);
  const fill = async (client: pg.Client, { table, share, sql }: Filled) => {
    const indexes = await client.query<{ name: string; text: string }>(
      `select indexrelid::regclass::text as name, pg_get_indexdef(indexrelid) as text from pg_index where indrelid = $1::regclass and not indisunique`,
      [table],
    );
    for (const { name } of indexes.rows) await client.query(`drop index ${name}`);
    const rows = Math.floor(size * share);
    for (let n = 0; n < rows; n += chunk) await client.query(sql, [ctx.environment.id, n, Math.min(rows, n + chunk) - 1, size, at]);
    for (const { text } of indexes.rows) await client.query(text);
    await client.query(`vacuum analyze ${table}`);
    console.error(`... ${rows} rows in ${table} after ${((performance.now() - started) / 1000).toFixed(0)} s`);
  };
  const work = async (client: pg.Client) => {
    for (let one = waiting.shift(); one; one = waiting.shift()) await fill(client, one);
  };
  const others = await Promise.all(Array.from({ length: sessions - 1 }, () => connectTo(url)));
  await Promise.all([first, ...others].map(work));
  await first.query(
    'alter table sessions add constraint sessions_environment_id_user_id_fkey foreign key (environment_id, user_id) references users (environment_id, id) on delete cascade not valid',
  );
  await first.query('analyze');
  for (const client of [first, ...others]) await client.end();
}

/** Each table's rows by PostgreSQL's own estimate, and its size with indexes. Text. */
export async function tableSizes(url: string): Promise<string[]> {
  const client = await connectTo(url);
  const { rows } = await client.query<{ name: string; rows: string; table: string; indexes: string }>(
    `select relname as name, n_live_tup as rows, pg_size_pretty(pg_table_size(relid)) as table, pg_size_pretty(pg_indexes_size(relid)) as indexes
     from pg_stat_user_tables where relname = any ($1) order by relname`,
    [tables.map((one) => one.table)],
  );
  await client.end();
  return rows.map((one) => `  ${one.name}: ${one.rows} rows, ${one.table}, indexes ${one.indexes}`);
}

/** Reads the indexes that rows are found by and new ones enter anywhere, as the traffic of an hour does. */
export async function readIndexes(url: string): Promise<void> {
  const client = await connectTo(url);
  await client.query('set enable_seqscan = off; set enable_bitmapscan = off');
  for (const [table, column] of [
    ['access_tokens', 'digest'],
    ['refresh_tokens', 'id'],
    ['sessions', 'token_digest'],
    ['users', 'id'],
    ['sessions', 'id'],
  ])
    // prettier-ignore
    await client.query(`select count(${column}) from (select ${column} from ${table} order by environment_id, ${column}) all_of_them`);
  await client.end();
}
