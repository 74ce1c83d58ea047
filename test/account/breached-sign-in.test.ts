// Passwords in use: one that somebody signed in with is looked up among leaked ones, after the answer and never in its way.
import type { ServerResponse } from 'node:http';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { findUser, type UserRow } from '../../src/db/tables/users.js';
import { lookUpProvenPasswords, noteProvenPassword } from '../../src/domain/credentials/breached-sign-in.js';
import { createProvenPasswords, type ProvenPassword } from '../../src/domain/notes/proven-passwords.js';
import { noOrigin } from '../../src/domain/origin.js';
import { Browser, csrfOf } from '../support/browser.js';
import { sha1Of, startBreachMirror, type BreachMirror } from '../support/breach-mirror.js';
import { signedInWith } from '../support/administrators.js';
import { addConnection } from '../support/connections.js';
import { addEnvironment, addUser } from '../support/data.js';
import { eventsOf, subscribe } from '../support/events.js';
import { giveTotp } from '../support/factors.js';
import { codeIn, lastMailTo, mailTo } from '../support/mailbox.js';
import { manage, startManagedService, type Api, type Document } from '../support/management.js';
import { auditRows, marks, origin } from '../support/security-events.js';
import { cheapPasswords } from '../support/service.js';
import { setEnvironment, signedIn } from '../support/signed-in.js';
import { sharedService, shared } from '../support/shared-service.js';
import { addSignalReceiver, type SignalReceiver } from '../support/signals.js';
import { loginThrough } from '../support/sso.js';
import { observeStatements } from '../support/statements.js';
import { ScriptedUpstream } from '../support/upstream-scripted.js';

let mirror: BreachMirror;
let receiver: SignalReceiver;
let stream: string;
let api: Api;
let sequence = 0;

beforeAll(async () => {
  mirror = await startBreachMirror();
});
const service = sharedService(() => startManagedService({ BREACHED_PASSWORDS_URL: mirror.url }));
const ctx = shared(() => service.context());
beforeAll(async () => {
  api = await manage(service.url);
  receiver = await addSignalReceiver(service, ctx, { signal_audience: 'everybody' });
  stream = await receiver.stream();
  await subscribe(service, ['password.breached', 'user.updated']);
});
afterAll(() => mirror?.close());
beforeEach(async () => {
  mirror.misbehave = null;
  await setEnvironment(service, { breached_passwords: 'refuse', breached_password_sign_in: 'notify' });
  // A pause after a failure is over.
  service.clock.advance(31_000);
});

const newSecret = () => `a password of nobody else ${++sequence}`;

/** Somebody whose password has leaked, after it was set, unless told otherwise. */
async function person(row: Partial<UserRow> = {}, leaked = true): Promise<UserRow & { secret: string }> {
  const secret = newSecret();
  if (leaked) mirror.known.set(secret, 3);
  return { ...(await addUser(ctx, { ...row, password_hash: await cheapPasswords().hash(secret) })), secret };
}
const login = (email: string, secret: string, browser = new Browser(service.url)) =>
  browser.postJson('/login', { email, password: secret }, marks);
const rowOf = async ({ id }: Pick<UserRow, 'id'>) => (await findUser(ctx.scope, id)) as UserRow;
const askedFor = (secret: string) => mirror.asked.filter(({ path }) => path === `/range/${sha1Of(secret).slice(0, 5)}`).length;
async function foundOf(user: Pick<UserRow, 'id'>): Promise<void> {
  await expect.poll(async () => (await rowOf(user)).password_breached_at).not.toBeNull();
}
async function lookedUp(user: Pick<UserRow, 'id'>): Promise<void> {
  await expect.poll(async () => (await rowOf(user)).password_looked_up_at).not.toBeNull();
}

const checks = async (result: string) =>
  (await service.deps.metrics.breachedPasswordChecks.get()).values.find(({ labels }) => labels['result'] === result)?.value ?? 0;

/** Waits until what was left before is looked up: they are taken in turn. */
async function allLookedUp(): Promise<void> {
  for (let round = 0; round < 2; round++) {
    const last = await person({}, false);
    expect((await login(last.email, last.secret)).status).toBe(200);
    await lookedUp(last);
    // It is noted as looked up before the list is asked.
    await expect.poll(() => askedFor(last.secret)).toBe(1);
  }
}

describe('a password that is found', () => {
  test('is told of once: to webhooks, auditors, streams, the person and administrators (specification 4.1.8)', async () => {
    const user = await person();
    await receiver.poll(stream);
    expect((await login(user.email, user.secret)).status).toBe(200);
    await foundOf(user);
    expect((await login(user.email, user.secret)).status).toBe(200);
    await allLookedUp();
    expect(askedFor(user.secret)).toBe(1);

    const events = await eventsOf(service, user.id);
    const { first_name, last_name, email, external_id } = user;
    expect(events.map(({ event, data }) => [event, data])).toEqual([
      [
        'password.breached',
        { id: user.id, first_name, last_name, email, external_id, reset_required: false, found_at: expect.any(String) },
      ],
    ]);
    const rows = (await auditRows(service, 'password.breached')).filter(({ target_id }) => target_id === user.id);
    expect(rows).toMatchObject([{ actor_kind: 'system', outcome: 'success', changes: { reset_required: [null, false] }, ...origin }]);
    const sets = (await receiver.poll(stream)).filter(({ event }) => event === 'credential-compromise');
    expect(sets.map(({ claims, members }) => [claims.sub_id, members])).toEqual([
      [
        { format: 'iss_sub', iss: service.url, sub: user.id },
        { credential_type: 'password', event_timestamp: expect.any(Number), reason_admin: { en: expect.any(String) } },
      ],
    ]);
    const mails = (await mailTo(service.url, email)).filter(({ subject }) => subject.startsWith('Set a new '));
    expect(mails).toHaveLength(1);
    expect(mails[0]?.text).toContain(`${service.url}/password/forgot`);
    expect(mails[0]?.text).not.toContain('You can’t sign in with it any more.');
    const { attributes } = (await api.get(`/users/${user.id}`)).body['data'] as Document;
    expect(attributes['password_breached_at']).toBe((await rowOf(user)).password_breached_at?.toISOString());
    const root = await signedInWith(service, 'users:read');
    expect(await (await root.get(`/dashboard/users/${user.id}`)).text()).toContain('Found in a data breach');
  });

  test('is one that waits for a second step too, and one that confirms a session', async () => {
    const [half, whole] = [await person(), await person()];
    await giveTotp(ctx, half.id);
    const asked = await login(half.email, half.secret);
    expect(((await asked.json()) as Document)['second_factor']).toBeDefined();
    await foundOf(half);
    const browser = await signedIn(service, whole);
    expect((await browser.postJson('/account/confirm', { password: whole.secret })).status).toBe(200);
    await foundOf(whole);
  });

  test('is no longer held against the person once they have another one', async () => {
    const user = await person();
    await login(user.email, user.secret);
    await foundOf(user);
    const next = newSecret();
    const body = { data: { type: 'user', id: user.id, attributes: { password: next } } };
    expect((await api.patch(`/users/${user.id}`, body)).status).toBe(200);
    expect(await rowOf(user)).toMatchObject({ password_breached_at: null, password_looked_up_at: null });
    mirror.known.set(next, 1);
    expect((await login(user.email, next)).status).toBe(200);
    await foundOf(user);
  });
});

describe('a password that is not found', () => {
  test('is looked up again after 30 days and no sooner, and a sign-in between costs no statement for it', async () => {
    const user = await person({}, false);
    await login(user.email, user.secret);
    await lookedUp(user);
    expect(await rowOf(user)).toMatchObject({ password_breached_at: null, version: user.version });
    const texts: string[] = [];
    const end = observeStatements((text) => void texts.push(text));
    expect((await login(user.email, user.secret)).status).toBe(200);
    await allLookedUp().finally(end);
    // Those of the two who came after.
    expect(texts.filter((text) => text.includes('password_looked_up_at ='))).toHaveLength(2);
    expect(askedFor(user.secret)).toBe(1);
    const days = (count: number) => new Date(service.clock.now().getTime() - count * 86_400_000);
    const users = () => ctx.db.knex('users').where({ id: user.id });
    await users().update({ password_looked_up_at: days(29) });
    await login(user.email, user.secret);
    await allLookedUp();
    expect(askedFor(user.secret)).toBe(1);
    mirror.known.set(user.secret, 1);
    await users().update({ password_looked_up_at: days(31) });
    await login(user.email, user.secret);
    await foundOf(user);
    expect(askedFor(user.secret)).toBe(2);
  });

  test('was looked up as it was set, where that was possible', async () => {
    const user = await person({}, false);
    const browser = await signedIn(service, user);
    const next = newSecret();
    expect((await browser.postJson('/account/password', { current_password: user.secret, password: next })).status).toBe(200);
    expect((await rowOf(user)).password_looked_up_at).not.toBeNull();
    await login(user.email, next);
    await allLookedUp();
    expect(askedFor(next)).toBe(1);
    mirror.misbehave = (res) => void res.writeHead(500).end();
    const last = newSecret();
    expect((await browser.postJson('/account/password', { current_password: next, password: last })).status).toBe(200);
    expect((await rowOf(user)).password_looked_up_at).toBeNull();
  });

  test('is asked for once by many who sign in at once', async () => {
    const user = await person({}, false);
    const before = await checks('clean');
    const answers = await Promise.all(Array.from({ length: 4 }, () => login(user.email, user.secret)));
    expect(answers.map(({ status }) => status)).toEqual([200, 200, 200, 200]);
    await allLookedUp();
    // And of the two who came after: those who ask at the same moment share a request.
    await expect.poll(() => checks('clean')).toBe(before + 3);
  });
});

describe('nobody is asked', () => {
  test('for a wrong password, of whoever it may be, nor for that of somebody blocked (attack 65.1920)', async () => {
    const [user, blocked] = [await person(), await person({ status: 'blocked' })];
    const wrong = newSecret();
    const before = mirror.asked.length;
    for (const [email, secret] of [
      [user.email, wrong],
      ['nobody-at-all@example.com', wrong],
      [user.email, user.secret.toUpperCase()],
      [blocked.email, blocked.secret],
    ] as const)
      expect((await login(email, secret)).status).toBeGreaterThan(400);
    await allLookedUp();
    // The two who came after.
    expect(mirror.asked.length).toBe(before + 2);
    expect([(await rowOf(user)).password_looked_up_at, (await rowOf(blocked)).password_looked_up_at]).toEqual([null, null]);
  });

  test('while either setting is off', async () => {
    const user = await person();
    for (const off of [{ breached_password_sign_in: 'off' }, { breached_passwords: 'off', breached_password_sign_in: 'notify' }] as const) {
      await setEnvironment(service, off);
      expect((await login(user.email, user.secret)).status).toBe(200);
    }
    await setEnvironment(service, { breached_passwords: 'refuse' });
    await allLookedUp();
    expect([askedFor(user.secret), (await rowOf(user)).password_looked_up_at]).toEqual([0, null]);
  });

  test('for who signs in without a password, at a provider say; the local password that links the two is asked for', async () => {
    const upstream = await ScriptedUpstream.start();
    try {
      const connection = await addConnection(ctx, { issuer: upstream.url, display_name: 'Corp', account_linking: 'ask' });
      const user = await person();
      upstream.claims = { ...upstream.claims, sub: user.id, email: user.email, email_verified: true };
      const browser = new Browser(service.url);
      const html = await (await loginThrough(browser, connection)).text();
      const fields = { _csrf: csrfOf(html), link: /name="link" value="([^"]+)"/.exec(html)?.[1] ?? '', email: user.email };
      expect((await browser.post('/auth/sso/link', { ...fields, password: user.secret })).status).toBe(303);
      await foundOf(user);
      await setEnvironment(service, { breached_password_sign_in: 'require_reset' });
      expect((await loginThrough(new Browser(service.url), connection)).status).toBe(303);
      await ctx.db.knex('users').where({ id: user.id }).update({ password_looked_up_at: null, password_breached_at: null });
      expect((await loginThrough(new Browser(service.url), connection)).status).toBe(303);
      await allLookedUp();
      expect([askedFor(user.secret), (await rowOf(user)).password_looked_up_at]).toEqual([1, null]);
    } finally {
      await upstream.close();
    }
  });

  test('about the same person of another environment', async () => {
    const other = await addEnvironment(service.deps, 'elsewhere');
    const user = await person();
    const twin = await addUser(other, { id: user.id, email: user.email, password_hash: user.password_hash });
    await login(user.email, user.secret);
    await foundOf(user);
    expect(await findUser(other.scope, twin.id)).toMatchObject({ password_breached_at: null, password_looked_up_at: null });
  });
});

describe('whatever becomes of the list', () => {
  test('sign-ins are answered while it hangs, and no more than four ask at once (attack 65.1921)', async () => {
    const held: ServerResponse[] = [];
    mirror.misbehave = (res) => void held.push(res);
    const people = await Promise.all(Array.from({ length: 8 }, () => person({}, false)));
    const before = mirror.asked.length;
    const answers = await Promise.all(people.map((one) => login(one.email, one.secret)));
    expect(answers.map(({ status }) => status)).toEqual(Array<number>(8).fill(200));
    await expect.poll(() => mirror.asked.length).toBeGreaterThanOrEqual(before + 4);
    // What asks at once has asked by the time that somebody else has signed in.
    const ninth = await person({}, false);
    expect((await login(ninth.email, ninth.secret)).status).toBe(200);
    expect(mirror.asked.length).toBe(before + 4);
    mirror.misbehave = null;
    for (const res of held) res.writeHead(200).end('');
    for (const one of [...people, ninth]) await lookedUp(one);
    await expect.poll(() => mirror.asked.length).toBe(before + 9);
  });

  test('one without an answer is asked again at the next sign-in', async () => {
    const user = await person();
    mirror.misbehave = (res) => void res.writeHead(500).end();
    expect((await login(user.email, user.secret)).status).toBe(200);
    await expect.poll(() => askedFor(user.secret)).toBe(1);
    await expect.poll(async () => (await rowOf(user)).password_looked_up_at).toBeNull();
    mirror.misbehave = null;
    service.clock.advance(31_000);
    expect((await login(user.email, user.secret)).status).toBe(200);
    await foundOf(user);
  });

  test('what it says of a password that was changed meanwhile is nothing about the new one (attack 65.1922)', async () => {
    const user = await person();
    let answer: (() => void) | null = null;
    mirror.misbehave = (res) => {
      answer = () => void res.writeHead(200).end(`${sha1Of(user.secret).slice(5)}:9`);
    };
    expect((await login(user.email, user.secret)).status).toBe(200);
    await expect.poll(() => answer).not.toBeNull();
    mirror.misbehave = null;
    const next = newSecret();
    const body = { data: { type: 'user', id: user.id, attributes: { password: next } } };
    expect((await api.patch(`/users/${user.id}`, body)).status).toBe(200);
    (answer as (() => void) | null)?.();
    await allLookedUp();
    expect((await rowOf(user)).password_breached_at).toBeNull();
    expect((await eventsOf(service, user.id)).map(({ event }) => event)).not.toContain('password.breached');
    expect((await mailTo(service.url, user.email)).filter(({ subject }) => subject.startsWith('Set a new '))).toEqual([]);
  });

  test('neither the password, nor what it is looked up by, is in the log or the database (attack 65.1923)', async () => {
    const user = await person();
    mirror.misbehave = (res) => void res.writeHead(500).end(sha1Of(user.secret));
    await login(user.email, user.secret);
    await expect.poll(() => askedFor(user.secret)).toBe(1);
    mirror.misbehave = null;
    service.clock.advance(31_000);
    await login(user.email, user.secret);
    await foundOf(user);
    const { rows } = await ctx.db.knex.raw<{ rows: { text: string }[] }>(
      `select to_jsonb(u)::text as text from users u where id = ? union all select to_jsonb(a)::text from audit_logs a where target_id = ?
       union all select to_jsonb(s)::text from signals s union all select e.body from events e`,
      [user.id, user.id],
    );
    const all = [...service.log, ...rows.map(({ text }) => text)].join('\n').toUpperCase();
    expect(all).toContain('PASSWORD.BREACHED');
    for (const secret of [user.secret.toUpperCase(), sha1Of(user.secret), sha1Of(user.secret).slice(5), '/RANGE/'])
      expect(all).not.toContain(secret);
  });
});

describe('what waits', () => {
  const waiting = (row: Partial<ProvenPassword> = {}): ProvenPassword => ({
    environment: ctx.environment, user_id: ctx.environment.id, password_hash: 'none', key: sha1Of('one'), origin: noOrigin,
    at: service.clock.elapsed(), ...row,
  }); // prettier-ignore

  test('is dropped beyond 200, and counted (attack 65.1921)', async () => {
    const provenPasswords = createProvenPasswords();
    const crowded = { ...ctx, notes: { ...ctx.notes, provenPasswords } };
    const user = await person({}, false);
    for (let i = 0; i < 200; i++) expect(provenPasswords.add(waiting())).toBe(true);
    const before = await checks('skipped');
    noteProvenPassword(crowded, user, user.secret, noOrigin);
    expect(await checks('skipped')).toBe(before + 1);
    expect(Array.from({ length: 201 }, () => provenPasswords.next()).filter((one) => one !== undefined)).toHaveLength(200);
  });

  test('is left for another sign-in once it is half a minute old, or the process ends', async () => {
    const user = await person();
    const { id: user_id, password_hash } = user;
    const one = { user_id, password_hash: password_hash as string, key: sha1Of(user.secret) };
    const provenPasswords = createProvenPasswords();
    const deps = { ...service.deps, notes: { ...service.deps.notes, provenPasswords } };
    provenPasswords.add(waiting({ ...one, at: service.clock.elapsed() - 30_001 }));
    await lookUpProvenPasswords(deps);
    for (let i = 0; i < 6; i++) provenPasswords.add(waiting());
    provenPasswords.add(waiting(one));
    await lookUpProvenPasswords(deps, AbortSignal.abort());
    expect([askedFor(user.secret), (await rowOf(user)).password_looked_up_at]).toEqual([0, null]);
    await lookUpProvenPasswords(deps);
    await foundOf(user);
  });

  test('is what was proven without the request that it came with', async () => {
    const provenPasswords = createProvenPasswords();
    const user = await person();
    let asked = 0;
    const language = () => {
      asked += 1;
      return 'de';
    };
    noteProvenPassword({ ...ctx, notes: { ...ctx.notes, provenPasswords } }, user, user.secret, { ...noOrigin, language });
    const kept = provenPasswords.next();
    expect([kept?.origin.language?.(), kept?.origin.language?.(), asked]).toEqual(['de', 'de', 1]);
    expect(JSON.stringify(kept)).not.toContain(user.secret);
  });
});

describe('an environment that requires a reset', () => {
  async function found() {
    const user = await person();
    await setEnvironment(service, { breached_password_sign_in: 'require_reset' });
    const browser = new Browser(service.url);
    expect((await login(user.email, user.secret, browser)).status).toBe(200);
    await foundOf(user);
    return { user, browser };
  }

  test('lets nobody in by a leaked password, and says so to whoever knows it alone (specification 4.1.9)', async () => {
    const { user } = await found();
    expect((await lastMailTo(service.url, user.email)).text).toContain('You can’t sign in with it any more.');
    const refused = await login(user.email, user.secret);
    expect([refused.status, ((await refused.json()) as Document)['error']]).toEqual([403, 'password_reset_required']);
    const wrong = await login(user.email, `${user.secret}!`);
    expect([wrong.status, ((await wrong.json()) as Document)['error']]).toEqual([401, 'invalid_credentials']);
    const page = await new Browser(service.url).submit('/login', { email: user.email, password: user.secret });
    const html = await page.text();
    expect([page.status, html.includes('can’t be used to sign in any more'), html.includes('/password/forgot')]).toEqual([403, true, true]);
    const reasons = (await auditRows(service, 'login.failed')).filter(({ target_id }) => target_id === user.id).map(({ reason }) => reason);
    expect(reasons.sort()).toEqual(['invalid_credentials', 'password_breached']);
    expect((await eventsOf(service, user.id)).map(({ data }) => data['reset_required'])).toEqual([true]);
  });

  test('gives the account to nobody who knows the leaked password alone: a new one takes the mail (attack 65.1924)', async () => {
    const { user, browser } = await found();
    // Whoever is signed in stays so, and proves that it is still them.
    expect((await browser.postJson('/account/confirm', { password: user.secret })).status).toBe(200);
    const next = newSecret();
    const started = (await (await new Browser(service.url).postJson('/password/forgot', { email: user.email })).json()) as Document;
    const reset_id = started['reset_id'] as string;
    const send = (given: object) => new Browser(service.url).postJson('/password/reset', { reset_id, ...given });
    expect((await send({ code: user.secret, password: next })).status).toBeGreaterThan(400);
    const code = codeIn(await lastMailTo(service.url, user.email));
    expect((await send({ code, password: user.secret })).status).toBe(422);
    expect((await send({ code, password: next })).status).toBe(200);
    expect((await login(user.email, next)).status).toBe(200);
  });

  test('lets everybody in again whose passwords are no longer looked up', async () => {
    const { user } = await found();
    await setEnvironment(service, { breached_passwords: 'off' });
    expect((await login(user.email, user.secret)).status).toBe(200);
  });

  test('refuses the leaked password that would link an account at a provider too', async () => {
    const upstream = await ScriptedUpstream.start();
    try {
      const { user } = await found();
      const connection = await addConnection(ctx, { issuer: upstream.url, display_name: 'Acme', account_linking: 'ask' });
      upstream.claims = { ...upstream.claims, sub: user.id, email: user.email, email_verified: true };
      const browser = new Browser(service.url);
      const html = await (await loginThrough(browser, connection)).text();
      const fields = { _csrf: csrfOf(html), link: /name="link" value="([^"]+)"/.exec(html)?.[1] ?? '', email: user.email };
      const page = await browser.post('/auth/sso/link', { ...fields, password: user.secret });
      expect([page.status, (await page.text()).includes('href="/password/forgot"')]).toEqual([403, true]);
    } finally {
      await upstream.close();
    }
  });
});
