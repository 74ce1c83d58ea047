import { insertApiResource, findApiResourceByIdentifier } from '../../db/tables/api_resources.js';
import { findClientGrant, insertClientGrant } from '../../db/tables/client_grants.js';
import { findClient, insertClient, updateClient, type ClientRow } from '../../db/tables/clients.js';
import { insertPermission, listPermissionsOfResource } from '../../db/tables/permissions.js';
import { findUserByEmailKey, insertUser, updateUser } from '../../db/tables/users.js';
import { ensureAdministrator } from '../../domain/configuration/bootstrap.js';
import { transaction, type Context } from '../../domain/context.js';
import { digest } from '../../lib/digest.js';
import { uuidv7 } from '../../lib/random.js';

/** Where the example application listens unless another port is chosen. */
const demoAppUrl = 'http://localhost:3001';

type SignIn = { readonly email: string; readonly password: string };

/** What the demonstration consists of; secrets follow from the service's key, so that a second run names the same ones. */
export type DemoData = {
  readonly user: SignIn;
  readonly resource: string;
  readonly web: { readonly client_id: string; readonly client_secret: string; readonly redirect_uri: string };
  readonly spa: { readonly client_id: string; readonly redirect_uri: string };
  readonly machine: { readonly client_id: string; readonly client_secret: string };
};

const email = 'demo@example.com';
const administratorEmail = 'admin@example.com';
const resourceIdentifier = 'https://notes.example/api';
const permissions = [
  { name: 'read', description: 'Read your notes.' },
  { name: 'write', description: 'Write your notes.' },
];

const secretColumns = ({ client_secret }: { readonly client_secret: string }) => ({
  secret_digest: digest(client_secret),
  secret_hint: client_secret.slice(-4),
});

const secretOf = (ctx: Context, name: string) => ctx.crypto.sealer.digest('demo', name).toString('base64url');

async function ensureClient(tx: Context, id: string, columns: Partial<ClientRow>): Promise<void> {
  const now = tx.clock.now();
  if (await findClient(tx.scope, id)) await updateClient(tx.scope, id, { ...columns, updated_at: now });
  else await insertClient(tx.scope, { id, ...columns, created_at: now, updated_at: now });
}

async function ensureResource(tx: Context): Promise<string> {
  const now = tx.clock.now();
  const times = { created_at: now, updated_at: now };
  const resource =
    (await findApiResourceByIdentifier(tx.scope, resourceIdentifier)) ??
    (await insertApiResource(tx.scope, {
      id: uuidv7(now.getTime()),
      identifier: resourceIdentifier,
      name: 'Demo notes',
      token_format: 'jwt',
      ...times,
    }));
  const known = new Set((await listPermissionsOfResource(tx.scope, resource.id)).map((permission) => permission.name));
  for (const permission of permissions) {
    if (!known.has(permission.name))
      await insertPermission(tx.scope, { id: uuidv7(now.getTime()), api_resource_id: resource.id, ...permission, ...times });
  }
  return resource.id;
}

const signsPeopleIn = (appUrl: string) =>
  ({
    grant_types: ['authorization_code', 'refresh_token'],
    post_logout_redirect_uris: [`${appUrl}/`],
    id_token_claims: 'profile',
    first_party: true,
  }) satisfies Partial<ClientRow>;

const passwordOf = (ctx: Context, name: string) => `demo-${secretOf(ctx, name).slice(0, 12)}`;

/** What lets somebody sign in with the password again, whatever has happened meanwhile. */
const restored = (password_hash: string) => ({ password_hash, status: 'active', locked_until: null }) as const;

/** Makes an administrator to try the dashboard with, or brings the password back. @throws {Error} in a production environment */
export async function ensureDemoAdministrator(ctx: Context): Promise<SignIn> {
  requireTrial(ctx);
  const administrator = { email: administratorEmail, password: passwordOf(ctx, 'administrator') };
  await ensureAdministrator(ctx, administrator);
  const user = await findUserByEmailKey(ctx.scope, administratorEmail);
  if (user) await updateUser(ctx.scope, user.id, restored(await ctx.crypto.passwords.hash(administrator.password)));
  return administrator;
}

/** @throws {Error} where people of a demonstration could do harm */
function requireTrial({ environment: { kind } }: Context): void {
  if (kind === 'production') throw new Error('the default environment is a production one; demo accounts have no place there');
}

/** Makes a demo user, an API resource and three clients, or brings them back to how they should be. Idempotent. @throws {Error} in a production environment */
export async function ensureDemoData(ctx: Context, appUrl = demoAppUrl): Promise<DemoData> {
  requireTrial(ctx);
  const password = passwordOf(ctx, 'user');
  const password_hash = await ctx.crypto.passwords.hash(password);
  const web = { client_id: 'demo-web', client_secret: `cs_${secretOf(ctx, 'web')}`, redirect_uri: `${appUrl}/callback` };
  const spa = { client_id: 'demo-spa', redirect_uri: `${appUrl}/spa` };
  const machine = { client_id: 'demo-machine', client_secret: `cs_${secretOf(ctx, 'machine')}` };
  await transaction(ctx, async (tx) => {
    const now = tx.clock.now();
    const times = { created_at: now, updated_at: now };
    const user = await findUserByEmailKey(tx.scope, email);
    if (user) await updateUser(tx.scope, user.id, restored(password_hash));
    else {
      const names = { first_name: 'Demo', last_name: 'Person', nickname: 'demo', locale: 'en' };
      await insertUser(tx.scope, {
        id: uuidv7(now.getTime()),
        email,
        email_key: email,
        email_verified: true,
        ...names,
        password_hash,
        password_changed_at: now,
        ...times,
      });
    }
    const api_resource_id = await ensureResource(tx);
    const people = signsPeopleIn(appUrl);
    await ensureClient(tx, web.client_id, {
      name: 'Demo notes',
      application_type: 'web',
      redirect_uris: [web.redirect_uri],
      token_endpoint_auth_method: 'client_secret_basic',
      ...secretColumns(web),
      introspection_allowed: true,
      ...people,
    });
    await ensureClient(tx, spa.client_id, {
      name: 'Demo single-page notes',
      application_type: 'spa',
      redirect_uris: [spa.redirect_uri],
      allowed_origins: [appUrl],
      token_endpoint_auth_method: 'none',
      require_pkce: true,
      ...people,
    });
    await ensureClient(tx, machine.client_id, {
      name: 'Demo machine',
      introspection_allowed: true,
      application_type: 'machine',
      grant_types: ['client_credentials'],
      token_endpoint_auth_method: 'client_secret_basic',
      ...secretColumns(machine),
    });
    const scopes = permissions.map((permission) => permission.name);
    if (!(await findClientGrant(tx.scope, machine.client_id, api_resource_id, 'client'))) {
      await insertClientGrant(tx.scope, { id: uuidv7(now.getTime()), client_id: machine.client_id, api_resource_id, scopes, ...times });
    }
  });
  return { user: { email, password }, resource: resourceIdentifier, web, spa, machine };
}

/** What `npm run seed` prints: the data and lines that can be pasted into a shell. */
export function describeDemoData(baseUrl: string, data: DemoData): string {
  const query = new URLSearchParams({
    response_type: 'code',
    client_id: data.web.client_id,
    redirect_uri: data.web.redirect_uri,
    scope: 'openid profile email',
    state: 'demo',
  });
  return `
Demo user       ${data.user.email}   password ${data.user.password}
API resource    ${data.resource}   permissions ${permissions.map((permission) => permission.name).join(', ')}
Web client      ${data.web.client_id}   secret ${data.web.client_secret}   redirect URI ${data.web.redirect_uri}
Public client   ${data.spa.client_id}   redirect URI ${data.spa.redirect_uri}
Machine client  ${data.machine.client_id}   secret ${data.machine.client_secret}

A token for the machine client:
  curl -s -u '${data.machine.client_id}:${data.machine.client_secret}' \\
    -d grant_type=client_credentials -d resource=${data.resource} ${baseUrl}/oauth/token

Is it good?
  TOKEN=$(curl -s -u '${data.machine.client_id}:${data.machine.client_secret}' \\
    -d grant_type=client_credentials -d resource=${data.resource} ${baseUrl}/oauth/token | sed 's/.*"access_token":"\\([^"]*\\)".*/\\1/')
  curl -s -u '${data.web.client_id}:${data.web.client_secret}' -d "token=$TOKEN" ${baseUrl}/oauth/introspect

Sign in (open in a browser; the code arrives at the redirect URI):
  ${baseUrl}/oauth/authorize?${query.toString()}
`;
}
