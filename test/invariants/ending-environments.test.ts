// What ends with a deleted record, what reach is made of, and what hosts are for: asked from a second environment, where nothing of it is found or changed.
import { beforeAll, expect, test } from 'vitest';
import { removeDefaultScope } from '../../src/db/tables/api_resources.js';
import { deleteAuthorizationCodes, removeScopeFromCodes } from '../../src/db/tables/authorization_codes.js';
import { countPasswordTry, returnPasswordTry } from '../../src/db/tables/browser_lockouts.js';
import { addClientConnections, listClientsOfConnection } from '../../src/db/tables/client_connections.js';
import { removeScopeFromClientGrants, removeSubjectAudience } from '../../src/db/tables/client_grants.js';
import { findClients } from '../../src/db/tables/clients.js';
import { removeResourceFromConsents, removeScopeFromConsents } from '../../src/db/tables/consents.js';
import { clearPrimaryDomain, insertCustomDomain, listHostsOf } from '../../src/db/tables/custom_domains.js';
import { findClientIdUse, forgetDeletedName, isDeletedName, noteDeletedName } from '../../src/db/tables/deleted_names.js';
import {
  deleteAnsweredDeviceCodes,
  deleteDeviceCodes,
  insertDeviceCode,
  answerDeviceCode,
  removeScopeFromDeviceCodes,
} from '../../src/db/tables/device_codes.js';
import { lockRpId, longestTokenLifetime, storeBaseUrlIssuerUntil } from '../../src/db/tables/environments.js';
import { countGuesses } from '../../src/db/tables/passcode_budgets.js';
import { insertIdentity } from '../../src/db/tables/identities.js';
import { insertPasscode } from '../../src/db/tables/passcodes.js';
import { deletePushedRequestsForResource, deletePushedRequestsOfClient, insertPushedRequest } from '../../src/db/tables/pushed_requests.js';
import * as reach from '../../src/db/tables/reach.js';
import { addRolePermissions, addUserRoles, insertRole } from '../../src/db/tables/roles.js';
import { scopeOf, type Scope } from '../../src/db/scope.js';
import { giveConsent } from '../../src/domain/grants/consents.js';
import { digest } from '../../src/lib/digest.js';
import { uuidv7 } from '../../src/lib/random.js';
import { signedIn } from '../support/browser.js';
import { addConnection } from '../support/connections.js';
import { addClient, addEnvironment, addGrant, addResource, addUser, type TestClient } from '../support/data.js';
import { authorizeCode } from '../support/oauth.js';
import { contextOf, shared, sharedService } from '../support/shared-service.js';

const service = sharedService();
const own = contextOf(service);
const foreign = shared(() => addEnvironment(service.deps, 'staging'));
const identifier = 'https://api.example/notes';
const email_key = 'ada@example.com';
const browser_digest = digest('browser');
/** Ids of what is there, in `own` alone. */
const ids = { client: '', resource: '', connection: '', role: '', user: '' };
const tried = () => ({ user_id: ids.user, browser_digest });
let client: TestClient;
let sql: string;

const now = () => service.clock.now();
const soon = () => new Date(now().getTime() + 600_000);
const lockout = (threshold: number) => ({ threshold, locked_until: soon(), now: now(), expires_at: soon() });
const counted = { browser_locked: false, account_locked: false };
const stamps = () => ({ id: uuidv7(now().getTime()), created_at: now(), updated_at: now() });

beforeAll(async () => {
  const { scope } = own;
  const user = await addUser(own, { email: email_key });
  const resource = await addResource(own, { identifier, user_access: 'open', default_scopes: ['read'], access_token_lifetime: 80_000 });
  client = await addClient(own);
  await addGrant(own, client, resource, ['read']);
  await addGrant(own, client, resource, ['read'], 'user', { token_exchange: 'delegation', subject_audiences: [identifier] });
  const connection = await addConnection(own);
  await addClientConnections(scope, client.id, [connection.id]);
  await insertIdentity(scope, { ...stamps(), connection_id: connection.id, subject: 's', user_id: user.id });
  const role = await insertRole(scope, { ...stamps(), name: 'clerk', is_default: true });
  const permissions = await service.deps.knex('permissions').where({ api_resource_id: resource.id }).pluck('id');
  await addRolePermissions(scope, role.id, permissions as string[]);
  await addUserRoles(scope, user.id, [role.id]);
  Object.assign(ids, { client: client.id, resource: resource.id, connection: connection.id, role: role.id, user: user.id });
  await giveConsent(own, { user_id: user.id, client_id: client.id, scopes: ['read'], resource: identifier });
  await authorizeCode(await signedIn(service, user), client, { resource: identifier, scope: 'read' });
  await makeWaiting(scope);
  sql = await rowsSql();
});

/** What waits: a pushed request, device codes, a mailed code, a domain, a name that was deleted. */
async function makeWaiting(scope: Scope): Promise<void> {
  const times = { created_at: now(), expires_at: soon() };
  await insertPushedRequest(
    scope,
    { digest: digest('pushed'), client_id: client.id, parameters: { resource: identifier }, ...times },
    null,
  );
  for (const name of ['waiting', 'answered']) {
    const device = {
      digest: digest(name),
      user_code_digest: digest(`typed ${name}`),
      client_id: client.id,
      scope: 'read',
      resource: identifier,
    };
    await insertDeviceCode(scope, { ...device, ...times, ip_address: null, user_agent: null, interval_seconds: 5, request_id: null });
  }
  await answerDeviceCode(scope, digest('answered'), null, now());
  const mailed = {
    purpose: 'sign_in',
    email: email_key,
    email_key,
    code_digest: digest('code'),
    attempt_total: 3,
    sent_at: now(),
  } as const;
  await insertPasscode(scope, { id: uuidv7(now().getTime()), ...mailed, ...times });
  const domain = { domain: 'login.example.com', status: 'verified', is_primary: true, verification_token: 'x' } as const;
  await insertCustomDomain(scope, { ...stamps(), ...domain });
  await noteDeletedName(scope, 'client', 'gone', now());
  await countPasswordTry(scope, tried(), lockout(3));
}

test('what ends with a client, an API resource, a permission or an issuer ends in its own environment alone', async () => {
  const endings: Record<string, (scope: Scope) => Promise<unknown>> = {
    default_scope: (scope) => removeDefaultScope(scope, ids.resource, 'read', now()),
    codes_of_client: (scope) => deleteAuthorizationCodes(scope, { client_id: client.id }),
    codes_of_resource: (scope) => deleteAuthorizationCodes(scope, { resource: identifier }),
    scope_of_codes: (scope) => removeScopeFromCodes(scope, identifier, 'read'),
    subject_audience: (scope) => removeSubjectAudience(scope, identifier, now()),
    scope_of_grants: (scope) => removeScopeFromClientGrants(scope, ids.resource, 'read', now()),
    resource_of_consents: (scope) => removeResourceFromConsents(scope, identifier, now()),
    scope_of_consents: (scope) => removeScopeFromConsents(scope, identifier, 'read', now()),
    primary_domain: (scope) => clearPrimaryDomain(scope, { at: now(), issuer_until: soon() }),
    earlier_issuer: (scope) => storeBaseUrlIssuerUntil(scope, soon()),
    device_codes_of_client: (scope) => deleteDeviceCodes(scope, { client_id: client.id }),
    device_codes_of_resource: (scope) => deleteDeviceCodes(scope, { resource: identifier }),
    answered_device_codes: (scope) => deleteAnsweredDeviceCodes(scope, client.id),
    scope_of_device_codes: (scope) => removeScopeFromDeviceCodes(scope, identifier, 'read'),
    pushed_of_client: (scope) => deletePushedRequestsOfClient(scope, client.id),
    pushed_of_resource: (scope) => deletePushedRequestsForResource(scope, identifier),
    deleted_name: (scope) => forgetDeletedName(scope, 'client', 'gone'),
    noted_name: (scope) => noteDeletedName(scope, 'client', 'gone', soon()),
    browser_try: (scope) => returnPasswordTry(scope, { ...tried(), ...counted }, lockout(3), 'unseen'),
    right_browser_try: (scope) => returnPasswordTry(scope, { ...tried(), ...counted }, lockout(3), 'right'),
    account_try: (scope) => returnPasswordTry(scope, { ...tried(), ...counted, browser_digest: null }, lockout(3), 'right'),
  };
  for (const [name, end] of Object.entries(endings)) {
    expect([name, await changes(foreign.scope, end), await changes(own.scope, end)]).toEqual([name, false, true]);
  }
});

/** SQL: all rows of an environment, in every table of this database that has any. */
async function rowsSql(): Promise<string> {
  const { rows } = await service.deps.knex.raw<{ rows: { name: string }[] }>(`select table_name as name from information_schema.columns
    where table_schema = 'public' and column_name = 'environment_id' order by 1`);
  const of = (name: string, column: string) => `select '${name}' as name, t::text as row from ${name} t where t.${column} = e.id`;
  const all = [of('environments', 'id'), ...rows.map(({ name }) => of(name, 'environment_id'))];
  return `select every.* from (select ?::uuid as id) e, lateral (${all.join(' union all ')}) every order by 1, 2`;
}

/** Whether a row of `own` is another one, or gone, after what is done, which is taken back. */
async function changes(scope: Scope, act: (scope: Scope) => Promise<unknown>): Promise<boolean> {
  const knex = await service.deps.knex.transaction();
  const rows = async () => JSON.stringify((await knex.raw(sql, [own.environment.id])).rows);
  const before = await rows();
  await act(scopeOf({ ...scope, knex, lines: undefined }, scope.environment_id));
  const after = await rows();
  await knex.rollback();
  return before !== after;
}

test('reach, hosts, guesses and names that were deleted are told to their own environment alone', async () => {
  const lists: Record<string, (scope: Scope) => Promise<readonly unknown[]>> = {
    clients: (scope) => findClients(scope, [client.id]),
    clients_of_connection: (scope) => listClientsOfConnection(scope, ids.connection),
    reach_of_roles: (scope) => reach.listReachOfRoles(scope, [ids.role]),
    reach_of_default_roles: (scope) => reach.listReachOfDefaultRoles(scope),
    reach_of_user: (scope) => reach.listReachOfUser(scope, ids.user),
    reach_of_client_grants: (scope) => reach.listReachOfClientGrants(scope, [client.id]),
    reach_of_consents: (scope) => reach.listReachOfConsents(scope, [client.id]),
    granted_elsewhere: (scope) => reach.listGrantedElsewhere(scope, client.id),
    reach_of_api_resource: (scope) => reach.listReachOfApiResource(scope, ids.resource, { exchanges: true }),
    reach_of_linked_users: (scope) => reach.listReachOfLinkedUsers(scope, ids.connection),
    hosts: (scope) => listHostsOf(scope.knex, scope.environment_id),
  };
  for (const [name, list] of Object.entries(lists)) {
    expect([name, await list(foreign.scope)]).toEqual([name, []]);
    expect([name, await list(own.scope)]).not.toEqual([name, []]);
  }
  const { scope } = foreign;
  expect([await isDeletedName(scope, 'client', 'gone'), await isDeletedName(own.scope, 'client', 'gone')]).toEqual([false, true]);
  expect(await findClientIdUse(scope, 'gone', identifier)).toEqual({ deleted: false, identifier: false });
  expect(await findClientIdUse(own.scope, 'gone', identifier)).toEqual({ deleted: true, identifier: true });
  const guesses = { purpose: 'sign_in', email_key } as const;
  expect(await countGuesses(scope, guesses, new Date(0))).toEqual({ environment: 0, address: 0 });
  expect(await countGuesses(own.scope, guesses, new Date(0))).toEqual({ environment: 0, address: 3 });
  expect(await longestTokenLifetime(own.scope)).toBe(80_000);
  expect(await longestTokenLifetime(scope)).toBeLessThan(80_000);
  await service.deps.knex('environments').where({ id: own.environment.id }).update({ passkey_rp_id: 'login.example.com' });
  expect([await lockRpId(scope), await lockRpId(own.scope)]).toEqual([null, 'login.example.com']);
  // A second wrong password of the same browser locks nothing here, where it is the first.
  expect(await countPasswordTry(scope, tried(), lockout(2))).toEqual({ browser_locked: false, account_locked: null });
  expect(await countPasswordTry(own.scope, tried(), lockout(2))).toEqual({ browser_locked: true, account_locked: true });
});
