// A recovery shows what else opens the account, and drops what is chosen.
import { beforeEach, expect, test } from 'vitest';
import { linkIdentity, listIdentities } from '../../src/domain/connections/identities.js';
import type { IdentityRow } from '../../src/db/tables/identities.js';
import type { UserRow } from '../../src/db/tables/users.js';
import { Browser, csrfOf } from '../support/browser.js';
import { addConnection } from '../support/connections.js';
import { addEnvironment, addUser, password } from '../support/data.js';
import { codeIn, lastMailTo } from '../support/mailbox.js';
import { findReviewed, mintReview } from '../../src/domain/credentials/review.js';
import { plainWords } from '../../src/lib/plain-words.js';
import { contextOf, sharedService } from '../support/shared-service.js';

const service = sharedService();
const ctx = contextOf(service);
let user: UserRow;
let mine: IdentityRow;
let theirs: IdentityRow;

beforeEach(async () => {
  user = await addUser(ctx);
  const [one, other] = [await addConnection(ctx, { display_name: 'Corp' }), await addConnection(ctx, { display_name: 'Hub' })];
  const account = { generation: 1, subject: user.id, claims: {} };
  mine = await linkIdentity(ctx, user.id, { ...account, connection_id: one.id, email: 'ada@corp.example' });
  theirs = await linkIdentity(ctx, user.id, { ...account, connection_id: other.id, email: 'eve@hub.example' });
});

const fresh = 'nine quiet herons by the lake';
const linked = async () => (await listIdentities(ctx, user.id)).map(({ id }) => id);

async function forgot(browser: Browser): Promise<{ reset_id: string; code: string }> {
  const { reset_id } = (await (await browser.postJson('/password/forgot', { email: user.email })).json()) as { reset_id: string };
  return { reset_id, code: codeIn(await lastMailTo(service.url, user.email)) };
}

test('in a browser: every ended session and connected account is shown, and only the chosen one goes (attack 12.253)', async () => {
  const intruder = new Browser(service.url, { 'user-agent': 'Mozilla/5.0 (Windows NT 10.0) Gecko/20100101 Firefox/140.0' });
  await intruder.login(user.email, password);
  const browser = new Browser(service.url);
  const { reset_id, code } = await forgot(browser);
  const done = await browser.submit(`/password/reset?reset_id=${reset_id}`, { reset_id, code, password: fresh });
  const place = done.headers.get('location') as string;
  expect([done.status, place]).toEqual([303, expect.stringMatching(/^\/password\/reset\/review\?review_token=/)]);
  const page = await browser.get(place);
  const html = await page.text();
  expect(page.status).toBe(200);
  for (const text of ['Corp', 'ada@corp.example', 'Hub', 'eve@hub.example', 'Firefox on Windows', 'One session has been ended'])
    expect(html).toContain(text);
  const review_token = /name="review_token" value="([^"]+)"/.exec(html)?.[1] ?? '';
  const dropped = await browser.post('/password/reset/review', { _csrf: csrfOf(html), review_token, [`drop:${theirs.id}`]: 'on' });
  expect([dropped.status, dropped.headers.get('location')]).toEqual([303, '/login?notice=password_reset']);
  expect(await linked()).toEqual([mine.id]);
  expect((await browser.login(user.email, fresh)).status).toBe(303);
});

test('as JSON: the answer has both, and the token drops', async () => {
  const browser = new Browser(service.url);
  await new Browser(service.url).login(user.email, password);
  const reset = await browser.postJson('/password/reset', { ...(await forgot(browser)), password: fresh });
  const body = (await reset.json()) as { review_token: string };
  expect(body).toMatchObject({
    redirect_to: '/login?notice=password_reset',
    sessions: [{ device: expect.any(String) as string, last_activity_at: expect.any(String) as string }],
    identities: [{ id: mine.id, display_name: 'Corp', email: 'ada@corp.example', proven: true }, { id: theirs.id }],
  });
  const foreign = await linkIdentity(ctx, (await addUser(ctx)).id, {
    connection_id: mine.connection_id, generation: 1, subject: `other ${user.id}`, email: null, claims: {},
  }); // prettier-ignore
  const answer = await browser.postJson('/password/reset/review', {
    review_token: body.review_token,
    identities: [theirs.id, theirs.id, foreign.id, 'nonsense', 7],
  });
  expect([answer.status, await answer.json()]).toEqual([200, { disconnected: 1, redirect_to: '/login?notice=password_reset' }]);
  expect(await linked()).toEqual([mine.id]);
  const trace = (await service.deps.db.knex('audit_logs').where({ target_id: theirs.id })) as Record<string, unknown>[];
  expect(trace).toEqual([
    expect.objectContaining({ action: 'identity.unlinked', actor_id: user.id, ip_address: expect.any(String) as string }),
  ]);
  expect(await listIdentities(ctx, foreign.user_id)).toHaveLength(1);
});

test('the mail names what still signs in', async () => {
  const browser = new Browser(service.url);
  await browser.postJson('/password/reset', { ...(await forgot(browser)), password: fresh });
  const mail = await lastMailTo(service.url, user.email);
  expect(mail.text).toContain('These accounts can still sign you in');
  // The address is somebody's words: no mail program makes a link of it.
  expect(mail.text).toContain(plainWords('Hub (eve@hub.example)'));
  expect(mail.text).toContain(`${service.url}/account`);
});

test('the token is for this recovery, this half hour and this environment; altered it is nothing', async () => {
  const browser = new Browser(service.url);
  const first = (await (await browser.postJson('/password/reset', { ...(await forgot(browser)), password: fresh })).json()) as {
    review_token: string;
  };
  const dropWith = async (review_token: string) =>
    (await browser.postJson('/password/reset/review', { review_token, identities: [mine.id, theirs.id] })).status;
  expect(await dropWith(`${first.review_token.slice(0, -3)}AAA`)).toBe(410);
  expect(await dropWith('')).toBe(410);
  expect(await findReviewed(await addEnvironment(service.deps, 'other'), first.review_token)).toBeNull();
  service.clock.advance(1000);
  const second = (await (await browser.postJson('/password/reset', { ...(await forgot(browser)), password: `${fresh}!` })).json()) as {
    review_token: string;
  };
  expect(await dropWith(first.review_token)).toBe(410);
  service.clock.advance(1_801_000);
  expect(await dropWith(second.review_token)).toBe(410);
  expect(await linked()).toHaveLength(2);
  const page = await new Browser(service.url).get(`/password/reset/review?review_token=${second.review_token}`);
  expect(page.status).toBe(410);
});

test('an account that nothing else opens goes straight on to the sign-in', async () => {
  user = await addUser(ctx);
  expect(mintReview(ctx, user)).not.toBe(mintReview(ctx, user));
  const browser = new Browser(service.url);
  const { reset_id, code } = await forgot(browser);
  const done = await browser.submit(`/password/reset?reset_id=${reset_id}`, { reset_id, code, password: fresh });
  expect(done.headers.get('location')).toBe('/login?notice=password_reset');
});
