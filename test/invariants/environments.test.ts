import { beforeAll, expect, test } from 'vitest';
import type { Context } from '../../src/domain/context.js';
import { listPublishedSigningKeys } from '../../src/db/tables/signing_keys.js';
import { findAccessToken, deleteAccessToken, findJwtStanding } from '../../src/db/tables/access_tokens.js';
import { findApiResourceByIdentifier } from '../../src/db/tables/api_resources.js';
import { findGrantOfCode } from '../../src/db/tables/authorization_codes.js';
import { answerDeviceCode, findWaitingDeviceCode, insertDeviceCode, pollDeviceCode } from '../../src/db/tables/device_codes.js';
import { countUserCodeGuess, findOldestUserCodeGuess } from '../../src/db/tables/user_code_guesses.js';
import { findClientGrant, listGrantedIdentifiers } from '../../src/db/tables/client_grants.js';
import { findClient, insertClient, listAllowedOrigins, listOpenableClients, updateClient } from '../../src/db/tables/clients.js';
import { listPermissionNamesOfUser, listPermissionsOfResource } from '../../src/db/tables/permissions.js';
import { findRefreshToken } from '../../src/db/tables/refresh_tokens.js';
import { addUserRoles, findRoleByName, listRoleNamesOfUser } from '../../src/db/tables/roles.js';
import { sessionBounds } from '../../src/domain/sessions/sessions.js';
import { findSession, findSessionByToken, revokeSessions, touchSession } from '../../src/db/tables/sessions.js';
import {
  findUser,
  findUserByEmailKey,
  listImportedPasswordKinds,
  recordFailedLogin,
  recordLogin,
  updateUser,
} from '../../src/db/tables/users.js';
import { findUserClaims } from '../../src/db/tables/user_claims.js';
import { digest } from '../../src/lib/digest.js';
import { Browser } from '../support/browser.js';
import { addClient, addEnvironment, addGrant, addResource, addUser, password, type TestClient } from '../support/data.js';
import { authorizeCode, redeem } from '../support/oauth.js';
import { sharedService } from '../support/shared-service.js';

const service = sharedService();
let own: Context;
let foreign: Context;

beforeAll(async () => {
  own = await service.context();
  foreign = await addEnvironment(service.deps, 'staging');
});

test('every table function, called from a second environment, finds nothing and changes nothing', async () => {
  const user = await addUser(own, { email: 'ada@example.com' });
  const client: TestClient = await addClient(own, { allowed_origins: ['https://spa.example'] });
  const resource = await addResource(own);
  await addGrant(own, client, resource);
  const role = await findRoleByName(own.scope, 'administrator');
  await addUserRoles(own.scope, user.id, [role?.id ?? '']);
  const browser = new Browser(service.url);
  await browser.login(user.email, password);
  const session_token = browser.cookies.get('session') ?? '';
  const session = await findSessionByToken(own.scope, digest(session_token));
  const grant = await authorizeCode(browser, client);
  const { body } = await redeem(service.url, client, grant);
  const [key] = await listPublishedSigningKeys(own.scope);

  const { scope } = foreign;
  const now = service.clock.now();
  expect(await findUser(scope, user.id)).toBeNull();
  expect(await findUserByEmailKey(scope, user.email_key)).toBeNull();
  expect(await updateUser(scope, user.id, { first_name: 'Eve' })).toBeNull();
  await addUser(own, { password_hash: `$2b$10$${'a'.repeat(53)}` });
  expect(await listImportedPasswordKinds(scope)).toEqual([]);
  await recordLogin(scope, user.id, now);
  await recordFailedLogin(scope, user.id, 1, now);
  expect(await findClient(scope, client.id)).toBeNull();
  expect(await updateClient(scope, client.id, { name: 'Eve' })).toBeNull();
  expect(await listAllowedOrigins(scope)).toEqual([]);
  expect(await findApiResourceByIdentifier(scope, resource.identifier)).toBeNull();
  expect(await listPermissionsOfResource(scope, resource.id)).toEqual([]);
  expect(await listPermissionNamesOfUser(scope, user.id, own.environment.management_audience)).toEqual([]);
  expect(await listRoleNamesOfUser(scope, user.id)).toEqual([]);
  expect(await findClientGrant(scope, client.id, resource.id, 'client')).toBeNull();
  expect(await findSession(scope, session?.id ?? '')).toBeNull();
  expect(await findSessionByToken(scope, digest(session_token))).toBeNull();
  expect(await touchSession(scope, session?.id ?? '', sessionBounds(own))).toBeNull();
  expect(await revokeSessions(scope, { user_id: user.id }, now, 'revoked')).toEqual([]);
  expect(await findGrantOfCode(scope, digest(grant.code))).toBeNull();
  expect(await findAccessToken(scope, digest(body.access_token))).toBeNull();
  for (const beside of ['permissions', 'user'] as const)
    expect(await findAccessToken(scope, digest(body.access_token), beside, [])).toBeNull();
  expect(await deleteAccessToken(scope, digest(body.access_token))).toBe(false);
  const jwt = { ids: [], user_id: user.id, session_id: session?.id ?? null, resource: own.environment.management_audience };
  expect(await findJwtStanding(scope, jwt, 'user')).toMatchObject({ standing: { user_status: null }, user: null, permissions: [] });
  expect(await findUserClaims(scope, user.id)).toBeNull();
  expect(await listOpenableClients(scope, user.id)).toEqual([]);
  expect(await listGrantedIdentifiers(scope, client.id, 10)).toEqual([]);
  expect(await findRefreshToken(scope, digest(body.refresh_token as string), sessionBounds(own))).toBeNull();
  const device = { digest: digest('device'), user_code_digest: digest('typed'), client_id: client.id, scope: '', resource: null };
  const asked = { ip_address: null, user_agent: null, created_at: now, expires_at: new Date(now.getTime() + 60_000), interval_seconds: 5 };
  expect(await insertDeviceCode(own.scope, { ...device, ...asked })).toBe(true);
  expect(await pollDeviceCode(scope, { digest: device.digest, client_id: client.id, now })).toBeNull();
  expect(await findWaitingDeviceCode(scope, [device.user_code_digest], now)).toBeNull();
  expect(await answerDeviceCode(scope, device.digest, null, now)).toBeNull();
  expect(await countUserCodeGuess(own.scope, device.digest, { limit: 1, seconds: 600 }, now)).toBe(true);
  expect(await findOldestUserCodeGuess(scope, device.digest, { limit: 1, seconds: 600 }, now)).toBeNull();
  expect(await answerDeviceCode(own.scope, device.digest, null, now)).not.toBeNull();
  expect((await listPublishedSigningKeys(scope)).map(({ kid }) => kid)).not.toContain(key?.kid);
  expect((await findUser(own.scope, user.id))?.first_name).toBe('Ada');
  expect((await findClient(own.scope, client.id))?.name).toBe('Acme Notes');
});

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
