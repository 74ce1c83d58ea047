// What filter[search] finds: any part of names and addresses, full names, ids; in every list that has it, and nothing of another environment.
import { beforeAll, expect, test } from 'vitest';
import { manage, secondEnvironment, type Document } from '../support/management.js';
import { shared, sharedManagedService } from '../support/shared-service.js';

const service = sharedManagedService();
const ids = new Map<string, string>();

const found = async (path: string, text: string, from = api): Promise<string[]> => {
  const answer = await from.get(`/${path}?filter[search]=${encodeURIComponent(text)}&sort=created_at`);
  expect([text, answer.status]).toEqual([text, 200]);
  return (answer.body['data'] as Document[]).map(({ attributes }) => (attributes.email ?? attributes.name) as string);
};

const people: readonly Record<string, string>[] = [
  { email: 'lena.maier@example.com', first_name: 'Lena', last_name: 'Maier', middle_name: 'Sophie', external_id: 'HR-00417' },
  { email: 'li@example.com', first_name: 'Li', last_name: 'Na' },
  { email: 'carolina@firma.example', first_name: 'Carolina', last_name: 'Öztürk', preferred_username: 'caro_99%' },
  { email: 'sato@example.jp', first_name: '太郎', last_name: '佐藤', nickname: 'Taro' },
];

const api = shared(() => manage(service.url));

beforeAll(async () => {
  for (const person of people)
    ids.set(person['email'] as string, (await api.create('users', { ...person }))['id'] as string);
  ids.set('clients', (await api.create('clients', { name: 'Acme Shop', application_type: 'machine' }))['id'] as string);
  ids.set('roles', (await api.create('roles', { name: 'Support desk' }))['id'] as string);
  const hook = { name: 'Orders', url: 'https://hooks.acme.example/in', events: ['role.created'], status: 'disabled' };
  ids.set('webhooks', (await api.create('webhooks', hook))['id'] as string);
  ids.set('api_resources', (await api.create('api_resources', { identifier: 'https://api.acme.example', name: 'Order API' }))['id'] as string);
}); // prettier-ignore

const [lena = '', li = '', carolina = '', sato = ''] = people.map(({ email }) => email);

test.each<[string, string[]]>([
  ['maier', [lena]], ['aie', [lena]], ['MAIER@EXAMPLE', [lena]], ['Lena Maier', [lena]], ['Maier, Lena', [lena]], ['Maier Lena', [lena]], ['lena sophie', [lena]],
  ['  Lena   Ma ', [lena]], ['00417', [lena]], ['hr-00417', [lena]], ['example', people.map(({ email }) => email ?? '')], ['lin', [carolina]], ['li', [li]],
  ['l', [lena, li]], ['Li Na', [li]], ['li zz', []], ['öztür', [carolina]], ['ÖZTÜRK', [carolina]], ['caro_99%', [carolina]], ['c_ro', []], ['佐藤', [sato]], ['taro 太郎', [sato]],
])('a search for %s among users (specification 6.4.2)', async (text, expected) => expect(await found('users', text)).toEqual(expected)); // prettier-ignore

test.each(['%', '_', '%%%', '\\', "'", '%\\', '---', '*', '\\%_', '% %'])('%s is no pattern (attack 33.1130)', async (text) => {
  for (const path of ['users', 'clients', 'roles', 'webhooks', 'api_resources', 'connections', 'permissions'])
    expect([path, await found(path, text)]).toEqual([path, []]);
});

test('a search of many words or of one long one answers, a longer one is 400 (attack 33.1131)', async () => {
  for (const text of ['abc '.repeat(63), 'a '.repeat(127), 'é'.repeat(255), `${'x'.repeat(120)} ${'%'.repeat(120)}`])
    expect(await found('users', text)).toEqual([]);
  expect((await api.get(`/users?filter[search]=${'x'.repeat(256)}`)).status).toBe(400);
});

test('a record is found by its whole id, and a user by an external id that looks like one', async () => {
  for (const person of [lena, sato]) expect(await found('users', ids.get(person) ?? '')).toEqual([person]);
  expect(await found('users', `${(ids.get(lena) ?? '').toUpperCase()} `)).toEqual([lena]);
  const twin = { email: 'twin@example.com', external_id: ids.get(lena) };
  const { id } = await api.create('users', twin);
  expect(await found('users', ids.get(lena) ?? '')).toEqual([lena, twin.email]);
  await api.delete(`/users/${id as string}`);
  expect(await found('users', ids.get(lena) ?? '')).toEqual([lena]);
  for (const [path, name] of [['clients', 'Acme Shop'], ['roles', 'Support desk'], ['webhooks', 'Orders'], ['api_resources', 'Order API']] as const)
    expect([path, await found(path, ids.get(path) ?? '')]).toEqual([path, [name]]);
}); // prettier-ignore

test('parts of what other records are called', async () => {
  expect(await found('clients', 'shop acm')).toEqual(['Acme Shop']);
  expect(await found('roles', 'desk')).toEqual(['Support desk']);
  expect(await found('webhooks', 'acme.example/')).toEqual(['Orders']);
  expect(await found('api_resources', 'api.acme')).toEqual(['Order API']);
});

test('a new name is found at once, the old one no longer', async () => {
  const { id } = await api.create('users', { email: 'before@example.com', first_name: 'Former' });
  expect(await found('users', 'former')).toEqual(['before@example.com']);
  const changed = { first_name: 'Later', email: 'after@example.com' };
  expect((await api.update('users', id, changed)).status).toBe(200);
  expect([await found('users', 'former'), await found('users', 'befor'), await found('users', 'later')]).toEqual([[], [], ['after@example.com']]);
  await api.delete(`/users/${id as string}`);
}); // prettier-ignore

test('more than are looked up first come page by page, with other filters', async () => {
  const ctx = await service.context();
  await ctx.db.knex.raw(
    `insert into users (environment_id, id, email, email_key, status, created_at, updated_at)
     select ?, uuid_v7(now()), 'many' || n || '@else.example', 'many' || n || '@else.example', case when n = 700 then 'blocked' else 'active' end, now(), now()
     from generate_series(1, 1001) n`,
    [ctx.environment.id],
  );
  expect(await found('users', 'else.exa')).toHaveLength(25);
  const blocked = await api.get('/users?filter[search]=lse.exam&filter[status]=blocked');
  expect((blocked.body['data'] as Document[]).map((one) => one['attributes'].email)).toEqual(['many700@else.example']);
  await ctx.db.knex('users').where('email', 'like', 'many%').delete();
});

test('names, words and ids of another environment find nothing (attack 33.1132)', async () => {
  const { api: other } = await secondEnvironment(api);
  for (const text of [lena, 'lena', 'l', ids.get(lena) ?? '', 'HR-00417']) expect([text, await found('users', text, other)]).toEqual([text, []]);
  for (const path of ['clients', 'roles', 'webhooks', 'api_resources'])
    for (const text of ['acme', 'support', 'ord', ids.get(path) ?? '']) expect([path, text, await found(path, text, other)]).toEqual([path, text, []]);
}); // prettier-ignore
