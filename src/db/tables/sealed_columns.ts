import type { Knex } from 'knex';
import type { Aad, sealPurposes } from '../../lib/seal.js';
import { runSystem } from '../system.js';

/**
 * A column that holds sealed values. `key` names the row besides `environment_id`, `aadColumn` the column whose value is in their additional
 * authenticated data: `<table>/<value>`, bytes in hexadecimal.
 */
export type SealedColumn = {
  readonly table: (typeof sealPurposes)[number] | 'provider_token_revocations' | 'transmitter_streams';
  readonly column: string;
  readonly key: string;
  readonly type: 'uuid' | 'text' | 'bytea';
  readonly aadColumn: string;
  /** The table in their additional authenticated data, where they were sealed for another one. */
  readonly aadTable?: (typeof sealPurposes)[number];
};

const byId = { key: 'id', type: 'uuid', aadColumn: 'id' } as const;

/** Every column with sealed values: what is sealed anew after a change of SECRET_KEY. A test compares this list with the schema. */
export const sealedColumns: readonly SealedColumn[] = [
  { table: 'signing_keys', column: 'private_sealed', key: 'kid', type: 'text', aadColumn: 'kid' },
  { ...byId, table: 'webhooks', column: 'secret_sealed' },
  { ...byId, table: 'webhooks', column: 'previous_secret_sealed' },
  { ...byId, table: 'log_streams', column: 'authorization_sealed' },
  { ...byId, table: 'log_streams', column: 'secret_sealed' },
  { ...byId, table: 'log_streams', column: 'previous_secret_sealed' },
  { ...byId, table: 'signal_streams', column: 'authorization_sealed' },
  { ...byId, table: 'connections', column: 'provider_client_secret_sealed' },
  { ...byId, table: 'provider_tokens', column: 'tokens_sealed' },
  { ...byId, table: 'provider_token_revocations', column: 'tokens_sealed', aadColumn: 'token_id', aadTable: 'provider_tokens' },
  {
    ...byId,
    table: 'provider_token_revocations',
    column: 'provider_client_secret_sealed',
    aadColumn: 'connection_id',
    aadTable: 'connections',
  },
  { ...byId, table: 'connections', column: 'signals_token_sealed' },
  {
    ...byId,
    table: 'transmitter_streams',
    column: 'signals_token_sealed',
    key: 'connection_id',
    aadColumn: 'connection_id',
    aadTable: 'connections',
  },
  { ...byId, table: 'approvals', column: 'notification_sealed' },
  { ...byId, table: 'authenticators', column: 'secret_sealed' },
  { ...byId, table: 'sign_ins', column: 'linking_sealed' },
  { table: 'sso_flows', column: 'content_sealed', key: 'state_digest', type: 'bytea', aadColumn: 'connection_id' },
  { table: 'sso_flows', column: 'answer_sealed', key: 'state_digest', type: 'bytea', aadColumn: 'connection_id' },
  { ...byId, table: 'password_hash_keys', column: 'key_sealed' },
  { ...byId, table: 'saml_certificates', column: 'private_key_sealed' },
  { table: 'idempotency_keys', column: 'reply_sealed', key: 'digest', type: 'bytea', aadColumn: 'digest' },
  // Emptied once a mail server has taken the mail.
  { ...byId, table: 'mails', column: 'sealed' },
];

/** PostgreSQL tells names of statements by their first 63 bytes. */
const statementName = (what: string, table: string, column: string) => `sealed.${what}.${table}.${column}`.slice(0, 63);

/** A value that another key than the present one sealed. `after` names its row for {@link listStaleSealed}. */
export type StaleSealed = {
  readonly environment_id: string;
  readonly row_key: string | Buffer;
  readonly aad: Aad;
  readonly sealed: Buffer;
};

const aadOf = ({ table, aadTable = table as (typeof sealPurposes)[number] }: SealedColumn, belongs: string | Buffer): Aad =>
  `${aadTable}/${typeof belongs === 'string' ? belongs : belongs.toString('hex')}`;

/** Statement time-out in milliseconds: scanning a large table takes longer than a request may. */
const patienceMs = 300_000;

const patient = <T>(knex: Knex, work: (trx: Knex.Transaction) => Promise<T>): Promise<T> =>
  knex.transaction(async (trx) => {
    await trx.raw(`set local statement_timeout = ${patienceMs}`);
    return work(trx);
  });

/** The key that a value names, as eight digits; `unnamed` where it names none. */
const keyIdSql = (column: string) =>
  `case when substring(${column} from 1 for 2) = 'SK'::bytea then encode(substring(${column} from 3 for 4), 'hex') else 'unnamed' end`;

/** How many values each key has sealed, by key id. */
export async function countSealedByKey(knex: Knex): Promise<Map<string, number>> {
  const selects = sealedColumns.map(
    ({ table, column }) => `select ${keyIdSql(column)} as key_id from ${table} where octet_length(${column}) > 0`,
  );
  const text = `select key_id, count(*) as count from (${selects.join(' union all ')}) as sealed group by key_id`;
  const rows = await patient(knex, (trx) => runSystem<{ key_id: string; count: number }>(trx, { name: 'sealed.count', text }, []));
  return new Map(rows.map(({ key_id, count }) => [key_id, Number(count)]));
}

/** Up to `limit` values of the column that don't begin with the present key's header, by row, from the one after `after` on. */
export async function listStaleSealed(
  knex: Knex,
  sealed: SealedColumn,
  { header, after, limit }: { header: Buffer; after: StaleSealed | null; limit: number },
): Promise<StaleSealed[]> {
  const { table, column, key, type, aadColumn } = sealed;
  const text = `select environment_id, ${key} as row_key, ${column} as sealed, ${aadColumn} as belongs from ${table}
    where octet_length(${column}) > 0 and substring(${column} from 1 for octet_length($1::bytea)) <> $1::bytea
      and ($3::uuid is null or (environment_id, ${key}) > ($3::uuid, $4::${type}))
    order by environment_id, ${key} limit $2`;
  const values = [header, limit, after?.environment_id ?? null, after?.row_key ?? null];
  type Row = Omit<StaleSealed, 'place'> & { belongs: string | Buffer };
  const rows = await patient(knex, (trx) => runSystem<Row>(trx, { name: statementName('stale', table, column), text }, values));
  return rows.map(({ belongs, ...row }) => ({ ...row, aad: aadOf(sealed, belongs) }));
}

/**
 * Replaces values by the same ones sealed anew, each only where it is still what was read: what somebody else changed or holds stays as it
 * is. One statement, which skips locked rows. @returns how many were replaced
 */
export async function replaceSealed(
  knex: Knex,
  { table, column, key, type }: SealedColumn,
  changes: readonly (StaleSealed & { readonly renewed: Buffer })[],
): Promise<number> {
  const text = `
    with change as (
      select * from unnest($1::uuid[], $2::${type}[], $3::bytea[], $4::bytea[]) as c (environment_id, row_key, before, renewed)
    ), held as (
      select t.environment_id, t.${key} as row_key, c.renewed from ${table} t
      join change c on c.environment_id = t.environment_id and c.row_key = t.${key} and c.before = t.${column}
      for update of t skip locked
    )
    update ${table} t set ${column} = held.renewed from held where t.environment_id = held.environment_id and t.${key} = held.row_key
    returning 1`;
  const rows = await runSystem(knex, { name: statementName('replace', table, column), text }, [
    changes.map(({ environment_id }) => environment_id),
    changes.map(({ row_key }) => row_key),
    changes.map(({ sealed }) => sealed),
    changes.map(({ renewed }) => renewed),
  ]);
  return rows.length;
}

/** The private parts of the primary signing keys, one for each environment; of the default one alone if told. */
export async function listPrimaryPrivateKeys(
  knex: Knex,
  { defaultOnly }: { defaultOnly: boolean },
): Promise<{ slug: string; kid: string; private_sealed: Buffer }[]> {
  const rows = knex('signing_keys as k')
    .join('environments as e', 'e.id', 'k.environment_id')
    .where('k.status', 'primary')
    .select('e.slug', 'k.kid', 'k.private_sealed');
  return defaultOnly ? rows.where('e.is_default', true) : rows;
}

/** The newest values of the column, by how their rows are keyed; as stored, whichever key sealed them. */
export async function sampleSealed(knex: Knex, of: SealedColumn, limit: number): Promise<{ aad: Aad; sealed: Buffer }[]> {
  const { table, column, key, aadColumn } = of;
  const text = `select ${column} as sealed, ${aadColumn} as belongs from ${table}
    where octet_length(${column}) > 0 order by environment_id desc, ${key} desc limit $1`;
  const rows = await runSystem<{ sealed: Buffer; belongs: string | Buffer }>(knex, { name: statementName('sample', table, column), text }, [
    limit,
  ]);
  return rows.map(({ sealed, belongs }) => ({ sealed, aad: aadOf(of, belongs) }));
}

/** How many values of each column each key has sealed, by key id. For somebody who has set a limit to statements. */
export async function countSealedByColumn(knex: Knex): Promise<{ table: string; key_id: string; count: number }[]> {
  const selects = sealedColumns.map(
    ({ table, column }) => `select '${table}' as name, ${keyIdSql(column)} as key_id from ${table} where octet_length(${column}) > 0`,
  );
  const text = `select name, key_id, count(*) as count from (${selects.join(' union all ')}) as sealed group by 1, 2 order by 1, 2`;
  const rows = await runSystem<{ name: string; key_id: string; count: string }>(knex, { name: 'sealed.count_by_column', text }, []);
  return rows.map(({ name, key_id, count }) => ({ table: name, key_id, count: Number(count) }));
}
