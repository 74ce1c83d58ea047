// Authorizations at the Management API, and who marks and owns agents (specification 19.4, 19.5).
import { beforeAll, expect, test } from 'vitest';
import { giveConsent } from '../../src/domain/grants/consents.js';
import { addClient, addEnvironment, addUser } from '../support/data.js';
import { Api, link, manage, managementClient, managementToken, type ApiAnswer } from '../support/management.js';
import { contextOf, shared, sharedManagedService } from '../support/shared-service.js';

const service = sharedManagedService();
const ctx = contextOf(service);
let api: Api;
beforeAll(async () => void (api = await manage(service.url)));

const user = shared(() => addUser(ctx));
const agent = shared(() => addClient(ctx, { is_agent: true, first_party: false }));
const only = async (scope: string) => new Api(service.url, await managementToken(service.url, managementClient, { scope }));
const code = ({ status, body }: ApiAnswer) => [status, body['errors']?.[0].code];
const allow = (of = ctx, user_id = user.id, client_id = agent.id) =>
  giveConsent(of, { user_id, client_id, scopes: ['openid', 'email'], resource: null });
const listed = async (query = '') => (await api.get(`/authorizations?filter[user]=${user.id}${query}`)).body['data'] as { id: string; attributes: object }[]; // prettier-ignore

test('is listed, filtered, revoked, blocked and unblocked (specification 19.5.2)', async () => {
  await allow();
  const [one] = await listed();
  expect(one?.attributes).toMatchObject({
    origin: 'person',
    status: 'active',
    scopes: ['openid', 'email'],
    resource_scopes: { '': ['openid', 'email'] },
  });
  const at = (ms: number) => encodeURIComponent(new Date(ctx.clock.now().getTime() + ms).toISOString());
  for (const [query, count] of [['&filter[origin]=person', 1], ['&filter[origin]=employer', 0], ['&filter[status]=blocked', 0], [`&filter[client]=${agent.id}`, 1], [`&filter[unused_since]=${at(-60_000)}`, 0], [`&filter[unused_since]=${at(60_000)}`, 1]] as const)
    expect([query, await listed(query)]).toEqual([query, expect.objectContaining({ length: count })]); // prettier-ignore
  expect((await api.get('/authorizations?filter[unused_since]=never')).status).toBe(400);
  const path = `/authorizations/${one?.id}`;
  expect(code(await api.patch(`${path}/unblock`))).toEqual([409, 'invalid_transition']);
  expect((await api.patch(`${path}/block`)).body['data'].attributes).toMatchObject({ status: 'blocked' });
  expect((await api.get(`/consents?filter[user]=${user.id}`)).body['data']).toEqual([]);
  expect((await api.patch(`${path}/unblock`)).body['data'].attributes).toMatchObject({ status: 'active', blocked_at: null });
  await allow();
  expect((await api.patch(`${path}/revoke`)).status).toBe(200);
  for (const event of ['authorization.blocked', 'authorization.unblocked', 'consent.withdrawn'])
    expect((await api.get(`/security_events?filter[event]=${event}`)).body['data']).toHaveLength(1);
  expect((await api.get(path)).status).toBe(404);
  for (const method of ['post', 'delete'] as const)
    expect((await api[method](method === 'post' ? '/authorizations' : path, {} as never)).status).toBe(405);
});

test('of another environment there is none, and reading changes none (attack 53.1645)', async () => {
  const other = await addEnvironment(service.deps, 'afar');
  const [stranger, client] = [await addUser(other), await addClient(other)];
  await allow(other, stranger.id, client.id);
  const [{ id }] = (await other.db.knex('authorizations').where({ user_id: stranger.id })) as [{ id: string }];
  for (const verb of ['revoke', 'block', 'unblock']) expect((await api.patch(`/authorizations/${id}/${verb}`)).status).toBe(404);
  await allow();
  const [own] = await listed();
  const reader = await only('users:read');
  for (const verb of ['revoke', 'block', 'unblock']) expect((await reader.patch(`/authorizations/${own?.id}/${verb}`)).status).toBe(403);
});

test('a narrow administrator marks and owns nothing that reaches further, and lifts no block of who may do more (attack 53.1648)', async () => {
  const wide = await addClient(ctx, { grant_types: ['client_credentials'] });
  const resource = (
    (await api.get('/api_resources?page[size]=100')).body['data'] as { id: string; attributes: { is_system: boolean } }[]
  ).find(({ attributes }) => attributes.is_system)?.id as string;
  await api.create(
    'client_grants',
    { scopes: ['roles:write'] },
    { client: link('client', wide.id), api_resource: link('api_resource', resource) },
  );
  const narrow = await only('clients:write clients:read users:read users:write');
  const change = (attributes: object, relationships?: object) => narrow.update('clients', wide.id, attributes, relationships);
  expect(code(await change({ is_agent: true }))).toEqual([403, 'scope_escalation']);
  expect(code(await change({}, { owner: link('user', user.id) }))).toEqual([403, 'scope_escalation']);
  const answer = await api.update('clients', wide.id, { is_agent: true }, { owner: link('user', user.id) });
  expect(answer.body['data']).toMatchObject({ attributes: { is_agent: true }, relationships: { owner: link('user', user.id) } });
  expect((await api.get('/clients?filter[is_agent]=true')).body['data'].map(({ id }: { id: string }) => id)).toContain(wide.id);
});
