import { randomBytes } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import pg from 'pg';
import { inject } from 'vitest';
import { empty } from './emptied.js';

/** The template is briefly in use while another test file clones it; a database to drop, by an autovacuum worker that only a superuser may end. */
const passing = new Set(['55006', '42501']);

/** A database of one test file, with the newest schema and nothing in it. */
export type TestDatabase = { readonly url: string; drop(): Promise<void> };

/** Databases of this process that were given back empty. */
const emptied: string[] = [];

/**
 * A database with the newest schema and nothing in it: one that a file before gave back, or a new clone of the migrated template (600 files: up to half a second
 * of processor time on a disk). Call `drop` in `afterAll`; it ends open connections too.
 * @param isNew a new one, for tests of what PostgreSQL remembers beside the rows: statistics, space
 */
export async function createTestDatabase({ isNew = false } = {}): Promise<TestDatabase> {
  const { url, template } = inject('postgres');
  const kept = isNew ? undefined : emptied.pop();
  const name = kept ?? `${databasesOf(template)}${randomBytes(6).toString('hex')}`;
  if (kept === undefined) await administer(url, `create database ${name} template ${template}`);
  return { url: addressOf(url, name), drop: () => giveBack(name) };
}

/** How the names of the databases begin that were cloned from the template. */
export const databasesOf = (template: string) => template.replace('template', 'test').concat('_');

/** Keeps it for the next file when it is empty again, else drops it. */
async function giveBack(name: string): Promise<void> {
  const { url } = inject('postgres');
  if (await isEmptied(addressOf(url, name))) emptied.push(name);
  else await administer(url, `drop database if exists ${name} with (force)`);
}

async function isEmptied(url: string): Promise<boolean> {
  const { initial } = inject('postgres');
  return initial !== null && onConnection(url, (client) => empty(client, initial)).catch(() => false);
}

/** An empty database, without the schema: for tests of migrations. */
export async function createEmptyDatabase(): Promise<TestDatabase> {
  const { url } = inject('postgres');
  const name = `identity_test_${randomBytes(6).toString('hex')}`;
  await administer(url, `create database ${name}`);
  return { url: addressOf(url, name), drop: () => administer(url, `drop database if exists ${name} with (force)`) };
}

/** Runs one statement on the server's own database. */
export const administer = (url: string, statement: string): Promise<void> =>
  onConnection(url, (client) => repeatWhileInUse(() => client.query(statement)));

export async function onConnection<T>(url: string, work: (client: pg.Client) => Promise<T>): Promise<T> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  try {
    return await work(client);
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

export function addressOf(url: string, database: string): string {
  const address = new URL(url);
  address.pathname = `/${database}`;
  return address.href;
}
