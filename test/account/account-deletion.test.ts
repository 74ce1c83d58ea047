import { beforeAll, describe, expect, test } from 'vitest';
import { findUser, updateUser, type UserRow } from '../../src/db/tables/users.js';
import { administratorRole } from '../../src/domain/reach/management-permissions.js';
import { addUserRoles, findRoleByName } from '../../src/db/tables/roles.js';
import { accountDeletionPass } from '../../src/jobs/account-deletions.js';
import { Browser, csrfOf } from '../support/browser.js';
import { addUser, password } from '../support/data.js';
import { eventsOf, subscribe } from '../support/events.js';
import { mailTo } from '../support/mailbox.js';
import { auditRows } from '../support/security-events.js';
import { sharedService } from '../support/shared-service.js';
import { setEnvironment } from '../support/signed-in.js';

const service = sharedService();
const dayMs = 86_400_000;

beforeAll(async () => {
  await subscribe(service, ['user.deleted']);
});

async function signedIn(user: UserRow): Promise<Browser> {
  const browser = new Browser(service.url);
  expect((await browser.login(user.email, password)).status).toBe(303);
  return browser;
}

const newUser = async (row: Partial<UserRow> = {}) => addUser(await service.context(), row);
const stored = async ({ id }: UserRow) => findUser((await service.context()).scope, id);
const pass = async () => accountDeletionPass(service.deps);
const subjectsTo = async (user: UserRow) => (await mailTo(service.url, user.email)).map(({ text }) => text);

async function leave(browser: Browser): Promise<{ status: number; body: Record<string, unknown> }> {
  const response = await browser.postJson('/account/delete', {});
  return { status: response.status, body: (await response.json()) as Record<string, unknown> };
}

describe('specification 4.14', () => {
  test('deleting the own account signs out everywhere; the account is gone thirty days later (specification 4.14.1)', async () => {
    const user = await newUser();
    const [browser, elsewhere] = [await signedIn(user), await signedIn(user)];
    const { status, body } = await leave(browser);
    expect(status).toBe(200);
    expect(Math.round((Date.parse(String(body['deletion_due_at'])) - service.clock.now().getTime()) / dayMs)).toBe(30);
    for (const one of [browser, elsewhere]) expect((await one.get('/account', { accept: 'application/json' })).status).toBe(401);
    expect(await pass()).toBe(0);
    service.clock.advance(30 * dayMs);
    expect(await pass()).toBe(1);
    expect(await stored(user)).toBeNull();
    expect((await eventsOf(service, user.id)).at(-1)).toMatchObject({
      event: 'user.deleted',
      data: { id: user.id, deleted_by: { actor_kind: 'system' } },
    });
    const texts = await subjectsTo(user);
    expect(texts[0]).toContain('has been deleted');
    expect(texts[1]).toContain('30 days');
    expect((await auditRows(service, 'account.deleted')).map(({ target_id }) => target_id)).toContain(user.id);
  });

  test('signing in before then keeps the account, and says so by mail (attack 13.1300) (specification 4.14.2)', async () => {
    const user = await newUser();
    await leave(await signedIn(user));
    service.clock.advance(29 * dayMs);
    const back = await signedIn(user);
    expect(await (await back.get('/account', { accept: 'application/json' })).json()).toMatchObject({ user: { deletion_due_at: null } });
    service.clock.advance(2 * dayMs);
    expect(await pass()).toBe(0);
    expect(await stored(user)).not.toBeNull();
    expect((await subjectsTo(user))[0]).toContain('was canceled');
    expect((await auditRows(service, 'account.deletion_cancelled')).map(({ target_id }) => target_id)).toContain(user.id);
  });

  test('a session that was confirmed too long ago deletes nothing (attack 13.1300)', async () => {
    const user = await newUser();
    const browser = await signedIn(user);
    service.clock.advance(3_600_000);
    expect(await leave(browser)).toMatchObject({ status: 403, body: { error: 'confirmation_required' } });
    expect((await stored(user))?.deletion_due_at).toBeNull();
  });

  test('the page asks once more, and says until when the account can be kept', async () => {
    const browser = await signedIn(await newUser());
    const page = await (await browser.get('/account')).text();
    expect(page).toContain('Delete my account');
    const response = await browser.post('/account/delete', { _csrf: csrfOf(page) });
    expect(response.status).toBe(200);
    expect(await response.text()).toContain('Your account will be deleted');
    expect((await browser.get('/account')).status).toBe(303);
  });

  test('where the environment has no return period there is no such section, and the step is 404 (specification 4.14.1)', async () => {
    const user = await newUser();
    const browser = await signedIn(user);
    await setEnvironment(service, { account_deletion_delay: null });
    expect(await (await browser.get('/account')).text()).not.toContain('Delete my account');
    expect(await leave(browser)).toMatchObject({ status: 404, body: { error: 'not_found' } });
    await setEnvironment(service, { account_deletion_delay: 2_592_000 });
    expect((await browser.get('/account')).status).toBe(200);
  });

  test('a blocked account stays until it is unblocked (attack 13.1302)', async () => {
    const user = await newUser();
    await leave(await signedIn(user));
    const { scope } = await service.context();
    await updateUser(scope, user.id, { status: 'blocked' });
    service.clock.advance(31 * dayMs);
    await pass();
    expect(await stored(user)).not.toBeNull();
    await updateUser(scope, user.id, { status: 'active' });
    expect(await pass()).toBe(1);
    expect(await stored(user)).toBeNull();
  });

  test('an account that can’t be deleted keeps no other waiting, and is tried again (specification 1.9.5)', async () => {
    const { knex } = service.deps.db;
    const [stuck, other] = [await newUser(), await newUser()];
    for (const user of [stuck, other]) await leave(await signedIn(user));
    service.clock.advance(31 * dayMs);
    await knex.raw(`create function keep() returns trigger language plpgsql as $$ begin raise exception 'kept for a test'; end $$`);
    await knex.raw(`create trigger keep before delete on users for each row when (old.id = '${stuck.id}') execute function keep()`);
    await expect(pass()).rejects.toThrow('kept for a test');
    expect([await stored(stuck), await stored(other)]).toEqual([expect.objectContaining({ id: stuck.id }), null]);
    await knex.raw('drop function keep() cascade');
    expect(await pass()).toBe(1);
    expect(await stored(stuck)).toBeNull();
  });

  test('the last administrator can’t leave, nor do two at once (attack 13.1301)', async () => {
    const { scope } = await service.context();
    const role = await findRoleByName(scope, administratorRole);
    const [ada, bob] = [await newUser(), await newUser()];
    for (const { id } of [ada, bob]) await addUserRoles(scope, id, [role?.id ?? '']);
    for (const one of [ada, bob]) expect((await leave(await signedIn(one))).status).toBe(200);
    service.clock.advance(31 * dayMs);
    expect(await pass()).toBe(1);
    const left = [await stored(ada), await stored(bob)].filter((one) => one !== null);
    expect(left).toMatchObject([{ deletion_due_at: null }]);
    const browser = await signedIn(left[0] as UserRow);
    expect(await leave(browser)).toMatchObject({ status: 409, body: { error: 'last_administrator' } });
    const page = await browser.post('/account/delete', { _csrf: csrfOf(await (await browser.get('/account')).text()) });
    expect(await page.text()).toContain('only administrator');
  });
});
