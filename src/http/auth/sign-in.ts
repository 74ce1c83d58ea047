import type { Request, Response } from 'express';
import { transaction, type Context } from '../../domain/context.js';
import { endSessions, signInAgain, startSession, type ProviderSignIn } from '../../domain/sessions/sessions.js';
import { reachedBy } from '../../domain/sessions/classes.js';
import type { Device } from '../../domain/sessions/known-browsers.js';
import type { Proof } from '../../domain/sessions/proofs.js';
import { recordSignIn } from '../../domain/audit/sign-in-trail.js';
import { completeSignIn } from '../../domain/sign-ins/sign-ins.js';
import type { SignInRow } from '../../db/tables/sign_ins.js';
import { holdUnproven, recordLogin, type UserRow } from '../../db/tables/users.js';
import { PageError } from '../../errors.js';
import { setSessionCookie } from './browser-session.js';
import { deviceAfterSignIn, lastSignInHere, setDevice } from './device-cookie.js';
import { errorMessage } from '../pages/error-texts.js';
import { originOf } from '../pages/mail-origin.js';

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
  /** What else happens in the transaction that makes the session; what it throws undoes the sign-in. `device`: this browser's. */
  readonly also?: (tx: Context, device: Device) => Promise<void>;
};

/**
 * Whether what somebody has proven still counts, in the transaction that lets it: the first proof of the address, which clears the account, waits for the
 * end of the transaction, or came first (specification 4.5.6).
 */
export const isStillProven = async (tx: Context, { id, email_verified }: WholeSignIn['user']): Promise<boolean> =>
  email_verified || holdUnproven(tx.scope, id);

/** The refusal of a sign-in that a change of the account has overtaken. */
export const overtaken = () => new PageError(401, 'invalid_credentials', errorMessage('invalid_credentials'));

/**
 * Signs the user in to this browser, with a new token at every sign-in (session fixation): the same person's session goes on,
 * somebody else's ends. It is what counts as a login, in the session's transaction; a browser that is new to the account is told of by mail. Needs
 * `browserSession` before.
 * @returns the user as it is with the login
 * @throws {PageError} 401 when the password was changed, the address proven or the user blocked a moment ago, 410 when the half sign-in has ended
 */
export async function signIn(req: Request, res: Response, whole: WholeSignIn): Promise<UserRow> {
  const { user: claimant, proofs, proven_hash = null, completes = null, provider = null, also } = whole;
  const { id: user_id } = claimant;
  const origin = originOf(req);
  const { amr } = reachedBy(proofs);
  const input = { user_id, proofs, provider, ip_address: origin.ip_address, user_agent: origin.user_agent };
  const { session } = req;
  const last_here = lastSignInHere(req, user_id);
  const device = deviceAfterSignIn(req, user_id);
  const started = await transaction(req.ctx, async (tx) => {
    const user = await recordLogin(tx.scope, { ...claimant, proven_hash }, tx.clock.now());
    if (!user) return null;
    if (completes !== null && !(await completeSignIn(tx, completes)))
      throw new PageError(410, 'sign_in_expired', errorMessage('sign_in_expired'));
    await also?.(tx, device);
    const renewed = session?.user_id === user_id ? await signInAgain(tx, session.id, input) : null;
    if (!renewed && session && session.user_id !== user_id) await endSessions(tx, { id: session.id }, 'replaced');
    const opened = renewed ?? (await startSession(tx, input));
    // What happens beside may change the user.
    const current = also ? null : user;
    await recordSignIn(tx, { user_id, user: current, session_id: opened.session.id, amr, renewed: renewed !== null, last_here, origin });
    return { user, token: opened.token };
  });
  if (!started) throw overtaken();
  setSessionCookie(req, res, started.token);
  setDevice(req, res, device);
  return started.user;
}
