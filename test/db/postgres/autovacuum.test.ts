import type { Knex } from 'knex';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { sharedDatabase } from '../../support/shared-service.js';
import { readConfig } from '../../../src/config.js';
import { createKnex } from '../../../src/db/connection/knex.js';
import { expiringTables } from '../../../src/db/tables/expiring.js';

let knex: Knex;

const database = sharedDatabase();
beforeAll(async () => {
  knex = createKnex({ url: database.url, poolMax: 1 });
});

afterAll(async () => knex?.destroy());

/** They grow with people, and nothing in them expires. */
const lasting = [
  'users',
  'identities',
  'consents',
  'session_clients',
  'webhook_delivery_attempts',
  'user_roles',
  'rate_limits',
  'webhook_queue',
];

const settings = ['autovacuum_vacuum_scale_factor', 'autovacuum_analyze_scale_factor', 'autovacuum_vacuum_insert_scale_factor'];
/** Rows come and go there, and never are many: when they are looked at is set by number, or by their own share. */
const churning = ['rate_limits', 'webhook_queue'];

test('every table that grows is vacuumed and analyzed long before a fifth of its rows has changed', async () => {
  const growing = [...new Set([...expiringTables(readConfig({})).map(({ name }) => name), ...lasting])];
  const { rows } = await knex.raw<{ rows: { name: string; options: string[] | null }[] }>(
    `select t.relname as name, coalesce(p.reloptions, t.reloptions) as options
     from pg_class t left join pg_inherits i on i.inhparent = t.oid left join pg_class p on p.oid = i.inhrelid
     where t.relnamespace = current_schema()::regnamespace and t.relname = any (?)`,
    [growing],
  );
  expect(rows.map(({ name }) => name).sort()).toEqual(growing.sort());
  const late = rows.flatMap(({ name, options }) => {
    const set = new Map((options ?? []).map((option) => option.split('=') as [string, string]));
    const wanted = churning.includes(name) ? settings.slice(0, 1) : settings;
    return wanted.filter((setting) => !(Number(set.get(setting) ?? 1) <= 0.05)).map((setting) => `${name} ${setting}`);
  });
  expect(late).toEqual([]);
});
