// A provider's word makes an address verified, links an account and gives roles only where it is trusted and speaks for the domain.
import { beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { listIdentities } from '../../src/domain/connections/identities.js';
import { update } from '../../src/db/scope.js';
import type { ConnectionRow } from '../../src/db/tables/connections.js';
import { listRoleNamesOfUser } from '../../src/db/tables/roles.js';
import { findUser, findUserByEmailKey, type UserRow } from '../../src/db/tables/users.js';
import { uuidv7 } from '../../src/lib/random.js';
import { Browser } from '../support/browser.js';
import { addConnection } from '../support/connections.js';
import { addUser } from '../support/data.js';
import { giveTotp, totpCode } from '../support/factors.js';
import { manage } from '../support/management.js';
import { contextOf, shared, sharedManagedService } from '../support/shared-service.js';
import { codeOf, loginThrough } from '../support/sso.js';
import { ScriptedUpstream } from '../support/upstream-scripted.js';

const service = sharedManagedService();
const ctx = contextOf(service);
const upstream = ScriptedUpstream.shared();
/** Limited to its own domain by holders of everything, who trust it there. */
const limited = shared(() => addConnection(ctx, { issuer: upstream.url, domains: ['customer.example'] }));
let browser: Browser;

beforeAll(async () => {
  const admin = await manage(service.url);
  const role = await admin.create('roles', { name: 'desk', is_default: true });
  const [permission] = (await admin.get('/permissions?filter[name]=users:read')).body['data'] as { id: string }[];
  const given = await admin.post(`/roles/${role['id']}/relationships/permissions`, { data: [{ type: 'permission', id: permission?.id }] });
  expect(given.status).toBeLessThan(300);
});
beforeEach(() => {
  browser = new Browser(service.url);
});

async function set(connection: ConnectionRow, changes: Partial<ConnectionRow>): Promise<void> {
  await update<ConnectionRow>(ctx.scope, 'connections', { id: connection.id }, changes);
  ctx.cache.invalidate(ctx.environment.id, 'connections');
}

/** What the provider says of somebody: a subject of their own, and a verified address. */
function says(email: string): void {
  upstream.claims = { sub: `sub of ${email}`, email, email_verified: true };
}

async function registered(connection: ConnectionRow, email: string) {
  says(email);
  expect((await loginThrough(browser, connection)).status).toBe(303);
  const user = (await findUserByEmailKey(ctx.scope, email)) as UserRow;
  return { email_verified: user.email_verified, roles: await listRoleNamesOfUser(ctx.scope, user.id) };
}

describe('a connection that is limited to customer.example', () => {
  test.each(['ceo@bigbank.example', 'ceo@sub.customer.example', 'ceo@customer.example.bigbank.example'])(
    'makes no account of %s, however trusted it is (attack 14.910)',
    async (email) => {
      for (const trusted of [true, false]) {
        await set(limited, { trusted });
        says(email);
        const answer = await loginThrough(browser, limited);
        expect([answer.status, await codeOf(answer), browser.cookies.has('session')]).toEqual([403, 'sso_domain_not_allowed', false]);
      }
      await set(limited, { trusted: true });
      expect(await findUserByEmailKey(ctx.scope, email)).toBeNull();
    },
  );

  test('links nobody elsewhere, and does not learn who has an account (attacks 14.910 and 14.1094)', async () => {
    const email = `cfo-${uuidv7(1)}@bigbank.example`;
    const answers = async (asserted = email) => {
      says(asserted);
      const answer = await loginThrough(browser, limited);
      return [
        answer.status,
        (await answer.text()).replaceAll(/<input[^>]*>|[0-9a-f]{8}-[0-9a-f-]{27}/g, ''),
        browser.cookies.has('session'),
      ];
    };
    const unknown = await answers();
    expect(unknown).toMatchObject([403, expect.stringContaining('sso_domain_not_allowed'), false]);
    const user = await addUser(ctx, { email });
    expect(await answers()).toEqual(unknown);
    for (const changes of [{ email_verified: false }, { password_hash: null }, { status: 'blocked' }]) {
      await ctx.db.knex('users').where({ id: user.id }).update(changes);
      expect(await answers()).toEqual(unknown);
    }
    for (const account_linking of ['never', 'verified_email'] as const) {
      await set(limited, { account_linking });
      expect(await answers()).toEqual(unknown);
    }
    await ctx.db.knex('environments').where({ id: ctx.environment.id }).update({ registration_enabled: false });
    service.deps.cache.clear();
    expect(await answers(`nobody-${uuidv7(1)}@bigbank.example`)).toEqual(unknown);
    await ctx.db.knex('environments').where({ id: ctx.environment.id }).update({ registration_enabled: true });
    service.deps.cache.clear();
    expect(await listIdentities(ctx, user.id)).toEqual([]);
  });

  test('verifies its own, links them and gives them the default roles', async () => {
    expect(await registered(limited, 'ada@customer.example')).toEqual({ email_verified: true, roles: ['desk'] });
    const known = await addUser(ctx, { email: 'bob@customer.example' });
    says(known.email);
    expect((await loginThrough(new Browser(service.url), limited)).status).toBe(303);
    expect(await listIdentities(ctx, known.id)).toHaveLength(1);
  });

  test('whose person comes with another address later moves nothing here (attack 14.910)', async () => {
    await registered(limited, 'eve@customer.example');
    const user = (await findUserByEmailKey(ctx.scope, 'eve@customer.example')) as UserRow;
    upstream.claims = { ...upstream.claims, email: 'ceo@bigbank.example' };
    expect((await loginThrough(new Browser(service.url), limited)).status).toBe(303);
    expect(await findUser(ctx.scope, user.id)).toMatchObject({ email: 'eve@customer.example', email_verified: true });
    expect(await findUserByEmailKey(ctx.scope, 'ceo@bigbank.example')).toBeNull();
  });
});

test('a connection that nobody trusts neither verifies its own domain nor links there by its word (attack 14.912)', async () => {
  const untrusted = await addConnection(ctx, { issuer: upstream.url, domains: ['untrusted.example'], trusted: false });
  expect(await registered(untrusted, 'new@untrusted.example')).toEqual({ email_verified: false, roles: [] });
  const known = await addUser(ctx, { email: 'known@untrusted.example' });
  says(known.email);
  const asked = await loginThrough(new Browser(service.url), untrusted);
  expect([asked.status, (await asked.text()).includes('id="link-account"')]).toEqual([200, true]);
  expect(await listIdentities(ctx, known.id)).toEqual([]);
});

test('a domain stays that of its connection while that is disabled: no other one speaks for it (attack 14.1087)', async () => {
  const owner = await addConnection(ctx, { issuer: upstream.url, domains: ['bigbank.example'], status: 'disabled' });
  const general = await addConnection(ctx, { issuer: upstream.url });
  says('ceo@bigbank.example');
  const refused = await loginThrough(browser, general);
  expect([refused.status, await codeOf(refused)]).toEqual([403, 'sso_domain_not_allowed']);
  const known = await addUser(ctx, { email: 'cfo@bigbank.example' });
  says(known.email);
  expect((await loginThrough(browser, general)).status).toBe(403);
  expect(await listIdentities(ctx, known.id)).toEqual([]);
  await set(owner, { domains: [] });
  expect(await registered(general, 'ceo@bigbank.example')).toMatchObject({ email_verified: true });
});

test.each<[string, Partial<ConnectionRow>]>([
  ['the trust', { trusted: false }],
  ['the domain', { domains: ['other.example'] }],
])('a link by the word of a connection that loses %s before the second step is none (attack 14.913)', async (_what, change) => {
  const connection = await addConnection(ctx, { issuer: upstream.url, domains: ['half.example'] });
  const user = await addUser(ctx, { email: `ada-${uuidv7(1)}@half.example` });
  const { secret } = await giveTotp(ctx, user.id);
  service.clock.advance(60_000);
  says(user.email);
  const first = await loginThrough(browser, connection);
  expect(first.headers.get('location')).toContain('/login/verify');
  await set(connection, change);
  const code = { method: 'totp', code: totpCode(secret, service.clock.now()) };
  expect((await browser.postJson('/login/verify', code, { origin: service.url })).status).toBe(410);
  expect(await listIdentities(ctx, user.id)).toEqual([]);
  await set(connection, { domains: [] });
});
