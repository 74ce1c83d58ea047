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

/** Looks whether the environment can move. Changes nothing. @throws {MoveRefusal} with everything that speaks against it */
export async function requireMovable(sides: Sides, row: EnvironmentRow, config: Config): Promise<void> {
  if (row.is_default) throw new MoveRefusal('the default environment stays: each cell has its own');
  if (config.secretKey === null) throw new MoveRefusal('SECRET_KEY is needed, to see whether it is known there');
  const keys = createSealer(config.secretKey, config.secretKeyPrevious).key_ids;
  const problems = [
    ...(await serverProblems(sides)),
    ...(await processProblems(sides.target, config, keys)),
    ...(await nameProblems(sides, row)),
  ];
  if (problems.length > 0) throw new MoveRefusal(problems.join('\n'));
}
