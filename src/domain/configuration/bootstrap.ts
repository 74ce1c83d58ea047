import { isDeepStrictEqual } from 'node:util';
import { findApiResourceByIdentifier, findSystemApiResource, insertApiResource, updateApiResource } from '../../db/tables/api_resources.js';
import { insertClientGrant, findClientGrant, updateClientGrant, widenSystemGrants } from '../../db/tables/client_grants.js';
import { listConnectionIdsOfClient, removeClientConnections } from '../../db/tables/client_connections.js';
import { findClient, insertClient, updateClient, type ClientRow } from '../../db/tables/clients.js';
import { findDefaultEnvironment, insertEnvironment, listEnvironments, type EnvironmentRow } from '../../db/tables/environments.js';
import { insertPermissions, listPermissionsOfResource, type PermissionRow } from '../../db/tables/permissions.js';
import { addRolePermissions, addUserRoles, findRoleByName, insertRole, type RoleRow } from '../../db/tables/roles.js';
import { findUserByEmailKey, insertUser } from '../../db/tables/users.js';
import { ConfigError } from '../../config.js';
import { withAdvisoryLock } from '../../db/connection/advisory-lock.js';
import { commandLineClient } from '../../lib/command-line-client.js';
import { digest } from '../../lib/digest.js';
import { normalizeEmail } from '../../lib/email-address.js';
import { own } from '../../lib/named.js';
import { uuidv7 } from '../../lib/random.js';
import { recordSecurityEvent, serviceActor } from '../audit/security-trail.js';
import { createContext, transaction, type Context, type Deps } from '../context.js';
import { findEnvironmentById } from '../environments/environments.js';
import { noOrigin } from '../origin.js';
import { strongSignInDefaults } from '../environments/strong-sign-in.js';
import { freeIdentifier } from '../api-resources/api-resources.js';
import {
  administratorRole,
  describePermission,
  managementPermissions,
  organizationAdminRole,
  organizationPermissions,
} from '../reach/management-permissions.js';
import { clientIdProblem } from '../clients/names.js';
import { ensureCommandLineClient } from './command-line-client.js';
import { recordRoleChange } from '../roles/role-trail.js';
import { hashNewPassword } from '../users/new-password.js';
import { ensureSigningKey } from '../signing-keys/operations.js';

const stamp = (ctx: Pick<Deps, 'clock'>) => {
  const now = ctx.clock.now();
  return { now, id: () => uuidv7(now.getTime()), times: { created_at: now, updated_at: now } };
};

async function ensureDefaultEnvironment(deps: Deps): Promise<EnvironmentRow> {
  const existing = await findDefaultEnvironment(deps.db.knex);
  if (existing) return existing;
  const { id, times } = stamp(deps);
  const kind = deps.config.loopback ? 'development' : 'production';
  const named = { id: id(), name: 'Default', slug: 'default', kind, is_default: true } as const;
  return insertEnvironment(deps.db.knex, { ...named, ...strongSignInDefaults({ kind }), ...times });
}

/** Renames a resource that has the identifier of the Management API, made while BASE_URL was another, so that the service can start. */
async function displaceApiResource(tx: Context, identifier: string): Promise<void> {
  const taken = await findApiResourceByIdentifier(tx.scope, identifier);
  if (!taken || taken.is_system) return;
  await updateApiResource(tx.scope, taken.id, { identifier: `urn:uuid:${taken.id}`, updated_at: tx.clock.now() });
  await freeIdentifier(tx, identifier);
  tx.logger.warn(
    { event: 'api_resource.displaced', environment_id: tx.environment.id, api_resource_id: taken.id, identifier },
    'an API resource was renamed: its identifier is that of the Management API',
  );
}

/** A role that comes with the service, with at least these permissions. */
async function ensureSystemRole(
  tx: Context,
  role: Pick<RoleRow, 'name' | 'description' | 'kind'>,
  permissions: readonly PermissionRow[],
): Promise<void> {
  const { id, times } = stamp(tx);
  const { id: role_id } =
    (await findRoleByName(tx.scope, role.name)) ?? (await insertRole(tx.scope, { id: id(), ...role, is_system: true, ...times }));
  await addRolePermissions(tx.scope, role_id, permissions.map((permission) => permission.id)); // prettier-ignore
}

async function ensureSystemRoles(tx: Context, permissions: readonly PermissionRow[]): Promise<void> {
  const description = 'Holds every permission of the Management API.';
  await ensureSystemRole(tx, { name: administratorRole, description, kind: 'environment' }, permissions);
  const delegated = permissions.filter(({ name }) => organizationPermissions.includes(name));
  const whose = 'Administers its organization through the Management API.';
  await ensureSystemRole(tx, { name: organizationAdminRole, description: whose, kind: 'organization' }, delegated);
}

/** The built-in resource of the Management API with all its permissions, and the administrator role that holds them. */
export async function ensureManagementResource(ctx: Context): Promise<void> {
  await transaction(ctx, async (tx) => {
    const { id, times } = stamp(tx);
    const identifier = tx.environment.management_audience;
    await displaceApiResource(tx, identifier);
    let resource = await findSystemApiResource(tx.scope);
    if (!resource)
      resource = await insertApiResource(tx.scope, {
        id: id(),
        identifier,
        name: 'Management API',
        token_format: 'jwt',
        access_token_lifetime: 3600,
        user_access: 'granted',
        is_system: true,
        ...times,
      });
    // BASE_URL may have changed since: the resource follows, and what bore its new name before isn't its own.
    else if (resource.identifier !== identifier) {
      await freeIdentifier(tx, resource.identifier);
      const tokens_not_before = times.updated_at;
      await updateApiResource(tx.scope, resource.id, {
        identifier,
        tokens_not_before,
        user_access: 'granted',
        updated_at: times.updated_at,
      });
    }
    // An older release may have made it.
    else if (resource.user_access !== 'granted')
      await updateApiResource(tx.scope, resource.id, { user_access: 'granted', updated_at: times.updated_at });
    const known = new Set((await listPermissionsOfResource(tx.scope, resource.id)).map((permission) => permission.name));
    const added = managementPermissions.filter((name) => !known.has(name));
    const api_resource_id = resource.id;
    await insertPermissions(
      tx.scope,
      added.map((name) => ({ id: id(), api_resource_id, name, description: describePermission(name), is_system: true, ...times })),
    );
    // Who held everything before an upgrade holds everything after it.
    if (added.length > 0 && known.size > 0)
      await widenSystemGrants(tx.scope, resource.id, { held: [...known], all: managementPermissions, at: times.updated_at });
    await ensureSystemRoles(tx, await listPermissionsOfResource(tx.scope, resource.id));
  });
}

/**
 * Makes an administrator, such as the configured first one, unless an account with that address exists; an existing one is left as it is.
 * @throws {ConfigError} when the password is known from a data breach
 */
export async function ensureAdministrator(ctx: Context, admin: { email: string; password: string }): Promise<void> {
  const address = normalizeEmail(admin.email);
  if (!address) throw new Error('ADMIN_EMAIL is not a usable address');
  if (await findUserByEmailKey(ctx.scope, address.email_key)) return;
  const chosen = await hashNewPassword(ctx, admin.password);
  if (chosen === null) throw new ConfigError(['ADMIN_PASSWORD is known from a data breach: choose one that is used nowhere else']);
  await transaction(ctx, async (tx) => {
    const { now, id, times } = stamp(tx);
    const user = await insertUser(tx.scope, {
      id: id(),
      ...address,
      email_verified: true,
      first_name: 'Administrator',
      ...chosen,
      password_changed_at: now,
      ...times,
    });
    const role = await findRoleByName(tx.scope, administratorRole);
    if (!role) return;
    await addUserRoles(tx.scope, user.id, [role.id]);
    await recordRoleChange(tx, null, user, { added: [role], removed: [] });
  });
}

/** Makes the configured management client, or brings it back wholly to what the configuration says: a taken-over client is repaired at the next start. */
async function ensureManagementClient(ctx: Context, configured: { client_id: string; client_secret: string }): Promise<void> {
  await ensureMachineClient(ctx, { ...configured, name: 'Management client' });
}

/** The columns of a machine client that decide who can act with it; reset at every start. */
const machineClientColumns = ({ client_secret }: { client_secret: string }): Partial<ClientRow> => ({
  application_type: 'machine',
  redirect_uris: [],
  post_logout_redirect_uris: [],
  allowed_origins: [],
  grant_types: ['client_credentials'],
  token_endpoint_auth_method: 'client_secret_basic',
  secret_digest: digest(client_secret),
  secret_hint: client_secret.slice(-4),
  previous_secret_digest: null,
  previous_secret_expires_at: null,
  registration_token_digest: null,
  jwks: null,
  jwks_uri: null,
  scopes: null,
  access_token_format: 'opaque',
  first_party: false,
  require_pkce: false,
  introspection_allowed: true,
  backchannel_logout_uri: null,
  status: 'enabled',
  is_system: true,
});

/** A confidential machine client that holds every Management permission of its environment. @throws {Error} in an environment that wasn't prepared */
export async function ensureMachineClient(
  ctx: Context,
  machine: { client_id: string; client_secret: string; name: string },
): Promise<void> {
  await transaction(ctx, async (tx) => {
    const { id, times } = stamp(tx);
    const existing = await findClient(tx.scope, machine.client_id);
    const columns = machineClientColumns(machine);
    const isCommandLine = machine.client_id === commandLineClient.id;
    const problem = isCommandLine ? 'is the command line’s' : existing ? null : await clientIdProblem(tx, machine.client_id);
    if (problem !== null) throw new ConfigError([`MANAGEMENT_CLIENT_ID ${machine.client_id} ${problem}: choose another one`]);
    if (!existing) await insertClient(tx.scope, { id: machine.client_id, name: machine.name, ...columns, ...times });
    else if (Object.entries(columns).some(([name, value]) => !isDeepStrictEqual(own(existing, name), value))) {
      await updateClient(tx.scope, existing.id, { ...columns, updated_at: times.updated_at });
      if (!existing.secret_digest?.equals(digest(machine.client_secret))) await recordNewSecret(tx, existing);
    }
    await removeClientConnections(tx.scope, machine.client_id, await listConnectionIdsOfClient(tx.scope, machine.client_id));
    const resource = await findSystemApiResource(tx.scope);
    if (!resource) throw new Error('the Management API resource is missing');
    const scopes = [...managementPermissions];
    const grant = await findClientGrant(tx.scope, machine.client_id, resource.id, 'client');
    if (!grant)
      await insertClientGrant(tx.scope, { id: id(), client_id: machine.client_id, api_resource_id: resource.id, scopes, ...times });
    else if (grant.scopes.join() !== scopes.join()) await updateClientGrant(tx.scope, grant.id, { scopes, updated_at: times.updated_at });
  });
}

/** MANAGEMENT_CLIENT_SECRET has changed. */
const recordNewSecret = (tx: Context, { id, name }: ClientRow) =>
  recordSecurityEvent(tx, 'client_secret.rotated', {
    actor: serviceActor,
    target: { target_type: 'client', target_id: id, display: name },
    origin: noOrigin,
    reason: 'configuration',
  });

/**
 * Everything that a new environment needs before it can answer: its key, its Management API, its system roles, the client of the command line.
 * @throws {Error} when there is no environment of the id
 */
export async function prepareEnvironment(deps: Deps, id: string): Promise<Context> {
  const environment = await findEnvironmentById(deps, id);
  if (!environment) throw new Error(`there is no environment ${id}`);
  const ctx = createContext(deps, environment);
  await ensureSigningKey(ctx);
  await ensureManagementResource(ctx);
  await ensureCommandLineClient(ctx);
  return ctx;
}

/**
 * Brings an empty or older database to the point where the service can answer (specification 1.3). Idempotent; an advisory lock lets
 * replicas start together.
 */
export async function bootstrap(deps: Deps): Promise<void> {
  await withAdvisoryLock(deps.db.knex, 'bootstrap', async () => {
    const row = await ensureDefaultEnvironment(deps);
    for (const environment of await listEnvironments(deps.db.knex)) {
      const ctx = await prepareEnvironment(deps, environment.id);
      if (environment.id !== row.id) continue;
      if (deps.config.admin) await ensureAdministrator(ctx, deps.config.admin);
      if (deps.config.managementClient) await ensureManagementClient(ctx, deps.config.managementClient);
    }
  });
  deps.cache.clear();
}

/** The context of the default environment. @throws {Error} when the database was not bootstrapped */
export async function defaultContext(deps: Deps): Promise<Context> {
  const row = await findDefaultEnvironment(deps.db.knex);
  const environment = row && (await findEnvironmentById(deps, row.id));
  if (!environment) throw new Error('the database was not bootstrapped');
  return createContext(deps, environment);
}
