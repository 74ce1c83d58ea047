import { Duplicate } from '../../db/connection/failures.js';
import { recordLogin, type UserRow } from '../../db/tables/users.js';
import { transaction, type Context } from '../context.js';
import type { Origin } from '../origin.js';
import { connectionOf } from '../connections/connections.js';
import { reachedBy } from '../proofs/classes.js';
import type { SessionProof } from '../proofs/proofs.js';
import { spendSingleUse, type SingleUse } from '../proofs/single-use.js';
import { completeSignIn, SignInOver, type ProviderLink } from '../sessions/half-sign-ins.js';
import { asGuest, deviceAfter, type Device } from '../sessions/known-browsers.js';
import { rememberBrowser } from '../sessions/remembered-browsers.js';
import { endSessions, signInAgain, startSession, type BrowserSession, type ProviderSignIn } from '../sessions/sessions.js';
import { keepAccount } from '../users/own-deletion.js';
import { isGuest } from './guest.js';
import { settleAccount } from './provider-account.js';
import { recordSignIn } from './sign-in-trail.js';

/** Somebody who has proven who they are, in as many steps as it took. */
export type WholeSignIn = {
  /** As read when the proofs were judged: an address that is proven for the first time since then has ended what they rest on. */
  readonly user: Pick<UserRow, 'id' | 'email' | 'email_verified'>;
  readonly proofs: readonly SessionProof[];
  /** The hash of the password that was proven: changed meanwhile, it signs nobody in, since a reset ends what rests on the old one. */
  readonly proven_hash?: string | null;
  /** The half sign-in that is complete with it: of two requests that complete it, one signs in. */
  readonly completes?: { readonly id: string } | null;
  /** What the provider says of the sign-in there, when the person came through one, and the account there. */
  readonly provider?: ProviderSignIn | null;
  readonly provider_account?: ProviderLink | null;
  /** What the last proof uses up. */
  readonly uses?: SingleUse | null;
};

export type Browser = {
  /** Whoever is signed in there. */
  readonly session: BrowserSession | null;
  readonly device: Device | null;
  /** The secret of its cookie, which challenges and mailed codes are bound to; empty without one. */
  readonly secret: string;
  /** The Host header, for passkeys. */
  readonly host: string | undefined;
  readonly origin: Origin;
  /** Whether it skips the second step from now on. */
  readonly remember?: boolean;
};

/** Who is signed in, as the login has left them; the token is for the browser's cookie and known to nobody else, `device` for its device cookie. */
export type SignedInUser = { readonly outcome: 'signed_in'; readonly user: UserRow; readonly token: string; readonly device: Device };

/**
 * Signs the user in, with a new token at every sign-in (session fixation): the same person's session goes on, somebody else's ends. It is what counts as a
 * login, in the session's transaction, with all that comes of it; a browser that is new to the account is told of by mail.
 * @throws {SignInOver}
 * @throws {ProofSpent}
 * @throws {PageError} 409 `sso_account_exists` when the account at the provider was linked to somebody else meanwhile
 */
export async function openBrowserSession(ctx: Context, whole: WholeSignIn, browser: Browser): Promise<SignedInUser> {
  const { user: claimant, proofs, proven_hash = null, completes = null, provider = null, provider_account = null, uses = null } = whole;
  const { session, origin, remember = false } = browser;
  const { id: user_id } = claimant;
  const { amr } = reachedBy(proofs);
  const guest = await isGuest(ctx, whole);
  const device = deviceAfter(browser.device, (guest ? asGuest(claimant) : claimant).id, ctx.clock.now());
  const until = provider_account?.session_until ? new Date(provider_account.session_until) : null;
  const input = { user_id, proofs, provider, until, ip_address: origin.ip_address, user_agent: origin.user_agent };
  const open = async (tx: Context): Promise<SignedInUser> => {
    const counted = await recordLogin(tx.scope, { ...claimant, proven_hash, guest }, tx.clock.now());
    if (!counted) throw new SignInOver('overtaken');
    await spendSingleUse(tx, uses);
    if (completes !== null && !(await completeSignIn(tx, completes))) throw new SignInOver('expired');
    // An organization's provider doesn't say that somebody wants their account back.
    const staying = guest ? counted : await keepAccount(tx, counted, origin);
    const settled = provider_account && (await settleAccount(tx, staying, provider_account, origin));
    // Whoever proved a password first signs in without the account at the provider.
    if (provider_account && !settled && proofs.some(({ method }) => method === 'provider')) throw new SignInOver('overtaken');
    const user = settled ?? staying;
    if (remember) await rememberBrowser(tx, device, user_id, origin);
    const through = settled && provider_account ? await connectionOf(tx, provider_account.account.connection_id) : null;
    const login = { ...input, connection: through, subject: provider_account?.account.subject ?? null };
    const renewed = session?.user_id === user_id ? await signInAgain(tx, session.id, login) : null;
    if (!renewed && session && session.user_id !== user_id) await endSessions(tx, { id: session.id }, 'replaced');
    const opened = renewed ?? (await startSession(tx, login));
    const connection_id = provider_account?.account.connection_id ?? null;
    const signedIn = { user, session_id: opened.session.id, amr, proofs, connection_id, guest };
    // A guest's session tells of the organization's browsers alone.
    const wasHere = renewed !== null && (guest || session?.has_local_login === true);
    await recordSignIn(tx, { ...signedIn, renewed: wasHere, device: browser.device, origin });
    return { outcome: 'signed_in', user, token: opened.token, device };
  };
  return transaction(ctx, open).catch((error: unknown) => {
    if (!(error instanceof Duplicate)) throw error;
    // The account at the provider was linked at the same moment: the second time it is found.
    return transaction(ctx, open);
  });
}
