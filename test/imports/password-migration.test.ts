// People whose old system gives no hashes: it is asked at their first sign-in.
import { createHash } from 'node:crypto';
import { createRemoteJWKSet, jwtVerify } from 'jose';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { findUserByEmailKey, updateUser } from '../../src/db/tables/users.js';
import { Browser } from '../support/browser.js';
import { Api, manage, managementClient, managementToken, type Document } from '../support/management.js';
import { startReceiver, type Receiver } from '../support/receiver.js';
import { contextOf, sharedManagedService } from '../support/shared-service.js';

const service = sharedManagedService();
const ctx = contextOf(service);
let api: Api;
let old: Receiver;
const password = 'the password of before';
const answering = () =>
  old.reply((post, res) => res.writeHead(200).end(JSON.stringify({ valid: (JSON.parse(post.body) as Document)['password'] === password })));

const setting = async (attributes: Document, by = api) => {
  const { id } = (await api.get('/environments?filter[slug]=default')).body['data'][0];
  return by.update('environments', id, attributes);
};

beforeAll(async () => {
  [api, old] = await Promise.all([manage(service.url), startReceiver()]);
  answering();
  await setting({ password_migration_url: `${old.url}/check` });
});
afterAll(() => old?.close());

let number = 0;
async function pending(more: Document = {}): Promise<string> {
  const email = `pending-${++number}@example.com`;
  await api.create('users', { email, pending_migration: true, ...more });
  return email;
}
const userOf = (email: string) => findUserByEmailKey(ctx.scope, email);
const login = (email: string, given: string) => new Browser(service.url).postJson('/login', { email, password: given });

test('the right password signs in and is kept: the old system is asked once, by a request that the keys of the environment prove (specification 18.4.1)', async () => {
  const email = await pending();
  const asked = old.posts.length;
  expect((await login(email, 'wrong')).status).toBe(401);
  expect((await login(email, password)).status).toBe(200);
  expect(await userOf(email)).toMatchObject({ pending_migration: false, password_hash: expect.stringMatching(/^\$argon2id\$/) as string });
  expect((await login(email, password)).status).toBe(200);
  expect((await login(email, 'wrong')).status).toBe(401);
  const posts = old.posts.slice(asked);
  expect(posts.map(({ body }) => JSON.parse(body) as Document)).toEqual([
    { email, password: 'wrong' },
    { email, password },
  ]);
  const { body, headers } = posts[1]!;
  const keys = createRemoteJWKSet(new URL(`${service.url}/.well-known/jwks.json`));
  const token = String(headers['authorization']).replace('Bearer ', '');
  const checks = { issuer: service.url, audience: `${old.url}/check`, typ: 'password-migration+jwt' };
  const { payload } = await jwtVerify(token, keys, { ...checks, currentDate: service.clock.now() });
  expect(payload['body_sha256']).toBe(createHash('sha256').update(body).digest('base64url'));
  expect(service.log.join('')).not.toContain(password);
});

test.each([
  ['answers 500', () => old.reply(500)],
  ['answers 404', () => old.reply(404)],
  ['answers no JSON', () => old.reply((_post, res) => res.writeHead(200).end('yes'))],
  ['answers another member', () => old.reply((_post, res) => res.writeHead(200).end('{"valid":"true"}'))],
  ['answers null', () => old.reply((_post, res) => res.writeHead(200).end('null'))],
  ['answers too much', () => old.reply((_post, res) => res.writeHead(200).end(`{"valid":true,"x":"${'x'.repeat(5_000)}"}`))],
  ['sends elsewhere', () => old.reply((_post, res) => res.writeHead(302, { location: 'http://127.0.0.1/' }).end())],
  ['hangs up', () => old.reply((_post, res) => res.destroy())],
])('where it %s that person is told to come again, and nothing counts (specification 18.4.2)', async (_what, reply) => {
  const email = await pending();
  reply();
  const answer = await login(email, password);
  expect([answer.status, answer.headers.get('retry-after')]).toEqual([503, '5']);
  answering();
  expect(await userOf(email)).toMatchObject({ failed_login_count: 0, pending_migration: true, password_hash: null });
  expect((await login(email, password)).status).toBe(200);
});

test('it is asked for nobody else, for no locked account, and not for who has chosen a password here (specification 18.4.3, attack 50.1472)', async () => {
  const [plain, locked, chosen] = [await pending({ pending_migration: false }), await pending(), await pending()];
  const asked = old.posts.length;
  await updateUser(ctx.scope, (await userOf(locked))!.id, { locked_until: new Date(service.clock.now().getTime() + 60_000) });
  const { id } = (await userOf(chosen))!;
  await api.update('users', id, { password: 'a new one of their own' });
  expect(await userOf(chosen)).toMatchObject({ pending_migration: false });
  for (const email of [plain, locked, chosen, 'nobody@example.com']) expect((await login(email, password)).status).toBe(401);
  expect(old.posts.length).toBe(asked);
});

test('guesses count here as all others, however fast the old system answers (attack 50.1473)', async () => {
  const email = await pending();
  const asked = old.posts.length;
  await Promise.all(Array.from({ length: 15 }, (_, n) => login(email, `guess ${n}`)));
  expect(old.posts.length - asked).toBeLessThanOrEqual(10);
  expect((await login(email, password)).status).toBe(401);
});

test('the first proof of the address ends it: whoever had the account there may not be the address’s owner (attack 50.1474)', async () => {
  const email = await pending();
  const { id } = (await userOf(email))!;
  await api.update('users', id, { email_verified: true });
  expect(await userOf(email)).toMatchObject({ pending_migration: false });
});

test('where it is takes everything, and can be nowhere that nobody should ask (attack 50.1475)', async () => {
  const narrow = new Api(service.url, await managementToken(service.url, managementClient, { scope: 'environments:write' }));
  const refused = await setting({ password_migration_url: 'https://evil.example/' }, narrow);
  expect([refused.status, refused.body['errors'][0].code]).toEqual([403, 'scope_escalation']);
  for (const [url, code] of [
    ['ftp://old.example/', 'url_scheme'],
    ['http://169.254.169.254/', 'url_address'],
    ['https://a:b@old.example/', 'url_userinfo'],
  ])
    // prettier-ignore
    expect((await setting({ password_migration_url: url })).body['errors'][0].code).toBe(code);
});
