// Tokens for an organization: what they say, whose rights they hold, and what ends them (specification 16.3).
import { beforeEach, describe, expect, test } from 'vitest';
import { insert, table } from '../../../src/db/scope.js';
import { deleteMembership, type MembershipRow } from '../../../src/db/tables/organization_memberships.js';
import type { OrganizationRow } from '../../../src/db/tables/organizations.js';
import type { RoleRow } from '../../../src/db/tables/roles.js';
import type { UserRow } from '../../../src/db/tables/users.js';
import { transaction } from '../../../src/domain/context.js';
import { addMember, removeMember, resumeMember, suspendMember } from '../../../src/domain/organizations/memberships.js';
import { lookUpTokens } from '../../../src/domain/tokens/token-look-up.js';
import { tokenExchangeGrantType } from '../../../src/lib/grant-types.js';
import type { Browser } from '../../support/browser.js';
import { addClient, addGrant, addResource, addUser, type TestClient } from '../../support/data.js';
import { authorizeCode, claimsOf, oauthPost, redeem, tokenRequest, type TokenAnswer } from '../../support/oauth.js';
import { addMembership, addOrganization, addRoleOf, changeRow } from '../../support/organizations.js';
import { contextOf, shared, sharedService } from '../../support/shared-service.js';
import { signedIn } from '../../support/signed-in.js';

const service = sharedService();
const ctx = contextOf(service);
const apis = shared(async () => ({
  jwt: await addResource(ctx, { identifier: 'https://jwt.example', token_format: 'jwt' }),
  opaque: await addResource(ctx, { identifier: 'https://opaque.example', token_format: 'opaque' }),
}));
const client: TestClient = shared(() =>
  addClient(ctx, { organization_usage: 'allow', grant_types: ['authorization_code', 'refresh_token', tokenExchangeGrantType] }),
);

let user: UserRow;
let browser: Browser;
let organization: OrganizationRow;
let membership: MembershipRow;
let reader: RoleRow;

beforeEach(async () => {
  user = await addUser(ctx);
  browser = await signedIn(service, user);
  organization = await addOrganization(ctx);
  reader = await addRoleOf(ctx, apis.jwt, ['read']);
  const opaqueReader = await addRoleOf(ctx, apis.opaque, ['read']);
  const writer = await addRoleOf(ctx, apis.jwt, ['write'], 'environment');
  await insert<Record<string, unknown>>(ctx.scope, 'user_roles', { user_id: user.id, role_id: writer.id });
  membership = await addMembership(ctx, organization, user, { roles: [reader, opaqueReader] });
});

const scope = 'openid roles offline_access';

async function tokens(fields: Record<string, string> = {}): Promise<TokenAnswer['body']> {
  const answer = await redeem(service.url, client, await authorizeCode(browser, client, { scope, ...fields }));
  expect(answer.status).toBe(200);
  return answer.body;
}

const forOrganization = (fields: Record<string, string> = {}) => tokens({ organization: organization.name, ...fields });
const introspected = async (token: string) => (await oauthPost(service.url, '/oauth/introspect', client, { token })).body;
const userinfo = (token: string) => fetch(`${service.url}/oauth/userinfo`, { headers: { authorization: `Bearer ${token}` } });
const refreshed = (token: string | undefined, fields: Record<string, string> = {}) =>
  tokenRequest(service.url, client, { grant_type: 'refresh_token', refresh_token: token ?? '', ...fields });
const named = () => ({ org_id: organization.id, org_name: organization.name });

describe('what tokens say', () => {
  test('JWT, ID token and introspection name the organization, userinfo its display name too (specification 16.3.1)', async () => {
    const { access_token, id_token } = await forOrganization({ resource: apis.jwt.identifier });
    for (const claims of [claimsOf(access_token), claimsOf(id_token as string), await introspected(access_token)])
      expect(claims).toMatchObject(named());
    expect(await (await userinfo(access_token)).json()).toMatchObject({ ...named(), org_display_name: 'Initech', sub: user.id });
  });

  test('so do an opaque token and a refresh token (specification 16.3.1)', async () => {
    const { access_token, refresh_token } = await tokens({ organization: organization.id, resource: apis.opaque.identifier });
    expect(await introspected(access_token)).toMatchObject({ ...named(), permissions: ['read'] });
    expect(await introspected(refresh_token as string)).toMatchObject({ active: true, ...named() });
    expect(await (await userinfo(access_token)).json()).toMatchObject(named());
  });

  test('permissions and roles are the membership’s alone, without an organization the environment’s alone (specification 16.3.2)', async () => {
    const bound = await forOrganization({ resource: apis.jwt.identifier });
    const free = await tokens({ resource: apis.jwt.identifier });
    expect(claimsOf(bound.access_token)['permissions']).toEqual(['read']);
    expect(claimsOf(free.access_token)['permissions']).toEqual(['write']);
    const rolesOf = async (token: string) => ((await (await userinfo(token)).json()) as { roles: string[] }).roles;
    expect(await rolesOf(bound.access_token)).toContain(reader.name);
    expect(await rolesOf(free.access_token)).not.toContain(reader.name);
    expect(await rolesOf(bound.access_token)).toHaveLength(2);
    expect(await rolesOf(free.access_token)).toHaveLength(1);
  });

  test('without an organization nothing of it is said (specification 16.3.1)', async () => {
    const { access_token, id_token } = await tokens({ resource: apis.jwt.identifier });
    const answers = [
      claimsOf(access_token),
      claimsOf(id_token as string),
      await introspected(access_token),
      await (await userinfo(access_token)).json(),
    ];
    for (const claims of answers) expect(Object.keys(claims as object).filter((name) => name.startsWith('org_'))).toEqual([]);
  });

  test('a mapped claim is never taken for the organization (specification 16.3.1)', async () => {
    const value = organization.id;
    const claim_mappings = (['org_id', 'org_name', 'org_display_name'] as const).map((claim) => ({
      claim,
      value,
      in: ['id_token', 'access_token', 'userinfo'],
    }));
    const mapping = await addClient(ctx, { claim_mappings: claim_mappings as never });
    const answer = await redeem(service.url, mapping, await authorizeCode(browser, mapping, { resource: apis.jwt.identifier }));
    const { access_token, id_token } = answer.body;
    const answers = [
      claimsOf(access_token),
      claimsOf(id_token as string),
      await introspected(access_token),
      await (await userinfo(access_token)).json(),
    ];
    for (const claims of answers) expect(Object.keys(claims as object).filter((name) => name.startsWith('org_'))).toEqual([]);
  });

  test('an exchanged token stays in the organization (specification 16.3.3)', async () => {
    const target = await addResource(ctx, { identifier: `https://${user.id}.example`, token_format: 'jwt', user_scopes: 'held' });
    await addGrant(ctx, client, target, ['read', 'write'], 'user', { token_exchange: 'delegation' });
    const role = await addRoleOf(ctx, target, ['write']);
    await insert<Record<string, unknown>>(ctx.scope, 'organization_membership_roles', { membership_id: membership.id, role_id: role.id });
    const { access_token } = await forOrganization({ resource: apis.opaque.identifier });
    const fields = {
      grant_type: tokenExchangeGrantType,
      subject_token: access_token,
      subject_token_type: 'urn:ietf:params:oauth:token-type:access_token',
      resource: target.identifier,
    };
    const exchanged = await tokenRequest(service.url, client, fields);
    expect(claimsOf(exchanged.body.access_token)).toMatchObject({ ...named(), scope: 'write', permissions: ['write'] });
    const other = await addOrganization(ctx);
    expect((await tokenRequest(service.url, client, { ...fields, organization: organization.name })).status).toBe(200);
    expect((await tokenRequest(service.url, client, { ...fields, organization: other.name })).body.error).toBe('invalid_target');
    await changeRow(ctx, 'organization_memberships', { id: membership.id }, { status: 'suspended' });
    expect((await introspected(exchanged.body.access_token))['active']).toBe(false);
    expect((await tokenRequest(service.url, client, fields)).body.error).toBe('invalid_request');
  });
});

describe('refresh', () => {
  test('keeps the organization and recomputes the roles (specification 16.3.4)', async () => {
    const { refresh_token } = await forOrganization({ resource: apis.jwt.identifier });
    const writer = await addRoleOf(ctx, apis.jwt, ['write']);
    await insert<Record<string, unknown>>(ctx.scope, 'organization_membership_roles', { membership_id: membership.id, role_id: writer.id });
    const { body } = await refreshed(refresh_token);
    expect(claimsOf(body.access_token)).toMatchObject({ ...named(), permissions: ['read', 'write'] });
    expect(claimsOf(body.id_token as string)).toMatchObject(named());
  });

  test('with the same organization goes on, with another it is invalid_target, and so is one without (specification 16.3.4)', async () => {
    const other = await addOrganization(ctx);
    await addMembership(ctx, other, user);
    const { refresh_token } = await forOrganization();
    for (const same of [organization.id, organization.name])
      expect((await refreshed(refresh_token, { organization: same })).status).toBe(200);
    const free = await tokens();
    for (const [token, word] of [
      [refresh_token, other.name],
      [refresh_token, 'nobody'],
      [free.refresh_token, organization.name],
      [free.refresh_token, 'nobody'],
    ] as const)
      expect(await refreshed(token, { organization: word })).toMatchObject({ status: 400, body: { error: 'invalid_target' } });
  });
});

describe('organization at the token endpoint', () => {
  test('may repeat what a code is for; with any other it is invalid_target, and the code is spent (specification 16.3.4)', async () => {
    const other = await addOrganization(ctx);
    const code = (of: Record<string, string>) => authorizeCode(browser, client, { scope, ...of });
    for (const word of [organization.id, organization.name])
      expect((await redeem(service.url, client, await code({ organization: word }), { organization: word })).status).toBe(200);
    for (const [of, word] of [
      [{ organization: organization.id }, other.name],
      [{ organization: organization.id }, 'nobody'],
      [{}, organization.name],
    ] as const) {
      const grant = await code(of);
      expect((await redeem(service.url, client, grant, { organization: word })).body.error).toBe('invalid_target');
      expect((await redeem(service.url, client, grant)).body.error).toBe('invalid_grant');
    }
  });

  test('is no matter of a client’s own token (specification 16.3.4)', async () => {
    const own = await addClient(ctx, { grant_types: ['client_credentials'] });
    await addGrant(ctx, own, apis.jwt, ['read']);
    const fields = { grant_type: 'client_credentials', resource: apis.jwt.identifier };
    expect((await tokenRequest(service.url, own, fields)).status).toBe(200);
    expect((await tokenRequest(service.url, own, { ...fields, organization: organization.name })).body.error).toBe('invalid_target');
  });
});

/** What ends the tokens of an organization. */
const ends: readonly [string, () => Promise<unknown>][] = [
  ['a suspended membership', () => changeRow(ctx, 'organization_memberships', { id: membership.id }, { status: 'suspended' })],
  ['a membership that is gone', () => deleteMembership(ctx.scope, membership.id)],
  ['a disabled organization', () => changeRow(ctx, 'organizations', { id: organization.id }, { status: 'disabled' })],
  [
    'a deleted organization',
    () =>
      table(ctx.scope, 'organizations')
        .where({ id: organization.id } as never)
        .delete(),
  ],
];

describe.each(ends)('%s', (_name, end) => {
  test('ends access tokens of both formats, refresh tokens and codes, and nothing else of the person (specification 16.3.5, attack 43.1310)', async () => {
    const issued = await Promise.all([
      forOrganization({ resource: apis.jwt.identifier }),
      forOrganization({ resource: apis.opaque.identifier }),
      forOrganization(),
    ]);
    const other = await addOrganization(ctx);
    await addMembership(ctx, other, user);
    const living = [
      await tokens({ resource: apis.jwt.identifier }),
      await tokens({ organization: other.id, resource: apis.jwt.identifier }),
    ];
    const code = await authorizeCode(browser, client, { scope, organization: organization.id });
    await end();
    for (const { access_token, refresh_token } of issued) {
      expect(await introspected(access_token)).toEqual({ active: false });
      expect(await introspected(refresh_token as string)).toEqual({ active: false });
      expect((await userinfo(access_token)).status).toBe(401);
      expect(await refreshed(refresh_token)).toMatchObject({ status: 400, body: { error: 'invalid_grant' } });
    }
    expect(await redeem(service.url, client, code)).toMatchObject({ status: 400, body: { error: 'invalid_grant' } });
    for (const { access_token, refresh_token } of living) {
      expect((await introspected(access_token))['active']).toBe(true);
      expect((await refreshed(refresh_token)).status).toBe(200);
    }
  });
});

test('a token whose organization can not be read is none (attack 43.1311)', async () => {
  const { access_token } = await forOrganization({ resource: apis.jwt.identifier });
  const [header = '', , signature = ''] = access_token.split('.');
  const forged = Buffer.from(JSON.stringify({ ...claimsOf(access_token), org_id: undefined })).toString('base64url');
  expect(await introspected([header, forged, signature].join('.'))).toEqual({ active: false });
});

/** What lets somebody out of the organization, and in again. */
const returns: readonly [string, () => Promise<MembershipRow>][] = [
  ['suspended and resumed', () => transaction(ctx, async (tx) => resumeMember(tx, null, await suspendMember(tx, null, membership)))],
  [
    'removed and added',
    () =>
      transaction(ctx, async (tx) => {
        await removeMember(tx, null, membership);
        return addMember(tx, null, { organization, user, source: 'manual' });
      }),
  ],
];

describe.each(returns)('a member who was %s', (_name, leaveAndReturn) => {
  test('gets no token, refresh token or code of before back, but new ones (specification 16.3.6, attack 43.1460)', async () => {
    const issued = [
      await forOrganization({ resource: apis.jwt.identifier }),
      await forOrganization({ resource: apis.opaque.identifier }),
      await forOrganization(),
    ];
    const elsewhere = await tokens({ resource: apis.jwt.identifier });
    const code = await authorizeCode(browser, client, { scope, organization: organization.id });
    service.clock.advance(2000);
    await leaveAndReturn();
    const states = await lookUpTokens(ctx, issued.map(({ access_token }) => access_token)); // prettier-ignore
    expect(states.map((one) => one?.status.member_stands)).toEqual([false, false, false]);
    for (const { access_token, refresh_token } of issued) {
      expect(await introspected(access_token)).toEqual({ active: false });
      expect(await introspected(refresh_token as string)).toEqual({ active: false });
      expect((await userinfo(access_token)).status).toBe(401);
      expect(await refreshed(refresh_token)).toMatchObject({ status: 400, body: { error: 'invalid_grant' } });
    }
    expect(await redeem(service.url, client, code)).toMatchObject({ status: 400, body: { error: 'invalid_grant' } });
    expect((await introspected(elsewhere.access_token))['active']).toBe(true);
    const again = await forOrganization({ resource: apis.jwt.identifier });
    expect((await introspected(again.access_token))['active']).toBe(true);
    const { body } = await refreshed(again.refresh_token);
    expect(claimsOf(body.access_token)).toMatchObject(named());
    expect((await userinfo((await forOrganization()).access_token)).status).toBe(200);
  });
});
