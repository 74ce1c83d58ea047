import { beforeAll, expect, test } from 'vitest';
import { transaction } from '../../src/domain/context.js';
import { startRegistration } from '../../src/domain/registration/registration.js';
import { startPasscode } from '../../src/domain/passcodes/passcodes.js';
import { countPasswordTry, returnPasswordTry } from '../../src/db/tables/browser_lockouts.js';
import { noteHalfUsed, returnPasscodeGuess } from '../../src/db/tables/passcode_budgets.js';
import {
  completePasscode,
  consumePasscode,
  countAttempt,
  findByToken,
  findPasscode,
  lockByToken,
  refundAttempt,
  renewPasscode,
  voidPasswordResets,
} from '../../src/db/tables/passcodes.js';
import { insertUserIfNew } from '../../src/db/tables/users.js';
import { listDefaultRoles } from '../../src/db/tables/roles.js';
import { sessionBounds } from '../../src/domain/sessions/sessions.js';
import { listLiveSessionsOfUser } from '../../src/db/tables/sessions.js';
import { listRecentMails } from '../../src/db/tables/mails.js';
import { digest } from '../../src/lib/digest.js';
import { uuidv7 } from '../../src/lib/random.js';
import { Browser } from '../support/browser.js';
import { addEnvironment, addUser, password } from '../support/data.js';
import { jsonFrom, fromAddress } from '../support/from-address.js';
import { codeIn, lastMailTo } from '../support/mailbox.js';
import { contextOf, shared, sharedService } from '../support/shared-service.js';
import { signedIn } from '../support/signed-in.js';

const service = sharedService();
const foreign = shared(() => addEnvironment(service.deps, 'staging'));
const own = contextOf(service);
let foreignHost: string;

beforeAll(async () => {
  foreignHost = `staging.${new URL(service.url).host}`;
});

test('passcodes, mails and sessions of one environment are not there in another', async () => {
  const user = await addUser(own);
  await new Browser(service.url).login(user.email, password);
  const now = own.clock.now();
  const { scope } = foreign;
  const { passcode } = await transaction(own, (tx) =>
    startPasscode(tx, {
      email: user.email,
      email_key: user.email_key,
      purpose: 'password_reset',
      user_id: user.id,
      usable: true,
      lifetime: 600,
    }),
  );
  const token = digest('token');
  const registration = await startRegistration(
    own,
    { email: 'x@example.com', email_key: 'x@example.com' },
    { ip_address: null, user_agent: null },
  );
  await consumePasscode(own.scope, registration, now, { token_digest: token, token_expires_at: new Date(now.getTime() + 60_000) });
  expect(await findPasscode(scope, 'password_reset', passcode.id)).toBeNull();
  const limits = { max_attempts: 5, max_wrong: 50, budget: 500, since: new Date(0) };
  const which = { purpose: 'password_reset', id: passcode.id } as const;
  expect(await countAttempt(scope, which, limits, now)).toMatchObject({ passcode: null, guess_count: null });
  const tried = { user_id: user.id, browser_digest: digest('browser') };
  const lockout = { threshold: 10, locked_until: now, now, expires_at: new Date(now.getTime() + 60_000) };
  expect(await countPasswordTry(own.scope, tried, lockout)).toMatchObject({ browser_locked: false });
  for (const end of ['right', 'unseen'] as const)
    await returnPasswordTry(scope, { ...tried, browser_locked: true, account_locked: true }, lockout, end);
  expect(await countPasswordTry(scope, tried, { ...lockout, threshold: 1 })).toMatchObject({ browser_locked: true });
  const ofOwn = own.db.knex('browser_lockouts').where({ environment_id: own.environment.id });
  expect(await ofOwn).toMatchObject([{ failed_login_count: 1, locked_until: null }]);
  const spent = { environment_id: own.environment.id, window_started_at: now, guess_count: 3 };
  await own.db.knex('passcode_budgets').insert(spent);
  await returnPasscodeGuess(scope);
  expect(await noteHalfUsed(scope, 1, now)).toBe(false);
  expect(await own.db.knex('passcode_budgets')).toEqual([{ ...spent, half_noted_at: null }]);
  expect(await consumePasscode(scope, passcode, now)).toBeNull();
  const renewal = {
    code_digest: token,
    code_length: 6,
    expires_at: now,
    now,
    sent_before: new Date(now.getTime() + 60_000),
    max_sent: 9,
    started_after: new Date(0),
  };
  expect(await renewPasscode(scope, passcode.id, renewal)).toBeNull();
  expect(await findByToken(scope, token, now)).toBeNull();
  expect(await transaction(foreign, (tx) => lockByToken(tx.scope, token, now))).toBeNull();
  expect(await voidPasswordResets(scope, user.id, now)).toBe(0);
  await refundAttempt(scope, passcode.id);
  await completePasscode(scope, registration.id, now);
  expect(await findPasscode(own.scope, 'password_reset', passcode.id)).toEqual(passcode);
  expect(await findByToken(own.scope, token, now)).not.toBeNull();
  expect(await listRecentMails(scope, { recipient: null, limit: 10 })).toEqual([]);
  expect(await listLiveSessionsOfUser(scope, user.id, sessionBounds(own))).toEqual([]);
  expect(await listDefaultRoles(scope)).toEqual([]);
  const twin = await insertUserIfNew(scope, {
    id: uuidv7(now.getTime()),
    email: user.email,
    email_key: user.email_key,
    created_at: now,
    updated_at: now,
  });
  expect(twin?.environment_id).toBe(foreign.environment.id);
});

test('a code, a session and the mailbox of one environment are worth nothing at the address of another', async () => {
  const started = (await (await new Browser(service.url).postJson('/register', { email: 'grace@example.com' })).json()) as {
    registration_id: string;
  };
  const body = { registration_id: started.registration_id, code: codeIn(await lastMailTo(service.url, 'grace@example.com')) };
  const crossed = await jsonFrom('127.0.0.1', `${service.url}/register/verify`, body, { host: foreignHost });
  expect([crossed.status, JSON.parse(crossed.text)]).toMatchObject([410, { error: 'code_expired' }]);
  expect((await new Browser(service.url).postJson('/register/verify', body)).status).toBe(200);
  const user = await addUser(own);
  const browser = await signedIn(service, user);
  const headers = { host: foreignHost, accept: 'application/json', cookie: `idp_session=${browser.cookies.get('idp_session')}` };
  expect((await fromAddress('127.0.0.1', `${service.url}/account`, { headers })).status).toBe(401);
  expect((await fromAddress('127.0.0.1', `${service.url}/dev/mailbox`, { headers })).status).toBe(404);
});
