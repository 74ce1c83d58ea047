import { randomBytes } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import pg from 'pg';
import { inject } from 'vitest';

/** The template is briefly in use while another test file clones it; a database to drop, by an autovacuum worker that only a superuser may end. */
const passing = new Set(['55006', '42501']);

/** A database of one test file, with the newest schema and nothing in it. */
export type TestDatabase = { readonly url: string; drop(): Promise<void> };

/** Clones the migrated template: real PostgreSQL, isolated, some 50 ms. Call `drop` in `afterAll`; it ends open connections too. */
export async function createTestDatabase(): Promise<TestDatabase> {
  const { url, template } = inject('postgres');
  const name = `identity_test_${randomBytes(6).toString('hex')}`;
  await administer(url, `create database ${name} template ${template}`);
  return { url: addressOf(url, name), drop: () => administer(url, `drop database if exists ${name} with (force)`) };
}

/** An empty database, without the schema: for tests of migrations. */
export async function createEmptyDatabase(): Promise<TestDatabase> {
  const { url } = inject('postgres');
  const name = `identity_test_${randomBytes(6).toString('hex')}`;
  await administer(url, `create database ${name}`);
  return { url: addressOf(url, name), drop: () => administer(url, `drop database if exists ${name} with (force)`) };
}

/** Runs one statement on the server's own database. */
export async function administer(url: string, statement: string): Promise<void> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  try {
    await repeatWhileInUse(() => client.query(statement));
  } finally {
    await client.end();
  }
}

async function repeatWhileInUse(query: () => Promise<unknown>): Promise<void> {
  for (let attempt = 0; ; attempt++) {
    try {
      await query();
      return;
    } catch (error) {
      if (!passing.has((error as { code?: string }).code ?? '') || attempt === 100) throw error;
      await delay(50);
    }
  }
}

/** The address of another database on the same server. */
export function addressOf(url: string, database: string): string {
  const address = new URL(url);
  address.pathname = `/${database}`;
  return address.href;
}
