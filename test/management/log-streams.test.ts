// Log streams at the Management API and in the dashboard.
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { serviceSignature } from '../../src/domain/webhooks/sign.js';
import { signedInWith } from '../support/administrators.js';
import { Api, manage, managementClient, managementToken, type Document } from '../support/management.js';
import { startReceiver, type Receiver } from '../support/receiver.js';
import { contextOf, sharedManagedService } from '../support/shared-service.js';

const service = sharedManagedService();
const ctx = contextOf(service);
let api: Api;
let receiver: Receiver;

beforeAll(async () => {
  [api, receiver] = await Promise.all([manage(service.url), startReceiver()]);
});
afterAll(() => receiver?.close());

const attributes = (more: Document = {}): Document => ({
  name: 'SIEM', url: `${receiver.url}/lines`, format: 'native', sources: ['security_events'], status: 'paused', ...more,
}); // prettier-ignore
const created = (more: Document = {}): Promise<Document> => api.create('log_streams', attributes(more));
const changed = (id: string, change: Document, caller = api) => caller.update('log_streams', id, change);
const only = async (scope: string) => new Api(service.url, await managementToken(service.url, managementClient, { scope }));

describe('a log stream', () => {
  test('is made with a signing secret, which no later answer has, and an authorization, which none has (attack 35.725)', async () => {
    const stream = await created({ authorization: 'Bearer the-authorization-of-the-siem' });
    const secret = stream['attributes'].signing_secret as string;
    expect(secret).toMatch(/^whsec_[A-Za-z0-9+/]{43}=$/);
    expect(stream['attributes']).toMatchObject({ has_authorization: true, lag_seconds: 0, last_error: null, failing_since: null });
    const rotated = await api.patch(`/log_streams/${stream['id']}/rotate_secret`);
    const second = rotated.body['data'].attributes.signing_secret as string;
    expect(second).toMatch(/^whsec_/);
    expect(second).not.toBe(secret);
    const shown = [
      await api.get(`/log_streams/${stream['id']}`),
      await api.get('/log_streams'),
      await changed(stream['id'], { authorization: 'Bearer another-authorization-of-the-siem' }),
      await api.get(`/audit_logs?filter[target]=${stream['id']}`),
    ].map(({ text }) => text);
    const stored = JSON.stringify(await ctx.db.knex('log_streams'));
    const hidden = [secret, second, 'authorization-of-the-siem'];
    for (const text of [...shown, stored, service.log.join('')]) for (const value of hidden) expect(text).not.toContain(value);
    expect((await changed(stream['id'], { authorization: null })).body['data'].attributes.has_authorization).toBe(false);
  });

  test.each([
    ['http on the public internet', { url: 'ftp://siem.example/' }, 'url_scheme'],
    ['a user name in the URL', { url: 'https://a:b@siem.example/' }, 'url_userinfo'],
    ['an unknown format', { format: 'cef' }, 'invalid_value'],
    ['an unknown source', { sources: ['tokens'] }, 'invalid_value'],
    ['no source', { sources: [] }, null],
    ['a source twice', { sources: ['audit_logs', 'audit_logs'] }, 'duplicate_value'],
    ['a line break in the header', { authorization: 'Bearer a\r\nX-Other: b' }, null],
    ['an empty name', { name: ' ' }, 'required'],
  ])('with %s is refused', async (_what, wrong, code) => {
    const answer = await api.attempt('log_streams', attributes(wrong));
    expect(answer.status).toBe(422);
    if (code !== null) expect((answer.body['errors'] as Document[]).map((error) => error['code'])).toContain(code);
  });

  test('is told what is sent only by those who may read that (attack 35.724)', async () => {
    const narrow = await only('log_streams:read log_streams:write security_events:read');
    const refusals = async (answer: Promise<{ status: number; body: Document }>) => {
      const { status, body } = await answer;
      return [status, body['errors']?.[0]?.code, body['errors']?.[0]?.meta?.required];
    };
    const escalation = [403, 'scope_escalation', ['audit_logs:read']];
    const both = { sources: ['security_events', 'audit_logs'] };
    expect(await refusals(narrow.attempt('log_streams', attributes(both)))).toEqual(escalation);
    const wide = await created({ sources: ['audit_logs'] });
    expect(await refusals(changed(wide['id'], { url: 'https://mine.example/' }, narrow))).toEqual(escalation);
    expect(await refusals(narrow.patch(`/log_streams/${wide['id']}/rotate_secret`))).toEqual(escalation);
    const own = await narrow.create('log_streams', attributes());
    expect(await refusals(changed(own['id'], both, narrow))).toEqual(escalation);
    expect((await changed(own['id'], { url: 'https://mine.example/' }, narrow)).status).toBe(200);
    const without = await only('log_streams:write');
    expect((await without.attempt('log_streams', attributes())).status).toBe(403);
    expect((await (await only('webhooks:read')).get('/log_streams')).status).toBe(403);
  });

  test('of events takes what reading each type of them takes (attack 51.1451)', async () => {
    const events = { data: { type: 'log_stream', attributes: attributes({ sources: ['events'] }) } };
    const some = await only('log_streams:read log_streams:write events:read users:read roles:read');
    const refused = await some.post('/log_streams', events);
    expect([refused.status, refused.body['errors'][0].code]).toEqual([403, 'scope_escalation']);
    const required = refused.body['errors'][0].meta.required as string[];
    expect(required).toEqual(expect.arrayContaining(['sessions:read', 'clients:read', 'security_events:read', 'permissions:read']));
    const all = await only(['log_streams:read log_streams:write events:read users:read roles:read', ...required].join(' '));
    expect((await all.post('/log_streams', events)).status).toBe(201);
  });

  test('pointed at another receiver tells it no authorization that nobody said again (attack 35.796)', async () => {
    const stream = await created({ authorization: 'Bearer the-authorization-of-the-siem' });
    const id = stream['id'] as string;
    const moved = await changed(id, { url: 'https://mine.example/' });
    expect([moved.status, moved.body['errors'][0].code, moved.body['errors'][0].source.pointer]).toEqual([
      422,
      'secret_required',
      '/data/attributes',
    ]);
    expect(moved.body['errors'][0].meta.field).toBe('authorization');
    expect((await changed(id, { url: `${receiver.url}/elsewhere` })).body['data'].attributes.has_authorization).toBe(true);
    expect((await changed(id, { url: 'https://mine.example/', authorization: null })).status).toBe(200);
    expect((await changed(id, { url: 'https://yours.example/' })).body['data'].attributes.has_authorization).toBe(false);
    expect((await changed(id, { url: 'https://mine.example/', authorization: 'Bearer mine' })).status).toBe(200);
  });

  test('that loses a source drops what waited of it', async () => {
    const stream = await created({ sources: ['security_events', 'audit_logs'] });
    await api.create('webhooks', { name: 'x', url: 'https://x.example/', events: ['*'] });
    await created();
    const waiting = async () =>
      (await ctx.db.knex('log_stream_entries').where({ log_stream_id: stream['id'], source: 'audit_logs' })) as unknown[];
    expect((await waiting()).length).toBeGreaterThan(0);
    expect((await api.get(`/log_streams/${stream['id']}`)).status).toBe(200);
    expect((await changed(stream['id'], { sources: ['security_events'] })).status).toBe(200);
    expect((await waiting()).length).toBe(0);
    expect((await api.delete(`/log_streams/${stream['id']}`)).status).toBe(204);
    expect(await ctx.db.knex('log_stream_entries').where({ log_stream_id: stream['id'] })).toEqual([]);
  });

  test('sends a test at once, signed and with its header, and answers what came of it', async () => {
    const stream = await created({ authorization: 'Splunk test-token', format: 'ecs' });
    const answer = await api.post(`/log_streams/${stream['id']}/test`);
    expect([answer.status, answer.body['meta']]).toMatchObject([202, { delivered: true, response_status: 200, error: null }]);
    const post = receiver.posts.at(-1);
    expect(post?.headers).toMatchObject({
      'content-type': 'application/x-ndjson',
      authorization: 'Splunk test-token',
      'x-service-event': 'log_stream.batch',
      'x-service-signature': serviceSignature(stream['attributes'].signing_secret, post?.body ?? ''),
    });
    expect(JSON.parse(post?.body ?? '')).toMatchObject({
      event: { action: 'login.failed', reason: 'test' },
      idp: { detail: { test: true } },
    });
    expect(await ctx.db.knex('audit_logs').where({ reason: 'test' })).toEqual([]);
    receiver.reply(503);
    try {
      const failed = await api.post(`/log_streams/${stream['id']}/test`);
      expect(failed.body['meta']).toMatchObject({ delivered: false, response_status: 503, error: 'non_2xx' });
      expect(failed.body['data'].attributes).toMatchObject({ last_error: 'non_2xx', last_response_status: 503 });
    } finally {
      receiver.reply(200);
    }
  });

  test('of ten in an environment the eleventh is refused, also at the same moment (attack 35.857)', async () => {
    await ctx.db.knex('log_streams').delete();
    const make = () => api.attempt('log_streams', attributes());
    for (let number = 0; number < 8; number++) expect((await make()).status).toBe(201);
    const answers = await Promise.all(Array.from({ length: 6 }, make));
    expect(answers.map(({ status }) => status).sort()).toEqual([...Array(2).fill(201), ...Array(4).fill(409)]);
    expect(((await api.get('/log_streams?page[size]=100')).body['data'] as unknown[]).length).toBe(10);
    for (const { id } of (await api.get('/log_streams?page[size]=100')).body['data'] as Document[]) await api.delete(`/log_streams/${id}`);
  });
});

test('the dashboard creates one, shows its secret once, and tests it', async () => {
  const browser = await signedInWith(service, 'log_streams:read', 'log_streams:write', 'security_events:read');
  const form = await (await browser.get('/dashboard/log_streams/new')).text();
  for (const words of ['Authorization header', 'Security events', 'OCSF 1']) expect(form).toContain(words);
  const stream = await created({ name: 'Shown' });
  const page = await (await browser.get(`/dashboard/log_streams/${stream['id']}`)).text();
  for (const words of ['Shown', 'Nothing waits', 'Paused', 'Send test', `${receiver.url}/lines`]) expect(page).toContain(words);
  expect(await (await browser.get('/dashboard/log_streams')).text()).toContain('Shown');
});
