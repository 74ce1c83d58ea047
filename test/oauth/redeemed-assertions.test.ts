// Redeeming identity assertions (ID-JAG) of an issuer outside: what is refused, and what ends the tokens.
import { afterAll, describe, expect, test } from 'vitest';
import { idJagTyp } from '../../src/lib/identity-assertions.js';
import { jwtBearerGrantType, jwtDpopGrantType } from '../../src/lib/grant-types.js';
import {
  addBringer,
  addIdentity,
  apiIdentifier,
  bring,
  changed,
  domain,
  postToB,
  scripted,
  sharedAssertionWorld,
} from '../support/assertions.js';
import { findApiResource, type ApiResourceRow } from '../../src/db/tables/api_resources.js';
import { changeApiResource } from '../../src/domain/api-resources/api-resources.js';
import { findUser } from '../../src/db/tables/users.js';
import { transaction } from '../../src/domain/context.js';
import { receiveSignal } from '../../src/domain/provider-signals/receive-signal.js';
import { blockUser, unblockUser } from '../../src/domain/users/blocking.js';
import { addConnection } from '../support/connections.js';
import { addClient, addGrant, addResource, addUser, type TestClient } from '../support/data.js';
import { createProofKey } from '../support/dpop.js';
import { claimsOf, type TokenAnswer } from '../support/oauth.js';
import { addDomain, addMembership, addOrganization } from '../support/organizations.js';
import { auditRows, lastRow } from '../support/security-events.js';
import { sharedService } from '../support/shared-service.js';
import { createClientKey, unsignedJwt } from '../support/signed-jwt.js';
import { startTestService } from '../support/service.js';

const service = sharedService();
const world = sharedAssertionWorld(service);
afterAll(() => world.issuer.close());

const refusal = ({ status, body }: TokenAnswer) => [status, body.error];
const now = () => Math.floor(service.clock.now().getTime() / 1000);
const redeem = async (claims: Record<string, unknown> = {}, header: Record<string, unknown> = {}) =>
  bring(service, world, await scripted(world, claims, header));
const isActive = async (token: string) =>
  (await postToB(service, world, '/oauth/introspect', world.client, { token })).body['active'] as boolean;
const proofFor = (key: Awaited<ReturnType<typeof createProofKey>>) => key.proof({ htu: `${world.b.environment.issuer}/oauth/token` });

test('an assertion of the issuer gives the token of the person whose account it is', async () => {
  const { status, body } = await redeem();
  expect(status).toBe(200);
  expect(claimsOf(body.access_token)).toMatchObject({ sub: world.person.id, scope: 'read', aud: apiIdentifier, acr: '1' });
  expect(claimsOf(body.access_token)).not.toHaveProperty('org_id');
  expect(await lastRow(service, 'assertion.redeemed')).toMatchObject({ actor_id: world.client.id, target_id: world.person.id });
});

const other = 'https://other.example';
const wrong: [string, () => Record<string, unknown>, Record<string, unknown>?][] = [
  ['another audience', () => ({ aud: other })],
  ['two audiences (attack 52.1552)', () => ({ aud: [world.b.environment.issuer, other] })],
  ['an audience that is a prefix (attack 52.1552)', () => ({ aud: world.b.environment.issuer.slice(0, -1) })],
  ['an audience with a slash (attack 52.1552)', () => ({ aud: `${world.b.environment.issuer}/` })],
  ['another client (attack 52.1551)', () => ({ client_id: world.app.id })],
  ['no client', () => ({ client_id: undefined })],
  ['a tenant that nobody named', () => ({ tenant: 'theirs' })],
  ['another tenant here', () => ({ aud_tenant: 'elsewhere' })],
  ['another user here', () => ({ aud_sub: world.user.id })],
  ['no jti', () => ({ jti: undefined })],
  ['no end', () => ({ exp: undefined })],
  ['an end in the past', () => ({ iat: now() - 400, exp: now() - 100 })],
  ['more than ten minutes', () => ({ iat: now(), exp: now() + 700 })],
  ['a time to come', () => ({ iat: now() + 300, exp: now() + 500 })],
  ['a confirmation of another kind', () => ({ cnf: { jwk: {} } })],
  ['a key without its proof (attack 52.1556)', () => ({ cnf: { jkt: 'a'.repeat(43) } })],
  ['a scope that is none of ours', () => ({ scope: 'read fly' })],
  ['a resource that is none of ours (attack 52.1558)', () => ({ resource: other })],
  ['a resource that is no text', () => ({ resource: 7 })],
  ['somebody unknown', () => ({ sub: 'stranger' })],
  ['nobody', () => ({ sub: undefined })],
  ['another issuer', () => ({ iss: other })],
  ['our own issuer (attack 52.1552)', () => ({ iss: world.b.environment.issuer })],
  ['an extension', () => ({}), { crit: ['b64'], b64: true }],
];

test.each(wrong)('%s is invalid_grant, and names no value', async (_what, claims, header = {}) => {
  const answer = await redeem(claims(), header);
  expect(refusal(answer)).toEqual([400, 'invalid_grant']);
  expect(String(answer.body['error_description'])).not.toContain(other);
});

test('a refusal leaves a trace at the connection, and nobody is told where to sign in', async () => {
  const { body } = await redeem({ sub: 'stranger' });
  expect(body['error_uri']).toBe(`${world.b.environment.issuer}/auth/sso/${world.theirs.id}`);
  const rows = await auditRows(service, 'assertion.refused');
  const trace = { reason: 'assertion_nobody', target_id: world.theirs.id, actor_id: world.client.id };
  expect(rows).toContainEqual(expect.objectContaining(trace));
});

describe('signatures', () => {
  test('keys that the assertion brings along, none, and a symmetric one are refused (attack 52.1554)', async () => {
    const own = await createClientKey('ES256', world.issuer.key.jwk.kid as string);
    const byOwn = await scripted(world, {}, { jwk: own.jwk, jku: `${world.issuer.url}/evil` }, own);
    const claims = claimsOf(byOwn);
    const unsigned = unsignedJwt(claims, { alg: 'none', typ: idJagTyp });
    const symmetric = unsignedJwt(claims, { alg: 'HS256', typ: idJagTyp });
    for (const assertion of [byOwn, unsigned, `${symmetric}c2ln`, 'no.jwt.atall', ''])
      expect((await bring(service, world, assertion)).status).toBe(400);
  });

  test('one of another type is none, and an assertion is no token of another kind (attack 52.1553)', async () => {
    for (const typ of ['JWT', 'at+jwt', undefined]) {
      const answer = await bring(service, world, await scripted(world, {}, { typ }), { resource: apiIdentifier });
      expect(refusal(answer)).toEqual([400, 'invalid_grant']);
    }
    const assertion = await scripted(world);
    expect(await isActive(assertion)).toBe(false);
    const type = 'urn:ietf:params:oauth:client-assertion-type:jwt-bearer';
    const fields = {
      grant_type: 'client_credentials',
      client_assertion_type: type,
      client_assertion: assertion,
      client_id: world.client.id,
    };
    expect((await postToB(service, world, '/oauth/token', null, fields)).body.error).toBe('invalid_client');
    // Without client authentication it proves no client, though it is the grant.
    const bare = { grant_type: 'urn:ietf:params:oauth:grant-type:jwt-bearer', assertion };
    expect((await postToB(service, world, '/oauth/token', null, bare)).body.error).toBe('invalid_client');
  });
});

describe('an assertion is good once', () => {
  test('a second time it is invalid_grant, with a trace (attack 52.1555)', async () => {
    const assertion = await scripted(world);
    expect((await bring(service, world, assertion)).status).toBe(200);
    expect(refusal(await bring(service, world, assertion))).toEqual([400, 'invalid_grant']);
    expect(await lastRow(service, 'assertion.replayed')).toMatchObject({ target_id: world.theirs.id, actor_id: world.client.id });
  });

  test('at two replicas at the same moment one of them succeeds (attack 52.1555)', async () => {
    const { databaseUrl: url, secretKey } = service;
    const replica = await startTestService({ BASE_URL: service.url }, { database: { url, secretKey }, clock: service.clock });
    const at = [service.url, `http://127.0.0.1:${replica.config.port}`];
    const assertion = await scripted(world);
    const answers = await Promise.all([...at, ...at].map((one) => bring({ url: one }, world, assertion)));
    expect(answers.map(({ status }) => status).toSorted()).toEqual([200, 400, 400, 400]);
    await replica.stop();
  });

  test('or, where the connection says so, again for the same client, key and resource', async () => {
    await changed(world.b, 'connections', { id: world.theirs.id }, { assertion_reuse: 'until_expiry' });
    const elsewhere = await addResource(world.b, { identifier: 'https://other.mcp.example', assertion_access: 'granted' });
    await addGrant(world.b, world.client, elsewhere, ['read'], 'user', { assertions: true });
    const assertion = await scripted(world, { resource: [apiIdentifier, elsewhere.identifier] });
    expect((await bring(service, world, assertion, { resource: apiIdentifier })).status).toBe(200);
    expect((await bring(service, world, assertion, { resource: apiIdentifier.slice(0, -1) })).status).toBe(200);
    expect(refusal(await bring(service, world, assertion, { resource: elsewhere.identifier }))).toEqual([400, 'invalid_grant']);
    const dpop = await proofFor(await createProofKey());
    expect(refusal(await bring(service, world, assertion, { resource: apiIdentifier }, { dpop }))).toEqual([400, 'invalid_grant']);
    await changed(world.b, 'connections', { id: world.theirs.id }, { assertion_reuse: 'once' });
  });
});

describe('keys', () => {
  test('an assertion that is bound takes a proof of its key, and gives a bound token, by either grant type', async () => {
    const key = await createProofKey();
    const swapped = await createProofKey();
    const client = await addBringer(world, { grant_types: ['urn:ietf:params:oauth:grant-type:jwt-bearer', jwtDpopGrantType] });
    const bound = () => scripted(world, { cnf: { jkt: key.jkt }, client_id: client.id });
    const refused = await bring(service, world, await bound(), {}, { client, dpop: await proofFor(swapped) });
    expect(refusal(refused)).toEqual([400, 'invalid_grant']);
    for (const grant_type of ['urn:ietf:params:oauth:grant-type:jwt-bearer', jwtDpopGrantType]) {
      const { body } = await bring(service, world, await bound(), { grant_type }, { client, dpop: await proofFor(key) });
      expect(body['token_type']).toBe('DPoP');
      expect(claimsOf(body.access_token)['cnf']).toEqual({ jkt: key.jkt });
    }
  });

  test('a proof is good once, and spends no assertion the second time (attack 52.1556)', async () => {
    const dpop = await proofFor(await createProofKey());
    expect((await bring(service, world, await scripted(world), {}, { dpop })).status).toBe(200);
    const assertion = await scripted(world);
    expect(refusal(await bring(service, world, assertion, {}, { dpop }))).toEqual([400, 'invalid_dpop_proof']);
    expect((await bring(service, world, assertion)).status).toBe(200);
  });

  test('a bound API takes a proof, and a client without secret an assertion with a key, unless the connection takes any', async () => {
    const bound = await addResource(world.b, {
      identifier: 'https://bound.example',
      assertion_access: 'granted',
      dpop_bound_access_tokens: true,
    });
    await addGrant(world.b, world.client, bound, ['read'], 'user', { assertions: true });
    expect(refusal(await redeem({ resource: bound.identifier }))).toEqual([400, 'invalid_grant']);
    const client = await addBringer(world, { token_endpoint_auth_method: 'none', application_type: 'native' });
    const mine = (claims = {}) => scripted(world, { client_id: client.id, ...claims });
    expect(refusal(await bring(service, world, await mine(), {}, { client }))).toEqual([400, 'invalid_grant']);
    const key = await createProofKey();
    expect((await bring(service, world, await mine({ cnf: { jkt: key.jkt } }), {}, { client, dpop: await proofFor(key) })).status).toBe(
      200,
    );
    await changed(world.b, 'connections', { id: world.theirs.id }, { assertion_clients: 'any' });
    expect((await bring(service, world, await mine(), {}, { client })).status).toBe(200);
    await changed(world.b, 'connections', { id: world.theirs.id }, { assertion_clients: 'authenticated' });
    // It brings nothing else by this grant type.
    const workload = await scripted(world, { client_id: client.id }, { typ: 'JWT' });
    expect(refusal(await bring(service, world, workload, { client_id: client.id }, { client }))).toEqual([400, 'invalid_grant']);
  });
});

describe('what the token is for', () => {
  test('the resource of the assertion, or where it names none that of the request; else invalid_target', async () => {
    expect(refusal(await redeem({ resource: undefined }))).toEqual([400, 'invalid_target']);
    const open = await scripted(world, { resource: undefined });
    expect((await bring(service, world, open, { resource: apiIdentifier })).status).toBe(200);
    expect(refusal(await bring(service, world, await scripted(world), { resource: other }))).toEqual([400, 'invalid_target']);
  });

  test('never the Management API, an API that takes none, or one whose grant does not say so (attack 52.1558)', async () => {
    const { management_audience } = world.b.environment;
    expect(refusal(await redeem({ resource: management_audience, scope: 'users:read' }))).toEqual([400, 'invalid_target']);
    const off = await addResource(world.b, { identifier: 'https://off.example' });
    await addGrant(world.b, world.client, off, ['read'], 'user', { assertions: true });
    expect(refusal(await redeem({ resource: off.identifier }))).toEqual([400, 'invalid_target']);
    const client = await addBringer(world, {}, { assertions: false });
    const assertion = await scripted(world, { client_id: client.id });
    expect(refusal(await bring(service, world, assertion, {}, { client }))).toEqual([400, 'invalid_target']);
    // Where verified clients may, the grant need not say so.
    await changed(world.b, 'api_resources', { id: world.api.id }, { assertion_access: 'verified' });
    expect((await bring(service, world, assertion, {}, { client })).status).toBe(200);
    const unverified = await addBringer(world, { verified: false }, { assertions: false });
    const theirs = await scripted(world, { client_id: unverified.id });
    expect(refusal(await bring(service, world, theirs, {}, { client: unverified }))).toEqual([400, 'invalid_target']);
    await changed(world.b, 'api_resources', { id: world.api.id }, { assertion_access: 'granted' });
  });

  test('the scope is the claim’s, cut by request and grant; nothing left is invalid_scope', async () => {
    const both = { scope: 'read write openid' };
    expect((await redeem(both)).body.scope).toBe('read write');
    expect((await bring(service, world, await scripted(world, both), { scope: 'write' })).body.scope).toBe('write');
    expect(refusal(await bring(service, world, await scripted(world), { scope: 'write' }))).toEqual([400, 'invalid_scope']);
    const client = await addBringer(world);
    const assertion = await scripted(world, { ...both, client_id: client.id });
    expect((await bring(service, world, assertion, {}, { client })).body.scope).toBe('read');
  });

  test('an API that gives what is held gives no more', async () => {
    await changed(world.b, 'api_resources', { id: world.api.id }, { user_scopes: 'held' });
    const assertion = await scripted(world);
    expect(refusal(await bring(service, world, assertion))).toEqual([400, 'invalid_scope']);
    await changed(world.b, 'api_resources', { id: world.api.id }, { user_scopes: 'requested' });
    // And the assertion was not spent for it.
    expect((await bring(service, world, assertion)).status).toBe(200);
  });
});

describe('how somebody signed in', () => {
  test('counts as the connection trusts it, and is held against the API', async () => {
    await changed(world.b, 'api_resources', { id: world.api.id }, { required_acr: '2', max_authentication_age: 600 });
    const weak = await redeem({ auth_time: now() - 10, amr: ['mfa'] });
    expect(refusal(weak)).toEqual([400, 'insufficient_user_authentication']);
    expect(weak.body).toMatchObject({ acr_values: '2', max_age: 600 });
    await changed(world.b, 'connections', { id: world.theirs.id }, { second_factor: 'asserted' });
    expect(refusal(await redeem({ auth_time: now() - 700, amr: ['mfa'] }))).toEqual([400, 'insufficient_user_authentication']);
    expect(refusal(await redeem({ amr: ['mfa'] }))).toEqual([400, 'insufficient_user_authentication']);
    const auth_time = now() - 10;
    const strong = await redeem({ auth_time, amr: ['mfa'], acr: 'theirs' });
    expect(claimsOf(strong.body.access_token)).toMatchObject({ acr: '2', amr: ['mfa'], auth_time });
    await changed(world.b, 'api_resources', { id: world.api.id }, { required_acr: null, max_authentication_age: null });
    await changed(world.b, 'connections', { id: world.theirs.id }, { second_factor: 'own' });
  });

  test('a second step that would follow such a sign-in is not left out', async () => {
    await changed(world.b, 'users', { id: world.person.id }, { two_step_enabled: true });
    expect(refusal(await redeem())).toEqual([400, 'insufficient_user_authentication']);
    await changed(world.b, 'users', { id: world.person.id }, { two_step_enabled: false });
  });
});

describe('who it is', () => {
  const atOrganization = async (claims: Record<string, unknown>) => {
    const connection = await addConnection(world.b, { issuer: world.issuer.url, organization_id: world.organization.id, assertions: 'on' });
    await changed(world.b, 'connections', { id: world.theirs.id }, { assertions: 'off' });
    await addDomain(world.b, world.organization, 'branch.example', { connection_id: connection.id }).catch(() => undefined);
    await changed(world.b, 'organization_domains', { domain: 'branch.example' }, { connection_id: connection.id });
    world.b.cache.invalidate(world.b.environment.id, 'connections');
    const answer = await redeem(claims);
    await changed(world.b, 'connections', { id: connection.id }, { status: 'disabled' });
    await changed(world.b, 'connections', { id: world.theirs.id }, { assertions: 'on' });
    return answer;
  };

  test('a blocked person, a void link and a person of another required connection are nobody', async () => {
    const person = await addUser(world.b);
    const id = await addIdentity(world.b, world.theirs, person, 'second');
    expect((await redeem({ sub: 'second' })).status).toBe(200);
    await changed(world.b, 'identities', { id }, { generation: 0 });
    expect(refusal(await redeem({ sub: 'second' }))).toEqual([400, 'invalid_grant']);
    await changed(world.b, 'identities', { id }, { generation: world.theirs.generation });
    await changed(world.b, 'users', { id: person.id }, { status: 'blocked' });
    expect(refusal(await redeem({ sub: 'second' }))).toEqual([400, 'invalid_grant']);
  });

  test('without an organization nobody is made or linked, whatever the address says', async () => {
    const known = await addUser(world.b, { email: `known@${domain}` });
    for (const email of [known.email, `new@${domain}`])
      expect(refusal(await redeem({ sub: email, email }))).toEqual([400, 'invalid_grant']);
    expect(await world.b.db.knex('users').where({ email: `new@${domain}` })).toEqual([]);
  });

  test('an address of the verified domain makes the person or links them with a mail, one beyond it nobody (attack 52.1557)', async () => {
    const made = await atOrganization({ sub: 'made', email: 'made@branch.example' });
    expect(claimsOf(made.body.access_token)).toMatchObject({ org_id: world.organization.id });
    const known = await addUser(world.b, { email: 'known@branch.example' });
    expect(claimsOf((await atOrganization({ sub: 'known', email: known.email })).body.access_token)['sub']).toBe(known.id);
    expect((await lastRow(service, 'identity.linked')).actor_id).toBe(known.id);
    expect(await world.b.db.knex('mails').where({ environment_id: world.b.environment.id })).toHaveLength(1);
    const beyond = await addUser(world.b, { email: 'beyond@foreign.example' });
    expect(refusal(await atOrganization({ sub: 'beyond', email: beyond.email, email_verified: true }))).toEqual([400, 'invalid_grant']);
  });

  test('an administrator is never linked, and a suspended or removed member stays out (attack 52.1557)', async () => {
    const admin = await addUser(world.b, { email: 'admin@branch.example' });
    const { id } = (await world.b.db.knex('roles').where({ environment_id: world.b.environment.id, name: 'administrator' }).first()) as {
      id: string;
    };
    await world.b.db.knex('user_roles').insert({ environment_id: world.b.environment.id, user_id: admin.id, role_id: id });
    expect(refusal(await atOrganization({ sub: 'admin', email: admin.email }))).toEqual([400, 'invalid_grant']);
    const suspended = await addUser(world.b, { email: 'suspended@branch.example' });
    await addMembership(world.b, world.organization, suspended, { status: 'suspended' });
    expect(refusal(await atOrganization({ sub: 'suspended', email: suspended.email }))).toEqual([400, 'invalid_grant']);
  });

  test('of SAML it is the NameID in sub_id, of which every member fits; its issuer is no trust (attack 52.1557)', async () => {
    const provider = 'https://idp.corp.example/saml';
    const saml = await addConnection(world.b, {
      strategy: 'saml', issuer: null, provider_client_id: '', assertions: 'on', assertion_issuer: world.issuer.url,
      options: { idp_entity_id: provider, idp_sso_url: 'https://idp.corp.example/sso', idp_certificates: ['none'] },
    }); // prettier-ignore
    await changed(world.b, 'connections', { id: world.theirs.id }, { assertions: 'off' });
    const person = await addUser(world.b);
    await addIdentity(world.b, saml, person, 'name-id');
    const sub_id = { format: 'saml-nameid', issuer: provider, nameid: 'name-id' };
    const good = await redeem({ sub: 'whatever', sub_id });
    expect(claimsOf(good.body.access_token)['sub']).toBe(person.id);
    const { issuer: _issuer, ...without } = sub_id;
    for (const other_id of [
      without,
      { ...sub_id, issuer: world.issuer.url },
      { ...sub_id, format: 'email' },
      { ...sub_id, sp_name_qualifier: 'x' },
      { ...sub_id, more: 1 },
      { ...sub_id, nameid_format: 'urn:oasis:names:tc:SAML:2.0:nameid-format:transient' },
      ['name-id'],
      'name-id',
    ])
      expect(refusal(await redeem({ sub: 'name-id', sub_id: other_id }))).toEqual([400, 'invalid_grant']);
    // Whom another issuer names by it is nobody.
    expect(refusal(await redeem({ sub_id, iss: provider }))).toEqual([400, 'invalid_grant']);
    await changed(world.b, 'connections', { id: saml.id }, { status: 'disabled' });
    await changed(world.b, 'connections', { id: world.theirs.id }, { assertions: 'on' });
  });

  test('two connections of one issuer are none', async () => {
    const twin = await addConnection(world.b, { issuer: world.issuer.url, assertions: 'on' });
    expect(refusal(await redeem())).toEqual([400, 'invalid_grant']);
    await changed(world.b, 'connections', { id: twin.id }, { status: 'disabled' });
    expect((await redeem()).status).toBe(200);
  });

  test('two connections of one issuer, each of a tenant of it, take those of their own (specification 19.2.2)', async () => {
    const twin = await addConnection(world.b, { issuer: world.issuer.url, assertions: 'on', assertion_tenant: 'other' });
    expect((await redeem()).status).toBe(200);
    // Whose account `remote` is, is known at the first alone.
    expect(refusal(await redeem({ tenant: 'other' }))).toEqual([400, 'invalid_grant']);
    await addIdentity(world.b, twin, world.person, 'of the other');
    expect((await redeem({ sub: 'of the other', tenant: 'other' })).status).toBe(200);
    expect(refusal(await redeem({ tenant: 'third' }))).toEqual([400, 'invalid_grant']);
    await changed(world.b, 'connections', { id: twin.id }, { status: 'disabled' });
  });
});

describe('the token ends', () => {
  const ends: [string, () => Promise<void>, () => Promise<void>][] = [
    ['the connection is disabled', () => changed(world.b, 'connections', { id: world.theirs.id }, { status: 'disabled' }), () => changed(world.b, 'connections', { id: world.theirs.id }, { status: 'enabled' })],
    ['the connection takes no more of them', () => changed(world.b, 'connections', { id: world.theirs.id }, { assertions: 'off' }), () => changed(world.b, 'connections', { id: world.theirs.id }, { assertions: 'on' })],
    ['the grant of the client no longer says so', () => changed(world.b, 'client_grants', { client_id: world.client.id }, { assertions: false }), () => changed(world.b, 'client_grants', { client_id: world.client.id }, { assertions: true })],
    ['the person is blocked', () => changed(world.b, 'users', { id: world.person.id }, { status: 'blocked' }), () => changed(world.b, 'users', { id: world.person.id }, { status: 'active' })],
    ['the client is disabled', () => changed(world.b, 'clients', { id: world.client.id }, { status: 'disabled' }), () => changed(world.b, 'clients', { id: world.client.id }, { status: 'enabled' })],
    ['the link is void', () => changed(world.b, 'identities', { subject: 'remote' }, { generation: 0 }), () => changed(world.b, 'identities', { subject: 'remote' }, { generation: world.theirs.generation })],
  ]; // prettier-ignore

  test.each(['jwt', 'opaque'] as const)('with what it rests on (%s)', async (token_format) => {
    const judge = await addBringer(world, {}, { assertions: false });
    const alive = async (token: string) => (await postToB(service, world, '/oauth/introspect', judge, { token })).body['active'];
    await changed(world.b, 'api_resources', { id: world.api.id }, { token_format });
    for (const [what, end, restore] of ends) {
      const token = (await redeem()).body.access_token;
      expect([what, await alive(token)]).toEqual([what, true]);
      await end();
      expect([what, await alive(token)]).toEqual([what, false]);
      await restore();
    }
    const token = (await redeem()).body.access_token;
    await world.b.db.knex('identities').where({ subject: 'remote' }).delete();
    expect(await alive(token)).toBe(false);
    await addIdentity(world.b, world.theirs, world.person, 'remote');
    await changed(world.b, 'api_resources', { id: world.api.id }, { token_format: 'jwt' });
  });
});

test('an API that takes no more assertions, or those of granted clients alone, ends what they gave (specification 19.2.9, attack 63.1867)', async () => {
  await changed(world.b, 'api_resources', { id: world.api.id }, { assertion_access: 'verified' });
  const vouched = await addClient(world.b, { grant_types: [jwtBearerGrantType], verified: true });
  await addGrant(world.b, vouched, world.api, ['read'], 'user');
  const byGrant = (await redeem()).body.access_token;
  const byVerification = (await bring(service, world, await scripted(world, { client_id: vouched.id }), {}, { client: vouched })).body
    .access_token;
  const alive = () => Promise.all([byGrant, byVerification].map(isActive));
  const set = async (assertion_access: 'off' | 'granted') => {
    const resource = (await findApiResource(world.b.scope, world.api.id)) as ApiResourceRow;
    await transaction(world.b, (tx) => changeApiResource(tx, resource, { assertion_access }));
  };
  expect(await alive()).toEqual([true, true]);
  await set('granted');
  expect(await alive()).toEqual([true, false]);
  await set('off');
  expect(await alive()).toEqual([false, false]);
  await set('granted');
});

test('what is withdrawn while an assertion is being redeemed gives nothing (attack 52.1560)', async () => {
  const { theirs } = world;
  const assertion = await scripted(world);
  const withdrawing = await world.b.db.knex.transaction();
  await withdrawing('connections').where({ id: theirs.id }).update({ status: 'disabled' });
  const redeemed = bring(service, world, assertion);
  const waits = 'select count(*)::integer as count from pg_locks where not granted';
  await expect.poll(async () => (await world.b.db.knex.raw<{ rows: { count: number }[] }>(waits)).rows[0]?.count).toBeGreaterThan(0);
  await withdrawing.commit();
  expect(refusal(await redeemed)).toEqual([400, 'invalid_grant']);
  await changed(world.b, 'connections', { id: theirs.id }, { status: 'enabled' });
  expect((await bring(service, world, assertion)).status).toBe(200);
});

test('identity assertions count by their client, issued or redeemed', async () => {
  const { databaseUrl: url, secretKey } = service;
  const settings = { BASE_URL: service.url, RATE_LIMITS: 'on', RATE_LIMIT_ASSERTIONS: '2/60' };
  const limited = await startTestService(settings, { database: { url, secretKey }, clock: service.clock });
  const at = { url: `http://127.0.0.1:${limited.config.port}` };
  const statuses = [];
  for (let time = 0; time < 3; time++) statuses.push((await bring(at, world, await scripted(world))).status);
  expect(statuses).toEqual([200, 200, 429]);
  const client: TestClient = await addBringer(world);
  expect((await bring(at, world, await scripted(world, { client_id: client.id }), {}, { client })).status).toBe(200);
  await limited.stop();
});

test('an organization that the provider does not speak for stays closed', async () => {
  const elsewhere = await addOrganization(world.b);
  expect(refusal(await bring(service, world, await scripted(world), { organization: elsewhere.id }))).toEqual([400, 'invalid_target']);
});

test('a signal of the provider about the account ends what was redeemed until then, and nothing later (specification 20.2.5)', async () => {
  const at = service.clock.now();
  const signal = { id: 'set of then', expires_at: new Date(at.getTime() + 60_000), subject: { subject: 'remote', sid: null } };
  const origin = { ip_address: null, user_agent: null, request_id: null };
  service.clock.advance(5_000);
  const token = (await redeem()).body.access_token;
  await receiveSignal(world.b, world.theirs, { ...signal, events: [{ kind: 'session-revoked', at }] }, origin);
  expect(await isActive(token)).toBe(true);
  const events = [{ kind: 'session-revoked', at: service.clock.now() }] as const;
  await receiveSignal(world.b, world.theirs, { ...signal, id: 'set of now', events }, origin);
  expect(await isActive(token)).toBe(false);
  service.clock.advance(5_000);
  expect(await isActive((await redeem()).body.access_token)).toBe(true);
});

test('what ends everything that clients hold of somebody ends what assertions gave, also once they are let in again (attack 70.1952)', async () => {
  const administrator = { actor_kind: 'client', actor_id: 'admin', display: 'admin', permissions: new Set<string>() } as const;
  const person = async () => (await findUser(world.b.scope, world.person.id))!;
  for (const token_format of ['jwt', 'opaque'] as const) {
    await changed(world.b, 'api_resources', { id: world.api.id }, { token_format });
    const token = (await redeem()).body.access_token;
    expect(await isActive(token)).toBe(true);
    await transaction(world.b, async (tx) => blockUser(tx, administrator, await person()));
    await transaction(world.b, async (tx) => unblockUser(tx, administrator, await person()));
    expect([token_format, await isActive(token)]).toEqual([token_format, false]);
  }
  await changed(world.b, 'api_resources', { id: world.api.id }, { token_format: 'jwt' });
});
