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
    ['the session is good for an organization alone', (user_id) => ctx.scope.knex('sessions').where({ user_id }).update({ has_local_login: false })], // prettier-ignore
    ['the person is blocked', (user_id) => ctx.scope.knex('users').where({ id: user_id }).update({ status: 'blocked' })],
  ];
  const begun = async () => {
    const user = await addUser(ctx);
    await permit(ctx, user.id, 'audit_logs:read');
    const browser = await signedIn(service, user);
    return { user, answer: await browser.get('/dashboard/audit_logs/export?format=ndjson&action=user.updated') };
  };

  test('is whole while its reader may have it, who counts as active while they read', async () => {
    const { user, answer } = await begun();
    const sessions = ctx.scope.knex('sessions').where({ user_id: user.id });
    const last_activity_at = new Date(ctx.clock.now().getTime() - 120_000);
    expect(await readAround(answer, () => sessions.clone().update({ last_activity_at }))).toBeGreaterThan(rows * pieces * long);
    expect(await sessions.clone().where('last_activity_at', '>', last_activity_at)).toHaveLength(1);
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

  const takes = 'user_exports:read user_exports:write users:read roles:read';

  test('is whole while its reader may have it', async () => {
    expect(await readAround(await fetchData(await manage(service.url, takes)), nothing)).toBeGreaterThan(1100 * 40_000);
  });

  test.each([
    ['users:read', 'scope_escalation'],
    ['user_exports:read', 'insufficient_scope'],
  ])('breaks off when the client loses %s (attack 73.1982)', async (lost, reason) => {
    const api = await manage(service.url, takes);
    const grant = (await ctx.scope.knex('client_grants').where({ client_id: managementClient.id }).first()) as {
      id: string;
      scopes: string[];
    };
    const answer = await fetchData(api);
    const all = await manage(service.url);
    const change = (scopes: readonly string[]) => all.update('client_grants', grant.id, { scopes });
    expect(await readAround(answer, () => change(grant.scopes.filter((one) => one !== lost)))).toBeNull();
    const denied = await ctx.scope.knex('audit_logs').where({ action: 'user_export.downloaded', outcome: 'denied', reason });
    expect(denied).toMatchObject([{ actor_id: managementClient.id }]);
    // Nobody hands out what they have lost: put back where it is stored, which processes are told of.
    await ctx.scope.knex('client_grants').where({ id: grant.id }).update({ scopes: grant.scopes });
    await expect.poll(() => manage(service.url, takes).then(() => true, () => false)).toBe(true); // prettier-ignore
  });
});
