import type { SessionRow } from '../../db/tables/sessions.js';
import { advanceSignIn, type SignInRow } from '../../db/tables/sign_ins.js';
import { holdPassword } from '../../db/tables/user_proofs.js';
import { lockUser, type UserRow } from '../../db/tables/users.js';
import { noteSecurityEvent, recordSecurityEvent, userParty } from '../audit/security-trail.js';
import { hasFactor, nextStep, noteFactorRequired, type NextStep } from '../authenticators/next-step.js';
import { transaction, type Context } from '../context.js';
import type { Origin } from '../origin.js';
import { withProofs, type SessionProof } from '../proofs/proofs.js';
import { ProofSpent, spendSingleUse } from '../proofs/single-use.js';
import { beginSignIn, providerAccountOf, providerOf, SignInOver } from '../sessions/half-sign-ins.js';
import { rememberedProof } from '../sessions/remembered-browsers.js';
import { addProofs, type BrowserSession } from '../sessions/sessions.js';
import { openBrowserSession, type Browser, type SignedInUser } from './browser-session.js';
import { isGuest } from './guest.js';
import { isSession, type CurrentSignIn } from './current.js';
import { isProven, judge, proofMethods, type PresentedProof, type PresentedMethod, type Proven, type MethodRefusal } from './proof-methods.js'; // prettier-ignore

/** What a half sign-in asks for next; `token`: of one that has just begun, for the browser's cookie. */
export type AskedStep = {
  readonly outcome: 'asked';
  readonly next: Exclude<NextStep, { kind: 'none' }>;
  readonly user: UserRow;
  readonly proofs: readonly SessionProof[];
  readonly expires_at: Date;
  readonly token: string | null;
};

/** A session that goes on with a further proof, and a new token for its cookie. */
export type Confirmed = { readonly outcome: 'confirmed'; readonly user: UserRow; readonly session: SessionRow; readonly token: string };

/** What a right proof leads to, by what it is for; `ended`: the session lives no more. */
export type SignInResult<C extends CurrentSignIn | null = CurrentSignIn | null> = C extends BrowserSession
  ? Confirmed | { readonly outcome: 'ended' }
  : SignedInUser | AskedStep;

/** Counts a proof of a sign-in, refused or taken. */
export function noteLogin({ metrics, environment }: Context, method: string | null, outcome: string): void {
  const [succeeded, half] = [outcome === 'signed_in', outcome === 'asked'];
  if (method !== null) metrics.logins.inc({ method, outcome: succeeded ? 'ok' : half ? 'second_step' : outcome });
  if (!half) metrics.daily.add(environment.id, 'logins', succeeded ? 'succeeded' : 'failed');
}

/** Counts and records a right proof whose sign-in is over by now. */
function noteOver(ctx: Context, method: PresentedMethod, user: UserRow, origin: Origin, over: SignInOver): void {
  const { counted, refusals } = proofMethods[method];
  if (refusals === 'counted_by_caller') return;
  const reason = over.reason === 'expired' ? 'sign_in_expired' : 'account_changed';
  noteLogin(ctx, counted, reason);
  noteSecurityEvent(ctx, 'login.failed', { target: userParty(user).target, origin, reason });
}

/** Spends what the proof uses up: before anything else, as all do who change that. @throws {ProofSpent} */
async function spend(tx: Context, { user, uses = null }: Proven): Promise<void> {
  if (!uses) return;
  await lockUser(tx.scope, user.id);
  await spendSingleUse(tx, uses);
}

/** What a proof opens by one statement: in a transaction where it spends something. @throws {ProofSpent} */
function spending<T>(ctx: Context, proven: Proven, open: (tx: Context) => Promise<T>): Promise<T> {
  if (!proven.uses) return open(ctx);
  return transaction(ctx, async (tx) => {
    await spend(tx, proven);
    return open(tx);
  });
}

/** The proofs with that of a browser which skips this person's second step. */
async function withRemembered(ctx: Context, { user, proofs }: Proven, { device }: Browser): Promise<readonly SessionProof[]> {
  if (!user.two_step_enabled && !hasFactor(user)) return proofs;
  const remembered = await rememberedProof(ctx, device, user.id);
  return remembered === null ? proofs : [...proofs, remembered];
}

/** A first step: a session, or a half sign-in. Costs somebody without factors no statement where no policy asks for one. */
async function begin(ctx: Context, proven: Proven, browser: Browser): Promise<SignedInUser | AskedStep> {
  const { user } = proven;
  const proofs = await withRemembered(ctx, proven, browser);
  const next = await nextStep(ctx, user, proofs);
  if (next.kind === 'enroll') await noteFactorRequired(ctx, user);
  // Whoever may add no factor goes on while nobody has to.
  const waits = next.kind === 'enroll' && next.skip_until !== null && (await isGuest(ctx, { ...proven, proofs }));
  if (next.kind === 'none' || waits) return openBrowserSession(ctx, { ...proven, proofs }, browser);
  const half = { ...proven, user_id: user.id, stage: next.kind, proofs };
  const { sign_in, token } = await spending(ctx, proven, (tx) => beginSignIn(tx, user, half));
  return { outcome: 'asked', next, user, proofs, expires_at: sign_in.expires_at, token };
}

/** A further step of a half sign-in: of two requests at once that complete it, one signs in. */
async function goOn(ctx: Context, half: SignInRow, proven: Proven, browser: Browser, skip: boolean): Promise<SignedInUser | AskedStep> {
  const { user, uses = null } = proven;
  const proofs = withProofs(half.proofs, proven.proofs);
  const { proven_hash, expires_at } = half;
  const next = await nextStep(ctx, user, proofs);
  if (next.kind === 'none' || (skip && next.kind === 'enroll' && next.skip_until !== null)) {
    const from = { provider: providerOf(half), provider_account: providerAccountOf(ctx, half) };
    return openBrowserSession(ctx, { user, proofs, proven_hash, uses, completes: half, ...from }, browser);
  }
  await spending(ctx, proven, async (tx) => {
    if (!(await advanceSignIn(tx.scope, half.id, next.kind, proofs))) throw new SignInOver('expired');
  });
  return { outcome: 'asked', next, user, proofs, expires_at, token: null };
}

/** A proof of somebody signed in: the session's class never falls. It is a confirmation, and no login (specification 4.12.11). */
function confirm(ctx: Context, { id }: BrowserSession, proven: Proven, { origin }: Browser, recorded: boolean): Promise<Confirmed> {
  const { user, proofs, proven_hash = null } = proven;
  return transaction(ctx, async (tx) => {
    await spend(tx, proven);
    if (proven_hash !== null && !(await holdPassword(tx.scope, user.id, proven_hash))) throw new SignInOver('overtaken');
    const renewed = await addProofs(tx, id, proofs);
    if (!renewed) throw new SignInOver('expired');
    const target = { target_type: 'session', target_id: id };
    const { actor } = userParty(user);
    if (recorded) await recordSecurityEvent(tx, 'session.confirmed', { actor, target, origin, detail: { amr: renewed.session.amr } });
    return { outcome: 'confirmed', user, ...renewed };
  });
}

type At = { readonly current: CurrentSignIn | null; readonly browser: Browser };

/** What a right proof leads to, or why it isn't taken: another request has spent it. */
async function follow<R>(ctx: Context, method: PresentedMethod, proven: Proven<R>, { current, browser }: At): Promise<SignInResult | R> {
  try {
    if (current === null) return await begin(ctx, proven, browser);
    // A factor that was just added is recorded as that.
    if (isSession(current)) return await confirm(ctx, current, proven, browser, method !== 'enrolled');
    return await goOn(ctx, current, proven, browser, method === 'skip');
  } catch (error) {
    if (error instanceof ProofSpent && proven.uses) return proven.uses.refuse();
    if (!(error instanceof SignInOver)) throw error;
    if (current !== null && isSession(current)) return { outcome: 'ended' };
    noteOver(ctx, method, proven.user, browser.origin, error);
    throw error;
  }
}

/**
 * Takes a step of a sign-in: judges the proof, and gives a session, what is asked for next, or why the proof isn't taken. The session, `last_login_at`, the
 * audit, what the proof uses up and what else comes of a login are one transaction.
 * @throws {SignInOver} when a change of the account, time or another request has ended the sign-in
 */
export async function advance<M extends PresentedMethod, C extends CurrentSignIn | null>(
  ctx: Context,
  current: C,
  proof: PresentedProof<M>,
  browser: Browser,
): Promise<SignInResult<C> | MethodRefusal<M, C>>;
export async function advance(
  ctx: Context,
  current: CurrentSignIn | null,
  proof: PresentedProof,
  browser: Browser,
): Promise<SignInResult | MethodRefusal<PresentedMethod, CurrentSignIn | null>> {
  const { method } = proof;
  const verdict = await judge(ctx, proof, { current, browser });
  const reached = isProven(verdict) ? await follow(ctx, method, verdict, { current, browser }) : verdict;
  const { counted, refusals } = proofMethods[method];
  const taken = reached.outcome === 'signed_in' || reached.outcome === 'asked';
  if ((current === null || !isSession(current)) && (taken || refusals === 'counted')) noteLogin(ctx, counted, reached.outcome);
  return reached;
}
