// External servers in configuration documents, with the grants that let clients have assertions for them.
import { beforeAll, beforeEach, expect, test } from 'vitest';
import { applied, apply, exported, plan, problemsOf, told } from '../../support/configuration.js';
import { link, manage, type Document } from '../../support/management.js';
import { contextOf, sharedManagedService, shared } from '../../support/shared-service.js';
import type {} from '../../support/service.js';

const service = sharedManagedService();
const ctx = contextOf(service);
const api = shared(() => manage(service.url));
beforeAll(async () => {
  await applied(api, { version: 1, clients: [client], roles: [{ name: 'clerk' }] });
});
beforeEach(async () => {
  for (const name of ['external_servers', 'configurations']) await ctx.db.knex(name).delete();
});

const client = { client_id: 'desk', name: 'Desk', application_type: 'machine', grant_types: ['client_credentials'] };
const issuer = 'https://auth.tools.example';
const server: Document = { issuer, name: 'Tools', resources: [{ identifier: 'https://mcp.tools.example/', scopes: ['read', 'write'] }] };
const everybody = { client: 'desk', external_client_id: 'desk-there', scopes: ['read'] };
const clerks = { client: 'desk', external_client_id: 'desk-there', role: 'clerk' };
const document = (more: Document = {}): Document => ({ version: 1, external_servers: [{ ...server, ...more }] });
const grants = async () => ((await api.get('/outbound_grants?sort=created_at')).body['data'] ?? []) as Document[];
const changes = (meta: Document) => told({ body: { meta } } as never);

test('a server and its grants are applied together, and again without a change', async () => {
  const meta = await applied(api, document({ grants: [everybody, clerks], sign_in_client: 'desk' }));
  expect(changes(meta)).toEqual([
    `create external_server ${issuer}`,
    `create outbound_grant desk -> ${issuer}`,
    `create outbound_grant desk -> ${issuer} (clerk)`,
  ]);
  expect((await applied(api, document({ grants: [clerks, everybody], sign_in_client: 'desk' })))['changes']).toEqual([]);
  const known = (await exported(api))['external_servers'] as Document[];
  expect(known).toMatchObject([
    {
      issuer,
      sign_in_client: 'desk',
      grants: [
        { ...everybody, role: null },
        { ...clerks, scopes: null },
      ],
    },
  ]);
  expect(told(await plan(api, { version: 1, external_servers: known }, { prune: true }))).toEqual([]);
});

test('what is set back is the default, and what is absent is left alone', async () => {
  const more = { lifetime: 60, include_email: true, sign_in_client: 'desk' };
  await applied(api, document({ ...more, grants: [{ ...everybody, status: 'disabled', required_acr: '2' }] }));
  expect((await applied(api, document()))['changes']).toEqual([]);
  const back = { lifetime: null, include_email: null, sign_in_client: null };
  const meta = await applied(api, document({ ...back, grants: [{ client: 'desk', status: null, required_acr: null }] }));
  expect((meta['changes'] as Document[]).map(({ attributes }) => attributes)).toEqual([
    { lifetime: [60, 300], include_email: [true, false], sign_in_client: ['desk', null] },
    { status: ['disabled', 'enabled'], required_acr: ['2', null] },
  ]);
});

test('prune deletes what the lists do not have, but no grant for an organization or a group', async () => {
  await applied(api, document({ grants: [everybody, clerks] }));
  const [{ id: server_id } = {}] = (await api.get('/external_servers')).body['data'] as Document[];
  const organization = await api.create('organizations', { name: 'acme', display_name: 'Acme' });
  const ofAcme = { organization: link('organization', organization['id'] as string) };
  const named = { client: link('client', 'desk'), external_server: link('external_server', server_id as string), ...ofAcme };
  const kept = await api.create('outbound_grants', { external_client_id: 'desk' }, named);
  expect(changes(await applied(api, document({ grants: [everybody] }), { prune: true }))).toEqual([
    `delete outbound_grant desk -> ${issuer} (clerk)`,
  ]);
  expect((await grants()).map(({ id }) => id)).toContain(kept['id']);
  expect((await exported(api))['external_servers'][0].grants).toHaveLength(1);
  await api.create('outbound_grants', { external_client_id: 'x' }, { ...named, organization: { data: null } });
  const [drifted] = (await api.get('/config/drift')).body['meta'].changes as Document[];
  expect(drifted).toMatchObject({ action: 'create', kind: 'outbound_grant', key: `desk -> ${issuer}` });
  const all = await applied(api, { version: 1, external_servers: [] }, { prune: true });
  expect(changes(all)).toContain(`delete external_server ${issuer}`);
  expect(await grants()).toEqual([]);
});

test('what is wrong is told at its place, and nothing is done', async () => {
  const at = '/meta/document/external_servers/0';
  const nobody = {
    sign_in_client: 'nobody',
    grants: [
      { ...everybody, client: 'nobody' },
      { ...clerks, role: 'nobody' },
    ],
  };
  expect(problemsOf(await apply(api, document(nobody)))).toEqual([
    `related_not_found ${at}/sign_in_client`,
    `related_not_found ${at}/grants/0/client`,
    `related_not_found ${at}/grants/1/role`,
  ]);
  expect(problemsOf(await apply(api, document({ grants: [everybody, everybody] })))).toEqual([`duplicate_value ${at}/grants/1`]);
  expect(problemsOf(await apply(api, document({ grants: [{ client: 'desk' }] })))).toEqual([`required ${at}/grants/0`]);
  expect(problemsOf(await apply(api, document({ grants: [{ ...everybody, user: 'x' }] })))).toEqual([`unknown_member ${at}/grants/0/user`]);
  expect(problemsOf(await apply(api, document({ issuer: service.url })))).toEqual([`reserved_name ${at}/issuer`]);
  expect((await api.get('/external_servers')).body['data']).toEqual([]);
  await applied(api, document({ grants: [everybody] }));
  const [one] = await ctx.db.knex('outbound_grants').select();
  await ctx.db.knex('outbound_grants').insert({ ...one, id: crypto.randomUUID() });
  expect(problemsOf(await apply(api, document({ grants: [everybody] })))).toEqual([`ambiguous_name ${at}/grants/0`]);
});
