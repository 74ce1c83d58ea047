// What changes between a provider's word and the second step: the account there, the profile and the sign-in itself are settled by what holds in the end.
import { afterAll, beforeAll, expect, test } from 'vitest';
import { shared, sharedService } from '../support/shared-service.js';
import { linkIdentity, listIdentities, unlinkIdentity } from '../../src/domain/connections/identities.js';
import { deleteConnection, updateConnection, type ConnectionRow } from '../../src/db/tables/connections.js';
import { updateIdentity, type IdentityRow } from '../../src/db/tables/identities.js';
import { findUser, type UserRow } from '../../src/db/tables/users.js';
import { permit } from '../support/administrators.js';
import { Browser } from '../support/browser.js';
import { addConnection } from '../support/connections.js';
import { addTwoStepUser, totpCode } from '../support/factors.js';
import { loginThrough } from '../support/sso.js';
import { ScriptedUpstream } from '../support/upstream-scripted.js';

let upstream: ScriptedUpstream;

const service = sharedService();
const ctx = shared(() => service.context());
beforeAll(async () => {
  upstream = await ScriptedUpstream.start();
});
afterAll(async () => upstream?.close());

/** Who is half signed in through the connection, whose profile there differs; `whole` gives the second step and says whether it signs in. */
async function halfThrough(connection: ConnectionRow, { user, secret }: { user: UserRow; secret: string }) {
  upstream.claims = { sub: user.id, email: user.email, email_verified: true, given_name: 'New' };
  const browser = new Browser(service.url);
  expect((await loginThrough(browser, connection)).headers.get('location')).toBe('/login/verify');
  const whole = async () => {
    const code = totpCode(secret, service.clock.now());
    const { status } = await browser.postJson('/login/verify', { method: 'totp', code });
    expect((await browser.get('/account')).status).toBe(status === 200 ? 200 : 303);
    return status;
  };
  const kept = async () => ({
    first_name: (await findUser(ctx.scope, user.id))?.first_name,
    used: (await listIdentities(ctx, user.id)).map(({ last_login_at }) => last_login_at !== null),
  });
  return { whole, kept };
}

/** The answer to the second step, and what is stored of the person and the account there. */
type Settled = { readonly status: 200 | 410; readonly first_name: string; readonly used: boolean[] };
type Linked = { readonly connection: ConnectionRow; readonly identity: IdentityRow; readonly user: UserRow };

test.each<[string, (linked: Linked) => Promise<unknown>, Settled]>([
  ['left as it was', async () => {}, { status: 200, first_name: 'New', used: [true] }],
  [
    'told to leave profiles alone',
    ({ connection: { id } }) => updateConnection(ctx.scope, id, { profile_sync: 'never' }),
    { status: 200, first_name: 'Old', used: [true] },
  ],
  [
    'disabled',
    ({ connection: { id } }) => updateConnection(ctx.scope, id, { status: 'disabled' }),
    { status: 410, first_name: 'Old', used: [false] },
  ],
  [
    'led elsewhere',
    ({ connection: { id } }) => updateConnection(ctx.scope, id, { issuer: 'https://elsewhere.example' }),
    { status: 410, first_name: 'Old', used: [false] },
  ],
  ['deleted', ({ connection: { id } }) => deleteConnection(ctx.scope, id), { status: 410, first_name: 'Old', used: [] }],
  [
    'unlinked from the account',
    ({ user, identity }) => unlinkIdentity(ctx, { user_id: user.id, identity_id: identity.id }),
    { status: 410, first_name: 'Old', used: [] },
  ],
  [
    'no longer proven',
    ({ identity: { id } }) => updateIdentity(ctx.scope, { id }, { generation: 0 }),
    { status: 410, first_name: 'Old', used: [false] },
  ],
])(
  'a connection that is %s between the two steps: what it tells of the person, and whether it signs in (attacks 25.1121, 25.1129)',
  async (_how, change, expected) => {
    const connection = await addConnection(ctx, { issuer: upstream.url, profile_sync: 'on_login' });
    const somebody = await addTwoStepUser(service, { first_name: 'Old' });
    const { user } = somebody;
    const account = { connection_id: connection.id, subject: user.id, email: null, claims: {}, generation: 1 };
    const identity = await linkIdentity(ctx, user.id, account);
    const { whole, kept } = await halfThrough(connection, somebody);
    await change({ connection, identity, user });
    expect({ status: await whole(), ...(await kept()) }).toEqual(expected);
  },
);

test.each<[string, (connection: ConnectionRow, user: UserRow) => Promise<unknown>, Settled]>([
  ['nothing', async () => {}, { status: 200, first_name: 'New', used: [true] }],
  [
    'that its word links nobody any more',
    ({ id }) => updateConnection(ctx.scope, id, { account_linking: 'ask' }),
    { status: 410, first_name: 'Old', used: [] },
  ],
  [
    'that its word proves no address any more',
    ({ id }) => updateConnection(ctx.scope, id, { trusted: false }),
    { status: 410, first_name: 'Old', used: [] },
  ],
  [
    'that the person administers by now',
    async (_connection, { id }) => permit(ctx, id, 'users:read'),
    { status: 410, first_name: 'Old', used: [] },
  ],
])('linking by the word of a provider, and between the two steps %s (attacks 25.1122, 25.1129)', async (_how, change, expected) => {
  const connection = await addConnection(ctx, { issuer: upstream.url, profile_sync: 'on_login' });
  const somebody = await addTwoStepUser(service, { first_name: 'Old' });
  const { whole, kept } = await halfThrough(connection, somebody);
  await change(connection, somebody.user);
  expect({ status: await whole(), ...(await kept()) }).toEqual(expected);
});
