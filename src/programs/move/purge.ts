import { lowerFence } from '../../db/cells/fence.js';
import { deleteEnvironmentRows, listMovedTables } from '../../db/cells/moved-tables.js';
import { MoveRefusal } from './checks.js';
import { findBySlug, onDatabase } from './sides.js';

const keptMs = 7 * 86_400_000;

/** Deletes what is left here of an environment that is served in another cell, a week after it moved. @throws {MoveRefusal} */
export const purgeEnvironment = (database: string, slug: string): Promise<void> =>
  onDatabase(database, async (client) => {
    const { id, moved_at } = await findBySlug(client, slug);
    if (moved_at === null) throw new MoveRefusal(`environment ${slug} has not moved: it is deleted with environments delete`);
    const { rows } = await client.query<{ now: Date }>('select now()');
    const from = new Date(moved_at.getTime() + keptMs);
    if ((rows[0]?.now ?? moved_at) < from)
      throw new MoveRefusal(`environment ${slug} moved less than seven days ago: it may be purged from ${from.toISOString()}`);
    const tables = await listMovedTables(client);
    await lowerFence(client, tables, id);
    await deleteEnvironmentRows(client, tables, id);
  });
