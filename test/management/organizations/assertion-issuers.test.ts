// Whose identity assertions an organization's connection takes, where another's takes those of the same issuer.
import { beforeAll, expect, test } from 'vitest';
import { table } from '../../../src/db/scope.js';
import { findConnection, type ConnectionRow } from '../../../src/db/tables/connections.js';
import type { RoleRow } from '../../../src/db/tables/roles.js';
import { apiResourceOf } from '../../../src/domain/clients/clients.js';
import { organizationPermissions } from '../../../src/domain/reach/management-permissions.js';
import { addConnection } from '../../support/connections.js';
import { addClient, addGrant, addUser } from '../../support/data.js';
import { Api, manage, startManagedService } from '../../support/management.js';
import { allowCode, redeem } from '../../support/oauth.js';
import { addMembership, addOrganization } from '../../support/organizations.js';
import { contextOf, sharedService } from '../../support/shared-service.js';
import { signedIn } from '../../support/signed-in.js';

const service = sharedService(startManagedService);
const ctx = contextOf(service);
const issuer = 'https://shared-idp.example';
let theirs: ConnectionRow;
let api: Api;

/** The connection of one organization, and the token of another's administrator. */
beforeAll(async () => {
  const victim = await addOrganization(ctx);
  theirs = await addConnection(ctx, { name: 'victim', organization_id: victim.id, issuer, assertions: 'on' });
  const client = await addClient(ctx, { organization_usage: 'allow' });
  const management = await apiResourceOf(ctx, ctx.environment.management_audience);
  await addGrant(ctx, client, management as never, [...organizationPermissions], 'user');
  const organization = await addOrganization(ctx);
  const [role] = await table<RoleRow>(ctx.scope, 'roles').where({ name: 'organization_admin' } as never);
  const admin = await addUser(ctx);
  await addMembership(ctx, organization, admin, { roles: [role as RoleRow] });
  const asked = {
    resource: ctx.environment.management_audience,
    scope: organizationPermissions.join(' '),
    organization: organization.name,
  };
  const code = await allowCode(await signedIn(service, admin), client, asked);
  api = new Api(service.url, (await redeem(service.url, client, code)).body.access_token);
});

let count = 0;
const oidc = () => ({
  name: `own-${(count += 1)}`,
  display_name: 'Own',
  strategy: 'oidc',
  provider_client_id: 'x',
  provider_client_secret: 's',
});
const make = (by: Api, attributes: Record<string, unknown>) => by.attempt('connections', { ...oidc(), ...attributes });
const change = (id: string, attributes: Record<string, unknown>) => api.update('connections', id, attributes);

test('an organization’s administrator takes no assertions of an issuer whose are taken, and the first goes on (attack 43.1604)', async () => {
  const own = 'https://own-idp.example';
  const disabled = (await make(api, { issuer, assertions: 'on', status: 'disabled' })).body['data'].id as string;
  const other = (await make(api, { issuer: own, assertions: 'on' })).body['data'].id as string;
  const answers = [
    await make(api, { issuer, assertions: 'on' }),
    await make(api, { issuer: own, assertion_issuer: issuer, assertions: 'on', assertion_jwks_uri: 'https://own-idp.example/keys' }),
    await change(disabled, { status: 'enabled' }),
    await change(other, { assertion_issuer: issuer }),
  ];
  for (const { status, body } of answers) {
    expect([status, body['errors']]).toMatchObject([
      409,
      [{ code: 'already_exists', source: { pointer: expect.stringMatching(/^\/data\/attributes/) as string } }],
    ]);
    expect(JSON.stringify(body)).not.toMatch(/victim|customer/i);
  }
  expect(await findConnection(ctx.scope, theirs.id)).toMatchObject({ assertions: 'on', status: 'enabled' });
});

test('nor does an administrator of the environment by mistake; of another tenant of the issuer there may be one (specification 19.2.2)', async () => {
  const operator = await manage(service.url);
  expect((await make(operator, { issuer, assertions: 'on' })).status).toBe(409);
  expect((await make(api, { issuer, assertions: 'on', assertion_tenant: 'own' })).status).toBe(201);
  expect((await make(operator, { issuer, assertions: 'on', assertion_tenant: 'own' })).status).toBe(409);
  // Whatever else changes of the one that takes them isn't judged anew.
  const { id } = theirs;
  const renamed = await operator.update('connections', id, { display_name: 'Renamed' });
  expect(renamed.status).toBe(200);
  await operator.update('connections', id, { assertions: 'off' });
  expect((await make(operator, { issuer, assertions: 'on' })).status).toBe(201);
});
