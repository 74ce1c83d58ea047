// A document with thousands of records.
import { expect, test } from 'vitest';
import { managementPermissions } from '../../../src/domain/reach/management-permissions.js';
import { createContext } from '../../../src/domain/context.js';
import { applyDocument } from '../../../src/management/configuration/apply.js';
import { registry } from '../../../src/management/resources/index.js';
import { applied, apply, exported, plan, problemsOf, told } from '../../support/configuration.js';
import { longestTurn, mostHeld } from '../../support/cost/event-loop.js';
import { link, manage, type ApiAnswer, type Document } from '../../support/management.js';
import { contextOf, shared, sharedManagedService } from '../../support/shared-service.js';

const service = sharedManagedService();
const api = shared(() => manage(service.url));
const ctx = contextOf(service);

/** Statements that it takes, whichever they are. */
async function statementsOf(work: () => Promise<unknown>): Promise<number> {
  let count = 0;
  const counting = () => void (count += 1);
  service.deps.db.knex.on('query', counting);
  await work();
  service.deps.db.knex.off('query', counting);
  return count;
}

test('a document of a thousand clients that changes one of them asks nothing of the database for the others', async () => {
  const one = { client_id: 'one', name: 'One', application_type: 'web', redirect_uris: ['https://one.example/cb'] };
  await applied(api, { version: 1, clients: [one] });
  const few = await exported(api);
  expect(told(await plan(api, few))).toEqual([]);
  const before = await statementsOf(() => plan(api, few));
  const copies = `insert into clients select (jsonb_populate_record(c, jsonb_build_object('id', 'many-' || n))).* from clients c, generate_series(?::int, ?::int) n where c.id = 'one'`;
  for (let from = 1; from <= 1_000; from += 500) await ctx.db.knex.raw(copies, [from, from + 499]);
  const clients = Array.from({ length: 1_000 }, (_, index) => ({ ...one, client_id: `many-${index + 1}` }));
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

/** What a part of the test may hold the event loop for: what others take of the machine comes once. @returns the answer */
async function held<T>(name: string, work: () => Promise<T>): Promise<T> {
  let least = await longestTurn(work);
  for (let attempt = 1; attempt < 3 && least.ms > mostHeld; attempt += 1) {
    const again = await longestTurn(work);
    if (again.ms < least.ms) least = again;
  }
  expect.soft(least.ms, name).toBeLessThan(mostHeld);
  return least.result;
}

/** The same for a request that the service answers in time: on a busy machine that may be up, and 503 says to try again. */
const heldRequest = (name: string, ask: () => Promise<ApiAnswer>) =>
  held(name, async () => {
    let answer = await ask();
    for (let attempt = 1; attempt < 3 && answer.status === 503; attempt += 1) answer = await ask();
    return answer;
  });

test('an environment of thousands of permissions is exported, compared and left alone without holding the event loop (attack 18.1041)', async () => {
  // What a first attempt has left.
  await ctx.db.knex('api_resources').where({ identifier: 'https://many.example' }).del();
  const resource = await api.create('api_resources', { identifier: 'https://many.example', name: 'Many' });
  await api.create('permissions', { name: 'zero' }, { api_resource: link('api_resource', resource['id']) });
  const { version } = await exported(api);
  await applied(
    api,
    { version, api_resources: [{ identifier: 'https://many.example', name: 'Many', permissions: [{ name: 'zero' }] }] },
    { prune: true },
  );
  const copies = `insert into permissions select r.* from (select to_jsonb(p) j from permissions p where name = 'zero') one, generate_series(1, 15000) n,
    lateral jsonb_populate_record(null::permissions, one.j || jsonb_build_object('id', gen_random_uuid(), 'name', 'p' || n)) r`;
  await ctx.db.knex.raw(copies);
  const document = await held('export', () => exported(api));
  const described = (document['api_resources'] as Document[]).find(({ identifier }) => identifier === 'https://many.example');
  expect(described?.['permissions']).toHaveLength(15_001);
  const drift = await heldRequest('drift', () => api.get('/config/drift'));
  expect(drift.body['meta'].summary).toEqual({ create: 15_000, update: 0, delete: 0 });
  const empty = await heldRequest('plan', () => plan(api, { version: 1, roles: [] }));
  expect([problemsOf(empty), told(empty)]).toEqual([[], []]);
}, 120_000);

test('documents of long mails, and of thousands of records that are wrong, do not hold the event loop (attack 18.1077)', async () => {
  const html = `<p>{{code}}</p>${'<p>Some words, <b>and</b> a <a href="https://a.example/x">link</a></p>\n'.repeat(1_300)}`;
  const locales = ['de', 'fr', 'es', 'it', 'pl', 'nl', 'pt', 'sv', 'da'];
  const mails = locales.map((locale) => ({ name: 'register_code', locale, subject: 'Code', text: '{{code}}', html }));
  const mailed = await heldRequest('mails', () => plan(api, { version: 1, mail_templates: mails }));
  expect([problemsOf(mailed), told(mailed).length]).toEqual([[], 9]);
  const clients = Array.from({ length: 2_500 }, () => ({ client_id: 'x', name: '', nome: 1 }));
  expect(problemsOf(await heldRequest('clients', () => plan(api, { version: 1, clients })))).toHaveLength(20);
  const permissions = Array.from({ length: 5_000 }, () => ({ name: ' ' }));
  const within = { version: 1, api_resources: [{ identifier: 'https://wrong.example', name: 'Wrong', permissions }] };
  expect(problemsOf(await heldRequest('permissions', () => plan(api, within)))).toHaveLength(20);
}, 120_000);

test('a document that changes more than there is time for is told so, and changes nothing', async () => {
  const short = createContext(service.deps, ctx.environment, { left: () => 900 });
  const actor = { actor_kind: 'system', actor_id: null, display: 'test', permissions: new Set(managementPermissions) } as const;
  const call = { ctx: short, actor, registry, request_id: 'r', ip_address: null, user_agent: null };
  const roles = [{ name: 'late' }, { name: 'later' }];
  const application = { document: { version: 1, roles }, secrets: {}, prune: false, expected_state: null };
  await expect(applyDocument(call, application, 'apply')).rejects.toMatchObject({
    headers: { 'Retry-After': '5' },
    errors: [
      { status: 503, code: 'temporarily_unavailable', detail: expect.stringContaining('after 0 of the document’s 2 records') as string },
    ],
  });
  expect(await ctx.db.knex('roles').where({ name: 'late' })).toEqual([]);
});
