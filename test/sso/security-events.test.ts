// What signing in through a provider, connecting and disconnecting accounts leave behind: by name, success and refusal.
import { beforeEach, expect, test } from 'vitest';
import { listIdentities } from '../../src/domain/connections/identities.js';
import type { UserRow } from '../../src/db/tables/users.js';
import { Browser, csrfOf } from '../support/browser.js';
import { addConnection } from '../support/connections.js';
import { addUser, password } from '../support/data.js';
import { auditRows, eventLines, marks, origin } from '../support/security-events.js';
import { contextOf, shared, sharedService } from '../support/shared-service.js';
import { loginThrough, throughProvider } from '../support/sso.js';
import { ScriptedUpstream } from '../support/upstream-scripted.js';

const service = sharedService();
const ctx = contextOf(service);
const upstream = ScriptedUpstream.shared();
const connection = shared(() => addConnection(ctx, { issuer: upstream.url, account_linking: 'never' }));
let browser: Browser;
let user: UserRow;

beforeEach(async () => {
  user = await addUser(ctx);
  browser = new Browser(service.url, marks);
  await browser.login(user.email, password);
  upstream.claims = { sub: `sub of ${user.id}`, email: `${user.id}@corp.example`, email_verified: true };
});

async function connect(from = browser): Promise<Response> {
  const html = await (await from.get('/account')).text();
  const response = await from.post(`/auth/sso/${connection.id}/connect`, { _csrf: csrfOf(html) });
  const back = await throughProvider(new URL((response.headers.get('refresh') as string).replace('0; url=', '')));
  return from.get(back.pathname + back.search);
}
const rowsOf = async (action: string, actor: string | null = user.id) =>
  (await auditRows(service, action)).filter(({ actor_id }) => actor_id === actor);

test('identity.linked, and login.succeeded through it; identity.unlinked (attack 21.277)', async () => {
  expect((await connect()).status).toBe(303);
  const [identity] = await listIdentities(ctx, user.id);
  const said = { outcome: 'success', actor_id: user.id, target_type: 'identity', target_id: identity?.id, ...origin };
  expect(await rowsOf('identity.linked')).toMatchObject([{ ...said, changes: { connection_id: [null, connection.id] } }]);
  expect(eventLines(service, 'identity.linked').at(-1)).toMatchObject({ actor_id: user.id, target_id: identity?.id, ...origin });

  const before = (await rowsOf('login.succeeded')).length;
  expect((await loginThrough(new Browser(service.url, marks), connection)).status).toBe(303);
  expect(await rowsOf('login.succeeded')).toHaveLength(before + 1);

  const html = await (await browser.get('/account')).text();
  expect((await browser.post(`/account/identities/${identity?.id}/unlink`, { _csrf: csrfOf(html) })).status).toBe(303);
  expect(await rowsOf('identity.unlinked')).toMatchObject([said]);
  expect(eventLines(service, 'identity.unlinked').at(-1)).toMatchObject({ actor_id: user.id, ...origin });
});

test('identity.link_failed: the account signs in somebody else; nothing is linked', async () => {
  await connect();
  const other = await addUser(ctx);
  const foreign = new Browser(service.url, marks);
  await foreign.login(other.email, password);
  expect((await connect(foreign)).status).toBe(409);
  expect(await rowsOf('identity.link_failed', other.id)).toMatchObject([
    { outcome: 'failure', reason: 'sso_account_exists', target_type: 'connection', target_id: connection.id, ...origin },
  ]);
  expect(await rowsOf('identity.linked', other.id)).toEqual([]);
  expect(eventLines(service, 'identity.link_failed').at(-1)).toMatchObject({ actor_id: other.id, reason: 'sso_account_exists' });
});

test('login.failed: through a provider, with the code of the page; the address of the stranger is not told', async () => {
  upstream.claims = { sub: 'a stranger', email: user.email, email_verified: true };
  const stranger = new Browser(service.url, marks);
  expect((await loginThrough(stranger, connection)).status).toBeGreaterThanOrEqual(400);
  const row = (await rowsOf('login.failed', null)).at(-1);
  const said = { outcome: 'failure', reason: 'sso_account_exists', target_type: 'connection', target_id: connection.id, ...origin };
  expect(row).toMatchObject(said);
  expect(eventLines(service, 'login.failed').at(-1)).toMatchObject({ reason: 'sso_account_exists', target_id: connection.id });
  expect(JSON.stringify(row)).not.toContain(user.email);
});
