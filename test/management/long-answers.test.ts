// Files that are read slowly: whoever loses the right to them meanwhile gets no more of them (attack 73.1982).
import { beforeAll, describe, expect, test } from 'vitest';
import { manage, managementClient, type Api } from '../support/management.js';
import { addUser } from '../support/data.js';
import { permit } from '../support/administrators.js';
import { signedIn } from '../support/signed-in.js';
import { contextOf, sharedManagedService } from '../support/shared-service.js';

const service = sharedManagedService();
const ctx = contextOf(service);

/** So much in a piece that no buffer between the service and its reader takes it: the next one waits until it is read. */
const [rows, pieces] = [100, 3];
const long = 200_000;

beforeAll(async () => {
  const { environment_id } = ctx.scope;
  await ctx.scope.knex.raw(
    `insert into audit_logs (environment_id, id, occurred_at, action, outcome, actor_kind, actor_permissions, target_type, changes)
       select ?, gen_random_uuid(), now() - make_interval(secs => n), 'user.updated', 'success', 'system', '{}', 'user',
         jsonb_build_object('name', jsonb_build_array(null, repeat('x', ?::integer)))
       from generate_series(1, ?::integer) n`,
    [environment_id, long, rows * pieces],
  );
  await ctx.scope.knex.raw(
    `insert into users (environment_id, id, email, email_key, metadata, created_at, updated_at)
       select ?, gen_random_uuid(), n || '@example.com', n || '@example.com', jsonb_build_object('note', repeat('x', 40000)), now(), now()
       from generate_series(1, 1100) n`,
    [environment_id],
  );
});

/** The bytes of an answer that somebody begins to read before something happens; null: it broke off. */
async function readAround(answer: Response, happen: () => Promise<unknown>): Promise<number | null> {
  expect(answer.status).toBe(200);
  const reader = (answer.body as ReadableStream<Uint8Array>).getReader();
  let size = (await reader.read()).value?.length ?? 0;
  await happen();
  try {
    for (;;) {
      const { done, value } = await reader.read();
      if (done) return size;
      size += value.length;
    }
  } catch {
    return null;
  }
}

const nothing = async () => undefined;
const takeRoles = (user_id: string) => ctx.scope.knex('user_roles').where({ user_id }).delete();

describe('an export of the dashboard', () => {
  const cases: readonly (readonly [string, (user_id: string) => Promise<unknown>])[] = [
    ['the permission is withdrawn', takeRoles],
    ['the session is revoked', (user_id) => ctx.scope.knex('sessions').where({ user_id }).update({ revoked_at: new Date(), revoke_reason: 'admin' })], // prettier-ignore
    ['the person is blocked', (user_id) => ctx.scope.knex('users').where({ id: user_id }).update({ status: 'blocked' })],
  ];
  const begun = async () => {
    const user = await addUser(ctx);
    await permit(ctx, user.id, 'audit_logs:read');
    const browser = await signedIn(service, user);
    return { user, answer: await browser.get('/dashboard/audit_logs/export?format=ndjson&action=user.updated') };
  };

  test('is whole while its reader may have it', async () => {
    const { answer } = await begun();
    expect(await readAround(answer, nothing)).toBeGreaterThan(rows * pieces * long);
  });

  test.each(cases)('breaks off when %s (attack 73.1982)', async (_what, happen) => {
    const { user, answer } = await begun();
    expect(await readAround(answer, () => happen(user.id))).toBeNull();
  });
});

describe('the file of all users', () => {
  const fetchData = async (api: Api) => {
    const { id } = await api.create('user_exports', {});
    return fetch(`${service.url}/api/user_exports/${id}/data`, { headers: { authorization: `Bearer ${api.token}` } });
  };

  test('is whole while its reader may have it, and breaks off when the client loses what it takes (attack 73.1982)', async () => {
    const api = await manage(service.url, 'user_exports:read user_exports:write users:read roles:read');
    expect(await readAround(await fetchData(api), nothing)).toBeGreaterThan(1100 * 40_000);
    const grant = (await ctx.scope.knex('client_grants').where({ client_id: managementClient.id }).first()) as {
      id: string;
      scopes: string[];
    };
    const answer = await fetchData(api);
    const all = await manage(service.url);
    const scopes = grant.scopes.filter((one) => one !== 'users:read');
    expect(await readAround(answer, () => all.update('client_grants', grant.id, { scopes }))).toBeNull();
    const [entry] = await ctx.scope.knex('audit_logs').where({ action: 'user_export.downloaded', outcome: 'denied' });
    expect(entry).toMatchObject({ reason: 'scope_escalation', actor_id: managementClient.id });
  });
});
