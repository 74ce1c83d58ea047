import type { SignInRow } from '../../db/tables/sign_ins.js';
import { recordLogin, type UserRow } from '../../db/tables/users.js';
import { recordSignIn } from '../audit/sign-in-trail.js';
import { transaction, type Context } from '../context.js';
import type { Origin } from '../origin.js';
import { reachedBy } from '../sessions/classes.js';
import type { Device } from '../sessions/known-browsers.js';
import type { Proof } from '../sessions/proofs.js';
import { endSessions, signInAgain, startSession, type BrowserSession, type ProviderSignIn } from '../sessions/sessions.js';
import { completeSignIn, SignInOver } from './sign-ins.js';

/** Somebody who has proven who they are, in as many steps as it took. */
export type WholeSignIn = {
  /** As read when the proofs were judged: an address that is proven for the first time since then has ended what they rest on. */
  readonly user: Pick<UserRow, 'id' | 'email_verified'>;
  readonly proofs: readonly Proof[];
  /** The hash of the password that was proven: changed meanwhile, it signs nobody in, since a reset ends what rests on the old one. */
  readonly proven_hash?: string | null;
  /** The half sign-in that is complete with it: of two requests that complete it, one signs in. */
  readonly completes?: Pick<SignInRow, 'id'> | null;
  /** What the provider says of the sign-in there, when the person came through one. */
  readonly provider?: ProviderSignIn | null;
  /** What else happens in the transaction that makes the session; what it throws undoes the sign-in. */
  readonly also?: ((tx: Context) => Promise<void>) | undefined;
};

/** The browser that somebody signs in with. */
export type Browser = {
  /** Whoever is signed in there. */
  readonly session: BrowserSession | null;
  /** What its device cookie says, and what it will say once the person is signed in. */
  readonly known: Device | null;
  readonly device: Device;
  /** When this person last signed in with it, as far as it can prove that. */
  readonly last_here: Date | null;
  readonly origin: Origin;
};

/** Who is signed in, as the login has left them; the token is for the browser's cookie and known to nobody else. */
export type SignedInUser = { readonly user: UserRow; readonly token: string };

/**
 * Signs the user in, with a new token at every sign-in (session fixation): the same person's session goes on, somebody else's ends. It is what counts as a
 * login, in the session's transaction; a browser that is new to the account is told of by mail.
 * @throws {SignInOver}
 */
export async function openBrowserSession(ctx: Context, whole: WholeSignIn, { session, last_here, origin }: Browser): Promise<SignedInUser> {
  const { user: claimant, proofs, proven_hash = null, completes = null, provider = null, also } = whole;
  const { id: user_id } = claimant;
  const { amr } = reachedBy(proofs);
  const input = { user_id, proofs, provider, ip_address: origin.ip_address, user_agent: origin.user_agent };
  return transaction(ctx, async (tx) => {
    const user = await recordLogin(tx.scope, { ...claimant, proven_hash }, tx.clock.now());
    if (!user) throw new SignInOver('overtaken');
    if (completes !== null && !(await completeSignIn(tx, completes))) throw new SignInOver('expired');
    await also?.(tx);
    const renewed = session?.user_id === user_id ? await signInAgain(tx, session.id, input) : null;
    if (!renewed && session && session.user_id !== user_id) await endSessions(tx, { id: session.id }, 'replaced');
    const opened = renewed ?? (await startSession(tx, input));
    // What happens beside may change the user.
    const current = also ? null : user;
    await recordSignIn(tx, { user_id, user: current, session_id: opened.session.id, amr, renewed: renewed !== null, last_here, origin });
    return { user, token: opened.token };
  });
}
