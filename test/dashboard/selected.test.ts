// Rows that are selected in a list: asked about together, done one by one, by the permissions that each takes.
import { beforeEach, expect, test } from 'vitest';
import { findUser, type UserRow } from '../../src/db/tables/users.js';
import { insertRole, listRoleIdsOfUser } from '../../src/db/tables/roles.js';
import { uuidv7 } from '../../src/lib/random.js';
import { managementPermissions } from '../../src/domain/reach/management-permissions.js';
import { permit, signedInWith } from '../support/administrators.js';
import { csrfOf } from '../support/browser.js';
import { addEnvironment, addUser } from '../support/data.js';
import { formValues } from '../support/dashboard-forms.js';
import { contextOf, shared, sharedService } from '../support/shared-service.js';

const service = sharedService();
const ctx = contextOf(service);
const path = '/dashboard/users/selected';
let people: UserRow[];

const admin = shared(() =>
  signedInWith(service, 'users:read', 'users:write', 'roles:read', 'roles:write', 'sessions:read', 'audit_logs:read'),
);
beforeEach(async () => {
  people = [await addUser(ctx, { first_name: 'Lena', last_name: '=Vogel' }), await addUser(ctx, { first_name: 'Jonas', last_name: 'Maier' })];
}); // prettier-ignore

const addRole = (name: string) => {
  const at = ctx.clock.now();
  return insertRole(ctx.scope, { id: uuidv7(at.getTime()), name, created_at: at, updated_at: at });
};
const boxes = (users: readonly { id: string }[]) => Object.fromEntries(users.map(({ id }) => [`id:${id}`, 'on']));
async function select(act: string, users: readonly { id: string }[], browser = admin): Promise<Response> {
  const _csrf = csrfOf(await (await browser.get('/dashboard/users')).text());
  return browser.post(path, { _csrf, act, ...boxes(users) });
}
/** Answers the question as it stands. */
const confirm = (question: string, more: Record<string, string> = {}, browser = admin) =>
  browser.post(path, { ...formValues(/<form id="confirm"[\s\S]*?<\/form>/.exec(question)?.[0] ?? ''), ...more });
const statuses = async () => Promise.all(people.map(async ({ id }) => (await findUser(ctx.scope, id))?.status ?? null));

test('selected users are blocked and unblocked together, after a question that names them (specification 9.2.15)', async () => {
  const question = await (await select('block', people)).text();
  expect(question).toMatch(/Block user: 2 selected[\s\S]*(Lena =Vogel|Jonas Maier) and (Lena =Vogel|Jonas Maier)\./);
  expect(await statuses()).toEqual(['active', 'active']);
  const done = await confirm(question);
  expect([done.status, done.headers.get('location')]).toEqual([303, '/dashboard/users?done=blocked']);
  expect(await statuses()).toEqual(['blocked', 'blocked']);
  const again = await select('block', people);
  expect([again.status, again.headers.get('location')]).toEqual([303, '/dashboard/users?done=nothing_to_change']);
  await confirm(await (await select('unblock', people)).text());
  expect(await statuses()).toEqual(['active', 'active']);
});

test('those that an act does not fit are left out, and said so', async () => {
  await confirm(await (await select('block', people.slice(0, 1))).text());
  const question = await (await select('block', people)).text();
  expect(question).toMatch(/Block user: 1 selected[\s\S]*Jonas Maier\.[\s\S]*1 of those selected is left out/);
});

test('a role is assigned to all, and takes nothing from anybody; without a choice the form says so', async () => {
  const [first, second] = [await addRole('first'), await addRole('second')];
  const question = await (await select('roles', people)).text();
  expect((await confirm(question)).status).toBe(422);
  for (const { id } of [first, second]) expect((await confirm(question, { linked: id })).status).toBe(303);
  for (const { id } of people) expect((await listRoleIdsOfUser(ctx.scope, id)).sort()).toEqual([first.id, second.id].sort());
  const wrong = await confirm(question, { linked: 'nothing' });
  expect([wrong.status, await wrong.text()]).toEqual([409, expect.stringContaining('0 of 2 done')]);
});

test('deletion takes the number of those selected; one that is refused leaves the others done, and is named', async () => {
  const question = await (await select('delete', people)).text();
  expect(question).toContain('Type 2 to go on');
  expect((await confirm(question, { confirmation: '3' })).status).toBe(422);
  expect(await statuses()).toEqual(['active', 'active']);
  expect((await confirm(question, { confirmation: '2' })).headers.get('location')).toBe('/dashboard/users?done=deleted');
  expect(await statuses()).toEqual([null, null]);
});

test('whoever is beyond the reach of who acts stays as they are, and the page says why (attack 33.1172)', async () => {
  const narrow = await signedInWith(service, 'users:read', 'users:write');
  const { id: mighty } = await addUser(ctx, { first_name: 'Mighty' });
  await permit(ctx, mighty, ...managementPermissions);
  const refused = await confirm(await (await select('block', [{ id: mighty }, ...people], narrow)).text(), {}, narrow);
  expect([refused.status, await refused.text()]).toEqual([409, expect.stringMatching(/2 of 3 done[\s\S]*Mighty[\s\S]*grant more than you have/)]);
  expect([await statuses(), (await findUser(ctx.scope, mighty))?.status]).toEqual([['blocked', 'blocked'], 'active']);
}); // prettier-ignore

test('what a permission does not allow is neither offered nor done, nor is it done without a token (attack 33.1173)', async () => {
  const reader = await signedInWith(service, 'users:read');
  const list = await (await reader.get('/dashboard/users')).text();
  expect([...list.matchAll(/name="act" value="([^"]+)"/g)].map(([, act]) => act)).toEqual(['csv', 'json']);
  for (const act of ['block', 'delete', 'roles']) expect([act, (await select(act, people, reader)).status]).toEqual([act, 403]);
  const confirmed = { _csrf: csrfOf(list), confirmed: 'yes', act: 'block', ...boxes(people) };
  expect((await reader.post(path, confirmed)).status).toBe(403);
  const writer = await signedInWith(service, 'users:read', 'users:write');
  const roles = await writer.post(path, { ...confirmed, _csrf: csrfOf(await (await writer.get('/dashboard/users')).text()), act: 'roles', linked: (await addRole('third')).id }); // prettier-ignore
  expect(roles.status).toBe(403);
  const other = await signedInWith(service, 'clients:read');
  expect((await other.post(path, { ...confirmed, _csrf: csrfOf(await (await other.get('/dashboard/clients')).text()), act: 'csv' })).status).toBe(403);
  expect((await admin.post(path, { act: 'block', ...boxes(people) })).status).toBe(403);
  expect(await statuses()).toEqual(['active', 'active']);
}); // prettier-ignore

test('acts and ids that there aren’t, too many, and those of another environment change nothing (attack 33.1174)', async () => {
  for (const act of ['', '__proto__', 'end_sessions', 'reset_authenticators']) expect([act, (await select(act, people)).status]).toEqual([act, 404]);
  const foreign = await addUser(await addEnvironment(service.deps, 'selected-elsewhere'));
  for (const id of [foreign.id, 'x', '', '%00']) expect([id, (await select('block', [{ id }])).headers.get('location')]).toEqual([id, '/dashboard/users?done=nothing_selected']);
  const crowd = Array.from({ length: 101 }, (_, n) => ({ id: `x${n}` }));
  expect((await select('block', crowd)).status).toBe(400);
  expect(await statuses()).toEqual(['active', 'active']);
}); // prettier-ignore

test('selected users, or all that a list shows under its filters, are a file, which the audit log knows of (specification 9.2.16)', async () => {
  const csv = await select('csv', people);
  expect(csv.headers.get('content-disposition')).toMatch(/^attachment; filename="users-[\d-]+\.csv"$/);
  const [head, ...lines] = (await csv.text()).trim().split('\r\n');
  expect([head?.startsWith('"id","email"'), lines.length]).toEqual([true, 2]);
  // No formula for whoever opens it (OWASP, CSV injection).
  expect(lines.join()).toContain(`"'=Vogel"`);
  const json = (await (await select('json', people)).json()) as { id: string; email: string }[];
  expect(json.map(({ id }) => id).sort()).toEqual(people.map(({ id }) => id).sort());
  const found = (await (await admin.get('/dashboard/users/export?format=json&search=jonas')).json()) as { first_name: string }[];
  expect(new Set(found.map((one) => one.first_name))).toEqual(new Set(['Jonas']));
  expect(await (await admin.get('/dashboard/users/export?format=json&search=nobodyatall')).json()).toEqual([]);
  expect(JSON.stringify(json)).not.toMatch(/password_hash|digest|sealed/);
  expect(await (await admin.get('/dashboard/audit_logs?action=user.exported')).text()).toContain('User exported by Ada Lovelace');
  expect((await (await signedInWith(service, 'clients:read')).get('/dashboard/users/export?format=csv')).status).toBe(403);
  expect((await admin.get('/dashboard/users/export?format=xml')).status).toBe(400);
});
