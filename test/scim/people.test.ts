import { describe, expect, test } from 'vitest';
import { forgetRemovedMember } from '../../src/db/tables/removed_members.js';
import { addRolePermissions, insertRole, type RoleRow } from '../../src/db/tables/roles.js';
import { findUser, findUserByEmailKey } from '../../src/db/tables/users.js';
import { transaction, type Context } from '../../src/domain/context.js';
import { changeGroupRoles } from '../../src/domain/directories/groups.js';
import { findGroup } from '../../src/db/tables/organization_groups.js';
import { addMember, findMembership, isRemovedMember, resumeMember, suspendMember } from '../../src/domain/organizations/memberships.js';
import { blockUser, unblockUser } from '../../src/domain/users/blocking.js';
import { findApiResourceByIdentifier } from '../../src/db/tables/api_resources.js';
import { listPermissionsOfResource } from '../../src/db/tables/permissions.js';
import { uuidv7 } from '../../src/lib/random.js';
import { permit } from '../support/administrators.js';
import { addUser } from '../support/data.js';
import { addDirectory, type TestDirectory } from '../support/directories.js';
import { subscribe } from '../support/events.js';
import { mailTo } from '../support/mailbox.js';
import { auditRows } from '../support/security-events.js';
import { contextOf, shared, sharedService } from '../support/shared-service.js';
import { signedIn } from '../support/signed-in.js';

const service = sharedService();
const ctx = contextOf(service);
const acme = shared(() => addDirectory(ctx, 'acme.example', { display_name: 'Acme' }));

const administrator = { actor_kind: 'client', actor_id: 'admin', display: 'admin', permissions: new Set<string>() } as const;

const post = (name: string, more: Record<string, unknown> = {}, directory: TestDirectory = acme) =>
  directory.send('POST', '/Users', { userName: `${name}@${directory.domain}`, ...more });
const activate = (id: string, active: boolean, directory: TestDirectory = acme) =>
  directory.send('PATCH', `/Users/${id}`, { Operations: [{ op: 'replace', path: 'active', value: active }] });
const account = async (name: string) => (await findUserByEmailKey(ctx.scope, `${name}@acme.example`))!;
const membershipOf = (user_id: string) => findMembership(ctx, acme.organization.id, user_id);

async function addRole(context: Context, name: string, kind: RoleRow['kind'], permissions: readonly string[] = []): Promise<RoleRow> {
  const now = context.clock.now();
  const role = await insertRole(context.scope, { id: uuidv7(now.getTime()), name, kind, created_at: now, updated_at: now });
  const api = await findApiResourceByIdentifier(context.scope, context.environment.management_audience);
  const all = await listPermissionsOfResource(context.scope, api?.id ?? '');
  await addRolePermissions(context.scope, role.id, all.filter((one) => permissions.includes(one.name)).map(({ id }) => id)); // prettier-ignore
  return role;
}

describe('whom a directory speaks for', () => {
  test('are people with an address in a verified domain, and nobody else (specification 16.6.3, attack 46.1344)', async () => {
    const foreign = await acme.send('POST', '/Users', { userName: 'eve@victim.example' });
    expect(foreign).toMatchObject({ status: 400, body: { scimType: 'invalidValue' } });
    expect(foreign.body.detail).toContain('victim.example is no verified domain');
    const hidden = { userName: 'eve@acme.example', emails: [{ value: 'eve@victim.example', primary: true }] };
    expect(await acme.send('POST', '/Users', hidden)).toMatchObject({ status: 400, body: { scimType: 'invalidValue' } });
    expect(await acme.send('POST', '/Users', { userName: 'eve@sub.acme.example' })).toMatchObject({ status: 400 });
    expect(await acme.send('POST', '/Users', { userName: 'eve' })).toMatchObject({ status: 400, body: { scimType: 'invalidValue' } });
    expect(await findUserByEmailKey(ctx.scope, 'eve@victim.example')).toBeNull();
  });

  test('is nobody while the domain waits for its proof (attack 46.1344)', async () => {
    const pending = await addDirectory(ctx, 'pending.example');
    await ctx.db.knex('organization_domains').where({ organization_id: pending.organization.id }).update({ status: 'pending' });
    ctx.cache.invalidate(ctx.environment.id, 'organization_domains');
    expect(await post('early', {}, pending)).toMatchObject({ status: 400, body: { scimType: 'invalidValue' } });
  });

  test('are told nothing of accounts elsewhere, and move nobody there (attack 46.1345)', async () => {
    await addUser(ctx, { email: 'there@victim.example' });
    const there = await acme.send('POST', '/Users', { userName: 'there@victim.example' });
    const nobody = await acme.send('POST', '/Users', { userName: 'nobody@victim.example' });
    expect(there.body).toEqual(nobody.body);
    const { id } = (await post('mover')).body as { id: string };
    const move = { Operations: [{ op: 'add', path: 'emails[type eq "work"].value', value: 'mover@victim.example' }] };
    expect(await acme.send('PATCH', `/Users/${id}`, move)).toMatchObject({ status: 400, body: { scimType: 'invalidValue' } });
    expect(await account('mover')).not.toBeNull();
    const { id: other } = (await post('other')).body as { id: string };
    const take = { Operations: [{ op: 'replace', path: 'userName', value: 'mover@acme.example' }] };
    expect(await acme.send('PATCH', `/Users/${other}`, take)).toMatchObject({ status: 409, body: { scimType: 'uniqueness' } });
    await addUser(ctx, { email: 'taken@acme.example' });
    const onto = { Operations: [{ op: 'add', path: 'emails[type eq "work"].value', value: 'taken@acme.example' }] };
    expect(await acme.send('PATCH', `/Users/${other}`, onto)).toMatchObject({ status: 409, body: { scimType: 'uniqueness' } });
  });

  test('has the address of the primary email, else that of work, else the userName', async () => {
    const emails = [
      { value: 'home@acme.example', type: 'home' },
      { value: 'work@acme.example', type: 'WORK' },
    ];
    await post('name1', { emails });
    expect(await account('work')).toBeTruthy();
    await post('name2', { emails: [...emails, { value: 'first@acme.example', primary: true }] });
    expect(await account('first')).toBeTruthy();
    await post('name3', { emails: [{ value: 'home@elsewhere.example', type: 'home' }] });
    expect(await account('name3')).toBeTruthy();
  });

  test('is linked where there is an account, gets a mail, and loses what was attached before the address was proven (attack 46.1346)', async () => {
    const squatter = await addUser(ctx, { email: 'linked@acme.example', email_verified: false });
    const browser = await signedIn(service, squatter);
    expect((await post('linked', { name: { givenName: 'Grace', familyName: 'Hopper' } })).status).toBe(201);
    expect(await account('linked')).toMatchObject({ id: squatter.id, email_verified: true, password_hash: null, first_name: 'Grace' });
    expect((await browser.get('/account')).status).toBe(303);
    const mails = await mailTo(service.url, 'linked@acme.example');
    expect(mails.map(({ subject }) => subject).join()).toContain('Acme');
    expect((await auditRows(service, 'directory.user_linked')).at(-1)).toMatchObject({
      target_id: squatter.id,
      actor_id: acme.directory.id,
    });
  });

  test('never administers the environment (attack 46.1347)', async () => {
    const boss = await addUser(ctx, { email: 'boss@acme.example' });
    await permit(ctx, boss.id, 'users:read');
    expect(await post('boss')).toMatchObject({ status: 403, body: { status: '403' } });
    const { id } = (await post('rising')).body as { id: string };
    await permit(ctx, (await account('rising')).id, 'clients:read');
    expect((await activate(id, false)).status).toBe(403);
    expect((await acme.send('PUT', `/Users/${id}`, { userName: 'rising@acme.example', name: { givenName: 'X' } })).status).toBe(403);
    expect((await acme.send('DELETE', `/Users/${id}`)).status).toBe(403);
    expect((await account('rising')).status).toBe('active');
    expect((await acme.send('GET', `/Users/${id}`)).status).toBe(200);
  });

  test('gets no default role that holds a Management permission (attack 46.1347)', async () => {
    const role = await addRole(ctx, 'everybody reads', 'environment', ['users:read']);
    await ctx.db.knex('roles').where({ id: role.id }).update({ is_default: true });
    await post('newcomer');
    expect(await ctx.db.knex('user_roles').where({ user_id: (await account('newcomer')).id })).toEqual([]);
    await ctx.db.knex('roles').where({ id: role.id }).delete();
  });
});

describe('who is shut out', () => {
  test('has no session, no membership and no way in within the same moment, and comes back by the directory (specification 16.6.9)', async () => {
    const { id } = (await post('leaver')).body as { id: string };
    const browser = await signedIn(service, await account('leaver'));
    expect((await browser.get('/account')).status).toBe(200);
    expect((await activate(id, false)).status).toBe(200);
    expect((await browser.get('/account')).status).toBe(303);
    const user = await account('leaver');
    expect(user).toMatchObject({ status: 'blocked', blocked_reason: 'directory' });
    expect(await membershipOf(user.id)).toMatchObject({ status: 'suspended', source: 'directory' });
    expect((await activate(id, false)).status).toBe(200);
    expect((await activate(id, true)).status).toBe(200);
    expect(await account('leaver')).toMatchObject({ status: 'active', blocked_reason: null });
    expect(await membershipOf(user.id)).toMatchObject({ status: 'active' });
  });

  test('stays out whom an administrator has blocked or suspended, whatever the directory says (attack 46.1348)', async () => {
    const { id } = (await post('barred')).body as { id: string };
    const user = await account('barred');
    await transaction(ctx, async (tx) => {
      await suspendMember(tx, administrator, (await findMembership(tx, acme.organization.id, user.id))!);
      await blockUser(tx, administrator, user);
    });
    await activate(id, false);
    await activate(id, true);
    expect(await account('barred')).toMatchObject({ status: 'blocked', blocked_reason: null });
    expect(await membershipOf(user.id)).toMatchObject({ status: 'suspended' });
    expect((await acme.send('DELETE', `/Users/${id}`)).status).toBe(204);
    expect((await post('barred')).status).toBe(201);
    expect((await account('barred')).status).toBe('blocked');
  });

  test('stays out whom an administrator let in and suspended again while the directory had them out (attack 46.1348)', async () => {
    const { id } = (await post('again')).body as { id: string };
    const { id: user_id } = await account('again');
    await activate(id, false);
    await transaction(ctx, async (tx) => {
      const resumed = await resumeMember(tx, administrator, (await findMembership(tx, acme.organization.id, user_id))!);
      await suspendMember(tx, administrator, resumed);
    });
    await activate(id, true);
    expect(await membershipOf(user_id)).toMatchObject({ status: 'suspended' });
  });

  test('stays out whom an administrator has blocked on top of the directory', async () => {
    const { id } = (await post('twice')).body as { id: string };
    await activate(id, false);
    const blocked = await transaction(ctx, async (tx) =>
      blockUser(tx, administrator, (await findUserByEmailKey(tx.scope, 'twice@acme.example'))!),
    );
    expect(blocked.blocked_reason).toBeNull();
    await activate(id, true);
    const user = await account('twice');
    expect(user.status).toBe('blocked');
    expect(await transaction(ctx, (tx) => unblockUser(tx, administrator, user))).toMatchObject({ status: 'active' });
  });

  test('is only suspended whose account has moved to an address elsewhere', async () => {
    const { id } = (await post('moved')).body as { id: string };
    const user = await account('moved');
    await ctx.db.knex('users').where({ id: user.id }).update({ email: 'me@home.example', email_key: 'me@home.example' });
    await acme.send('PATCH', `/Users/${id}`, { Operations: [{ op: 'replace', path: 'name.givenName', value: 'Hers' }] });
    await activate(id, false);
    expect(await findUser(ctx.scope, user.id)).toMatchObject({ status: 'active', first_name: null, email: 'me@home.example' });
    expect(await membershipOf(user.id)).toMatchObject({ status: 'suspended' });
  });

  test('is taken in and shut out at once who is told of as inactive', async () => {
    expect(await post('inactive', { active: false })).toMatchObject({ status: 201, body: { active: false } });
    const user = await account('inactive');
    expect(user.status).toBe('blocked');
    expect(await membershipOf(user.id)).toMatchObject({ status: 'suspended' });
  });

  test('is no member any more once deleted, and does not come back by signing in', async () => {
    const { id } = (await post('deleted')).body as { id: string };
    const user = await account('deleted');
    await acme.send('DELETE', `/Users/${id}`);
    expect(await membershipOf(user.id)).toBeNull();
    expect(await isRemovedMember(ctx, acme.organization.id, user.id)).toBe(true);
    await post('deleted');
    expect(await isRemovedMember(ctx, acme.organization.id, user.id)).toBe(false);
  });

  test('comes back only by being let in where an administrator has removed them', async () => {
    const { id } = (await post('removed')).body as { id: string };
    const user = await account('removed');
    await ctx.db.knex('organization_memberships').where({ user_id: user.id }).delete();
    await acme.send('PATCH', `/Users/${id}`, { Operations: [{ op: 'replace', path: 'title', value: 'T' }] });
    expect(await membershipOf(user.id)).toBeNull();
    await forgetRemovedMember(ctx.scope, acme.organization.id, user.id);
    await activate(id, false);
    await activate(id, true);
    expect(await membershipOf(user.id)).toMatchObject({ status: 'active', source: 'directory' });
  });

  test('keeps a membership that was there before', async () => {
    const user = await addUser(ctx, { email: 'early@acme.example' });
    await transaction(ctx, (tx) => addMember(tx, null, { organization: acme.organization, user, source: 'invitation' }));
    expect((await post('early')).status).toBe(201);
    expect(await membershipOf(user.id)).toMatchObject({ source: 'invitation', status: 'active' });
  });
});

describe('groups', () => {
  test('give their members the roles that an administrator chose, and nothing by their names (specification 16.6.11)', async () => {
    const role = await addRole(ctx, 'editor', 'organization');
    await addRole(ctx, 'administrators', 'organization');
    const person = (await post('editor')).body as { id: string };
    const group = (await acme.send('POST', '/Groups', { displayName: 'administrators', members: [{ value: person.id }] })).body as {
      id: string;
    };
    const user = await account('editor');
    const roles = async () => {
      const { rows } = await ctx.db.knex.raw('select member_role_names(?, ?, ?) as names', [
        ctx.environment.id,
        acme.organization.id,
        user.id,
      ]);
      return (rows[0] as { names: string[] }).names;
    };
    expect(await roles()).toEqual([]);
    const row = (await findGroup(ctx.scope, acme.directory.id, group.id))!;
    await transaction(ctx, (tx) => changeGroupRoles(tx, row, { replace: [role] }));
    expect(await roles()).toEqual(['editor']);
    await acme.send('PATCH', `/Groups/${group.id}`, { Operations: [{ op: 'remove', path: 'members', value: [{ value: person.id }] }] });
    expect(await roles()).toEqual([]);
    expect((await auditRows(service, 'directory.group_changed')).at(-1)).toMatchObject({
      target_id: group.id,
      changes: { change: [null, 'updated'], members_removed: [null, 1] },
    });
  });

  test('take only people of their own directory, all or none (attack 46.1341)', async () => {
    const other = await addDirectory(ctx, 'members.example');
    const foreign = (await post('foreign', {}, other)).body as { id: string };
    const own = (await post('own')).body as { id: string };
    const group = (await acme.send('POST', '/Groups', { displayName: 'G' })).body as { id: string };
    const add = (...ids: string[]) =>
      acme.send('PATCH', `/Groups/${group.id}`, { Operations: [{ op: 'add', path: 'members', value: ids.map((value) => ({ value })) }] }); // prettier-ignore
    expect(await add(own.id, foreign.id)).toMatchObject({ status: 400, body: { scimType: 'invalidValue' } });
    expect(await add('nonsense')).toMatchObject({ status: 400, body: { scimType: 'invalidValue' } });
    expect(await add(group.id)).toMatchObject({ status: 400 });
    expect(await acme.send('POST', '/Groups', { displayName: 'H', members: [{ value: foreign.id }] })).toMatchObject({ status: 400 });
    expect((await acme.send('GET', `/Groups/${group.id}`)).body.members).toEqual([]);
    expect((await add(own.id, own.id)).status).toBe(204);
    expect((await add(own.id)).status).toBe(204);
    const remove = {
      Operations: [
        { op: 'remove', path: `members[value eq "${foreign.id}"]` },
        { op: 'remove', path: 'members', value: [] },
      ],
    };
    expect((await acme.send('PATCH', `/Groups/${group.id}`, remove)).status).toBe(204);
    expect((await acme.send('GET', `/Groups/${group.id}`)).body.members).toHaveLength(1);
    const all = { Operations: [{ op: 'remove', path: 'members' }] };
    const shown = await acme.send('PATCH', `/Groups/${group.id}?attributes=members`, all);
    expect(shown).toMatchObject({ status: 200, body: { members: [] } });
  });

  test('take ten thousand members by one statement, and no more at once (attack 46.1350)', async () => {
    const group = (await acme.send('POST', '/Groups', { displayName: 'Many' })).body as { id: string };
    const many = Array.from({ length: 10_001 }, () => ({ value: uuidv7(0), display: 'x', $ref: null }));
    const add = (value: unknown) => acme.send('PATCH', `/Groups/${group.id}`, { Operations: [{ op: 'add', path: 'members', value }] });
    expect(await add(many)).toMatchObject({ status: 400, body: { scimType: 'tooMany' } });
    expect(await add(many.slice(1))).toMatchObject({ status: 400, body: { scimType: 'invalidValue' } });
  });
});

describe('events', () => {
  test('tell webhooks that name them of who came and went', async () => {
    await subscribe(service, ['directory.user_provisioned', 'directory.user_deprovisioned']);
    ctx.cache.invalidate(ctx.environment.id, 'webhooks');
    const { id } = (await post('told', { externalId: 'told' })).body as { id: string };
    await activate(id, false);
    await activate(id, true);
    await acme.send('DELETE', `/Users/${id}`);
    const rows = (await ctx.db.knex('events').where('body', 'like', `%${id}%`).orderBy('id').select('body')) as { body: string }[];
    const events = rows.map(({ body }) => JSON.parse(body) as { event: string; data: Record<string, unknown> });
    expect(events.map(({ event }) => event)).toEqual(['provisioned', 'deprovisioned', 'provisioned', 'deprovisioned'].map((name) => `directory.user_${name}`)); // prettier-ignore
    expect(events[0]?.data).toMatchObject({
      id,
      directory_id: acme.directory.id,
      organization_id: acme.organization.id,
      email: 'told@acme.example',
      external_id: 'told',
    });
    expect((await auditRows(service, 'directory.user_deprovisioned')).length).toBeGreaterThan(1);
  });
});

test('whom an administrator has suspended comes back suspended, when the directory lets go of them and tells of them again (attack 70.1956)', async () => {
  for (const name of ['suspended1', 'suspended2']) {
    const { id } = (await post(name)).body as { id: string };
    const { id: user_id } = await account(name);
    await transaction(ctx, async (tx) => suspendMember(tx, administrator, (await membershipOf(user_id))!));
    if (name === 'suspended2') expect((await activate(id, false)).status).toBe(200);
    expect((await acme.send('DELETE', `/Users/${id}`)).status).toBe(204);
    expect((await post(name)).status).toBe(201);
    expect((await membershipOf(user_id))?.status).toBe('suspended');
  }
});

describe('what an administrator decides meanwhile', () => {
  const waiting = async () => {
    const text = 'select count(*)::integer as count from pg_locks where not granted';
    return (await ctx.db.knex.raw<{ rows: { count: number }[] }>(text)).rows[0]?.count;
  };
  const byAdministrator = { status: 'blocked', blocked_reason: null };

  test.each([
    ['lets somebody in', false],
    ['shuts somebody out', true],
  ] as const)('stays while the directory %s again and again (attack 70.1955)', async (what, active) => {
    const name = what.replaceAll(' ', '-');
    const { id } = (await post(name)).body as { id: string };
    if (!active) expect((await activate(id, false)).status).toBe(200);
    const administration = await ctx.db.knex.transaction();
    await administration('users')
      .where({ email_key: `${name}@acme.example` })
      .update(byAdministrator);
    const told = activate(id, !active);
    await expect.poll(waiting).toBeGreaterThan(0);
    await administration.commit();
    expect((await told).status).toBe(200);
    expect(await account(name)).toMatchObject(byAdministrator);
  });

  test('stays while the directory lets go of somebody, who is told of again (attack 70.1955)', async () => {
    const { id } = (await post('gone')).body as { id: string };
    const administration = await ctx.db.knex.transaction();
    await administration('users').where({ email_key: 'gone@acme.example' }).update(byAdministrator);
    const told = acme.send('DELETE', `/Users/${id}`);
    await expect.poll(waiting).toBeGreaterThan(0);
    await administration.commit();
    expect((await told).status).toBe(204);
    expect((await post('gone')).status).toBe(201);
    expect(await account('gone')).toMatchObject(byAdministrator);
  });
});
