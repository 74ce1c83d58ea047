// The page on which people answer what clients ask them elsewhere: whose it is, what it shows, what approving takes.
import { beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { proofNow } from '../../src/domain/proofs/proofs.js';
import type { UserRow } from '../../src/db/tables/users.js';
import { blockClient, unblockClient } from '../../src/domain/grants/authorizations.js';
import { transaction } from '../../src/domain/context.js';
import { approvalPathIn, asking, askFor, askOf, decide, freshlySignedIn, pollApproval } from '../support/approvals.js';
import { Browser, csrfOf } from '../support/browser.js';
import { addClient, addUser, password, type TestClient } from '../support/data.js';
import { addTwoStepUser, givePasskey, setEnvironment, totpCode } from '../support/factors.js';
import { addMembership, addOrganization } from '../support/organizations.js';
import { contextOf, shared, sharedService } from '../support/shared-service.js';
import { proofsNow, signedIn, signedInBy } from '../support/signed-in.js';
import { SoftwareAuthenticator } from '../support/software-authenticator.js';

const service = sharedService();
const ctx = contextOf(service);
const any = { ...asking, backchannel_users: 'any', first_party: false } as const;
const agent = shared(() => addClient(ctx, { ...any, name: 'Acme Assistant' }));
let user: UserRow;
let secret: string;

beforeEach(async () => {
  ({ user, secret } = await addTwoStepUser(service));
  service.clock.advance(60_000);
});

const asked = async (fields: Record<string, string> = {}, client = agent) => {
  const auth_req_id = await askOf(service.url, client, { login_hint: user.email, ...fields });
  return { auth_req_id, path: await approvalPathIn(service.url, user) };
};
const errorOf = async (id: string) => (await pollApproval(service.url, agent, id)).body.error;
const later = (seconds = 1) => service.clock.advance(seconds * 1000);
const codeNow = () => totpCode(secret, service.clock.now());
/** Signed in before the client asked. */
const earlier = (...methods: ('password' | 'totp' | 'passkey')[]) => signedInBy(service, user, proofsNow(service, ...methods));
const fields = (html: string) => ({ _csrf: csrfOf(html) });

describe('the page', () => {
  test('shows who asks, for what, with which message, from where and until when; refusing comes first (specification 22.2.2)', async () => {
    const { path } = await asked({ binding_message: 'Pay 49.90 EUR & more', scope: 'openid email' });
    const html = await (await (await earlier('password')).get(path)).text();
    for (const text of [
      'Acme Assistant',
      'AI agent',
      'Pay 49.90 EUR &amp; more',
      user.email,
      '127.0.0.1',
      'Answer by',
      'Approve only what you expect',
    ])
      expect(html).toContain(text);
    const [deny, allow, mute] = ['id="deny"', 'id="allow"', 'id="mute"'].map((one) => html.indexOf(one)) as [number, number, number];
    expect([deny > 0, deny < allow, allow < mute]).toEqual([true, true, true]);
  });

  test('warns of a client that nobody vouches for', async () => {
    const stranger = await addClient(ctx, { ...any, name: 'Stranger', verified: false, origin: 'registration' });
    const { path } = await asked({}, stranger);
    expect(await (await (await earlier('password')).get(path)).text()).toContain('id="unverified"');
  });

  test('leads who is not signed in through the sign-in and back', async () => {
    const { path } = await asked();
    const response = await new Browser(service.url).get(path);
    expect([response.status, response.headers.get('location')]).toEqual([303, `/login?${new URLSearchParams({ return_to: path })}`]);
    expect(response.headers.get('cache-control')).toBe('no-store');
  });

  test('is nobody else’s: 404, to read and to answer; so is what is not there (attack 57.1766)', async () => {
    const { path, auth_req_id } = await asked();
    const other = await freshlySignedIn(service, await addUser(ctx));
    const own = await (await other.get('/account')).text();
    expect((await other.get(path)).status).toBe(404);
    for (const decision of ['allow', 'deny', 'mute']) expect((await other.post(path, { ...fields(own), decision })).status).toBe(404);
    for (const id of ['none', user.id]) expect((await other.get(`/approvals/${id}`)).status).toBe(404);
    expect(await errorOf(auth_req_id)).toBe('authorization_pending');
  });

  test('reading changes nothing, and a form without the token neither (attack 57.1767)', async () => {
    const { path, auth_req_id } = await asked();
    later();
    const browser = await freshlySignedIn(service, user);
    expect((await browser.get(`${path}?decision=allow`)).status).toBe(200);
    expect((await browser.post(path, { decision: 'allow' })).status).toBe(403);
    expect(await errorOf(auth_req_id)).toBe('authorization_pending');
  });

  test('an answer that is none is refused; an ended question is over', async () => {
    const { path, auth_req_id } = await asked();
    const browser = await earlier('password');
    expect((await decide(browser, path, 'maybe')).status).toBe(400);
    later(601);
    const ended = await browser.get(path);
    expect(ended.status).toBe(400);
    expect(await ended.text()).toContain('has expired');
    expect(await errorOf(auth_req_id)).toBe('expired_token');
  });
});

describe('approving', () => {
  test('takes a password and a code of now, one after the other, from a session of before (attack 57.1768)', async () => {
    const browser = await earlier('password', 'totp');
    later();
    const { path, auth_req_id } = await asked();
    later();
    const first = await decide(browser, path, 'allow');
    const html = await first.text();
    expect(first.status).toBe(403);
    for (const id of ['confirm-password', 'confirm-totp']) expect(html).toContain(`id="${id}"`);
    const half = await browser.post(path, { ...fields(html), decision: 'allow', current_password: password });
    expect(half.status).toBe(403);
    const next = await half.text();
    expect(next).not.toContain('id="confirm-password"');
    expect(await errorOf(auth_req_id)).toBe('authorization_pending');
    later(6);
    const done = await browser.post(path, { ...fields(next), decision: 'allow', confirm_code: codeNow() });
    expect([done.status, (await done.text()).includes('Approved')]).toEqual([200, true]);
    expect((await pollApproval(service.url, agent, auth_req_id)).status).toBe(200);
  });

  test('a code alone is not enough', async () => {
    const browser = await earlier('password', 'totp');
    later();
    const { path, auth_req_id } = await asked();
    later();
    const html = await (await decide(browser, path, 'allow')).text();
    expect((await browser.post(path, { ...fields(html), decision: 'allow', confirm_code: codeNow() })).status).toBe(403);
    expect(await errorOf(auth_req_id)).toBe('authorization_pending');
  });

  test('a passkey does alone', async () => {
    const device = new SoftwareAuthenticator();
    await givePasskey(service, user, device);
    const browser = await earlier('password', 'totp');
    later();
    const { path, auth_req_id } = await asked({ acr_values: 'phr' });
    later();
    const html = await (await decide(browser, path, 'allow')).text();
    expect(html).toContain('confirm-passkey');
    const options = await (await browser.postJson('/account/confirm/passkey/options', {}, { origin: browser.origin })).json();
    const confirm_credential = JSON.stringify(device.get(options as never, { origin: service.url }));
    expect((await browser.post(path, { ...fields(html), decision: 'allow', confirm_credential })).status).toBe(200);
    const { body } = await pollApproval(service.url, agent, auth_req_id);
    expect(JSON.parse(Buffer.from((body.id_token as string).split('.')[1] as string, 'base64url').toString())).toMatchObject({
      acr: 'phr',
    });
  });

  test('acr_values that the proofs do not reach takes more (attack 57.1769)', async () => {
    const { path, auth_req_id } = await asked({ acr_values: 'phr' });
    later();
    const browser = await freshlySignedIn(service, user);
    expect((await decide(browser, path, 'allow')).status).toBe(403);
    expect(await errorOf(auth_req_id)).toBe('authorization_pending');
  });

  test('proofs of a sign-in since the question do, and approve once (attack 57.1768)', async () => {
    const one = await asked();
    const two = await asked({ login_hint: user.id });
    later();
    const browser = await freshlySignedIn(service, user);
    expect((await decide(browser, two.path, 'allow')).status).toBe(200);
    later();
    expect((await decide(browser, one.path, 'allow')).status).toBe(403);
    expect(await errorOf(one.auth_req_id)).toBe('authorization_pending');
  });

  test('proofs of one moment approve one of two questions that are answered at once (attack 63.1861)', async () => {
    const questions = [await asked(), await asked({ login_hint: user.id })];
    later();
    const browser = await freshlySignedIn(service, user);
    const form = { ...fields(await (await browser.get(questions[0]?.path ?? '')).text()), decision: 'allow' };
    const { knex } = ctx.db;
    // Both have weighed the proofs before either counts.
    const held = await knex.transaction();
    await held('users').where({ id: user.id }).forUpdate().select('id');
    const sent = questions.map(({ path }) => browser.post(path, form));
    const waiting = knex('pg_stat_activity').whereRaw("datname = current_database() and wait_event_type = 'Lock'");
    await expect.poll(async () => (await waiting.clone().select('pid')).length).toBe(2);
    await held.commit();
    const answers = await Promise.all(sent);
    const pages = await Promise.all(answers.map((answer) => answer.text()));
    expect(pages.map((html) => html.includes('id="allow"')).sort()).toEqual([false, true]);
    const polled = await Promise.all(questions.map(({ auth_req_id }) => pollApproval(service.url, agent, auth_req_id)));
    expect(polled.map(({ body }) => body.error ?? 'tokens').sort()).toEqual(['authorization_pending', 'tokens']);
  });

  test('with approval_confirmation session it takes the session, whose class is judged', async () => {
    await setEnvironment(service, { approval_confirmation: 'session' });
    const browser = await earlier('password', 'totp');
    later();
    const plain = await asked();
    expect((await decide(browser, plain.path, 'allow')).status).toBe(200);
    later();
    const strong = await asked({ acr_values: 'phr' });
    expect((await decide(browser, strong.path, 'allow')).status).toBe(403);
    await setEnvironment(service, { approval_confirmation: 'fresh' });
  });

  test('wrong passwords are counted, and lock the account (attack 57.1773)', async () => {
    await setEnvironment(service, { lockout_threshold: 3 });
    const browser = await earlier('password', 'totp');
    later();
    const { path, auth_req_id } = await asked();
    later();
    const html = await (await decide(browser, path, 'allow')).text();
    const statuses = [];
    for (const current_password of ['wrong one', 'wrong two', 'wrong three', password])
      statuses.push((await browser.post(path, { ...fields(html), decision: 'allow', current_password })).status);
    expect(statuses.slice(0, 2)).toEqual([401, 401]);
    expect(statuses[3]).not.toBe(200);
    expect(await errorOf(auth_req_id)).toBe('authorization_pending');
    await setEnvironment(service, { lockout_threshold: 10 });
  });

  test('a yes and a no at once: one counts (attack 57.1772)', async () => {
    const { path } = await asked();
    later();
    const [yes, no] = [await freshlySignedIn(service, user), await freshlySignedIn(service, user)];
    const answers = await Promise.all([decide(yes, path, 'allow'), decide(no, path, 'deny')]);
    expect(answers.map(({ status }) => status).sort()).toEqual([200, 400]);
  });

  test('is told by an event and a security event (specification 22.2.4)', async () => {
    const { path } = await asked({ binding_message: 'Deploy' });
    later();
    await decide(await freshlySignedIn(service, user), path, 'allow');
    const id = path.split('/').at(-1);
    const events = (await ctx.db.knex('events').where('body', 'like', `%${id}%`).orderBy('occurred_at')) as {
      event_type: string;
      body: string;
    }[];
    expect(events.map(({ event_type }) => event_type)).toEqual(['approval.requested', 'approval.decided']);
    expect(JSON.parse(events[0]?.body ?? '')['data']).toMatchObject({ approval_url: service.url + path, binding_message: 'Deploy' });
    expect(JSON.parse(events[1]?.body ?? '')['data']).toMatchObject({ decision: 'approved', client_id: agent.id, user_id: user.id });
    const [entry] = await ctx.db.knex('audit_logs').where({ action: 'approval.decided', actor_id: user.id });
    expect(entry).toBeTruthy();
  });
});

describe('for an organization', () => {
  test('the person chooses, or the request names it; of another it is refused', async () => {
    const client = await addClient(ctx, { ...any, name: 'Tenant', organization_usage: 'require' });
    const [first, second] = [await addOrganization(ctx), await addOrganization(ctx)];
    for (const organization of [first, second]) await addMembership(ctx, organization, user);
    const { path, auth_req_id } = await asked({}, client);
    later();
    const browser = await freshlySignedIn(service, user);
    const chooser = await (await browser.get(path)).text();
    expect(chooser).toContain(first.name);
    const page = await (await browser.post(path, { ...fields(chooser), organization: second.name })).text();
    expect(page).toContain(second.display_name);
    expect((await browser.post(path, { ...fields(page), organization: second.id, decision: 'allow' })).status).toBe(200);
    const { body } = await pollApproval(service.url, client, auth_req_id);
    expect(JSON.parse(Buffer.from((body.id_token as string).split('.')[1] as string, 'base64url').toString())).toMatchObject({
      org_id: second.id,
    });
    later();
    const foreign = await addOrganization(ctx);
    const other = await asked({ organization: foreign.id }, client);
    later();
    expect((await decide(await freshlySignedIn(service, user), other.path, 'allow')).status).toBe(403);
  });
});

describe('on the account pages', () => {
  test('what waits is listed, with the way to it; no more once it is answered', async () => {
    const browser = await earlier('password');
    expect(await (await browser.get('/account')).text()).not.toContain('/approvals/');
    const { path } = await asked({ binding_message: 'Pay 12 EUR' });
    const html = await (await browser.get('/account')).text();
    expect(html).toContain(`href="${path}"`);
    expect(html).toContain('Pay 12 EUR');
    const data = (await (await browser.get('/account', { accept: 'application/json' })).json()) as { approvals: unknown[] };
    expect(data.approvals).toMatchObject([{ client_id: agent.id, path, binding_message: 'Pay 12 EUR' }]);
    later();
    await decide(await freshlySignedIn(service, user), path, 'allow');
    expect(await (await browser.get('/account')).text()).not.toContain('/approvals/');
    const again = await asked();
    expect(await (await browser.get('/account/applications')).text()).toContain(`href="${again.path}"`);
  });

  test('removing, blocking and unblocking a client end what it asks (specification 22.2.5)', async () => {
    const first = await asked();
    later();
    const browser = await freshlySignedIn(service, user);
    await decide(browser, first.path, 'allow');
    await pollApproval(service.url, agent, first.auth_req_id);
    const pair = { user_id: user.id, client_id: agent.id };
    const ends = [
      async () => browser.post(`/account/applications/${agent.id}/revoke`, fields(await (await browser.get('/account')).text())),
      () => transaction(ctx, (tx) => blockClient(tx, pair, 'person')),
    ];
    for (const end of ends) {
      later();
      const { auth_req_id, path } = await asked();
      if (end === ends[1])
        await ctx.db.knex('authorizations').insert({
          ...pair,
          environment_id: ctx.environment.id,
          id: first.path.split('/').at(-1),
          origin: 'approval',
          granted_at: new Date(),
          last_used_at: new Date(),
          updated_at: new Date(),
        });
      await end();
      expect(await errorOf(auth_req_id)).toBe('expired_token');
      expect((await browser.get(path)).status).toBe(400);
    }
    later();
    const silent = await askOf(service.url, agent, { login_hint: user.email });
    expect(
      await ctx.db.knex('approvals').where({ user_id: user.id, decision: null }).where('expires_at', '>', service.clock.now()),
    ).toEqual([]);
    await transaction(ctx, (tx) => unblockClient(tx, pair, 'person'));
    expect(await errorOf(silent)).toBe('authorization_pending');
  });

  test('one POST ends all agents, and what they ask', async () => {
    const { path } = await asked();
    later();
    const browser = await freshlySignedIn(service, user);
    await decide(browser, path, 'allow');
    later();
    const { auth_req_id } = await asked();
    await browser.post('/account/applications/end_agents', fields(await (await browser.get('/account')).text()));
    expect(await errorOf(auth_req_id)).toBe('expired_token');
  });
});

describe('too many questions (attack 57.1770)', () => {
  const hints = ['person', 'stranger'] as const;
  const clients: TestClient[] = [];
  beforeAll(async () => {
    for (let number = 0; number < 8; number++) clients.push(await addClient(ctx, any));
  });
  const hintOf = (who: (typeof hints)[number]) => (who === 'person' ? user.email : `stranger-${user.id}@example.com`);
  const statusOf = async (client: number, login_hint: string, more: Record<string, string> = {}) => {
    const { status, headers } = await askFor(service.url, clients[client] ?? agent, { login_hint, ...more });
    return { status, wait: Number(headers.get('retry-after')) };
  };

  test.each(hints)('one of a client by a hint, five of all, alike for a %s (attack 57.1762)', async (who) => {
    const hint = hintOf(who);
    expect((await statusOf(0, hint)).status).toBe(200);
    const second = await statusOf(0, hint.toUpperCase());
    expect(second.status).toBe(429);
    expect(second.wait).toBeGreaterThan(590);
    for (const client of [1, 2, 3, 4]) expect((await statusOf(client, hint)).status).toBe(200);
    expect((await statusOf(5, hint)).status).toBe(429);
    later(601);
    expect((await statusOf(5, hint)).status).toBe(200);
  });

  test.each(hints)('ten in an hour, for a %s', async (who) => {
    const hint = hintOf(who);
    for (let number = 0; number < 10; number++) {
      expect((await statusOf(0, hint, { requested_expiry: '30' })).status).toBe(200);
      later(31);
    }
    const { status, wait } = await statusOf(3, hint);
    expect([status, wait > 0 && wait <= 3600]).toEqual([429, true]);
    later(3600);
    expect((await statusOf(3, hint)).status).toBe(200);
  });

  test.each(hints)('eight at once are five, for a %s', async (who) => {
    const answers = await Promise.all(clients.map((_, index) => statusOf(index, hintOf(who))));
    expect(answers.filter(({ status }) => status === 200)).toHaveLength(5);
  });

  const isHeard = async (client = agent) => {
    later(61);
    const auth_req_id = await askOf(service.url, client, { login_hint: user.email });
    const row = await ctx.db.knex('approvals').where({ client_id: client.id }).orderBy('created_at', 'desc').first();
    return { heard: row.user_id !== null, auth_req_id, path: `/approvals/${row.id}` };
  };

  test('three refusals in a row silence the client for a day, and no other', async () => {
    const [noisy, quiet] = [clients[6] ?? agent, clients[7] ?? agent];
    const browser = await signedIn(service, user);
    for (let number = 0; number < 3; number++) {
      const { heard, path } = await isHeard(noisy);
      expect([heard, (await decide(browser, path, 'deny')).status]).toEqual([true, 200]);
    }
    const silent = await isHeard(noisy);
    expect([silent.heard, await pollApproval(service.url, noisy, silent.auth_req_id)]).toMatchObject([
      false,
      { body: { error: 'authorization_pending' } },
    ]);
    expect((await isHeard(quiet)).heard).toBe(true);
    later(86_401);
    expect((await isHeard(noisy)).heard).toBe(true);
  });

  test('one mute does too', async () => {
    const client = await addClient(ctx, any);
    const browser = await signedInBy(service, user, [proofNow('password', service.clock.now())]);
    const { path, auth_req_id } = await isHeard(client);
    expect((await decide(browser, path, 'mute')).status).toBe(200);
    expect((await pollApproval(service.url, client, auth_req_id)).body.error).toBe('access_denied');
    expect((await isHeard(client)).heard).toBe(false);
    later(86_401);
    expect((await isHeard(client)).heard).toBe(true);
  });
});
