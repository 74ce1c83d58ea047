// Identity assertion authorization grants (ID-JAG) between two environments: A signs the person in and issues, B redeems.
import { decodeProtectedHeader } from 'jose';
import { afterAll, describe, expect, test } from 'vitest';
import { findAuthorization } from '../../src/db/tables/authorizations.js';
import { idJagProfile, idJagTokenType, idJagTyp } from '../../src/lib/identity-assertions.js';
import { tokenExchangeGrantType } from '../../src/lib/grant-types.js';
import {
  addOutboundGrant, apiIdentifier, askForAssertion, bring, changed, postToB, refreshTokenType, sharedAssertionWorld, signInToApp,
} from '../support/assertions.js'; // prettier-ignore
import { addClient } from '../support/data.js';
import { createProofKey } from '../support/dpop.js';
import { claimsOf, oauthPost, type TokenAnswer } from '../support/oauth.js';
import { addGroupOf, addMembership, addOrganization, addRoleOf } from '../support/organizations.js';
import { lastRow } from '../support/security-events.js';
import { sharedService } from '../support/shared-service.js';

const service = sharedService();
const world = sharedAssertionWorld(service);
afterAll(() => world.issuer.close());

describe('an assertion of A gives a token of B', () => {
  test('by the ID token of the sign-in: the person of the verified domain is made, and a member', async () => {
    const { id_token } = await signInToApp(service, world);
    const issued = await askForAssertion(service, world, { subject_token: id_token, scope: 'read' });
    expect(issued.body).toMatchObject({ token_type: 'N_A', issued_token_type: idJagTokenType, scope: 'read', expires_in: 300 });
    const assertion = issued.body.access_token;
    expect(decodeProtectedHeader(assertion)).toMatchObject({ typ: idJagTyp, alg: 'RS256' });
    const claims = claimsOf(assertion);
    expect(claims).toMatchObject({
      iss: world.a.environment.issuer,
      aud: world.b.environment.issuer,
      sub: world.user.id,
      client_id: world.client.id,
      resource: apiIdentifier,
      scope: 'read',
      acr: '1',
      email: world.user.email,
      exp: (claims['iat'] as number) + 300,
    });
    const redeemed = await bring(service, world, assertion);
    expect(redeemed.body).toMatchObject({ token_type: 'Bearer', scope: 'read', expires_in: 600 });
    expect([redeemed.status, redeemed.body.refresh_token]).toEqual([200, undefined]);
    const token = claimsOf(redeemed.body.access_token);
    expect(token).toMatchObject({
      iss: world.b.environment.issuer,
      aud: apiIdentifier,
      client_id: world.client.id,
      org_id: world.organization.id,
      acr: '1',
    });
    expect(token['sid']).toBeUndefined();
    const there = await postToB(service, world, '/oauth/introspect', world.client, { token: redeemed.body.access_token });
    expect(there.body).toMatchObject({ active: true, sub: token['sub'] });
    // The second time it is the same person.
    const again = await askForAssertion(service, world, { subject_token: id_token });
    expect(claimsOf((await bring(service, world, again.body.access_token)).body.access_token)['sub']).toBe(token['sub']);
  });

  test('by a refresh token, which stays as it is', async () => {
    const { refresh_token } = await signInToApp(service, world);
    for (let time = 0; time < 2; time++) {
      const issued = await askForAssertion(service, world, { subject_token: refresh_token, subject_token_type: refreshTokenType });
      expect(issued.body).toMatchObject({ token_type: 'N_A', scope: 'read write' });
      expect((await bring(service, world, issued.body.access_token, { scope: 'write' })).body.scope).toBe('write');
    }
  });

  test('discovery names token type and profile', async () => {
    const document = (await (await fetch(`${service.url}/.well-known/oauth-authorization-server`)).json()) as Record<string, unknown>;
    expect(document).toMatchObject({
      identity_chaining_requested_token_types_supported: [idJagTokenType],
      authorization_grant_profiles_supported: [idJagProfile],
    });
  });
});

const refusal = ({ status, body }: TokenAnswer) => [status, body.error];

describe('an assertion is refused', () => {
  test('for what is not the client’s own, or over: ID tokens, refresh tokens, access tokens (attack 52.1550)', async () => {
    const other = await addClient(world.a, { grant_types: ['authorization_code', 'refresh_token', tokenExchangeGrantType] });
    await addOutboundGrant(world.a, { client_id: other.id, external_server_id: world.server.id, external_client_id: 'other' });
    const own = await signInToApp(service, world);
    const theirs = await signInToApp(service, { app: other, user: world.user });
    const refused = { id: theirs.id_token, refresh: theirs.refresh_token };
    expect(refusal(await askForAssertion(service, world, { subject_token: refused.id }))).toEqual([400, 'invalid_grant']);
    const byRefresh = { subject_token: refused.refresh, subject_token_type: refreshTokenType };
    expect(refusal(await askForAssertion(service, world, byRefresh))).toEqual([400, 'invalid_grant']);
    for (const subject_token of [own.access_token, 'no token', '']) {
      expect((await askForAssertion(service, world, { subject_token })).status).toBe(400);
    }
    const asAccess = { subject_token: own.access_token, subject_token_type: 'urn:ietf:params:oauth:token-type:access_token' };
    expect(refusal(await askForAssertion(service, world, asAccess))).toEqual([400, 'invalid_request']);
    await world.a.db.knex('sessions').where({ id: own.browser.session_id }).update({ revoked_at: service.clock.now() });
    expect(refusal(await askForAssertion(service, world, { subject_token: own.id_token }))).toEqual([400, 'invalid_grant']);
  });

  test('for an ID token that has expired', async () => {
    const { id_token } = await signInToApp(service, world);
    service.clock.advance(3_700_000);
    expect(refusal(await askForAssertion(service, world, { subject_token: id_token }))).toEqual([400, 'invalid_grant']);
  });

  test('of a public client, with an actor, without an audience, or of another type', async () => {
    const { id_token: subject_token } = await signInToApp(service, world);
    const actor = { actor_token: subject_token, actor_token_type: 'urn:ietf:params:oauth:token-type:id_token' };
    expect(refusal(await askForAssertion(service, world, { subject_token, ...actor }))).toEqual([400, 'invalid_request']);
    expect(refusal(await askForAssertion(service, world, { subject_token, audience: '' }))).toEqual([400, 'invalid_request']);
    const open = await addClient(world.a, { token_endpoint_auth_method: 'none', grant_types: [tokenExchangeGrantType] });
    expect(refusal(await askForAssertion(service, world, { subject_token }, open))).toEqual([400, 'unauthorized_client']);
  });

  test('for a server, resource or scope that is not granted', async () => {
    const { id_token: subject_token } = await signInToApp(service, world);
    const ask = async (fields: Record<string, string>) => refusal(await askForAssertion(service, world, { subject_token, ...fields }));
    expect(await ask({ audience: 'https://unknown.example' })).toEqual([400, 'invalid_target']);
    expect(await ask({ resource: 'https://unknown.example' })).toEqual([400, 'invalid_target']);
    expect(await ask({ scope: 'fly' })).toEqual([400, 'invalid_scope']);
    await changed(world.a, 'outbound_grants', { id: world.outbound.id }, { status: 'disabled' });
    expect(await ask({})).toEqual([400, 'invalid_target']);
    await changed(world.a, 'outbound_grants', { id: world.outbound.id }, { status: 'enabled' });
    await changed(world.a, 'external_servers', { id: world.server.id }, { status: 'disabled' });
    expect(await ask({})).toEqual([400, 'invalid_target']);
    await changed(world.a, 'external_servers', { id: world.server.id }, { status: 'enabled' });
    // Where several are meant, none is.
    const two = [{ identifier: apiIdentifier, scopes: ['read'] }, { identifier: 'https://second.example', scopes: ['read'] }]; // prettier-ignore
    await changed(world.a, 'external_servers', { id: world.server.id }, { resources: JSON.stringify(two) });
    expect(await ask({ resource: '' })).toEqual([400, 'invalid_target']);
    await changed(world.a, 'external_servers', { id: world.server.id }, { resources: JSON.stringify(world.server.resources) });
  });

  test('for a sign-in that is too weak for every grant, which the answer tells', async () => {
    const { id_token: subject_token } = await signInToApp(service, world);
    await changed(world.a, 'outbound_grants', { id: world.outbound.id }, { required_acr: '2', max_authentication_age: 60 });
    const answer = await askForAssertion(service, world, { subject_token });
    expect(refusal(answer)).toEqual([400, 'insufficient_user_authentication']);
    expect(answer.body).toMatchObject({ acr_values: '2', max_age: 60 });
    await changed(world.a, 'outbound_grants', { id: world.outbound.id }, { required_acr: null, max_authentication_age: null });
  });

  test('by an ID token of a sign-in that does no more for what client or organization require since (attack 67.1911)', async () => {
    const organization = await addOrganization(world.a);
    await addMembership(world.a, organization, world.user);
    await changed(world.a, 'clients', { id: world.app.id }, { organization_usage: 'allow' });
    const { id_token: subject_token } = await signInToApp(service, world, { organization: organization.name });
    const held = [['organizations', organization.id] as const, ['clients', world.app.id] as const];
    for (const [name, id] of held)
      for (const [demand, told] of [
        [{ required_acr: '2' }, { acr_values: '2' }],
        [{ max_authentication_age: 0 }, { max_age: 0 }],
      ] as const) {
        service.clock.advance(1000);
        await changed(world.a, name, { id }, demand);
        const answer = await askForAssertion(service, world, { subject_token });
        expect([name, ...refusal(answer)]).toEqual([name, 400, 'insufficient_user_authentication']);
        expect(answer.body).toMatchObject(told);
        await changed(world.a, name, { id }, { required_acr: null, max_authentication_age: null });
        expect((await askForAssertion(service, world, { subject_token })).status).toBe(200);
      }
    await changed(world.a, 'clients', { id: world.app.id }, { organization_usage: 'deny' });
  });

  test('without a proof where the server wants one, and with a proof that was used', async () => {
    const { id_token: subject_token } = await signInToApp(service, world);
    await changed(world.a, 'external_servers', { id: world.server.id }, { require_proof: true });
    expect(refusal(await askForAssertion(service, world, { subject_token }))).toEqual([400, 'invalid_dpop_proof']);
    const key = await createProofKey('ES256', () => service.clock.now().getTime());
    const dpop = await key.proof({ htu: `${service.url}/oauth/token` });
    const fields = { grant_type: tokenExchangeGrantType, requested_token_type: idJagTokenType, audience: world.b.environment.issuer, subject_token, subject_token_type: 'urn:ietf:params:oauth:token-type:id_token' }; // prettier-ignore
    const bound = await oauthPost(service.url, '/oauth/token', world.app, fields, { dpop });
    expect(bound.body).toMatchObject({ token_type: 'N_A' });
    expect(claimsOf(bound.body.access_token)['cnf']).toEqual({ jkt: key.jkt });
    expect(refusal(await oauthPost(service.url, '/oauth/token', world.app, fields, { dpop }))).toEqual([400, 'invalid_dpop_proof']);
    await changed(world.a, 'external_servers', { id: world.server.id }, { require_proof: false });
  });
});

describe('what an assertion says', () => {
  const asked = async (fields: Record<string, string> = {}) => {
    const { id_token: subject_token } = await signInToApp(service, world);
    return askForAssertion(service, world, { subject_token, ...fields });
  };

  test('bears the registered spelling of audience and resource, however they are asked for', async () => {
    const { body } = await asked({ audience: 'HTTPS://B.example/', resource: apiIdentifier.slice(0, -1) });
    expect(claimsOf(body.access_token)).toMatchObject({ aud: 'https://b.example', resource: apiIdentifier });
  });

  test('of an agent that it acts, by the name that the server has for it; of others nothing (specification 19.1.5)', async () => {
    const actOf = async () => claimsOf((await asked()).body.access_token)['act'];
    expect(await actOf()).toBeUndefined();
    await changed(world.a, 'clients', { id: world.app.id }, { is_agent: true });
    expect(await actOf()).toEqual({ sub: world.client.id, client_id: world.client.id, sub_profile: 'ai_agent' });
    await changed(world.a, 'clients', { id: world.app.id }, { is_agent: false });
  });

  test('the tenants, where the server wants them; without an organization there is none', async () => {
    await changed(world.a, 'external_servers', { id: world.server.id }, { tenant: 'environment', aud_tenant: 'theirs' });
    expect(claimsOf((await asked()).body.access_token)).toMatchObject({ tenant: world.a.environment.id, aud_tenant: 'theirs' });
    await changed(world.a, 'external_servers', { id: world.server.id }, { tenant: 'organization' });
    expect(refusal(await asked())).toEqual([400, 'invalid_grant']);
    await changed(world.a, 'external_servers', { id: world.server.id }, { tenant: 'none', aud_tenant: null });
  });

  test('names the person of a SAML application’s server by its NameID alone (attack 52.1559)', async () => {
    const saml = (name: string) =>
      addClient(world.a, {
        application_type: 'saml',
        grant_types: [],
        redirect_uris: [],
        saml_entity_id: name,
        saml_acs_urls: ['https://saml.example/acs'],
      });
    const subs: unknown[] = [];
    for (const client of [await saml('one'), await saml('two')]) {
      await changed(world.a, 'external_servers', { id: world.server.id }, { sign_in_client_id: client.id });
      const claims = claimsOf((await asked()).body.access_token);
      expect(claims['sub_id']).toEqual({
        format: 'saml-nameid',
        issuer: `${world.a.environment.issuer}/saml/metadata`,
        nameid: claims['sub'],
        nameid_format: 'urn:oasis:names:tc:SAML:2.0:nameid-format:persistent',
      });
      expect(JSON.stringify(claims)).not.toContain(world.user.id);
      subs.push(claims['sub']);
    }
    expect(new Set(subs).size).toBe(2);
    await changed(world.a, 'external_servers', { id: world.server.id }, { sign_in_client_id: null });
  });

  test('is of the people alone that a grant names: members, of a group, holders of a role', async () => {
    const organization = await addOrganization(world.a);
    const role = await addRoleOf(world.a, world.api, [], 'organization');
    const grant = (columns: Record<string, unknown>) => changed(world.a, 'outbound_grants', { id: world.outbound.id }, columns);
    await grant({ organization_id: organization.id });
    expect(refusal(await asked())).toEqual([400, 'invalid_target']);
    const member = await addMembership(world.a, organization, world.user);
    expect((await asked()).status).toBe(200);
    await grant({ organization_id: organization.id, role_id: role.id });
    expect(refusal(await asked())).toEqual([400, 'invalid_target']);
    await world.a.db
      .knex('organization_membership_roles')
      .insert({ environment_id: world.a.environment.id, membership_id: member.id, role_id: role.id });
    expect((await asked()).status).toBe(200);
    const group = await addGroupOf(world.a, organization);
    await grant({ organization_id: null, role_id: null, organization_group_id: group.id });
    expect(refusal(await asked())).toEqual([400, 'invalid_target']);
    const entry = await group.add(world.user);
    expect((await asked()).status).toBe(200);
    await changed(world.a, 'directory_users', { id: entry }, { active: false });
    expect(refusal(await asked())).toEqual([400, 'invalid_target']);
    await changed(world.a, 'directory_users', { id: entry }, { active: true });
    await changed(world.a, 'organization_memberships', { id: member.id }, { status: 'suspended' });
    expect(refusal(await asked())).toEqual([400, 'invalid_target']);
    await grant({ organization_group_id: null });
  });
});

test('a sign-in for one organization gets nothing by the grant of another one, its groups or its roles (specification 19.1.3, attack 63.1862)', async () => {
  const [one, other] = [await addOrganization(world.a), await addOrganization(world.a)];
  const role = await addRoleOf(world.a, world.api, [], 'organization');
  await addMembership(world.a, one, world.user, { roles: [role] });
  await addMembership(world.a, other, world.user);
  const group = await addGroupOf(world.a, one);
  await group.add(world.user);
  await changed(world.a, 'clients', { id: world.app.id }, { organization_usage: 'allow' });
  await changed(world.a, 'external_servers', { id: world.server.id }, { tenant: 'organization' });
  const none = { organization_id: null, organization_group_id: null, role_id: null };
  for (const whom of [{ organization_id: one.id }, { organization_group_id: group.id }, { role_id: role.id }]) {
    await changed(world.a, 'outbound_grants', { id: world.outbound.id }, { ...none, ...whom });
    for (const { id, name } of [one, other]) {
      const { id_token: subject_token } = await signInToApp(service, world, { organization: name });
      const answer = await askForAssertion(service, world, { subject_token });
      if (id === one.id) expect(claimsOf(answer.body.access_token)['tenant']).toBe(one.id);
      else expect(refusal(answer)).toEqual([400, 'invalid_target']);
    }
  }
  await changed(world.a, 'outbound_grants', { id: world.outbound.id }, none);
  await changed(world.a, 'external_servers', { id: world.server.id }, { tenant: 'none' });
  await changed(world.a, 'clients', { id: world.app.id }, { organization_usage: 'deny' });
});

test('the authorization was used when an assertion is issued, to the hour (specification 19.5.1)', async () => {
  const { id_token: subject_token } = await signInToApp(service, world);
  const pair = { user_id: world.user.id, client_id: world.app.id };
  const used = async () => (await findAuthorization(world.a.scope, pair))?.last_used_at.getTime() ?? 0;
  const now = service.clock.now().getTime();
  const authorizations = () => world.a.db.knex('authorizations').where(pair);
  for (const [ago, isNoted] of [
    [30 * 60_000, false],
    [61 * 60_000, true],
  ] as const) {
    // prettier-ignore
    await authorizations().update({ last_used_at: new Date(now - ago) });
    expect((await askForAssertion(service, world, { subject_token })).status).toBe(200);
    expect((await used()) >= now).toBe(isNoted);
  }
});

test('each assertion leaves a trace, without itself', async () => {
  const { id_token: subject_token } = await signInToApp(service, world);
  const { body } = await askForAssertion(service, world, { subject_token });
  const row = await lastRow(service, 'assertion.issued');
  expect(row).toMatchObject({ actor_id: world.app.id, target_id: world.user.id });
  expect(JSON.stringify(row)).not.toContain(body.access_token.slice(-40));
});
