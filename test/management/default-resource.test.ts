// `default_resource` of a client: what a token request is for that leaves out `resource`.
import { randomUUID } from 'node:crypto';
import { expect, test } from 'vitest';
import { findClient } from '../../src/db/tables/clients.js';
import { addMachine, addResource } from '../support/data.js';
import { manage } from '../support/management.js';
import { claimsOf, tokenRequest, type TokenAnswer } from '../support/oauth.js';
import { contextOf, sharedManagedService } from '../support/shared-service.js';

const service = sharedManagedService();
const ctx = contextOf(service);
/** One more at each retry. */
const newResource = () => addResource(ctx, { identifier: `https://api.example/${randomUUID()}` });
const refused = ({ status, body }: TokenAnswer) => [status, body.error];

test('client_credentials without resource is for default_resource of the client, within its grant (specification 5.5.4)', async () => {
  const api = await manage(service.url);
  const [granted, ungranted] = [await newResource(), await newResource()];
  const { id, ...client } = await addMachine(ctx, granted);
  const set = (default_resource: string | null) => api.update('clients', id, { default_resource });
  const ask = (fields: Record<string, string> = {}) =>
    tokenRequest(service.url, { id, ...client }, { grant_type: 'client_credentials', ...fields });
  const unknown = await set('urn:unknown');
  expect([unknown.status, unknown.body['errors'][0].source]).toEqual([422, { pointer: '/data/attributes/default_resource' }]);
  expect((await set(granted.identifier)).status).toBe(200);
  expect(claimsOf((await ask()).body.access_token)).toMatchObject({ aud: granted.identifier });
  expect(refused(await ask({ resource: ungranted.identifier }))).toEqual([400, 'invalid_target']);
  await set(ungranted.identifier);
  expect(refused(await ask())).toEqual([400, 'invalid_target']);
  expect((await api.delete(`/api_resources/${ungranted.id}`)).status).toBe(204);
  expect(await findClient(ctx.scope, id)).toMatchObject({ default_resource: null });
  expect(refused(await ask())).toEqual([400, 'invalid_request']);
});
