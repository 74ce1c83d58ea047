// Clients that are pinged hear of answers (CIBA Core 1.0 10.2), and of nothing else.
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import type { UserRow } from '../../src/db/tables/users.js';
import { endApprovals } from '../../src/db/tables/approvals.js';
import { approvalPathIn, asking, askFor, decide, freshlySignedIn, pollApproval } from '../support/approvals.js';
import { addClient, addUser, type TestClient } from '../support/data.js';
import { startReceiver, type Receiver } from '../support/receiver.js';
import { startTestService } from '../support/service.js';
import { contextOf, sharedService } from '../support/shared-service.js';

const service = sharedService();
const ctx = contextOf(service);
let receiver: Receiver;
let agent: TestClient;
let user: UserRow;

beforeAll(async () => {
  receiver = await startReceiver();
});
afterAll(() => receiver?.close());
beforeEach(async () => {
  user = await addUser(ctx);
  receiver.posts.length = 0;
  receiver.reply(204);
  agent = await pinged(receiver.url);
});

const pinged = (backchannel_client_notification_endpoint: string) =>
  addClient(ctx, {
    ...asking,
    backchannel_users: 'any',
    first_party: false,
    backchannel_token_delivery_mode: 'ping',
    backchannel_client_notification_endpoint,
  });
const ask = (fields: Record<string, string> = { client_notification_token: 'secret-of-ours' }, client = agent) =>
  askFor(service.url, client, { login_hint: user.email, ...fields });
async function asked(client = agent): Promise<string> {
  const { body } = await ask(undefined, client);
  return (body as { auth_req_id?: string }).auth_req_id ?? '';
}
async function answer(decision: string): Promise<void> {
  const path = await approvalPathIn(service.url, user);
  service.clock.advance(1000);
  expect((await decide(await freshlySignedIn(service, user), path, decision)).status).toBe(200);
}
const sealed = async () =>
  (await ctx.db.knex('approvals').where({ client_id: agent.id }).first('notification_sealed', 'next_attempt_at')) as object;

test.each(['allow', 'deny'])(
  'an answer (%s) is told with the token of the request, and the secret goes (CIBA Core 1.0 10.2)',
  async (decision) => {
    const auth_req_id = await asked();
    await answer(decision);
    const [post] = await receiver.received(1);
    expect(JSON.parse(post?.body ?? '')).toEqual({ auth_req_id });
    expect([post?.headers.authorization, post?.headers['content-type']]).toEqual(['Bearer secret-of-ours', 'application/json']);
    await expect.poll(sealed).toEqual({ notification_sealed: null, next_attempt_at: null });
    expect((await pollApproval(service.url, agent, auth_req_id)).status).toBe(decision === 'allow' ? 200 : 400);
  },
);

test('what was ended is told too', async () => {
  const auth_req_id = await asked();
  const { id } = (await ctx.db.knex('approvals').where({ client_id: agent.id }).first('id')) as { id: string };
  await endApprovals(ctx.scope, { id }, service.clock.now());
  await receiver.received(1);
  expect((await pollApproval(service.url, agent, auth_req_id)).body.error).toBe('expired_token');
});

test('the token is compulsory for a client that is pinged, and a bearer token', async () => {
  for (const fields of [{}, { client_notification_token: 'two words' }, { client_notification_token: 'x'.repeat(1025) }])
    expect((await ask(fields as Record<string, string>)).body.error).toBe('invalid_request');
  expect(receiver.posts).toEqual([]);
});

test('a client that polls is told nothing', async () => {
  const polls = await addClient(ctx, { ...asking, backchannel_users: 'any', first_party: false });
  await asked(polls);
  await answer('allow');
  const row = await ctx.db.knex('approvals').where({ client_id: polls.id }).first();
  expect(row).toMatchObject({ notification_sealed: null, notification_endpoint: null, next_attempt_at: null });
});

test('one that fails is tried again, and no redirect is followed', async () => {
  receiver.reply((post, res) => res.writeHead(302, { location: `${receiver.url}/elsewhere` }).end());
  await asked();
  await answer('allow');
  await receiver.received(1);
  await expect.poll(sealed).toMatchObject({ next_attempt_at: expect.any(Date) as Date });
  expect(receiver.posts.map(({ path }) => path)).not.toContain('/elsewhere');
});

test('an endpoint in our network is not asked (attack 57.1771)', async () => {
  const guarded = await startTestService({ ALLOW_PRIVATE_NETWORK: 'off' });
  try {
    const there = await guarded.context();
    const person = await addUser(there);
    const client = await addClient(there, {
      ...asking,
      backchannel_users: 'any',
      first_party: false,
      backchannel_token_delivery_mode: 'ping',
      backchannel_client_notification_endpoint: receiver.url.replace('http:', 'https:'),
    });
    await askFor(guarded.url, client, { login_hint: person.email, client_notification_token: 'x' });
    const { id } = (await there.db.knex('approvals').where({ client_id: client.id }).first('id')) as { id: string };
    await endApprovals(there.scope, { id }, guarded.clock.now());
    const error = async () =>
      ((await there.db.knex('approvals').where({ id }).first('last_error')) as { last_error: string | null }).last_error;
    await expect.poll(error).toEqual(expect.stringMatching(/url|address/));
    expect(receiver.posts).toEqual([]);
  } finally {
    await guarded.stop();
  }
});
