import { insertApiResource, type ApiResourceRow } from '../../src/db/tables/api_resources.js';
import { insertClientGrant, type ClientGrantRow } from '../../src/db/tables/client_grants.js';
import { insertClient, type ClientRow } from '../../src/db/tables/clients.js';
import { insertEnvironment } from '../../src/db/tables/environments.js';
import { insertPermission } from '../../src/db/tables/permissions.js';
import { insertUser, type UserRow } from '../../src/db/tables/users.js';
import { prepareEnvironment } from '../../src/domain/configuration/bootstrap.js';
import type { Context, Deps } from '../../src/domain/context.js';
import { digest } from '../../src/lib/digest.js';
import { randomToken, uuidv7 } from '../../src/lib/random.js';

const stamp = (ctx: Pick<Context, 'clock'>) => {
  const now = ctx.clock.now();
  return { id: uuidv7(now.getTime()), created_at: now, updated_at: now };
};

/** The password of every user that `addUser` makes. */
export const password = 'correct horse battery staple';

export async function addUser(ctx: Context, row: Partial<UserRow> = {}): Promise<UserRow> {
  const email = row.email ?? `user-${randomToken('').slice(0, 8).toLowerCase()}@example.com`;
  const password_hash = await ctx.crypto.passwords.hash(password);
  return insertUser(ctx.scope, {
    ...stamp(ctx),
    email,
    email_key: email.toLowerCase(),
    email_verified: true,
    first_name: 'Ada',
    last_name: 'Lovelace',
    password_hash,
    ...row,
  });
}

export type TestClient = ClientRow & { client_secret: string };

/** A confidential web client with code and refresh grants unless told otherwise. */
export async function addClient(ctx: Context, row: Partial<ClientRow> = {}): Promise<TestClient> {
  const client_secret = randomToken('cs_');
  const isPublic = row.token_endpoint_auth_method === 'none';
  const client = await insertClient(ctx.scope, {
    ...stamp(ctx),
    name: 'Acme Notes',
    application_type: 'web',
    first_party: true,
    redirect_uris: ['https://app.example/cb'],
    grant_types: ['authorization_code', 'refresh_token'],
    token_endpoint_auth_method: 'client_secret_basic',
    secret_digest: isPublic ? null : digest(client_secret),
    introspection_allowed: !isPublic && !row.registration_token_digest,
    ...row,
  });
  ctx.cache.invalidate(ctx.environment.id, 'clients');
  return { ...client, client_secret };
}

export async function addResource(
  ctx: Context,
  row: Partial<ApiResourceRow> = {},
  permissions: readonly string[] = ['read', 'write'],
): Promise<ApiResourceRow> {
  const resource = await insertApiResource(ctx.scope, {
    ...stamp(ctx),
    identifier: 'https://api.example/notes',
    name: 'Notes',
    token_format: 'jwt',
    access_token_lifetime: 600,
    ...row,
  });
  for (const name of permissions) await insertPermission(ctx.scope, { ...stamp(ctx), api_resource_id: resource.id, name });
  ctx.cache.invalidate(ctx.environment.id, 'api_resources');
  return resource;
}

export async function addGrant(
  ctx: Context,
  client: ClientRow,
  resource: ApiResourceRow,
  scopes: string[] = ['read', 'write'],
  subject_type: ClientGrantRow['subject_type'] = 'client',
  row: Partial<ClientGrantRow> = {},
): Promise<void> {
  await insertClientGrant(ctx.scope, { ...stamp(ctx), client_id: client.id, api_resource_id: resource.id, subject_type, scopes, ...row });
  ctx.cache.invalidate(ctx.environment.id, 'client_grants');
}

/** A machine that may have the resource's tokens for itself. */
export async function addMachine(ctx: Context, resource: ApiResourceRow, row: Partial<ClientRow> = {}): Promise<TestClient> {
  const machine = await addClient(ctx, { application_type: 'machine', grant_types: ['client_credentials'], ...row });
  await addGrant(ctx, machine, resource);
  return machine;
}

/** A second environment, reached at `<slug>.localhost`. */
export async function addEnvironment(deps: Deps, slug: string): Promise<Context> {
  const row = await insertEnvironment(deps.db.knex, { ...stamp(deps), name: slug, slug, kind: 'staging' });
  return prepareEnvironment(deps, row.id);
}
