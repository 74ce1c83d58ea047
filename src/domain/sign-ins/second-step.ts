import { isPasskey, isRecoveryCodes, isTotp, listAuthenticatorsOfUser, type AuthenticatorRow } from '../../db/tables/authenticators.js';
import { countSecondStep, deleteSecondStepTries, findSecondStepTries } from '../../db/tables/second_step_tries.js';
import { countSignInAttempt } from '../../db/tables/sign_ins.js';
import { updateUser, type UserRow } from '../../db/tables/users.js';
import { SealError } from '../../lib/seal.js';
import { noteSecurityEvent, userParty } from '../audit/security-trail.js';
import { tellOwner } from '../authenticators/notices.js';
import { judgePasskey, type PasskeyRefusal } from '../authenticators/passkey-sign-in.js';
import { recoveryCodeUse } from '../authenticators/recovery-codes.js';
import { rpIdOf } from '../authenticators/relying-party.js';
import { totpUse } from '../authenticators/totp.js';
import { transaction, type Context } from '../context.js';
import { emailStepProof, proofNow, type SessionProof } from '../proofs/proofs.js';
import type { SingleUse } from '../proofs/single-use.js';
import { signInAttempts } from '../sessions/half-sign-ins.js';
import type { Browser } from './browser-session.js';
import { isSession, provenIn, type CurrentSignIn } from './current.js';
import { mayUseEmail, secondStepCodeUse } from './email-codes.js';

export const secondStepMethodNames = ['passkey', 'totp', 'email', 'recovery_code'] as const;
export type SecondStepMethod = (typeof secondStepMethodNames)[number];

/** Tries without success beyond which only what can't be guessed is taken (NIST SP 800-63B-4 3.2.2). */
export const guessableTries = 50;
/** Codes of few digits. */
const isGuessable = (method: SecondStepMethod) => method === 'totp' || method === 'email';

const methodOf = { passkey: 'passkey', totp: 'totp', recovery_codes: 'recovery_code' } as const satisfies Record<
  AuthenticatorRow['kind'],
  SecondStepMethod
>;

/**
 * The means that somebody has for a second step, last used first, and recovery codes last: each that is enrolled is offered. A passkey counts under
 * the RP id that is asked now.
 */
export async function secondStepMethods(ctx: Context, user: UserRow, proofs: readonly SessionProof[]): Promise<SecondStepMethod[]> {
  const own = await listAuthenticatorsOfUser(ctx.scope, user.id);
  const usable = own.filter((row) => !isPasskey(row) || row.rp_id === rpIdOf(ctx.environment)).map(({ kind }) => methodOf[kind]);
  const methods = new Set<SecondStepMethod>(usable.filter((method) => method !== 'recovery_code'));
  if (mayUseEmail(ctx, user, proofs)) methods.add('email');
  if (usable.includes('recovery_code')) methods.add('recovery_code');
  const closed = ((await findSecondStepTries(ctx.scope, user.id))?.total_count ?? 0) >= guessableTries;
  return [...methods].filter((method) => !closed || !isGuessable(method));
}

export type SecondStepAnswer =
  | { readonly method: 'totp' | 'email' | 'recovery_code'; readonly code: string }
  | { readonly method: 'passkey'; readonly credential: unknown };

/** Why a second step isn't taken. */
export type SecondStepRefusal =
  /** A wrong code; `attempts_left` of the half sign-in, null for a confirmation. */
  | { readonly outcome: 'wrong'; readonly attempts_left: number | null }
  /** A passkey that isn't taken. */
  | { readonly outcome: 'refused' }
  /** The half sign-in has ended, or the passkey's challenge. */
  | { readonly outcome: 'expired' }
  /** No second step of the user is looked at for `retry_after` seconds. */
  | { readonly outcome: 'locked'; readonly retry_after: number }
  /** The method isn't the user's, or is closed after too many tries without success. */
  | { readonly outcome: 'method_unavailable' };

type RightSecondStep = { readonly outcome: 'proven'; readonly proof: SessionProof; readonly uses: SingleUse<SecondStepRefusal> };

/** The result of a second step. */
export type SecondStepVerdict = RightSecondStep | SecondStepRefusal;

/** A second step under way: whose it is, for which half sign-in or session, and from where. */
type SecondStep = { readonly user: UserRow; readonly answer: SecondStepAnswer; readonly current: CurrentSignIn; readonly browser: Browser };

/**
 * Judges a second step. Each is counted before it is looked at, by the half sign-in and by the user over all methods, sign-ins and processes:
 * from `lockout_threshold` on none is looked at for `lockout_lifetime` seconds, the password isn't locked. A right one that is spent forgets them.
 */
export async function judgeSecondStep(ctx: Context, step: SecondStep): Promise<SecondStepVerdict> {
  const { user, current, answer } = step;
  const now = ctx.clock.now();
  const tries = isSession(current) ? 0 : await countSignInAttempt(ctx.scope, current.id, signInAttempts, now);
  if (tries === null) return { outcome: 'expired' };
  const { lockout_threshold: threshold, lockout_lifetime } = ctx.environment;
  const counted = await countSecondStep(
    ctx.scope,
    user.id,
    {
      threshold,
      locked_until: new Date(now.getTime() + lockout_lifetime * 1000),
      max_total: isGuessable(answer.method) ? guessableTries : null,
    },
    now,
  );
  if (!counted) return uncounted(ctx, user.id, now);
  const refuse = async (refusal: SecondStepRefusal): Promise<SecondStepRefusal> => {
    await noteWrong(ctx, step, counted.locked_until !== null && counted.locked_until > now ? counted.locked_until : null);
    if (refusal.outcome !== 'wrong') return refusal;
    return { outcome: 'wrong', attempts_left: isSession(current) ? null : Math.max(0, signInAttempts - tries) };
  };
  const found = await checkAnswer(ctx, step);
  if (found.outcome !== 'proven') return refuse(found);
  const { proof, uses } = found;
  const spend = async (tx: Context): Promise<boolean> => {
    if (!(await uses.spend(tx))) return false;
    await noteRight(tx, step, proof);
    return true;
  };
  return { outcome: 'proven', proof, uses: { spend, refuse: async () => refuse(await uses.refuse()) } };
}

/** Why a try wasn't counted: the lock, or too many without success. */
async function uncounted(ctx: Context, user_id: string, now: Date): Promise<SecondStepRefusal> {
  const locked_until = (await findSecondStepTries(ctx.scope, user_id))?.locked_until ?? null;
  if (locked_until === null || locked_until <= now) return { outcome: 'method_unavailable' };
  return { outcome: 'locked', retry_after: Math.max(1, Math.ceil((locked_until.getTime() - now.getTime()) / 1000)) };
}

const wrong = { outcome: 'wrong', attempts_left: null } as const;

/** A code that was found right, if it was. */
const codeVerdict = (proof: SessionProof, spend: SingleUse['spend'] | null): SecondStepVerdict =>
  spend === null ? wrong : { outcome: 'proven', proof, uses: { spend, refuse: async () => wrong } };

/** Of a passkey, a later step is told no more than that it isn't taken. */
const passkeyRefusal = ({ outcome }: PasskeyRefusal): SecondStepRefusal => ({ outcome: outcome === 'expired' ? 'expired' : 'refused' });

async function checkAnswer(ctx: Context, { user, answer, current, browser }: SecondStep): Promise<SecondStepVerdict> {
  const now = ctx.clock.now();
  const { secret, host, origin } = browser;
  if (answer.method === 'passkey') {
    const purpose = isSession(current) ? 'confirm' : 'second_step';
    const { credential } = answer;
    const verdict = await judgePasskey(ctx, { purpose, browser: secret, user_id: user.id, host, credential, origin });
    if (verdict.outcome !== 'proven') return passkeyRefusal(verdict);
    const { proof, uses } = verdict;
    return { outcome: 'proven', proof, uses: { spend: uses.spend, refuse: async () => passkeyRefusal(await uses.refuse()) } };
  }
  if (answer.method === 'email') {
    if (!mayUseEmail(ctx, user, provenIn(current))) return { outcome: 'method_unavailable' };
    return codeVerdict(emailStepProof(now), await secondStepCodeUse(ctx, current, answer.code));
  }
  const own = await listAuthenticatorsOfUser(ctx.scope, user.id);
  if (answer.method === 'totp') return firstRight(own.filter(isTotp), 'totp', now, async (row) => totpUse(ctx, row, answer.code));
  const sets = own.filter(isRecoveryCodes);
  return firstRight(sets, 'recovery_code', now, (set) => recoveryCodeUse(ctx, user, set, answer.code, origin));
}

/** Tries the code with each of the authenticators. One whose key is lost takes none: the others go on, and when it is the last the method is unavailable. */
async function firstRight<T extends AuthenticatorRow>(
  rows: readonly T[],
  method: 'totp' | 'recovery_code',
  now: Date,
  useOf: (row: T) => Promise<SingleUse['spend'] | null>,
): Promise<SecondStepVerdict> {
  let lost = 0;
  for (const row of rows) {
    try {
      const spend = await useOf(row);
      if (spend) return codeVerdict(proofNow(method, now, row.id), spend);
    } catch (error) {
      if (!(error instanceof SealError)) throw error;
      lost++;
    }
  }
  return lost > 0 && lost === rows.length ? { outcome: 'method_unavailable' } : wrong;
}

/** What a right one leaves, in the transaction that spends it. */
async function noteRight(tx: Context, { user, current }: SecondStep, proof: SessionProof): Promise<void> {
  await deleteSecondStepTries(tx.scope, user.id);
  // Who knows the password has another factor too: it isn't that of a stranger at the mailbox. A factor without it, such as a passkey alone, doesn't tell.
  const withPassword = provenIn(current).some(({ method }) => method === 'password') && proof.method !== 'email';
  if (user.password_set_by_mail && withPassword) await updateUser(tx.scope, user.id, { password_set_by_mail: false });
}

async function noteWrong(ctx: Context, { user, answer, browser: { origin } }: SecondStep, locked_until: Date | null): Promise<void> {
  const { target } = userParty(user);
  noteSecurityEvent(ctx, 'login.failed', { target, origin, reason: 'second_step', detail: { method: answer.method } });
  if (locked_until === null) return;
  noteSecurityEvent(ctx, 'account.locked', { target, origin, reason: 'second_step', detail: { locked_until } });
  await transaction(ctx, (tx) => tellOwner(tx, user, { kind: 'second_step_locked' }, origin));
}
