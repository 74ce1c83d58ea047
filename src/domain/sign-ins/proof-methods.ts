import type { SignInRow } from '../../db/tables/sign_ins.js';
import { findUser, type UserRow } from '../../db/tables/users.js';
import { noteSecurityEvent, userParty } from '../audit/security-trail.js';
import { judgePasskey, spendAlone } from '../authenticators/passkey-sign-in.js';
import { requiredConnectionFor } from '../connections/connections.js';
import type { Context } from '../context.js';
import { needsReset } from '../credentials/breached-sign-in.js';
import { proveLocalAccount, provePassword } from '../credentials/prove-password.js';
import { proofNow, providerProof, type SessionProof } from '../proofs/proofs.js';
import type { SingleUse } from '../proofs/single-use.js';
import type { ProviderLink } from '../sessions/half-sign-ins.js';
import type { ProviderSignIn } from '../sessions/sessions.js';
import type { Browser } from './browser-session.js';
import { isSession, type CurrentSignIn } from './current.js';
import { judgeEmailSignIn, type EmailSignInVerdict } from './email-codes.js';
import { findPerson, type ProviderPerson } from './provider-account.js';
import type { ProviderRefusal } from './provider-decision.js';
import { trustFor } from './provider-trust.js';
import { judgeSecondStep, type SecondStepAnswer, type SecondStepRefusal } from './second-step.js';

/** Where a proof is taken: at the first step, at a later one, or from somebody signed in. */
type ProofStage = 'first' | SignInRow['stage'] | 'session';

const stageOf = (current: CurrentSignIn | null): ProofStage =>
  current === null ? 'first' : isSession(current) ? 'session' : current.stage;

/** What is presented, by the means of it. */
type Presented = {
  password: { readonly email: string; readonly password: string };
  passkey: { readonly credential: unknown };
  /** `sign_in_id`: of a code that is the first step. */
  email: { readonly code: string; readonly sign_in_id?: string };
  totp: { readonly code: string };
  recovery_code: { readonly code: string };
  /** The answer of a provider, found to be for this browser. */
  provider: ProviderPerson & { readonly authentication: ProviderSignIn; readonly uses?: SingleUse<DeniedPerson> | null };
  /** The password of the account here, by somebody whom a provider has let in. */
  local_account: {
    readonly email: string;
    readonly password: string;
    readonly provider: ProviderSignIn;
    readonly provider_account: ProviderLink;
  };
  /** An account that was just made, and what proves that the person is its owner. */
  registration: { readonly user: UserRow; readonly proofs: readonly SessionProof[] };
  /** A factor that was just added: the person has it. */
  enrolled: { readonly proof: SessionProof };
  /** Nothing: the person goes on without the factor that the policy asks for, in the grace time. */
  skip: object;
};
export type PresentedMethod = keyof Presented;
export type PresentedProof<M extends PresentedMethod = PresentedMethod> = { [K in M]: { readonly method: K } & Presented[K] }[M];

/** A proof that was found right. `Refusal`: why it isn't taken after all, when another request spends it first. */
export type Proven<Refusal = unknown> = {
  readonly outcome: 'proven';
  /** As read when it was judged. */
  readonly user: UserRow;
  readonly proofs: readonly SessionProof[];
  readonly proven_hash?: string | null;
  readonly provider?: ProviderSignIn | null;
  readonly provider_account?: ProviderLink | null;
  /** What is spent with it. */
  readonly uses?: SingleUse<Refusal> | null;
};

export const isProven = <R extends { readonly outcome: string }>(verdict: Proven<R> | R): verdict is Proven<R> =>
  verdict.outcome === 'proven';

type Outcomes<T extends string> = T extends string ? { readonly outcome: T } : never;
type DeniedPerson = { readonly outcome: 'denied'; readonly code: ProviderRefusal; readonly why: string };
/** Why a first step isn't taken, by its means. */
type FirstRefusals = {
  /** `breached`: the right password, which is known from a data breach and must be reset first. */
  password: Outcomes<'invalid' | 'blocked' | 'breached'>;
  passkey: Outcomes<'unknown' | 'refused' | 'expired' | 'blocked'>;
  email: Exclude<EmailSignInVerdict, { outcome: 'proven' }>;
  provider:
    | DeniedPerson
    /** The account here is to be proven by its password first; `again`: the two were linked before. */
    | (Outcomes<'ask_password'> & { readonly user: UserRow; readonly again: boolean });
  local_account: Outcomes<'invalid' | 'blocked' | 'breached'>;
  registration: never;
};
/** Why a further proof isn't taken. */
type FurtherRefusals = {
  password: Extract<SecondStepRefusal, { outcome: 'wrong' }>;
  passkey: SecondStepRefusal;
  email: SecondStepRefusal;
  totp: SecondStepRefusal;
  recovery_code: SecondStepRefusal;
  enrolled: Outcomes<'expired'>;
  skip: Outcomes<'expired'>;
};
/** Why a proof isn't taken, by its means and by what it is for: null for a first step. */
export type MethodRefusal<M extends PresentedMethod, C extends CurrentSignIn | null> =
  | (null extends C ? FirstRefusals[M & keyof FirstRefusals] : never)
  | (C extends CurrentSignIn ? FurtherRefusals[M & keyof FurtherRefusals] : never);

/** The half sign-in or session that a proof is for, null for a first step, and the browser that it comes from. */
type At<C = CurrentSignIn | null> = { readonly current: C; readonly browser: Browser };
type AnyRefusal<M extends PresentedMethod> = MethodRefusal<M, CurrentSignIn | null>;
type Judge<M extends PresentedMethod> = (ctx: Context, proof: PresentedProof<M>, at: At) => Promise<Proven<AnyRefusal<M>> | AnyRefusal<M>>;

/** Longer ones are nobody's, and not worth a hash. */
const longestPassword = 4096;

/** Refuses a right password that must be reset: by a mailed code, since whoever has the leaked one could choose the next. */
function refuseBreached(ctx: Context, user: UserRow, { origin }: Browser): { readonly outcome: 'breached' } | null {
  if (!needsReset(ctx, user)) return null;
  noteSecurityEvent(ctx, 'login.failed', { target: userParty(user).target, origin, reason: 'password_breached' });
  return { outcome: 'breached' };
}

const byPassword: Judge<'password'> = async (ctx, { email, password }, { current, browser }) => {
  const verdict =
    password.length > longestPassword ? ({ outcome: 'invalid' } as const) : await provePassword(ctx, email, password, browser);
  const wrong = current !== null && (verdict.outcome !== 'ok' || verdict.user.id !== current.user_id);
  if (wrong) return { outcome: 'wrong', attempts_left: null };
  if (verdict.outcome !== 'ok') return verdict;
  const { user } = verdict;
  // Somebody who is signed in goes on.
  const refused = current === null ? refuseBreached(ctx, user, browser) : null;
  return refused ?? { outcome: 'proven', user, proofs: [proofNow('password', ctx.clock.now())], proven_hash: user.password_hash };
};

/** A factor of the person's, beside what was proven before. */
async function bySecondStep(
  ctx: Context,
  answer: SecondStepAnswer,
  { current, browser }: At<CurrentSignIn>,
): Promise<Proven<SecondStepRefusal> | SecondStepRefusal> {
  const user = await findUser(ctx.scope, current.user_id);
  if (user?.status !== 'active') return { outcome: 'expired' };
  const verdict = await judgeSecondStep(ctx, { user, answer, current, browser });
  return verdict.outcome === 'proven' ? { outcome: 'proven', user, proofs: [verdict.proof], uses: verdict.uses } : verdict;
}

const byPasskey: Judge<'passkey'> = async (ctx, { method, credential }, { current, browser }) => {
  if (current !== null) return bySecondStep(ctx, { method, credential }, { current, browser });
  const { secret, host, origin } = browser;
  const verdict = await judgePasskey(ctx, { purpose: 'sign_in', browser: secret, user_id: null, host, credential, origin });
  if (verdict.outcome !== 'proven') return verdict;
  const { user, proof, uses } = verdict;
  // An address that signs in through one connection alone does so, whatever else its account has.
  if ((await requiredConnectionFor(ctx, user.email)) !== null) {
    if (!(await spendAlone(ctx, user, uses))) return uses.refuse();
    noteSecurityEvent(ctx, 'login.failed', { target: userParty(user).target, origin, reason: 'connection_required' });
    return { outcome: 'refused' };
  }
  return { outcome: 'proven', user, proofs: [proof], uses };
};

const byEmail: Judge<'email'> = async (ctx, { method, code, sign_in_id = '' }, { current, browser }) => {
  if (current !== null) return bySecondStep(ctx, { method, code }, { current, browser });
  const verdict = await judgeEmailSignIn(ctx, { sign_in_id, code, browser: browser.secret, origin: browser.origin });
  return verdict.outcome === 'proven' ? { ...verdict, proofs: [verdict.proof] } : verdict;
};

const byCode: Judge<'totp'> & Judge<'recovery_code'> = async (ctx, proof, { current, browser }) =>
  current === null ? { outcome: 'expired' } : bySecondStep(ctx, proof, { current, browser });

const byProvider: Judge<'provider'> = async (ctx, person, { browser }) => {
  const found = await findPerson(ctx, person, browser.origin);
  if (found.kind === 'refuse') return { outcome: 'denied', code: found.code, why: found.why };
  const { user } = found;
  if (found.kind !== 'found') return { outcome: 'ask_password', user, again: found.kind === 'prove_again' };
  const { authentication, connection, uses = null } = person;
  // `amr` of the session stays empty: how the person authenticated is the provider's statement, kept apart.
  const trust = await trustFor(ctx, connection, user, authentication);
  const proofs = [providerProof(ctx.clock.now(), authentication.auth_time, trust)];
  return { outcome: 'proven', user, proofs, uses, provider: authentication, provider_account: found.provider_account };
};

const byLocalAccount: Judge<'local_account'> = async (ctx, { email, password, provider, provider_account }, { browser }) => {
  if (password.length > longestPassword) return { outcome: 'invalid' };
  const verdict = await proveLocalAccount(ctx, email, password, browser);
  if (verdict.outcome !== 'ok') return verdict;
  const { user } = verdict;
  const proofs = [proofNow('password', ctx.clock.now())];
  const proven_hash = user.password_hash;
  return refuseBreached(ctx, user, browser) ?? { outcome: 'proven', user, proofs, proven_hash, provider, provider_account };
};

/** What needs no judging: the account is read as it is now, for enrolment has changed it. */
async function given(
  ctx: Context,
  current: CurrentSignIn | null,
  proofs: readonly SessionProof[],
): Promise<Proven<never> | Outcomes<'expired'>> {
  const user = current && (await findUser(ctx.scope, current.user_id));
  return user?.status === 'active' ? { outcome: 'proven', user, proofs } : { outcome: 'expired' };
}

type MethodRules<M extends PresentedMethod> = {
  /** Where it is taken. */
  readonly at: readonly ProofStage[];
  /** Its name in `logins_total`; null: it isn't counted there. */
  readonly counted: string | null;
  /** Who counts and records that no sign-in comes of it: `advance`, or the caller, which refuses more than the proof. */
  readonly refusals: 'counted' | 'counted_by_caller';
  readonly judge: Judge<M>;
};

/** All means of showing who one is. What follows a proof is the same for each: see `advance`. */
export const proofMethods: { readonly [M in PresentedMethod]: MethodRules<M> } = {
  password: { at: ['first', 'session'], counted: 'password', refusals: 'counted', judge: byPassword },
  passkey: { at: ['first', 'verify', 'session'], counted: 'passkey', refusals: 'counted', judge: byPasskey },
  email: { at: ['first', 'verify', 'session'], counted: 'email_code', refusals: 'counted', judge: byEmail },
  totp: { at: ['verify', 'session'], counted: 'totp', refusals: 'counted', judge: byCode },
  recovery_code: { at: ['verify', 'session'], counted: 'recovery_code', refusals: 'counted', judge: byCode },
  provider: { at: ['first'], counted: 'sso', refusals: 'counted_by_caller', judge: byProvider },
  local_account: { at: ['first'], counted: 'sso', refusals: 'counted', judge: byLocalAccount },
  registration: {
    at: ['first'],
    counted: 'registration',
    refusals: 'counted',
    judge: async (_ctx, { user, proofs }) => ({ outcome: 'proven', user, proofs }),
  },
  enrolled: {
    at: ['enroll', 'session'],
    counted: null,
    refusals: 'counted',
    judge: (ctx, { proof }, { current }) => given(ctx, current, [proof]),
  },
  skip: { at: ['enroll'], counted: null, refusals: 'counted', judge: (ctx, _proof, { current }) => given(ctx, current, []) },
};

/** Judges a proof. @throws {Error} where it isn't taken: no route leads there */
export function judge<M extends PresentedMethod>(ctx: Context, proof: PresentedProof<M>, at: At): ReturnType<Judge<M>> {
  const rules: MethodRules<M> = proofMethods[proof.method];
  const stage = stageOf(at.current);
  if (!rules.at.includes(stage)) throw new Error(`${proof.method} is no proof here: ${stage}`);
  return rules.judge(ctx, proof, at);
}
