import { readFile } from 'node:fs/promises';
import { expect, test } from 'vitest';
import { createKnex } from '../../../src/db/connection/knex.js';
import { migrate } from '../../../src/db/migrations/migrate.js';
import { schemaText } from '../../../src/db/postgres/schema-text.js';
import { createEmptyDatabase } from '../../support/database.js';

test('docs/reference/schema.sql is what the migrations make (npm run docs writes it)', async () => {
  const database = await createEmptyDatabase();
  const knex = createKnex({ url: database.url, poolMax: 1 });
  await migrate(knex);
  const { rows } = await knex.raw<{ rows: { version: number }[] }>("select current_setting('server_version_num')::integer as version");
  const found = await schemaText(knex);
  await knex.destroy();
  await database.drop();
  const written = await readFile('docs/reference/schema.sql', 'utf8');
  // Before PostgreSQL 16 there is no such index (migrations/0001_baseline/11_webhooks.sql).
  const index = /^CREATE INDEX webhook_deliveries_response .*\n/m;
  expect(written).toMatch(index);
  expect(found).toBe((rows[0]?.version ?? 0) < 160_000 ? written.replace(index, '') : written);
});
