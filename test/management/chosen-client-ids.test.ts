// A client_id that the maker of a client chooses, and the one that comes with the service.
import { describe, expect, test } from 'vitest';
import { bootstrap } from '../../src/domain/configuration/bootstrap.js';
import { addUser } from '../support/data.js';
import { Api, manage, managementToken, type ApiAnswer, type Document } from '../support/management.js';
import { shared, sharedManagedService } from '../support/shared-service.js';

const service = sharedManagedService();
const api = shared(() => manage(service.url));

const create = (attributes: Document) => api.attempt('clients', { name: 'Shop', application_type: 'machine', ...attributes });

const refusal = ({ status, body }: ApiAnswer) => {
  const [error] = body['errors'] as Document[];
  return [status, error?.['code'], error?.['source']?.pointer];
};
const at = '/data/attributes/client_id';

describe('client_id at creation', () => {
  test('is the id of the client, which gets tokens by it, and no attribute that is shown', async () => {
    const { status, body } = await create({ client_id: 'shop-orders', grant_types: ['client_credentials'] });
    expect([status, body['data'].id]).toEqual([201, 'shop-orders']);
    expect(body['data'].attributes).not.toHaveProperty('client_id');
    expect((await api.get('/clients/shop-orders')).body['data'].attributes.name).toBe('Shop');
    await expect(
      managementToken(service.url, { id: 'shop-orders', client_secret: body['data'].attributes.client_secret as string }),
    ).rejects.toThrow('invalid_target');
  });

  test('is refused where it has another form, is taken, a user’s, an identifier, or was deleted (specification 6.1.10, attack 15.1480)', async () => {
    for (const client_id of ['', '.', '..', 'two words', 'ü', 'x'.repeat(129)])
      expect(refusal(await create({ client_id }))).toEqual([422, expect.any(String), at]);
    await create({ client_id: 'taken' });
    expect(refusal(await create({ client_id: 'taken' }))).toEqual([409, 'already_exists', at]);
    const user = await addUser(await service.context());
    for (const client_id of [user.id, user.id.toUpperCase(), `{${user.id}}`, user.id.replaceAll('-', '')])
      expect(refusal(await create({ client_id }))).toEqual([422, 'invalid_value', at]);
    await api.create('api_resources', { name: 'Orders', identifier: 'https://orders.example/api' });
    expect(refusal(await create({ client_id: 'https://orders.example/api' }))).toEqual([422, 'reserved_name', at]);
    expect(refusal(await create({ client_id: `${service.url}/api` }))).toEqual([422, 'reserved_name', at]);
    await api.delete('/clients/taken');
    expect(refusal(await create({ client_id: 'taken' }))).toEqual([422, 'reserved_name', at]);
  });

  test('is not changed later, nor said beside the address of a document', async () => {
    await create({ client_id: 'fixed' });
    const changing = { data: { type: 'client', id: 'fixed', attributes: { client_id: 'other' } } };
    expect((await api.patch('/clients/fixed', changing)).status).toBe(403);
    const both = {
      client_id: 'both',
      client_id_metadata_uri: 'https://client.example/client.json',
      name: undefined,
      application_type: undefined,
    };
    expect(refusal(await create(both))).toEqual([422, 'invalid_value', at]);
  });

  test('takes the permission to write clients', async () => {
    const reader = new Api(service.url, await managementToken(service.url, undefined, { scope: 'clients:read' }));
    const made = await reader.attempt('clients', { name: 'X', application_type: 'machine', client_id: 'x' });
    expect(made.status).toBe(403);
  });
});

describe('the client of the command line', () => {
  const shown = async () => (await api.get('/clients/idp-cli?include=client_grants')).body;
  const change = (attributes: Document) => api.update('clients', 'idp-cli', attributes);

  test('comes with every environment: public, not first-party, and by grant of people alone', async () => {
    const { data, included } = await shown();
    expect(data.attributes).toMatchObject({
      is_system: true, token_endpoint_auth_method: 'none', require_pkce: true, first_party: false, introspection_allowed: false, redirect_uris: ['http://127.0.0.1/callback'],
    }); // prettier-ignore
    expect((included as Document[]).map(({ attributes }) => attributes.subject_type as string)).toEqual(['user']);
  });

  test('is not deleted, is left out of documents, and stays disabled at the next start, which brings back the rest', async () => {
    expect(refusal(await api.delete('/clients/idp-cli')).slice(0, 2)).toEqual([409, 'system_record']);
    const { body } = await api.get('/config');
    expect(JSON.stringify(body['meta'].document)).not.toContain('idp-cli');
    await change({ status: 'disabled', redirect_uris: ['https://elsewhere.example/cb'] });
    await bootstrap(service.deps);
    expect((await shown())['data'].attributes).toMatchObject({ status: 'disabled', redirect_uris: ['http://127.0.0.1/callback'] });
  });
});
