// The API of the guides: an API resource with a permission that the client is granted for itself.
import { strict as assert } from 'node:assert';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Service } from './service.js';

const audience = 'https://orders.example.com';

/** Creates what the guide's `api_resource.json` says, its permission `orders:read`, and the client's grant for it. */
export async function grantOrders(service: Service, clientId: string, folder = 'spring'): Promise<void> {
  const document = JSON.parse(await readFile(join('examples/clients', folder, 'api_resource.json'), 'utf8')) as unknown;
  const { id } = await service.create('/api_resources', document);
  const api_resource = { data: { type: 'api_resource', id } };
  await service.create('/permissions', { data: { type: 'permission', attributes: { name: 'orders:read' }, relationships: { api_resource } } });
  await service.create('/client_grants', {
    data: {
      type: 'client_grant',
      attributes: { scopes: ['orders:read'] },
      relationships: { client: { data: { type: 'client', id: clientId } }, api_resource },
    },
  });
}

type Tokens = { readonly access_token: string };

/** A token for the API is let in; none, a forged one, and one for somebody else's API are not. */
export async function ordersAreProtected({ issuer }: Service, variables: Readonly<Record<string, string>>): Promise<void> {
  const credentials = Buffer.from(`${variables['CLIENT_ID']}:${variables['CLIENT_SECRET']}`).toString('base64');
  const request = { grant_type: 'client_credentials', resource: audience, scope: 'orders:read' };
  const answer = await fetch(`${issuer}/oauth/token`, {
    method: 'POST',
    headers: { authorization: `Basic ${credentials}` },
    body: new URLSearchParams(request),
  });
  const { access_token } = (await answer.json()) as Tokens;
  const ask = (token: string | null) =>
    fetch('http://localhost:8080/api/orders', { headers: token === null ? {} : { authorization: `Bearer ${token}` } });
  const status = async (token: string | null) => (await ask(token)).status;
  assert.equal(await status(null), 401, 'without a token');
  assert.equal(await status(`${access_token.slice(0, -8)}AAAAAAAA`), 401, 'with a forged signature');
  const good = await ask(access_token);
  assert.equal(good.status, 200, `with a good token: ${good.headers.get('www-authenticate')}`);
  assert.deepEqual(await good.json(), { for: variables['CLIENT_ID'] });
}
