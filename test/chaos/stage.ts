import { documentOf, insist, type World } from './world.js';

export type StageClient = { readonly id: string; readonly secret: string; readonly authorization: string };

/** What is there before the load begins. */
export type Stage = {
  readonly person: { readonly email: string; readonly password: string };
  /** A public client, so that its refresh tokens are rotated at every use. */
  readonly app: StageClient;
  readonly redirectUri: string;
  /** Gets tokens for `opaque` and `jwt` in its own name, and may introspect everybody's. */
  readonly machine: StageClient;
  readonly opaque: string;
  readonly jwt: string;
  readonly apis: Readonly<Record<'opaque' | 'jwt', string>>;
  /** Clients whose token requests are limited: one counted request by request, one by leases. */
  readonly limited: readonly { readonly name: string; readonly client: StageClient; readonly limit: number }[];
};

const free = { token_rate_limit: 1_000_000 };
export const password = 'a password of the chaos run';

export const clientOf = (id: string, secret: string): StageClient => ({
  id,
  secret,
  authorization: `Basic ${Buffer.from(`${encodeURIComponent(id)}:${encodeURIComponent(secret)}`).toString('base64')}`,
});

async function addApi(world: World, format: 'opaque' | 'jwt'): Promise<{ id: string; identifier: string }> {
  const identifier = `https://${format}.example`;
  const attributes = { identifier, name: `The ${format} API`, token_format: format, access_token_lifetime: 86_400 };
  const api = await insist(world, { path: '/api/api_resources', json: documentOf('api_resource', attributes) });
  const id = String(api.body['data'].id);
  const relationships = { api_resource: { data: { type: 'api_resource', id } } };
  await insist(world, { path: '/api/permissions', json: documentOf('permission', { name: 'read' }, relationships) });
  return { id, identifier };
}

export const machineDocument = (name: string, attributes: object) =>
  documentOf('client', { name, application_type: 'machine', grant_types: ['client_credentials'], ...attributes });

export const grantDocument = (client: string, api: string) =>
  documentOf(
    'client_grant',
    { scopes: ['read'] },
    { client: { data: { type: 'client', id: client } }, api_resource: { data: { type: 'api_resource', id: api } } },
  );

async function addMachine(world: World, name: string, attributes: object, apis: readonly string[]): Promise<StageClient> {
  const answer = await insist(world, { path: '/api/clients', json: machineDocument(name, attributes) });
  const { id, attributes: given } = answer.body['data'] as { id: string; attributes: { client_secret: string } };
  for (const api of apis) await insist(world, { path: '/api/client_grants', json: grantDocument(id, api) });
  return clientOf(id, given.client_secret);
}

/** Sets the stage through the Management API. @param receiver where webhooks go */
export async function prepareStage(world: World, receiver: string): Promise<Stage> {
  const email = 'person@example.com';
  await insist(world, { path: '/api/users', json: documentOf('user', { email, last_name: 'person', password }) });
  // What was before the webhook is told to nobody.
  const events = ['role.created', 'role.updated', 'user.created', 'user.updated', 'user.registered'];
  await insist(world, { path: '/api/webhooks', json: documentOf('webhook', { name: 'chaos', url: receiver, events }) });
  const opaque = await addApi(world, 'opaque');
  const jwt = await addApi(world, 'jwt');
  const redirectUri = 'https://app.example/cb';
  const app = await insist(world, {
    path: '/api/clients',
    json: documentOf('client', {
      name: 'App',
      application_type: 'spa',
      token_endpoint_auth_method: 'none',
      redirect_uris: [redirectUri],
      grant_types: ['authorization_code', 'refresh_token'],
      first_party: true,
      ...free,
    }),
  });
  return {
    person: { email, password },
    app: clientOf(String(app.body['data'].id), ''),
    redirectUri,
    machine: await addMachine(world, 'Machine', free, [opaque.id, jwt.id]),
    opaque: opaque.identifier,
    jwt: jwt.identifier,
    apis: { opaque: opaque.id, jwt: jwt.id },
    limited: [
      { name: 'counted', client: await addMachine(world, 'Counted', {}, [jwt.id]), limit: 10 },
      { name: 'leased', client: await addMachine(world, 'Leased', { token_rate_limit: 100 }, [jwt.id]), limit: 100 },
    ],
  };
}
