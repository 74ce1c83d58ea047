// Webhooks over the API: what is sent again, when it arrives, and destinations that are refused (attacks, section 16).
import { afterAll, beforeAll, expect, test } from 'vitest';
import { sharedService } from '../support/shared-service.js';
import type { Context } from '../../src/domain/context.js';
import {
  Api,
  manage,
  managementClient,
  managementToken,
  secondEnvironment,
  startManagedService,
  type Document,
} from '../support/management.js';
import { publishedDocument } from '../support/openapi.js';
import { startReceiver, type Receiver } from '../support/receiver.js';
import { emitRoles, quick, settledDeliveries } from '../support/webhooks.js';

let api: Api;
let strict: Api;
let ctx: Context;
let receiver: Receiver;
/** A webhook with three events that failed for good. */
let webhook: Document;
let failed: { id: string; created_at: Date; event_id: string }[];

const service = sharedService(() => startManagedService(quick));
const guarded = sharedService(() => startManagedService({ ALLOW_PRIVATE_NETWORK: 'off' }));
beforeAll(async () => {
  [api, strict] = [await manage(service.url), await manage(guarded.url)];
  ctx = await service.context();
  receiver = await startReceiver(404);
  webhook = await api.create('webhooks', { name: 'Orders', url: receiver.url, events: ['role.created'] });
  await emitRoles(ctx, 3);
  failed = await settledDeliveries(ctx, webhook['id'], 3, 20_000);
});
afterAll(async () => receiver?.close());

const path = () => `/webhooks/${webhook['id']}/redeliver_failed`;
const errorsOf = (answer: { body: Document }) =>
  (answer.body['errors'] as Document[]).map(({ status, code, source }) => [status, code, source?.pointer ?? source?.header]);
const deliveries = async () => (await api.get(`/webhook_deliveries?filter[webhook]=${webhook['id']}`)).body['data'].length as number;

test('redeliver_failed: what is wrong with the request is told, and nothing is sent', async () => {
  const since = '2026-01-01T00:00:00Z';
  const before = await deliveries();
  const wrong: [unknown, (string | undefined)[][]][] = [
    [{}, [['400', 'malformed_document', '']]],
    [{ data: null }, [['400', 'malformed_document', '']]],
    [{ meta: null }, [['400', 'malformed_document', '/meta']]],
    [{ meta: [since] }, [['400', 'malformed_document', '/meta']]],
    [{ meta: {} }, [['422', 'required', '/meta']]],
    [{ meta: { since: 'yesterday' } }, [['422', 'invalid_format', '/meta/since']]],
    [{ meta: { since: 1 } }, [['422', 'invalid_type', '/meta/since']]],
    [{ meta: { since: '2026-01-01' } }, [['422', 'invalid_format', '/meta/since']]],
    [{ meta: { since, until: null } }, [['422', 'invalid_type', '/meta/until']]],
    [{ meta: { since, until: since } }, [['422', 'invalid_period', '/meta/until']]],
    [{ meta: { since, status: 'failed' } }, [['422', 'unknown_member', '/meta/status']]],
    [{ meta: { until: 'x', 'a/b': 1 } }, [['422', 'required', '/meta'], ['422', 'invalid_format', '/meta/until'], ['422', 'unknown_member', '/meta/a~1b']]],
  ]; // prettier-ignore
  for (const [body, expected] of wrong) {
    const answer = await api.post(path(), body);
    expect([body, errorsOf(answer)]).toEqual([body, expected]);
    expect(answer.status).toBe(Number(expected[0]?.[0]));
  }
  expect(errorsOf(await api.request('POST', path(), { raw: '{' }))).toEqual([['400', 'malformed_document', '']]);
  expect(errorsOf(await api.post(path()))).toEqual([['415', 'unsupported_media_type', 'Content-Type']]);
  expect((await api.post(path(), { meta: { since } }, { 'content-type': 'application/json' })).status).toBe(415);
  expect((await api.post(`${path()}?q=1`, { meta: { since } })).status).toBe(400);
  expect((await api.post(path(), { meta: { since } }, { 'if-match': '"99-x"' })).status).toBe(412);
  expect((await api.patch(path(), { meta: { since } })).status).toBe(405);
  expect((await api.post('/webhooks/00000000-0000-7000-8000-000000000000/redeliver_failed', { meta: {} })).status).toBe(404);
  const reader = new Api(service.url, await managementToken(service.url, managementClient, { scope: 'webhooks:read' }));
  expect((await reader.post(path(), { meta: { since } })).body['errors'][0].meta).toEqual({ required: ['webhooks:write'] });
  const { api: other } = await secondEnvironment(api);
  expect((await other.post(path(), { meta: { since } })).status).toBe(404);
  expect(await deliveries()).toBe(before);
});

test('redeliver_failed: each event of the period once, 202, audited; a repeated key sends nothing twice', async () => {
  const since = new Date(Math.min(...failed.map((one) => one.created_at.getTime()))).toISOString();
  const none = await api.post(path(), { meta: { since: '2020-01-01T00:00:00+02:00', until: '2020-02-01T00:00:00Z' } });
  expect([none.status, none.body['meta']]).toEqual([202, { deliveries: 0, more: false }]);
  receiver.reply(200);
  const request = [path(), { meta: { since } }, { 'idempotency-key': 'once' }] as const;
  const sent = await api.post(...request);
  expect([sent.status, sent.body['meta'], sent.body['data'].id]).toEqual([202, { deliveries: 3, more: false }, webhook['id']]);
  expect(sent.body['links'].self).toBe(`${service.url}/api/webhooks/${webhook['id']}`);
  const again = await api.post(...request);
  expect([again.status, again.headers.get('idempotent-replayed'), again.text]).toEqual([202, 'true', sent.text]);
  expect((await api.post(path(), { meta: { since: '2020-01-01T00:00:00Z' } }, { 'idempotency-key': 'once' })).status).toBe(422);
  const all = await settledDeliveries(ctx, webhook['id'], 6);
  const arrived = all.filter((one) => one.trigger === 'redelivery' && one.status === 'succeeded');
  expect(new Set(arrived.map((one) => one.event_id))).toEqual(new Set(failed.map((one) => one.event_id)));
  expect((await api.post(path(), { meta: { since } })).body['meta']).toEqual({ deliveries: 0, more: false });
  const log = await api.get(`/audit_logs?filter[target]=${webhook['id']}&filter[action]=webhook.failed_redelivered&sort=occurred_at`);
  const changes = (log.body['data'] as { attributes: { changes: unknown } }[]).map((entry) => entry.attributes.changes);
  expect(changes).toContainEqual({ since: [null, since], deliveries: [null, 3] });
});

test('a receiver on loopback gets user.created within a second of POST /api/users', async () => {
  const own = await startReceiver();
  try {
    const created = await api.create('webhooks', { name: 'Users', url: `${own.url}/hook`, events: ['user.created'] });
    const user = await api.create('users', { email: 'ada@example.com', first_name: 'Ada', last_name: 'Lovelace' });
    const [post] = await own.received(1, 1000);
    expect(JSON.parse(post?.body ?? '')).toMatchObject({
      event: 'user.created',
      environment_id: ctx.environment.id,
      data: { id: user['id'], first_name: 'Ada', last_name: 'Lovelace' },
    });
    expect((await api.delete(`/webhooks/${created['id']}`)).status).toBe(204);
  } finally {
    await own.close();
  }
});

const inside = [
  'https://127.0.0.1/', 'https://127.255.255.254/', 'https://10.0.0.1/', 'https://172.16.0.1/', 'https://172.31.255.255/', 'https://192.168.1.1/',
  'https://100.64.0.1/', 'https://169.254.1.1/', 'https://169.254.169.254/latest/meta-data/', 'https://169.254.170.2/', 'https://100.100.100.200/',
  'https://168.63.129.16/', 'https://0.0.0.0/', 'https://0.1.2.3/', 'https://224.0.0.1/', 'https://239.255.255.250/', 'https://240.0.0.1/',
  'https://255.255.255.255/', 'https://192.0.2.1/', 'https://198.51.100.1/', 'https://203.0.113.1/', 'https://198.18.0.1/', 'https://192.0.0.192/',
  'https://2130706433/', 'https://0x7f.1/', 'https://0x7f000001/', 'https://0177.0.0.1/', 'https://127.1/', 'https://0/', 'https://3232235777/',
  'https://①②⑦.⓪.⓪.①/', 'https://127。0。0。1/', 'https://%31%32%37.0.0.1/',
  'https://[::1]/', 'https://[::]/', 'https://[0:0:0:0:0:0:0:1]/', 'https://[fe80::1]/', 'https://[fc00::1]/', 'https://[fd12:3456::1]/',
  'https://[fd00:ec2::254]/', 'https://[ff02::1]/', 'https://[2001:db8::1]/', 'https://[100::1]/', 'https://[fec0::1]/',
  'https://[::ffff:127.0.0.1]/', 'https://[::ffff:7f00:1]/', 'https://[::127.0.0.1]/', 'https://[64:ff9b::7f00:1]/', 'https://[64:ff9b:1::a00:1]/',
  'https://[2002:7f00:1::]/', 'https://[2001:0:7f00:1::]/',
  'https://localhost/', 'https://LOCALHOST/', 'https://localhost./', 'https://hooks.localhost/', 'https://hooks.LocalHost./',
  'https://metadata.google.internal/', 'https://METADATA.google.internal./computeMetadata/v1/', 'https://metadata/', 'https://instance-data/',
]; // prettier-ignore

const otherwiseWrong: [string, string][] = [
  ['http://hooks.example/', 'url_scheme'], ['file:///etc/passwd', 'url_scheme'], ['gopher://hooks.example:70/_x', 'url_scheme'],
  ['ftp://hooks.example/', 'url_scheme'], ['data:text/plain,x', 'url_scheme'], ['ws://hooks.example/', 'url_scheme'], ['wss://hooks.example/', 'url_scheme'],
  ['javascript:alert(1)', 'url_scheme'], ['https://user@hooks.example/', 'url_userinfo'], ['https://user:pass@hooks.example/', 'url_userinfo'],
  ['https://@hooks.example/', 'url_userinfo'], ['https://hooks.example@127.0.0.1/', 'url_userinfo'],
  ['https://hooks.example:0/', 'url_port'], ['https://hooks.example:22/', 'url_port'], ['https://hooks.example:25/', 'url_port'],
  ['https://hooks.example:5432/', 'url_port'], ['https://hooks.example:6379/', 'url_port'],
  ['https://hooks.example/#fragment', 'url_fragment'],
  ['https:/127.0.0.1/', 'url_invalid'], ['https:127.0.0.1', 'url_invalid'], ['https:///127.0.0.1/', 'url_invalid'], ['//127.0.0.1/', 'url_invalid'],
  ['https://hooks.example\\@127.0.0.1/', 'url_invalid'], ['https://hooks.example/\r\nX-Injected: 1', 'url_invalid'], ['https://hooks\t.example/', 'url_invalid'],
  [' https://hooks.example/', 'url_invalid'], ['https://[::1/', 'url_invalid'], ['https://[fe80::1%25eth0]/', 'url_invalid'], ['https://', 'url_invalid'],
  ['https://1.2.3.4.5/', 'url_invalid'], ['https://256.1.1.1/', 'url_invalid'], ['hooks.example', 'url_invalid'], ['', 'url_invalid'],
  [`https://hooks.example/${'x'.repeat(2048)}`, 'url_invalid'],
]; // prettier-ignore

test('destinations that can be told from the URL are refused with 422, at creation and at PATCH (attacks 16.186, 16.187, 16.192)', async () => {
  const existing = await strict.create('webhooks', { name: 'Fine', url: 'https://hooks.example/', events: ['role.created'] });
  const attempts: [string, string][] = [...inside.map((url): [string, string] => [url, 'url_address']), ...otherwiseWrong];
  for (const [url, code] of attempts) {
    const created = await strict.attempt('webhooks', { name: 'W', url, events: ['role.created'] });
    const changed = await strict.update('webhooks', existing['id'], { url });
    for (const answer of [created, changed]) expect([url, errorsOf(answer)]).toEqual([url, [['422', code, '/data/attributes/url']]]);
  }
  const list = (await strict.get('/webhooks')).body['data'] as Document[];
  expect(list.map(({ attributes }) => attributes.url)).toEqual(['https://hooks.example/']);
});

test('where private networks are allowed, link-local and metadata addresses stay refused', async () => {
  for (const url of [
    'http://127.0.0.1:49151/',
    'http://[::1]:49151/',
    'http://localhost:49151/',
    'http://10.0.0.1/',
    'https://[fd12:3456::1]/',
  ])
    expect([url, (await api.update('webhooks', webhook['id'], { url })).status]).toEqual([url, 200]);
  for (const url of [
    'http://169.254.169.254/',
    'http://0xa9fea9fe/',
    'http://[fd00:ec2::254]/',
    'http://[fe80::1]/',
    'http://metadata.google.internal/',
    'http://0.0.0.0/',
    'http://[::ffff:169.254.169.254]/',
  ])
    expect([url, errorsOf(await api.update('webhooks', webhook['id'], { url }))]).toEqual([
      url,
      [['422', 'url_address', '/data/attributes/url']],
    ]);
});

test('every exchange of this file is as the OpenAPI document says', async () =>
  expect((await publishedDocument(service.url)).problemsOf(api.exchanges)).toEqual([]));
