import type { Client } from 'pg';
import type { Config } from '../../config.js';
import type { EnvironmentRow } from '../../db/tables/environments.js';
import { createSealer } from '../../lib/seal.js';

/** Why an environment can't move, or can't now: for the operator. */
export class MoveRefusal extends Error {}

type Sides = { readonly source: Client; readonly target: Client };

const valueOf = async (client: Client, text: string, values: readonly unknown[] = []): Promise<unknown> => {
  const { rows } = await client.query<{ value: unknown }>(text, [...values]);
  return rows[0]?.value;
};

const setting = (client: Client, name: string) => valueOf(client, 'select current_setting($1) as value', [name]);

const migrations = (client: Client) => valueOf(client, `select string_agg(name, ' ' order by name) as value from knex_migrations`);

/** What the servers must be, to carry rows from one to the other. */
async function serverProblems({ source, target }: Sides): Promise<string[]> {
  const problems: string[] = [];
  if ((await setting(source, 'wal_level')) !== 'logical')
    problems.push(`wal_level here is not logical: alter system set wal_level = 'logical', then restart PostgreSQL`);
  if ((await setting(source, 'max_slot_wal_keep_size')) === '-1')
    problems.push(
      `max_slot_wal_keep_size here has no limit, so that a copy that stands still would fill the disk: alter system set max_slot_wal_keep_size = '10GB', then select pg_reload_conf()`,
    );
  if ((await migrations(source)) !== (await migrations(target))) problems.push('the schemas differ: run the same release in both cells');
  return problems;
}

/** Of what each server has a number: what copying takes of it, with the setting that bounds it. */
async function roomProblems({ source, target }: Sides): Promise<string[]> {
  const origins = `coalesce(current_setting('max_active_replication_origins', true), current_setting('max_replication_slots'))`;
  const free = async (client: Client, limit: string, used: string) =>
    Number(await valueOf(client, `select ${limit}::integer - (select count(*) from ${used}) as value`));
  const [copying, workers, applying, slots, senders] = [
    Number(await setting(target, 'max_sync_workers_per_subscription')),
    await free(target, `current_setting('max_logical_replication_workers')`, 'pg_stat_subscription where pid is not null'),
    await free(target, origins, 'pg_replication_origin'),
    await free(source, `current_setting('max_replication_slots')`, 'pg_replication_slots'),
    await free(source, `current_setting('max_wal_senders')`, 'pg_stat_replication'),
  ];
  // One follows, and as many copy a table each as may.
  const atOnce = 1 + Math.min(copying, Math.max(1, workers - 1));
  const taken: readonly (readonly [string, number, number])[] = [
    ['max_logical_replication_workers there', workers, 2],
    ['max_replication_slots (from PostgreSQL 18 on max_active_replication_origins) there', applying, atOnce],
    ['max_replication_slots here', slots, atOnce],
    ['max_wal_senders here', senders, atOnce],
  ];
  return taken.flatMap(([name, left, needed]) => (left < needed ? [`${name} leaves ${Math.max(0, left)} free, and copying needs ${needed}: raise it (a restart of PostgreSQL)`] : [])); // prettier-ignore
}

/** What the processes there say of themselves. */
async function processProblems(target: Client, { baseUrl }: Config, keys: readonly string[]): Promise<string[]> {
  const { rows: holders } = await target.query<{ opening_keys: string[] }>(
    `select opening_keys from secret_key_holders where seen_at > now() - interval '90 seconds'`,
  );
  const { rows: others } = await target.query<{ base_url: string }>(
    `select distinct base_url from processes where seen_at > now() - interval '90 seconds' and base_url <> $1`,
    [baseUrl],
  );
  if (holders.length === 0) return ['no process is at work there, which would tell whether its SECRET_KEY opens what is sealed here'];
  const opens = holders.every(({ opening_keys }) => keys.every((key) => opening_keys.includes(key)));
  return [
    ...(opens ? [] : ['SECRET_KEY of this cell is not among SECRET_KEY and SECRET_KEY_PREVIOUS of all processes there']),
    ...others.map(({ base_url }) => `BASE_URL there is ${base_url}, here ${baseUrl}: addresses and issuers would change`),
  ];
}

/** Whether something there has a name that the environment brings. */
async function nameProblems({ source, target }: Sides, { id, slug }: EnvironmentRow): Promise<string[]> {
  const taken = await valueOf(target, 'select slug as value from environments where slug = $1 and id <> $2', [slug, id]);
  const own = await source.query<{ domain: string }>(
    `select domain from custom_domains where environment_id = $1 and status = 'verified'`,
    [id],
  );
  const domains = await target.query<{ domain: string }>(
    `select domain from custom_domains where environment_id <> $1 and status = 'verified' and domain = any ($2)`,
    [id, own.rows.map(({ domain }) => domain)],
  );
  return [
    ...(taken === undefined ? [] : [`there is an environment ${slug} there already`]),
    ...domains.rows.map(({ domain }) => `the domain ${domain} is verified for another environment there`),
  ];
}

/** Looks whether the environment can move, and be copied unless it is `following`. Changes nothing. @throws {MoveRefusal} with everything that speaks against it */
export async function requireMovable(sides: Sides, row: EnvironmentRow, config: Config, following: boolean): Promise<void> {
  if (row.is_default) throw new MoveRefusal('the default environment stays: each cell has its own');
  if (config.secretKey === null) throw new MoveRefusal('SECRET_KEY is needed, to see whether it is known there');
  const keys = createSealer(config.secretKey, config.secretKeyPrevious).key_ids;
  const problems = [
    ...(await serverProblems(sides)),
    ...(following ? [] : await roomProblems(sides)),
    ...(await processProblems(sides.target, config, keys)),
    ...(await nameProblems(sides, row)),
  ];
  if (problems.length > 0) throw new MoveRefusal(problems.join('\n'));
}
