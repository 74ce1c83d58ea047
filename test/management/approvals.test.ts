// Approvals as administrators see them, and the settings of clients that ask people elsewhere.
import { beforeAll, beforeEach, expect, test } from 'vitest';
import type { UserRow } from '../../src/db/tables/users.js';
import { cibaGrantType } from '../../src/lib/grant-types.js';
import { approvalPathIn, asking, askOf, decide, freshlySignedIn, pollApproval } from '../support/approvals.js';
import { addClient, addEnvironment, addUser, type TestClient } from '../support/data.js';
import { setEnvironment } from '../support/factors.js';
import { manage } from '../support/management.js';
import { contextOf, shared, sharedManagedService } from '../support/shared-service.js';

const service = sharedManagedService();
const ctx = contextOf(service);
const agent = shared(() => addClient(ctx, { ...asking, backchannel_users: 'any', first_party: false })) as TestClient;
let api: Awaited<ReturnType<typeof manage>>;
let user: UserRow;

beforeAll(async () => {
  api = await manage(service.url);
});
beforeEach(async () => {
  user = await addUser(ctx);
});

const ask = () => askOf(service.url, agent, { login_hint: user.email, binding_message: 'Deploy', scope: 'openid email' });
const listed = async (query = '') =>
  (await api.get(`/approvals?filter[user]=${user.id}${query}`)).body['data'] as { id: string; attributes: Record<string, unknown> }[];

test('they are listed with what was asked and what came of it, by person, client, status and time', async () => {
  const auth_req_id = await ask();
  const [one] = await listed(`&filter[client]=${agent.id}&filter[status]=pending`);
  expect(one?.attributes).toMatchObject({
    binding_message: 'Deploy',
    scopes: ['openid', 'email'],
    acr: null,
    status: 'pending',
    muted: false,
  });
  expect(JSON.stringify(one)).not.toContain(auth_req_id);
  service.clock.advance(1000);
  await decide(await freshlySignedIn(service, user), await approvalPathIn(service.url, user), 'allow');
  expect((await listed('&filter[status]=approved'))[0]?.attributes).toMatchObject({ status: 'approved', acr: '2' });
  expect(await listed('&filter[status]=pending,expired,refused')).toEqual([]);
  expect((await api.get('/approvals?filter[status]=maybe')).status).toBe(400);
});

test('one that waits can be cancelled, once; nothing else can be done', async () => {
  const auth_req_id = await ask();
  const [one] = await listed();
  const path = `/approvals/${one?.id}`;
  for (const method of ['post', 'patch', 'delete'] as const)
    expect((await api[method](method === 'post' ? '/approvals' : path, {} as never)).status).toBe(405);
  expect((await api.patch(`${path}/cancel`)).body['data'].attributes).toMatchObject({ status: 'expired' });
  expect((await pollApproval(service.url, agent, auth_req_id)).body.error).toBe('expired_token');
  expect((await api.patch(`${path}/cancel`)).status).toBe(409);
});

test('another environment’s are not there', async () => {
  const other = await addEnvironment(service.deps, 'approvals-elsewhere');
  await ask();
  const [one] = await listed();
  const there = await manage(`${service.url}/e/${other.environment.slug}`).catch(() => null);
  expect((await there?.get(`/approvals/${one?.id}`))?.status ?? 404).toBe(404);
});

const create = (attributes: object) =>
  api.attempt('clients', { name: 'Asks', application_type: 'machine', grant_types: [cibaGrantType], ...attributes });
const codesOf = ({ status, body }: { status: number; body: Record<string, unknown> }) => [
  status,
  ...((body['errors'] as { code: string; source?: { pointer?: string } }[] | undefined) ?? []).map(
    ({ code, source }) => `${code} ${source?.pointer?.split('/').at(-1)}`,
  ),
];

test('a client is asked how it hears of answers and whom it may ask (CIBA Core 1.0 4)', async () => {
  const made = await create({});
  expect(made.body['data'].attributes).toMatchObject({
    backchannel_token_delivery_mode: 'poll',
    backchannel_client_notification_endpoint: null,
    backchannel_users: 'known',
  });
  const ping = { backchannel_token_delivery_mode: 'ping' };
  expect(codesOf(await create(ping))).toEqual([422, expect.stringContaining('required')]);
  expect(codesOf(await create({ ...ping, backchannel_client_notification_endpoint: 'ftp://x.example' }))).toEqual([
    422,
    'invalid_url backchannel_client_notification_endpoint',
  ]);
  expect((await create({ ...ping, backchannel_client_notification_endpoint: 'https://agent.example/ping' })).status).toBe(201);
  expect(codesOf(await create({ backchannel_token_delivery_mode: 'push' }))[0]).toBe(422);
  const open = { application_type: 'native', token_endpoint_auth_method: 'none' };
  expect(codesOf(await create(open))).toEqual([422, expect.stringContaining('grant_not_allowed')]);
});

test('a client that registers itself needs leave for the grant, and may choose how it hears of answers', async () => {
  await setEnvironment(service, { client_registration_policy: 'open' });
  const register = (token: string | null, more: object = {}) =>
    fetch(`${service.url}/oauth/register`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', ...(token !== null && { authorization: `Bearer ${token}` }) },
      body: JSON.stringify({ client_name: 'Asks', grant_types: [cibaGrantType], response_types: [], ...more }),
    });
  expect((await register(null)).status).toBe(400);
  const made = await api.attempt('registration_tokens', { name: 'Agents', grant_types: [cibaGrantType] });
  const token = made.body['data'].attributes['token'] as string;
  const ping = { backchannel_token_delivery_mode: 'ping', backchannel_client_notification_endpoint: 'https://agent.example/ping' };
  const answer = await register(token, ping);
  expect([answer.status, await answer.json()]).toMatchObject([201, { grant_types: [cibaGrantType], ...ping }]);
});
