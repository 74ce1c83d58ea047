// A document with thousands of records.
import { beforeAll, expect, test } from 'vitest';
import type { Context } from '../../../src/domain/context.js';
import { applied, apply, exported, plan, problemsOf, told } from '../../support/configuration.js';
import { longestTurn } from '../../support/cost/event-loop.js';
import { link, manage, type Api, type Document } from '../../support/management.js';
import type {} from '../../support/service.js';
import { sharedManagedService } from '../../support/shared-service.js';

const service = sharedManagedService();
let api: Api;
let ctx: Context;
beforeAll(async () => {
  api = await manage(service.url);
  ctx = await service.context();
});

/** Statements that it takes, whichever they are. */
async function statementsOf(work: () => Promise<unknown>): Promise<number> {
  let count = 0;
  const counting = () => void (count += 1);
  service.deps.knex.on('query', counting);
  await work();
  service.deps.knex.off('query', counting);
  return count;
}

test('a document of a thousand clients that changes one of them asks nothing of the database for the others', async () => {
  const one = { client_id: 'one', name: 'One', application_type: 'web', redirect_uris: ['https://one.example/cb'] };
  await applied(api, { version: 1, clients: [one] });
  const few = await exported(api);
  expect(told(await plan(api, few))).toEqual([]);
  const before = await statementsOf(() => plan(api, few));
  const copies = `insert into clients select (jsonb_populate_record(c, jsonb_build_object('id', 'many-' || n))).* from clients c, generate_series(?::int, ?::int) n where c.id = 'one'`;
  for (let from = 1; from <= 1_000; from += 500) await ctx.knex.raw(copies, [from, from + 499]);
  const clients = Array.from({ length: 1_000 }, (_, index) => ({
    ...one,
    client_id: `many-${index + 1}`,
  }));
  const document = { ...few, clients: [...(few['clients'] as Document[]), ...clients] };
  const after = await statementsOf(async () => expect(problemsOf(await plan(api, document))).toEqual([]));
  // Loops of the service ask meanwhile.
  expect(after).toBeLessThan(before + 200);
  const changed = {
    ...document,
    clients: document.clients.map((client) => (client['client_id'] === 'many-999' ? { ...client, name: 'Other' } : client)),
  };
  const answer = await apply(api, changed, { prune: true });
  expect([answer.status, told(answer)]).toEqual([200, ['update client many-999']]);
}, 120_000);

test('an environment of thousands of permissions is exported without holding the event loop, whatever their number squared is (attack 18.1041)', async () => {
  const resource = await api.create('api_resources', 'api_resource', { identifier: 'https://many.example', name: 'Many' });
  await api.create('permissions', 'permission', { name: 'zero' }, { api_resource: link('api_resource', resource['id']) });
  const copies = `insert into permissions select r.* from (select to_jsonb(p) j from permissions p where name = 'zero') one, generate_series(1, 15000) n,
    lateral jsonb_populate_record(null::permissions, one.j || jsonb_build_object('id', gen_random_uuid(), 'name', 'p' || n)) r`;
  await ctx.knex.raw(copies);
  await exported(api);
  const { result, ms } = await longestTurn(() => exported(api));
  const described = (result['api_resources'] as Document[]).find(({ identifier }) => identifier === 'https://many.example');
  expect(described?.['permissions']).toHaveLength(15_001);
  // It took over a second; what is left is the sorting and writing of a megabyte.
  expect(ms).toBeLessThan(250);
}, 120_000);
