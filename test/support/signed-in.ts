import type { EnvironmentRow } from '../../src/db/tables/environments.js';
import { updateUser, type UserChanges, type UserRow } from '../../src/db/tables/users.js';
import { transaction, type Context } from '../../src/domain/context.js';
import { passkeyProof, proofNow, type SessionProof } from '../../src/domain/proofs/proofs.js';
import { addProofs, startSession } from '../../src/domain/sessions/sessions.js';
import { uuidv7 } from '../../src/lib/random.js';
import { Browser } from './browser.js';
import { addUser } from './data.js';
import type { TestService } from './service.js';

/** The proofs of a sign-in by these means, all of this moment. */
export const proofsNow = (
  ctx: Pick<Context, 'clock'>,
  ...methods: ('password' | 'email' | 'totp' | 'passkey' | 'recovery_code' | 'device')[]
): SessionProof[] =>
  methods.map((method) =>
    method === 'passkey' ? passkeyProof(ctx.clock.now(), uuidv7(0), true) : proofNow(method, ctx.clock.now(), null),
  );

/** A browser in which the user is signed in by these proofs, with the id of the session. */
export async function signedInBy(
  service: TestService,
  user: Pick<UserRow, 'id'>,
  proofs: readonly SessionProof[],
): Promise<Browser & { session_id: string }> {
  const ctx = await service.context();
  const { session, token } = await startSession(ctx, { user_id: user.id, proofs, ip_address: null, user_agent: null });
  const browser = new Browser(service.url);
  browser.cookies.set(ctx.environment.issuer.startsWith('https:') ? '__Host-session' : 'idp_session', token);
  return Object.assign(browser, { session_id: session.id });
}

/** The same by a password, as most are. Tests of signing in itself post the form. */
export const signedIn = (service: TestService, user: Pick<UserRow, 'id'>) => signedInBy(service, user, proofsNow(service, 'password'));

/** Proves more in a browser's session, as the pages of a further step do. */
export async function proveMore(
  service: TestService,
  browser: Browser & { session_id: string },
  added: readonly SessionProof[],
): Promise<void> {
  const added_to = await transaction(await service.context(), (tx) => addProofs(tx, browser.session_id, added));
  if (!added_to) throw new Error('the session has ended');
  browser.cookies.set('idp_session', added_to.token);
}

/** A user of whom the rows say that these kinds of authenticators are theirs. */
export async function addUserWith(ctx: Context, kinds: UserRow['authenticator_kinds'], row: UserChanges = {}): Promise<UserRow> {
  const user = await addUser(ctx);
  return (await updateUser(ctx.scope, user.id, {
    authenticator_kinds: [...kinds],
    two_step_enabled: kinds.includes('totp'),
    ...row,
  })) as UserRow;
}

export async function setEnvironment(service: TestService, changes: Partial<EnvironmentRow>): Promise<void> {
  const { environment } = await service.context();
  await service.deps.db.knex('environments').where({ id: environment.id }).update(changes);
  service.deps.cache.invalidate(environment.id, 'environments');
}
