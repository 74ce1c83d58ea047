import { createHmac } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { superuser } from '../../src/db/postgres/embedded/cluster.js';

/** The superuser's address of an embedded PostgreSQL, given the service's. */
export async function superuserAddress(url: string, dataDir: string): Promise<string> {
  const secret = (await readFile(join(dataDir, 'postgres-secret'), 'utf8')).trim();
  const password = createHmac('sha256', secret).update(superuser).digest('base64url');
  return `postgres://${superuser}:${password}@127.0.0.1:${new URL(url).port}/postgres`;
}
