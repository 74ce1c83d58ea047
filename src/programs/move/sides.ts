import type { Client } from 'pg';
import type { EnvironmentRow } from '../../db/tables/environments.js';
import { listMovedTables, type MovedTable } from '../../db/cells/moved-tables.js';
import { openAlone } from '../../db/cells/session.js';
import { MoveRefusal } from './checks.js';

/** Both databases, and the environment as far as it is in each. */
export type Sides = {
  readonly source: Client;
  readonly target: Client;
  readonly tables: readonly MovedTable[];
  readonly here: EnvironmentRow;
  /** Null: nothing of it is there yet. */
  readonly there: EnvironmentRow | null;
};

export async function findBySlug(client: Client, slug: string): Promise<EnvironmentRow> {
  const { rows } = await client.query<EnvironmentRow>('select * from environments where slug = $1', [slug]);
  if (!rows[0]) throw new MoveRefusal(`there is no environment ${slug} here`);
  return rows[0];
}

/** @throws {MoveRefusal} while somebody else moves an environment of either */
export async function onDatabase<T>(url: string, work: (client: Client) => Promise<T>): Promise<T> {
  const client = await openAlone(url);
  if (!client) throw new MoveRefusal('another move is under way in one of the cells');
  try {
    return await work(client);
  } finally {
    await client.end();
  }
}

/** Opens both. @throws {MoveRefusal} when they are one, or somebody else moves an environment of either */
export const onSides = <T>(from: string, to: string, slug: string, work: (sides: Sides) => Promise<T>): Promise<T> =>
  onDatabase(from, (source) =>
    onDatabase(to, async (target) => {
      const here = await findBySlug(source, slug);
      const { rows } = await target.query<EnvironmentRow>('select * from environments where id = $1', [here.id]);
      return work({ source, target, tables: await listMovedTables(source), here, there: rows[0] ?? null });
    }),
  );
