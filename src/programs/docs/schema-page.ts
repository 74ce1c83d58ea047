import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createKnex } from '../../db/connection/knex.js';
import { migrate } from '../../db/migrations/migrate.js';
import { startEmbeddedPostgres } from '../../db/postgres/embedded/embedded-postgres.js';
import { schemaText } from '../../db/postgres/schema-text.js';
import { silentLogger } from '../../platform/log/logger.js';

/** docs/reference/schema.sql: what the migrations make of an empty database, in a throw-away PostgreSQL. */
export async function schemaPage(): Promise<string> {
  const dataDir = await mkdtemp(join(tmpdir(), 'identity-provider-docs-'));
  try {
    const postgres = await startEmbeddedPostgres({ dataDir, logger: silentLogger, settings: { fsync: 'off' } });
    const knex = createKnex({ url: postgres.url, poolMax: 1 });
    try {
      await migrate(knex);
      return await schemaText(knex);
    } finally {
      await knex.destroy();
      await postgres.stop();
    }
  } finally {
    await rm(dataDir, { recursive: true, force: true });
  }
}
