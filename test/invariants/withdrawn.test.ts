import { describe, expect, test } from 'vitest';
import { removeApiResource } from '../../src/domain/api-resources/api-resources.js';
import { withdrawConsent } from '../../src/domain/grants/authorizations.js';
import { transaction } from '../../src/domain/context.js';
import { remove, update } from '../../src/db/scope.js';
import type { ApiResourceRow } from '../../src/db/tables/api_resources.js';
import type { ClientGrantRow } from '../../src/db/tables/client_grants.js';
import type { PermissionRow } from '../../src/db/tables/permissions.js';
import { deleteUser } from '../../src/db/tables/users.js';
import { addMachine, addClient, addGrant, addResource, addUser } from '../support/data.js';
import { authorizeCode, oauthPost, redeem, tokenRequest } from '../support/oauth.js';
import { contextOf, shared, sharedService } from '../support/shared-service.js';
import { signedIn } from '../support/signed-in.js';

const service = sharedService();
const ctx = contextOf(service);
const client = shared(() => addClient(ctx, { first_party: true }));
const user = shared(() => addUser(ctx));
const browser = shared(() => signedIn(service, user));

const introspect = async (token: string) => (await oauthPost(service.url, '/oauth/introspect', client, { token })).body;
const inactive = { active: false };

/** A machine with a grant for a resource of its own, and a token for it. */
async function machineWithToken(name: string, token_format: 'jwt' | 'opaque') {
  const resource = await addResource(ctx, { identifier: `https://api.example/${name}`, token_format });
  const machine = await addMachine(ctx, resource);
  const ask = () => tokenRequest(service.url, machine, { grant_type: 'client_credentials', resource: resource.identifier });
  return { resource, machine, ask, token: (await ask()).body.access_token };
}

describe('what is withdrawn stops working at once', () => {
  test('a code of a permission that the person took back gives nothing', async () => {
    const code = await authorizeCode(browser, client);
    await transaction(ctx, (tx) => withdrawConsent(tx, user.id, client.id));
    const answer = await redeem(service.url, client, code);
    expect([answer.status, answer.body.error]).toEqual([400, 'invalid_grant']);
  });

  test.each(['jwt', 'opaque'] as const)("a client's grant: its %s token is inactive, and there is no other", async (format) => {
    const { machine, ask, token } = await machineWithToken(`grant-${format}`, format);
    expect(await introspect(token)).toMatchObject({ active: true, scope: 'read write' });
    await transaction(ctx, (tx) => remove<ClientGrantRow>(tx.scope, 'client_grants', { client_id: machine.id }));
    expect(await introspect(token)).toEqual(inactive);
    expect((await ask()).body.error).toBe('invalid_target');
  });

  test('one scope of a grant: the token says less', async () => {
    const { machine, token } = await machineWithToken('scope', 'jwt');
    await transaction(ctx, (tx) => update<ClientGrantRow>(tx.scope, 'client_grants', { client_id: machine.id }, { scopes: ['read'] }));
    expect(await introspect(token)).toMatchObject({ active: true, scope: 'read' });
    await transaction(ctx, (tx) => update<ClientGrantRow>(tx.scope, 'client_grants', { client_id: machine.id }, { scopes: [] }));
    expect(await introspect(token)).toEqual(inactive);
  });

  test("a permission and a resource: machines' and people's tokens say less, then nothing", async () => {
    const { resource, token } = await machineWithToken('permission', 'opaque');
    const fields = { scope: 'openid read write', resource: resource.identifier };
    const own = (await redeem(service.url, client, await authorizeCode(browser, client, fields))).body.access_token;
    expect(await introspect(own)).toMatchObject({ active: true, scope: 'openid read write' });
    await transaction(ctx, (tx) => remove<PermissionRow>(tx.scope, 'permissions', { api_resource_id: resource.id, name: 'write' }));
    expect(await introspect(token)).toMatchObject({ active: true, scope: 'read' });
    expect(await introspect(own)).toMatchObject({ active: true, scope: 'openid read' });
    await transaction(ctx, (tx) => remove<ApiResourceRow>(tx.scope, 'api_resources', { id: resource.id }));
    expect([await introspect(token), await introspect(own)]).toEqual([inactive, inactive]);
  });

  test("a resource made again under the same identifier does not bring its predecessor's tokens back", async () => {
    const old = await machineWithToken('again', 'opaque');
    await transaction(ctx, (tx) => removeApiResource(tx, old.resource));
    service.clock.advance(2000);
    const resource = await addResource(ctx, { identifier: old.resource.identifier, token_format: 'opaque' });
    await addGrant(ctx, old.machine, resource);
    expect(await introspect(old.token)).toEqual(inactive);
    expect(await introspect((await old.ask()).body.access_token)).toMatchObject({ active: true });
  });

  test('a deleted user leaves no code and no token behind', async () => {
    const gone = await addUser(ctx);
    const other = await signedIn(service, gone);
    const { access_token } = (await redeem(service.url, client, await authorizeCode(other, client, { scope: 'openid offline_access' })))
      .body;
    await transaction(ctx, (tx) => deleteUser(tx.scope, gone.id));
    expect(await introspect(access_token)).toEqual(inactive);
    for (const table of ['authorization_codes', 'access_tokens', 'refresh_tokens']) {
      expect(await ctx.db.knex(table).where({ user_id: gone.id })).toEqual([]);
    }
  });
});
