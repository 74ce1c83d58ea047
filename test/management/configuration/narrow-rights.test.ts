// Configuration as code by somebody with narrow permissions, and while somebody else changes the environment.
import { expect, test, vi } from 'vitest';
import { applied, apply, plan, problemsOf, told } from '../../support/configuration.js';
import { manage, type Document } from '../../support/management.js';
import { contextOf, shared, sharedManagedService } from '../../support/shared-service.js';

const service = sharedManagedService();
const ctx = contextOf(service);
const api = shared(() => manage(service.url));

const machine = (client_id: string, name: string): Document => ({ client_id, name, application_type: 'machine' });
const drifted = async () => ((await api.get('/config/drift')).body['meta'].changes as Document[]).map(({ kind, key }) => `${kind} ${key}`);
const codesOf = (meta: Document) => (meta['warnings'] as Document[]).map(({ code }) => code as string);
const entries = async () =>
  Number((await ctx.scope.knex('audit_logs').where({ action: 'config.applied' }).count('* as count').first())?.['count']);

test('a document takes the place of the former by whoever may write what either describes: nobody else hides what they changed (attack 73.1980)', async () => {
  await applied(api, { version: 1, clients: [machine('till', 'Till')], environment: { otp_lifetime: 300 } });
  await api.update('clients', 'till', { name: 'By hand' });
  expect(await drifted()).toEqual(['client till']);
  const reader = await manage(service.url, 'environments:read');
  const before = await entries();
  const empty = await applied(reader, { version: 1 });
  expect(codesOf(empty)).toEqual(['document_not_kept']);
  expect(codesOf((await plan(reader, { version: 1 })).body['meta'])).toEqual(['document_not_kept']);
  expect([await drifted(), await entries()]).toEqual([['client till'], before]);
  // What such a one may change is changed, and told as drift from what is kept.
  const narrow = await manage(service.url, 'environments:read clients:read clients:write connections:read');
  const own = await applied(narrow, { version: 1, clients: [machine('till', 'Narrow')] });
  expect([codesOf(own), (own['changes'] as Document[]).length]).toEqual([['document_not_kept'], 1]);
  expect([await drifted(), await entries()]).toEqual([['client till'], before + 1]);
  // One whose former document describes no more than theirs keeps it.
  await applied(api, { version: 1, clients: [machine('till', 'Till')] });
  expect(codesOf(await applied(narrow, { version: 1, clients: [machine('till', 'Theirs')] }))).toEqual([]);
  expect(await drifted()).toEqual([]);
});

test('what an administrator changes while a document is applied to the state that was seen stays theirs: 409 (attack 73.1981)', async () => {
  await applied(api, { version: 1, clients: [machine('shop', 'Shop')] });
  const document = { version: 1, clients: [machine('shop', 'Renamed')] };
  const expected_state = (await plan(api, document)).body['meta'].state as string;
  const others = await ctx.db.knex.transaction();
  await others('clients')
    .where({ id: 'shop' })
    .update({ name: 'Urgent', version: others.raw('version + 1') });
  const answer = apply(api, document, { expected_state });
  const waiting = () =>
    ctx.db.knex.raw(
      `select count(*)::integer as count from pg_stat_activity where wait_event_type = 'Lock' and datname = current_database()`,
    );
  await expect.poll(async () => (await waiting()).rows[0].count as number).toBe(1);
  await others.commit();
  const refused = await answer;
  expect([refused.status, problemsOf(refused)]).toEqual([409, ['state_changed /meta/expected_state']]);
  expect((await api.get('/clients/shop')).body['data'].attributes.name).toBe('Urgent');
  // Without a state that was seen the document is what counts.
  expect(told(await apply(api, document))).toEqual(['update client shop']);
});

test('a plan by whoever may not change the environment makes no keys for it (attack 73.1983)', async () => {
  const made = vi.spyOn(service.deps.crypto, 'newKeyPair');
  const document = { version: 1, environment: { signing_algorithms: ['RS256', 'PS256'] } };
  const refused = await plan(await manage(service.url, 'environments:read'), document);
  expect([refused.status, problemsOf(refused), made.mock.calls.length]).toEqual([
    403,
    ['insufficient_scope /meta/document/environment'],
    0,
  ]);
  expect(told(await plan(api, document))).toEqual(['update environment default']);
  expect(made.mock.calls.length).toBeGreaterThan(0);
  made.mockRestore();
});
