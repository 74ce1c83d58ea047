// Forms that choose what a record is linked to, where there is more to choose from than they show.
import { expect, test } from 'vitest';
import { signedInWith } from '../support/administrators.js';
import { addConnection } from '../support/connections.js';
import { addClient, addResource, addUser } from '../support/data.js';
import { formValues } from '../support/dashboard-forms.js';
import { contextOf, sharedService } from '../support/shared-service.js';

const service = sharedService();
const ctx = contextOf(service);

/** Copies of the row, sorted before it by name, until there are more than a form offers. */
async function crowd(table: string, id: string): Promise<void> {
  const copies = `insert into ${table} select (jsonb_populate_record(one, jsonb_build_object('id', gen_random_uuid(), 'name', 'a' || n))).* from ${table} one, generate_series(1, 120) n where one.id = ?`;
  await service.deps.db.knex.raw(copies, [id]);
}

const idsIn = async (table: string, column: string, of: Record<string, string>): Promise<string[]> =>
  (await service.deps.db.knex(table).where(of).pluck(column)) as string[];

test.each(['permissions', 'roles', 'connections'])(
  'what is linked stays linked by a save, whatever else there is: %s (attack 17.1126)',
  async (name) => {
    const browser = await signedInWith(
      service,
      ...['users', 'clients', 'roles', 'permissions', 'connections', 'api_resources'].flatMap((one) => [`${one}:read`, `${one}:write`]),
      'credentials:write',
    );
    const { knex } = service.deps.db;
    const role = {
      id: crypto.randomUUID(),
      environment_id: ctx.environment.id,
      name: 'zealous',
      created_at: new Date(),
      updated_at: new Date(),
    };
    await knex('roles').insert({ ...role, name: `zealous ${name}` });
    const [user, client, connection] = [
      await addUser(ctx),
      await addClient(ctx, { first_party: false }),
      await addConnection(ctx, { name: `zz-${name}` }),
    ];
    const resource = await addResource(ctx, { identifier: `https://${name}.example` }, ['zz:read']);
    const [permission = ''] = await idsIn('permissions', 'id', { api_resource_id: resource.id });
    await knex('role_permissions').insert({ environment_id: ctx.environment.id, role_id: role.id, permission_id: permission });
    await knex('user_roles').insert({ environment_id: ctx.environment.id, user_id: user.id, role_id: role.id });
    await knex('client_connections').insert({ environment_id: ctx.environment.id, client_id: client.id, connection_id: connection.id });
    const forms = {
      permissions: { page: `/dashboard/roles/${role.id}/edit`, to: `/dashboard/roles/${role.id}`, of: permission },
      roles: { page: `/dashboard/users/${user.id}/roles`, to: `/dashboard/users/${user.id}/roles`, of: role.id },
      connections: {
        page: `/dashboard/clients/${client.id}/connections`,
        to: `/dashboard/clients/${client.id}/connections`,
        of: connection.id,
      },
    };
    const { page, to, of } = forms[name as keyof typeof forms];
    await crowd(name, of);
    const values = formValues(await (await browser.get(page)).text());
    expect(values[`${name}:${of}`]).toBe('on');
    const saved = await browser.post(to, { ...values, ...(name === 'permissions' && { description: 'Another' }) });
    expect([saved.status, saved.headers.get('location')]).toEqual([303, `${to}?done=updated`]);
    expect(await idsIn('role_permissions', 'permission_id', { role_id: role.id })).toEqual([permission]);
    expect(await idsIn('user_roles', 'role_id', { user_id: user.id })).toEqual([role.id]);
    expect(await idsIn('client_connections', 'connection_id', { client_id: client.id })).toEqual([connection.id]);
  },
);
