import { expect, test } from 'vitest';
import { listIdentities, linkIdentity, unlinkIdentity } from '../../src/domain/connections/identities.js';
import { findConnection, listEnabledConnections } from '../../src/db/tables/connections.js';
import { findIdentity, insertIdentity, listIdentitiesOfUser, removeIdentity, updateIdentity } from '../../src/db/tables/identities.js';
import { insertSsoFlow, redeemSsoFlow } from '../../src/db/tables/sso_flows.js';
import { lockUser } from '../../src/db/tables/users.js';
import { digest } from '../../src/lib/digest.js';
import { addConnection } from '../support/connections.js';
import { addEnvironment, addUser } from '../support/data.js';
import { contextOf, sharedService } from '../support/shared-service.js';

const service = sharedService();
const ctx = contextOf(service);

const account = (connection_id: string, subject: string) => ({
  connection_id,
  subject,
  email: 'ada@corp.example',
  claims: {},
  generation: 1,
});

test('an identity is unlinked, but never the last way in', async () => {
  const [one, other] = [await addConnection(ctx), await addConnection(ctx)];
  const user = await addUser(ctx, { password_hash: null });
  const first = await linkIdentity(ctx, user.id, account(one.id, 's'));
  const second = await linkIdentity(ctx, user.id, account(other.id, 's'));
  expect((await listIdentities(ctx, user.id)).map(({ id }) => id)).toEqual([first.id, second.id]);
  expect(await unlinkIdentity(ctx, { user_id: user.id, identity_id: first.id })).toBe('unlinked');
  expect(await unlinkIdentity(ctx, { user_id: user.id, identity_id: first.id })).toBe('not_found');
  expect(await unlinkIdentity(ctx, { user_id: user.id, identity_id: second.id })).toBe('last_way_in');
});

test('two identities unlinked at the same moment: one stays', async () => {
  const [one, other] = [await addConnection(ctx), await addConnection(ctx)];
  const user = await addUser(ctx, { password_hash: null });
  const ids = [(await linkIdentity(ctx, user.id, account(one.id, 't'))).id, (await linkIdentity(ctx, user.id, account(other.id, 't'))).id];
  const outcomes = await Promise.all(ids.map((identity_id) => unlinkIdentity(ctx, { user_id: user.id, identity_id })));
  expect(outcomes.toSorted()).toEqual(['last_way_in', 'unlinked']);
});

test('with a password the only identity can go; a disabled connection is no way in', async () => {
  const [one, off] = [await addConnection(ctx), await addConnection(ctx, { status: 'disabled' })];
  const withPassword = await addUser(ctx);
  const only = await linkIdentity(ctx, withPassword.id, account(one.id, 'u'));
  expect(await unlinkIdentity(ctx, { user_id: withPassword.id, identity_id: only.id })).toBe('unlinked');
  const without = await addUser(ctx, { password_hash: null });
  const usable = await linkIdentity(ctx, without.id, account(one.id, 'v'));
  await linkIdentity(ctx, without.id, account(off.id, 'v'));
  expect(await unlinkIdentity(ctx, { user_id: without.id, identity_id: usable.id })).toBe('last_way_in');
});

test("another user's and another environment's identity is not found", async () => {
  const connection = await addConnection(ctx);
  const [user, stranger] = [await addUser(ctx), await addUser(ctx)];
  const identity = await linkIdentity(ctx, user.id, account(connection.id, 'w'));
  expect(await unlinkIdentity(ctx, { user_id: stranger.id, identity_id: identity.id })).toBe('not_found');
  const elsewhere = await addEnvironment(service.deps, 'other');
  expect(await unlinkIdentity(elsewhere, { user_id: user.id, identity_id: identity.id })).toBe('not_found');
  expect(await listIdentities(elsewhere, user.id)).toEqual([]);
});

test('every table function, called from a second environment, finds nothing and changes nothing', async () => {
  const { scope } = await addEnvironment(service.deps, 'third');
  const connection = await addConnection(ctx);
  const user = await addUser(ctx);
  const identity = await linkIdentity(ctx, user.id, account(connection.id, 'x'));
  const expires_at = new Date(ctx.clock.now().getTime() + 60_000);
  const flow = {
    state_digest: digest('state'),
    browser_digest: digest('browser'),
    connection_id: connection.id,
    content_sealed: Buffer.alloc(1),
    expires_at,
  };
  await insertSsoFlow(ctx.scope, flow);
  expect(await findConnection(scope, connection.id)).toBeNull();
  expect(await listEnabledConnections(scope)).toEqual([]);
  expect(await findIdentity(scope, connection.id, 'x')).toBeNull();
  expect(await listIdentitiesOfUser(scope, user.id)).toEqual([]);
  expect(await updateIdentity(scope, { id: identity.id }, { email: 'eve@corp.example' })).toBeNull();
  expect(await removeIdentity(scope, user.id, identity.id)).toBe(false);
  expect(await lockUser(scope, user.id)).toBeNull();
  const redeem = (from: typeof scope) => redeemSsoFlow(from, flow.state_digest, flow.browser_digest, ctx.clock.now());
  expect(await redeem(scope)).toBeNull();
  expect(await redeem(ctx.scope)).toMatchObject({ connection_id: connection.id });
  await expect(insertIdentity(scope, { ...identity, environment_id: scope.environment_id })).rejects.toMatchObject({ sqlstate: '23503' });
});
