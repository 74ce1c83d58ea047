import type { Knex } from 'knex';
import { holdLock, remove, run, table, type Scope } from '../scope.js';
import { servedSql } from '../served.js';

/** A row of `logos` without its image, which lists have no use for. */
export type LogoRow = {
  environment_id: string;
  /** SHA-256 of the image, in hexadecimal. */
  id: string;
  content_type: 'image/png' | 'image/jpeg' | 'image/webp';
  /** In bytes. */
  size: number;
  created_at: Date;
  /** When it goes; null while a branding names it. */
  expires_at: Date | null;
};

export type LogoImage = Pick<LogoRow, 'content_type'> & { readonly image: Buffer };

const columns = 'environment_id, id, content_type, size, created_at, expires_at';

export const logosWithoutImages = (scope: Scope): Knex.QueryBuilder =>
  scope.knex.from(
    scope.knex.raw(`(select ${columns} from logos where environment_id = ?) as logos`, [scope.environment_id]) as unknown as string,
  ) as unknown as Knex.QueryBuilder;

/** How many logos the environment has, and their bytes together: so many until the transaction ends, but for its own. */
export async function countLogos(scope: Scope): Promise<{ count: number; bytes: number }> {
  await holdLock(scope, 'logos');
  const query = table<LogoRow>(scope, 'logos').count('* as count').sum('size as bytes');
  const [row] = (await query) as unknown as { count: string; bytes: string | null }[];
  return { count: Number(row?.count ?? 0), bytes: Number(row?.bytes ?? 0) };
}

/** Stores a logo; one that is there already is kept for as long as a new one. */
export async function saveLogo(scope: Scope, { image, ...logo }: Omit<LogoRow, 'environment_id'> & LogoImage): Promise<LogoRow> {
  scope.touched.add('logos');
  const text = `insert into logos as l (environment_id, id, content_type, size, created_at, expires_at, image) values ($1, $2, $3, $4, $5, $6, $7)
    on conflict (environment_id, id) do update set expires_at = case when l.expires_at is not null then excluded.expires_at end
    returning ${columns}`;
  const values = [logo.id, logo.content_type, logo.size, logo.created_at, logo.expires_at, image];
  const [row] = await run<LogoRow>(scope, { name: 'logos.save', text }, values);
  return row as LogoRow;
}

export const hasLogo = async (scope: Scope, id: string): Promise<boolean> =>
  (await table<LogoRow>(scope, 'logos').where({ id }).first('id')) !== undefined;

export async function findLogoImage(scope: Scope, id: string): Promise<LogoImage | null> {
  const text = 'select content_type, image from logos where environment_id = $1 and id = $2';
  const [row] = await run<LogoImage>(scope, { name: 'logos.image', text }, [id]);
  return row ?? null;
}

export const removeLogo = async (scope: Scope, id: string): Promise<void> => void (await remove<LogoRow>(scope, 'logos', { id }));

/** The ids that addresses of logos name, and which environment does, of all of them: what was uploaded to one may be shown by another. */
const named = `select distinct environment_id, (regexp_match(address, '/logos/([0-9a-f]{64})[.]'))[1] as id from (
    select id as environment_id, unnest(array[branding ->> 'logo_url', branding ->> 'dark_logo_url', branding ->> 'favicon_url']) as address from environments
    union all select environment_id, unnest(array[branding ->> 'logo_url', branding ->> 'dark_logo_url', branding ->> 'favicon_url', logo_uri]) from clients
    union all select environment_id, unnest(array[branding ->> 'logo_url', branding ->> 'dark_logo_url', branding ->> 'favicon_url']) from organizations
  ) as shown where address like '%/logos/%'`;

/** Whether a branding of the environment itself names the logo. */
export async function isLogoNamed({ knex, environment_id }: Scope, id: string): Promise<boolean> {
  const { rows } = await knex.raw<{ rows: unknown[] }>(`select 1 from (${named}) as named where id = ? and environment_id = ?`, [
    id,
    environment_id,
  ]);
  return rows.length > 0;
}

/**
 * Looks which logos are named by a branding: these stay, the others go at `expires_at`, or are gone now when their time is over.
 * @returns how many went
 */
export async function sweepLogos(knex: Knex, { now, expires_at }: { now: Date; expires_at: Date }): Promise<number> {
  const result = await knex.raw<{ rows: unknown[] }>(
    `with named as materialized (${named}),
       kept as (update logos set expires_at = null where expires_at is not null and ${servedSql('environment_id')} and id in (select id from named)),
       unused as (update logos set expires_at = ? where expires_at is null and ${servedSql('environment_id')} and id not in (select id from named where id is not null))
     delete from logos where expires_at <= ? and ${servedSql('environment_id')} and id not in (select id from named where id is not null) returning 1`,
    [expires_at, now],
  );
  return result.rows.length;
}

export const areThereLogos = async (knex: Knex): Promise<boolean> => (await knex('logos').first('id')) !== undefined;
