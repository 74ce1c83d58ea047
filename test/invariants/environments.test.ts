import { expect, test } from 'vitest';
import { findClient, insertClient } from '../../src/db/tables/clients.js';
import { addClient, addEnvironment, addGrant, addResource } from '../support/data.js';
import { contextOf, shared, sharedService } from '../support/shared-service.js';

const service = sharedService();
const own = contextOf(service);
const foreign = shared(() => addEnvironment(service.deps, 'staging'));

test('Postgres itself refuses a link across environments', async () => {
  const client = await addClient(own);
  const resource = await addResource(foreign, { identifier: 'https://api.example/foreign' });
  await expect(addGrant(own, client, resource)).rejects.toMatchObject({ sqlstate: '23503' });
});

test('the same client id may exist in both, with its own secret', async () => {
  const now = service.clock.now();
  const row = {
    id: 'shared-name',
    application_type: 'machine',
    token_endpoint_auth_method: 'client_secret_basic',
    created_at: now,
    updated_at: now,
  } as const;
  await insertClient(own.scope, { ...row, name: 'one' });
  await insertClient(foreign.scope, { ...row, name: 'two' });
  expect((await findClient(foreign.scope, 'shared-name'))?.name).toBe('two');
});
