// The API of the guides: an API resource with a permission that the client is granted for itself.
import { strict as assert } from 'node:assert';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Service } from './service.js';

/** What a guide's API is called, where it listens, and which of its addresses want `orders:read`. */
export type OrdersApi = { readonly folder: string; readonly audience: string; readonly origin: string; readonly paths: readonly string[] };
type Variables = Readonly<Record<string, string>>;

/** An API like the guide's, that the client may call too: only `aud` tells their tokens apart. */
const elsewhereOf = ({ audience }: OrdersApi) => `${audience}/elsewhere`;

type Document = { readonly data: { readonly type: string; readonly attributes: Readonly<Record<string, unknown>> } };

/** Creates an API resource, its permission `orders:read`, and the client's grant for it. */
async function grant(service: Service, clientId: string, document: Document): Promise<void> {
  const { id } = await service.create('/api_resources', document);
  const api_resource = { data: { type: 'api_resource', id } };
  const permission = { type: 'permission', attributes: { name: 'orders:read' }, relationships: { api_resource } };
  await service.create('/permissions', { data: permission });
  const relationships = { client: { data: { type: 'client', id: clientId } }, api_resource };
  await service.create('/client_grants', { data: { type: 'client_grant', attributes: { scopes: ['orders:read'] }, relationships } });
}

/** Creates what the guide's `api_resource.json` says, and another API whose tokens differ in nothing but their audience. */
export const grantOrders =
  (api: OrdersApi) =>
  async (service: Service, clientId: string): Promise<void> => {
    const document = JSON.parse(await readFile(join('examples/clients', api.folder, 'api_resource.json'), 'utf8')) as Document;
    await grant(service, clientId, document);
    const attributes = { ...document.data.attributes, identifier: elsewhereOf(api) };
    await grant(service, clientId, { data: { ...document.data, attributes } });
  };

async function tokenFor(issuer: string, variables: Variables, resource: string, scope: string): Promise<string> {
  const credentials = Buffer.from(`${variables['CLIENT_ID']}:${variables['CLIENT_SECRET']}`).toString('base64');
  const answer = await fetch(`${issuer}/oauth/token`, {
    method: 'POST',
    headers: { authorization: `Basic ${credentials}` },
    body: new URLSearchParams({ grant_type: 'client_credentials', resource, scope }),
  });
  const body = (await answer.json()) as { access_token?: string };
  assert.ok(body.access_token, JSON.stringify(body));
  return body.access_token;
}

/** A token for the API is let in; none, a forged one, and one that is the same but for its audience are not. */
export const ordersAreProtected =
  (api: OrdersApi) =>
  async ({ issuer }: Service, variables: Variables): Promise<void> => {
    const good = await tokenFor(issuer, variables, api.audience, 'orders:read');
    const elsewhere = await tokenFor(issuer, variables, elsewhereOf(api), 'orders:read');
    for (const path of api.paths) {
      const ask = (token: string | null) =>
        fetch(api.origin + path, { headers: token === null ? {} : { authorization: `Bearer ${token}` } });
      assert.equal((await ask(null)).status, 401, `${path} without a token`);
      assert.equal((await ask(`${good.slice(0, -8)}AAAAAAAA`)).status, 401, `${path} with a forged token`);
      assert.equal((await ask(elsewhere)).status, 401, `${path} with a token for another API`);
      const answer = await ask(good);
      assert.equal(answer.status, 200, `${path}: ${answer.headers.get('www-authenticate')}`);
      assert.deepEqual(await answer.json(), { for: variables['CLIENT_ID'] });
    }
  };

/** A good token that holds too little is 403. */
export async function ordersNeedPermission({ issuer }: Service, variables: Variables, api: OrdersApi, path: string): Promise<void> {
  const token = await tokenFor(issuer, variables, api.audience, 'orders:read');
  assert.equal((await fetch(api.origin + path, { headers: { authorization: `Bearer ${token}` } })).status, 403);
}
