// Every surface on which a password is set, before a mirror of Pwned Passwords on this machine.
import { spawnSync } from 'node:child_process';
import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { beforeEach, afterAll, beforeAll, describe, expect, test } from 'vitest';
import { setupUrl } from '../../src/domain/users/setup.js';
import { findUser, findUserByEmailKey } from '../../src/db/tables/users.js';
import { createProgram } from '../../src/programs/cli/program.js';
import { signedInWith } from '../support/administrators.js';
import { sha1Of, startBreachMirror, type BreachMirror } from '../support/breach-mirror.js';
import { Browser, csrfOf } from '../support/browser.js';
import { programArguments } from '../support/compiled.js';
import { addUser, password } from '../support/data.js';
import { codeIn, lastMailTo } from '../support/mailbox.js';
import { manage, managementClient, startManagedService, type Api, type Document } from '../support/management.js';
import { cheapPasswords, freePort, startTestService, type TestService } from '../support/service.js';
import { signedIn } from '../support/signed-in.js';

const leaked = 'leaked by somebody in 2019';
const fresh = 'nobody has ever leaked this one';
const sentence = 'This password appeared in a data breach';

let mirror: BreachMirror;
let service: TestService;
let api: Api;
let hashed = 0;
let sequence = 0;

const newAddress = () => `breached-${++sequence}@example.com`;
const firstError = (answer: { body: Document }) => answer.body['errors'][0] as Document;
const names = { first_name: 'Grace', last_name: 'Hopper' };

beforeAll(async () => {
  mirror = await startBreachMirror();
  mirror.known.set(leaked, 5);
  const passwords = cheapPasswords();
  const counting: typeof passwords = {
    ...passwords,
    hash: async (...given) => {
      hashed += 1;
      return passwords.hash(...given);
    },
  };
  service = await startManagedService({ BREACHED_PASSWORDS_URL: mirror.url }, { overrides: { passwords: counting } });
  api = await manage(service.url);
});
afterAll(async () => {
  await service?.stop();
  await mirror?.close();
});
beforeEach(() => {
  mirror.misbehave = null;
  mirror.asked.length = 0;
  // A pause after a failure is over.
  service.clock.advance(31_000);
});

type Answer = { status: number; body: Record<string, unknown> & { fields?: Record<string, string[]> } };

async function post(path: string, body: unknown, browser = new Browser(service.url)): Promise<Answer> {
  const response = await browser.postJson(path, body);
  return { status: response.status, body: (await response.json()) as Answer['body'] };
}

const inJson = { error: 'password_breached', fields: { password: ['password_breached'] } };
const hashOfUser = async (id: string) => (await findUser((await service.context()).scope, id))?.password_hash;

async function provenAddress(): Promise<{ email: string; registration_token: string }> {
  const email = newAddress();
  const { body } = await post('/register', { email });
  const code = codeIn(await lastMailTo(service.url, email));
  const verified = await post('/register/verify', { registration_id: body['registration_id'], code });
  return { email, registration_token: verified.body['registration_token'] as string };
}

describe('registration', () => {
  test('is refused before anything is hashed or written, and goes on with another password', async () => {
    const { email, registration_token } = await provenAddress();
    const before = hashed;
    const refused = await post('/register/complete', { registration_token, ...names, password: leaked });
    expect([refused.status, refused.body]).toEqual([422, expect.objectContaining(inJson)]);
    expect(refused.body['error_description']).toContain(sentence);
    expect(hashed).toBe(before);
    expect(await findUserByEmailKey((await service.context()).scope, email)).toBeNull();
    expect((await post('/register/complete', { registration_token, ...names, password: fresh })).status).toBe(201);
    expect(hashed).toBe(before + 1);
  });

  test('asks nobody for a password that the rules refuse by themselves, for other wrong fields, or for a token that nobody was given (attack 12.443)', async () => {
    const { registration_token } = await provenAddress();
    expect((await post('/register/complete', { registration_token, ...names, password: 'password123' })).status).toBe(422);
    expect((await post('/register/complete', { registration_token, last_name: 'Hopper', password: leaked })).status).toBe(422);
    expect((await post('/register/complete', { registration_token: 'x'.repeat(43), ...names, password: leaked })).status).toBe(410);
    expect(mirror.asked).toEqual([]);
  });

  test('says so on the page, beside what was filled in', async () => {
    const { registration_token } = await provenAddress();
    const browser = new Browser(service.url);
    const _csrf = csrfOf(await (await browser.get('/register')).text());
    const answer = await browser.post('/register/complete', { _csrf, registration_token, ...names, password: leaked });
    const html = await answer.text();
    expect([answer.status, html.includes(sentence), html.includes('value="Grace"'), html.includes(leaked)]).toEqual([
      422,
      true,
      true,
      false,
    ]);
  });
});

describe('recovery', () => {
  async function started(): Promise<{ id: string; reset_id: string; code: string; link: URLSearchParams }> {
    const user = await addUser(await service.context());
    const { body } = await post('/password/forgot', { email: user.email });
    const mail = await lastMailTo(service.url, user.email);
    const link = new URL(/http\S+\/password\/reset\?\S+/.exec(mail.text)?.[0] ?? '').searchParams;
    return { id: user.id, reset_id: body['reset_id'] as string, code: codeIn(mail), link };
  }

  test('is refused for a leaked password, which spends neither the code nor a try', async () => {
    const { id, reset_id, code } = await started();
    const before = await hashOfUser(id);
    for (let tries = 0; tries < 7; tries++) {
      const refused = await post('/password/reset', { reset_id, code, password: leaked });
      expect([refused.status, refused.body]).toEqual([422, expect.objectContaining(inJson)]);
    }
    expect(await hashOfUser(id)).toBe(before);
    expect((await post('/password/reset', { reset_id, code, password: fresh })).status).toBe(200);
    expect(await hashOfUser(id)).not.toBe(before);
  });

  test('by the link says so on the page, and the link stays good', async () => {
    const { link } = await started();
    const browser = new Browser(service.url);
    const fields = { reset_id: link.get('reset_id') ?? '', code: link.get('code') ?? '' };
    const answer = await browser.submit(`/password/reset?${link}`, { ...fields, password: leaked });
    expect([answer.status, (await answer.text()).includes(sentence)]).toEqual([422, true]);
    expect((await browser.submit(`/password/reset?${link}`, { ...fields, password: fresh })).status).toBe(303);
  });

  test('without the right code asks nobody (attack 12.443)', async () => {
    const { reset_id } = await started();
    expect((await post('/password/reset', { reset_id, code: '000000', password: leaked })).body['error']).toBe('invalid_code');
    expect((await post('/password/reset', { reset_id, code: 'x'.repeat(43), password: leaked })).status).toBe(410);
    expect(mirror.asked).toEqual([]);
  });
});

describe('a change of one’s own', () => {
  test('is refused for a leaked password; nobody is asked before the current one was right', async () => {
    const user = await addUser(await service.context());
    const browser = await signedIn(service, user);
    const before = await hashOfUser(user.id);
    expect((await post('/account/password', { current_password: 'wrong', password: leaked }, browser)).status).toBe(401);
    expect(mirror.asked).toEqual([]);
    const refused = await post('/account/password', { current_password: password, password: leaked }, browser);
    expect([refused.status, refused.body]).toEqual([422, expect.objectContaining(inJson)]);
    const page = await browser.submit('/account', { current_password: password, password: leaked }, '/account/password');
    expect([page.status, (await page.text()).includes(sentence)]).toEqual([422, true]);
    expect(await hashOfUser(user.id)).toBe(before);
    expect((await post('/account/password', { current_password: password, password: fresh }, browser)).status).toBe(200);
  });
});

describe('administrators', () => {
  const refusal = { status: '422', code: 'password_breached', source: { pointer: '/data/attributes/password' } };
  const create = (attributes: object) => api.attempt('users', { email: newAddress(), ...attributes });

  test('can’t give a leaked password to a new user or an old one; a hash from elsewhere is taken as it is', async () => {
    const before = hashed;
    const refused = await create({ password: leaked });
    expect(firstError(refused)).toMatchObject({ ...refusal, detail: 'The password is known from a data breach.' });
    expect(hashed).toBe(before);
    const made = await create({ password: fresh });
    expect(made.status).toBe(201);
    const { id } = made.body['data'] as { id: string };
    expect(firstError(await api.update('users', id, { password: leaked }))).toMatchObject(refusal);
    mirror.asked.length = 0;
    const imported = await create({ password_hash: await cheapPasswords().hash(leaked) });
    expect([imported.status, mirror.asked]).toEqual([201, []]);
  });

  test('by the command line', async () => {
    const access = ['--url', service.url, '--client-id', managementClient.id, '--client-secret', managementClient.client_secret];
    const words = (secret: string) => [...access, 'create-user', newAddress(), '--password', secret];
    const run = (secret: string) => createProgram(() => undefined).exitOverride().parseAsync(words(secret), { from: 'user' }); // prettier-ignore
    await expect(run(leaked)).rejects.toThrow('known from a data breach');
    await run(fresh);
  });

  test('in the dashboard, where the form says so', async () => {
    const admin = await signedInWith(service, 'users:read', 'users:write');
    const answer = await admin.submit('/dashboard/users/new', { email: newAddress(), password: leaked }, '/dashboard/users');
    expect([answer.status, (await answer.text()).includes('known from a data breach')]).toEqual([422, true]);
  });
});

describe('the first administrator', () => {
  let empty: TestService;
  beforeAll(async () => {
    empty = await startTestService({ BREACHED_PASSWORDS_URL: mirror.url });
  });
  afterAll(() => empty?.stop());

  test('chooses another one on the set-up page', async () => {
    const url = new URL(setupUrl(await empty.context()));
    const fields = { token: url.searchParams.get('token') ?? '', email: newAddress(), ...names };
    const browser = new Browser(empty.url);
    const refused = await browser.submit(url.pathname + url.search, { ...fields, password: leaked });
    const html = await refused.text();
    expect([refused.status, html.includes(sentence), html.includes('value="Grace"')]).toEqual([422, true, true]);
    expect((await browser.submit(url.pathname + url.search, { ...fields, password: fresh })).status).toBe(303);
  });

  test('by ADMIN_PASSWORD: the first start is refused with a sentence, a later one is not', async () => {
    const database = { url: empty.databaseUrl, secretKey: empty.secretKey };
    const start = (email: string, secret: string) =>
      startTestService({ BREACHED_PASSWORDS_URL: mirror.url, ADMIN_EMAIL: email, ADMIN_PASSWORD: secret }, { database });
    await expect(start('root@example.com', leaked)).rejects.toThrow('ADMIN_PASSWORD is known from a data breach');
    expect(await findUserByEmailKey((await empty.context()).scope, 'root@example.com')).toBeNull();
    await (await start('root@example.com', fresh)).stop();
    await (await start('root@example.com', leaked)).stop();
  });
});

describe('the start', () => {
  test('ends with 78 and a sentence for a list that can’t be used', async () => {
    const answer = spawnSync(process.execPath, await programArguments('main'), {
      env: {
        PATH: process.env['PATH'],
        PORT: String(await freePort()),
        DATABASE_URL: 'postgres://127.0.0.1:1/none',
        SECRET_KEY: service.secretKey,
        BREACHED_PASSWORDS_FILE: '/nowhere/hashes.txt',
      },
      encoding: 'utf8',
    });
    expect(answer.stderr).toBe('invalid configuration:\n  - BREACHED_PASSWORDS_FILE can not be read: ENOENT (/nowhere/hashes.txt)\n');
    expect(answer.status).toBe(78);
  });
});

describe('whatever becomes of the mirror', () => {
  // How long that takes, and that who asks at once waits together, is held where the mirror is asked (test/domain/passwords/breached-passwords.test.ts).
  test('registrations at once with a mirror that hangs all succeed, and others are served (attack 12.443)', async () => {
    const started = await Promise.all(Array.from({ length: 6 }, provenAddress));
    mirror.misbehave = () => undefined;
    const answers = started.map(({ registration_token }, i) =>
      post('/register/complete', { registration_token, ...names, password: `${fresh} ${i}` }),
    );
    expect((await fetch(`${service.url}/login`)).status).toBe(200);
    expect((await Promise.all(answers)).map(({ status }) => status)).toEqual(Array<number>(6).fill(201));
    expect(mirror.asked.length).toBeGreaterThan(0);
  });

  test('neither a password nor its SHA-1, nor the beginning of one, is in the log (attack 12.441)', async () => {
    await post('/register/complete', { registration_token: (await provenAddress()).registration_token, ...names, password: leaked });
    mirror.misbehave = (res) => void res.writeHead(500).end(sha1Of(leaked));
    await post('/register/complete', { registration_token: (await provenAddress()).registration_token, ...names, password: leaked });
    expect(mirror.asked).toHaveLength(2);
    const all = service.log.join('\n').toUpperCase();
    expect(all).toContain('BREACHED_PASSWORDS.UNCHECKED');
    for (const secret of [leaked.toUpperCase(), sha1Of(leaked), `/RANGE/`, sha1Of(leaked).slice(5)]) expect(all).not.toContain(secret);
  });
});

test('an environment that takes leaked passwords asks nobody, from the moment that it is set', async () => {
  const [environment] = (await api.get('/environments?filter[slug]=default')).body['data'] as { id: string; attributes: object }[];
  const id = environment?.id as string;
  expect(environment?.attributes).toMatchObject({ breached_passwords: 'refuse' });
  const set = (breached_passwords: string) => api.update('environments', id, { breached_passwords });
  expect((await set('maybe')).status).toBe(422);
  expect((await set('off')).status).toBe(200);
  const { registration_token } = await provenAddress();
  expect((await post('/register/complete', { registration_token, ...names, password: leaked })).status).toBe(201);
  expect(mirror.asked).toEqual([]);
  await set('refuse');
  const other = await provenAddress();
  expect((await post('/register/complete', { ...other, ...names, password: leaked })).body['error']).toBe('password_breached');
});

test('every chosen password is hashed by `hashNewPassword`: whoever hashes by itself stores what nobody chose just now', async () => {
  const names = await readdir('src', { recursive: true });
  const files = names.filter((name) => name.endsWith('.ts') && name !== 'domain/passwords/passwords.ts');
  const hashing = await Promise.all(
    files.map(async (name) => ((await readFile(join('src', name), 'utf8')).includes('passwords.hash(') ? [name] : [])),
  );
  expect(hashing.flat().sort()).toEqual([
    // The right password, just proven: by the system that the person came from, or at another cost.
    'domain/credentials/migrated-password.ts',
    'domain/credentials/prove-password.ts',
    'domain/users/new-password.ts',
    // A random one.
    'programs/demo/data.ts',
  ]);
});
