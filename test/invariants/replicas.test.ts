import { randomBytes } from 'node:crypto';
import { expect, test } from 'vitest';
import { createEmptyDatabase } from '../support/database.js';
import { startTestService } from '../support/service.js';
import { shared } from '../support/shared-service.js';

const database = shared(
  () => createEmptyDatabase(),
  (made) => made.drop(),
);

test('two processes that start together on one empty database: both ready, one schema, one environment, one signing key (fault F16)', async () => {
  const shared = { database: { url: database.url, secretKey: randomBytes(32).toString('base64') } };
  const environment = {
    MANAGEMENT_CLIENT_ID: 'management',
    MANAGEMENT_CLIENT_SECRET: 'a secret of some length',
    ADMIN_EMAIL: 'admin@example.com',
    ADMIN_PASSWORD: 'a password of some length',
  };
  const [one, two] = await Promise.all([startTestService(environment, shared), startTestService(environment, shared)]);
  try {
    for (const service of [one, two]) expect((await fetch(`${service.url}/readyz`)).status).toBe(200);
    const keys = await Promise.all([one, two].map(async (service) => (await fetch(`${service.url}/.well-known/jwks.json`)).text()));
    expect(keys[0]).toBe(keys[1]);
    const count = async (table: string) => Number(((await one.deps.db.knex(table).count('* as count')) as { count: number }[])[0]?.count);
    expect(await count('environments')).toBe(1);
    expect(await count('signing_keys')).toBe(1);
    expect(await count('users')).toBe(1);
    // The one of the Management API, and the command line's.
    expect(await count('clients')).toBe(2);
  } finally {
    await Promise.all([one.stop(), two.stop()]);
  }
});
