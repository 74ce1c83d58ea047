import { expect, test } from 'vitest';
import type { Context } from '../../src/domain/context.js';
import { listPublishedSigningKeys } from '../../src/db/tables/signing_keys.js';
import { findAccessToken, deleteAccessToken, findJwtStanding } from '../../src/db/tables/access_tokens.js';
import { findApiResourceByIdentifier } from '../../src/db/tables/api_resources.js';
import { findGrantOfCode } from '../../src/db/tables/authorization_codes.js';
import { answerDeviceCode, findWaitingDeviceCode, insertDeviceCode, pollDeviceCode } from '../../src/db/tables/device_codes.js';
import { countPasswordTry, returnPasswordTry } from '../../src/db/tables/browser_lockouts.js';
import { countUserCodeGuess, findOldestUserCodeGuess } from '../../src/db/tables/user_code_guesses.js';
import { listChangesSince } from '../../src/db/tables/audit_logs.js';
import { findConfiguration, findManaged, lockConfiguration, saveConfiguration } from '../../src/db/tables/configurations.js';
import { findClientGrant, listGrantedIdentifiers } from '../../src/db/tables/client_grants.js';
import { findClient, insertClient, listAllowedOrigins, listOpenableClients, updateClient } from '../../src/db/tables/clients.js';
import { countLogos, findLogoImage, hasLogo, removeLogo, saveLogo } from '../../src/db/tables/logos.js';
import {
  changeMailTemplate,
  countMailTemplates,
  findMailTemplate,
  insertMailTemplate,
  removeMailTemplate,
} from '../../src/db/tables/mail_templates.js';
import { changePageText, countPageTexts, insertPageText, listPageTexts, removePageText } from '../../src/db/tables/page_texts.js';
import { listPermissionNamesOfUser, listPermissionsOfResource } from '../../src/db/tables/permissions.js';
import { findRefreshToken } from '../../src/db/tables/refresh_tokens.js';
import { addUserRoles, findRoleByName, listRoleNamesOfUser } from '../../src/db/tables/roles.js';
import { sessionBounds } from '../../src/domain/sessions/sessions.js';
import { findSession, findSessionByToken, revokeSessions, touchSession } from '../../src/db/tables/sessions.js';
import {
  findDearestImportedHash,
  findUser,
  findUserByEmailKey,
  recordLogin,
  setEmailVerified,
  updateUser,
} from '../../src/db/tables/users.js';
import {
  activateTotp,
  countAuthenticators,
  deleteAuthenticator,
  deleteAuthenticatorsOfUser,
  findAuthenticator,
  findPasskey,
  hasDiscoverablePasskey,
  hasPasskeys,
  insertAuthenticator,
  listAuthenticatorsOfUser,
  noteAuthenticatorUse,
  recordPasskeyUse,
  spendTotpStep,
  updateAuthenticator,
} from '../../src/db/tables/authenticators.js';
import { deleteConsentsOfUser } from '../../src/db/tables/consents.js';
import { voidIdentitiesOfUser } from '../../src/db/tables/identities.js';
import { deleteDevices, listDevicesOfUser, saveDevice, useDevice } from '../../src/db/tables/devices.js';
import { countRecoveryCodesLeft, insertRecoveryCodes, spendRecoveryCode } from '../../src/db/tables/recovery_codes.js';
import { countSecondStep, deleteSecondStepTries, findSecondStepTries } from '../../src/db/tables/second_step_tries.js';
import { advanceSignIn, countSignInAttempt, deleteSignIns, findSignIn, insertSignIn, takeSignIn } from '../../src/db/tables/sign_ins.js';
import { spendNonce } from '../../src/db/tables/spent_challenges.js';
import { startTotp } from '../../src/domain/authenticators/enrolment.js';
import { uuidv7 } from '../../src/lib/random.js';
import { findUserClaims } from '../../src/db/tables/user_claims.js';
import { digest } from '../../src/lib/digest.js';
import { signedIn } from '../support/browser.js';
import { addClient, addEnvironment, addGrant, addResource, addUser, type TestClient } from '../support/data.js';
import { authorizeCode, redeem } from '../support/oauth.js';
import { contextOf, shared, sharedService } from '../support/shared-service.js';

const service = sharedService();
const own = contextOf(service);
const foreign = shared(() => addEnvironment(service.deps, 'staging'));

test('every table function, called from a second environment, finds nothing and changes nothing', async () => {
  const user = await addUser(own, { email: 'ada@example.com' });
  const client: TestClient = await addClient(own, { allowed_origins: ['https://spa.example'] });
  const resource = await addResource(own);
  await addGrant(own, client, resource);
  const role = await findRoleByName(own.scope, 'administrator');
  await addUserRoles(own.scope, user.id, [role?.id ?? '']);
  const browser = await signedIn(service, user);
  const session_token = browser.cookies.get('idp_session') ?? '';
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
  expect(await findDearestImportedHash(scope)).toBeNull();
  await recordLogin(scope, user.id, now);
  const lockout = { threshold: 1, locked_until: now, now, expires_at: now };
  const tried = { user_id: user.id, browser_digest: null };
  expect(await countPasswordTry(scope, tried, lockout)).toEqual({ browser_locked: null, account_locked: null });
  await returnPasswordTry(scope, { ...tried, browser_locked: null, account_locked: true }, lockout, 'unseen');
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
  const logo = {
    id: 'a'.repeat(64),
    content_type: 'image/png',
    size: 1,
    created_at: now,
    expires_at: null,
    image: Buffer.alloc(1),
  } as const;
  await saveLogo(own.scope, logo);
  expect([await countLogos(scope), await hasLogo(scope, logo.id), await findLogoImage(scope, logo.id)]).toEqual([
    { count: 0, bytes: 0 },
    false,
    null,
  ]);
  await saveLogo(scope, { ...logo, content_type: 'image/webp' });
  await removeLogo(scope, logo.id);
  expect(await findLogoImage(own.scope, logo.id)).toMatchObject({ content_type: 'image/png' });
  expect(await listGrantedIdentifiers(scope, client.id, 10)).toEqual([]);
  expect(await findRefreshToken(scope, digest(body.refresh_token as string), sessionBounds(own))).toBeNull();
  const words = { id: uuidv7(now.getTime()), name: 'register_code', subject: 'Own', text: '{{code}}', created_at: now, updated_at: now };
  await insertMailTemplate(own.scope, words);
  expect(await findMailTemplate(own.scope, 'register_code', [])).toMatchObject({ subject: 'Own' });
  expect(await findMailTemplate(scope, 'register_code', ['de'])).toBeNull();
  expect(await changeMailTemplate(scope, words.id, { subject: 'Eve' })).toBeNull();
  expect(await removeMailTemplate(scope, words.id)).toBe(false);
  expect(await countMailTemplates(scope)).toBe(0);
  const said = { id: words.id, key: 'login.title', locale: 'en' as const, text: 'Own', created_at: now, updated_at: now };
  await insertPageText(own.scope, said);
  expect(await listPageTexts(scope.knex, scope.environment_id)).toEqual([]);
  expect(await changePageText(scope, said.id, { text: 'Eve' })).toBeNull();
  expect(await removePageText(scope, said.id)).toBe(false);
  expect(await countPageTexts(scope)).toBe(0);
  const device = { digest: digest('device'), user_code_digest: digest('typed'), client_id: client.id, scope: '', resource: null };
  const asked = {
    ip_address: null,
    user_agent: null,
    created_at: now,
    expires_at: new Date(now.getTime() + 60_000),
    interval_seconds: 5,
    request_id: null,
  };
  expect(await insertDeviceCode(own.scope, { ...device, ...asked })).toBe(true);
  expect(await pollDeviceCode(scope, { digest: device.digest, client_id: client.id, now, proof: null })).toBeNull();
  expect(await findWaitingDeviceCode(scope, [device.user_code_digest], now)).toBeNull();
  expect(await answerDeviceCode(scope, device.digest, null, now)).toBeNull();
  expect(await countUserCodeGuess(own.scope, device.digest, { limit: 1, seconds: 600 }, now)).toBe(true);
  expect(await findOldestUserCodeGuess(scope, device.digest, { limit: 1, seconds: 600 }, now)).toBeNull();
  expect(await answerDeviceCode(own.scope, device.digest, null, now)).not.toBeNull();
  expect((await listPublishedSigningKeys(scope)).map(({ kid }) => kid)).not.toContain(key?.kid);
  const managed = { type: 'client', id: client.id, key: client.id, attributes: {} };
  const by = { actor_kind: 'system', actor_id: null, actor_display: 'test', request_id: 'r' } as const;
  await saveConfiguration(own.scope, { document: { version: 1 }, pruned: false, records: [managed], applied_at: now, ...by });
  await lockConfiguration(scope);
  expect(await findConfiguration(scope)).toBeNull();
  expect((await findManaged(scope, 'client', [client.id])).ids).toEqual([]);
  expect((await findManaged(own.scope, 'client', [client.id])).ids).toEqual([client.id]);
  expect(await listChangesSince(scope, { since: new Date(0), ids: [client.id, user.id], without: '', limit: 9 })).toEqual([]);
  await seesNoStrongSignIn(scope, user.id);
  expect((await findUser(own.scope, user.id))?.first_name).toBe('Ada');
  expect((await findClient(own.scope, client.id))?.name).toBe('Acme Notes');
});

/** Authenticators, half sign-ins, devices and counted second steps of a user, asked and changed from another environment. */
async function seesNoStrongSignIn(scope: Context['scope'], user_id: string): Promise<void> {
  const now = service.clock.now();
  const started = await startTotp(own, { user_id, name: 'Phone' });
  const id = started.outcome === 'started' ? started.authenticator_id : '';
  const key = { id, user_id };
  const until = new Date(now.getTime() + 60_000);
  expect(await findAuthenticator(scope, id)).toBeNull();
  expect(await activateTotp(scope, key, 1, now)).toBeNull();
  expect(await activateTotp(own.scope, key, 1, now)).not.toBeNull();
  expect(await spendTotpStep(scope, id, 2, now)).toBe(false);
  expect(await listAuthenticatorsOfUser(scope, user_id)).toEqual([]);
  expect(await countAuthenticators(scope, user_id, 'totp')).toBe(0);
  await noteAuthenticatorUse(scope, id, new Date(0));
  expect((await findAuthenticator(own.scope, id))?.last_used_at).toEqual(now);
  expect(await updateAuthenticator(scope, key, { name: 'Eve' })).toBeNull();
  expect(await deleteAuthenticator(scope, key)).toBe(0);
  const stamps = { created_at: now, updated_at: now };
  const credential = { credential_id: 'AAAA', public_key: 'AAAA', rp_id: 'localhost', sign_count: 0, transports: [] };
  const flags = { backup_eligible: false, backed_up: false, discoverable: true };
  const passkey = { id: uuidv7(now.getTime()), user_id, kind: 'passkey', name: 'Key', ...credential, ...flags, ...stamps } as const;
  await insertAuthenticator(own.scope, passkey);
  expect(await findPasskey(scope, 'AAAA')).toBeNull();
  expect(await recordPasskeyUse(scope, passkey.id, { sign_count: 1, backed_up: false, at: now })).toBe(false);
  expect(await hasPasskeys(scope)).toBe(false);
  expect(await hasDiscoverablePasskey(scope, user_id)).toBe(false);
  const codes = {
    id: uuidv7(now.getTime()),
    user_id,
    kind: 'recovery_codes',
    name: 'Codes',
    secret_sealed: Buffer.alloc(1),
    ...stamps,
  } as const;
  await insertAuthenticator(own.scope, codes);
  await insertRecoveryCodes(own.scope, codes.id, [digest('code')]);
  await expect(insertRecoveryCodes(scope, codes.id, [digest('other')])).rejects.toMatchObject({ sqlstate: '23503' });
  expect(await spendRecoveryCode(scope, codes.id, digest('code'), now)).toBe(false);
  expect(await countRecoveryCodesLeft(scope, user_id)).toBe(0);
  expect(await deleteAuthenticatorsOfUser(scope, { user_id })).toBe(0);
  expect(await deleteConsentsOfUser(scope, user_id)).toBe(0);
  expect(await voidIdentitiesOfUser(scope, user_id, null)).toBe(0);
  expect(await setEmailVerified(scope, user_id, {})).toBeNull();
  expect(await spendNonce(own.scope, digest('nonce'), until)).toBe(true);
  expect(await spendNonce(own.scope, digest('nonce'), until)).toBe(false);
  expect(await spendNonce(scope, digest('nonce'), until)).toBe(true);
  const half = {
    id: uuidv7(now.getTime()),
    token_digest: digest('half'),
    user_id,
    stage: 'verify',
    proofs: [],
    created_at: now,
    expires_at: until,
  } as const;
  await insertSignIn(own.scope, { ...half, proofs: [] });
  expect(await findSignIn(scope, half.token_digest, 5, now)).toBeNull();
  expect(await countSignInAttempt(scope, half.id, 5, now)).toBeNull();
  expect(await advanceSignIn(scope, half.id, 'enroll', [])).toBeNull();
  expect(await takeSignIn(scope, half.id, now)).toBeNull();
  expect(await deleteSignIns(scope, { user_id })).toBe(0);
  expect(await deleteSignIns(own.scope, { user_id })).toBe(1);
  const device = { id: uuidv7(now.getTime()), user_id, browser_digest: digest('browser'), ip_address: null, user_agent: null };
  await saveDevice(own.scope, { ...device, last_used_at: now, created_at: now, expires_at: until });
  expect(await useDevice(scope, user_id, device.browser_digest, now)).toBeNull();
  expect(await listDevicesOfUser(scope, user_id, now)).toEqual([]);
  expect(await deleteDevices(scope, { user_id })).toBe(0);
  const limits = { threshold: 10, locked_until: until, max_total: null };
  await countSecondStep(own.scope, user_id, limits, now);
  await expect(countSecondStep(scope, user_id, limits, now)).rejects.toMatchObject({ sqlstate: '23503' });
  expect(await findSecondStepTries(scope, user_id)).toBeNull();
  await deleteSecondStepTries(scope, user_id);
  expect((await findSecondStepTries(own.scope, user_id))?.total_count).toBe(1);
}

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
