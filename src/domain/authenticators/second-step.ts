import {
  isPasskey,
  isRecoveryCodes,
  isTotp,
  listAuthenticatorsOfUser,
  type AuthenticatorRow,
  type RecoveryCodesRow,
} from '../../db/tables/authenticators.js';
import { countRecoveryCodesLeft } from '../../db/tables/recovery_codes.js';
import { countSecondStep, deleteSecondStepTries, findSecondStepTries } from '../../db/tables/second_step_tries.js';
import { countSignInAttempt, type SignInRow } from '../../db/tables/sign_ins.js';
import { updateUser, type UserRow } from '../../db/tables/users.js';
import { SealError } from '../../lib/seal.js';
import { noteSecurityEvent, userParty } from '../audit/security-trail.js';
import { transaction, type Context } from '../context.js';
import type { Origin } from '../origin.js';
import { emailStepProof, proofNow, type Proof } from '../sessions/proofs.js';
import { mayUseEmail, proveSecondStepCode } from '../sign-ins/email-codes.js';
import { signInAttempts } from '../sign-ins/sign-ins.js';
import { tellOwner } from './notices.js';
import { usePasskey } from './passkey-sign-in.js';
import { useRecoveryCode } from './recovery-codes.js';
import { rpIdOf } from './relying-party.js';
import { useTotp } from './totp.js';

/** The means of a second step. */
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
export async function secondStepMethods(ctx: Context, user: UserRow, proofs: readonly Proof[]): Promise<SecondStepMethod[]> {
  const own = await listAuthenticatorsOfUser(ctx.scope, user.id);
  const usable = own.filter((row) => !isPasskey(row) || row.rp_id === rpIdOf(ctx.environment)).map(({ kind }) => methodOf[kind]);
  const methods = new Set<SecondStepMethod>(usable.filter((method) => method !== 'recovery_code'));
  if (mayUseEmail(ctx, user, proofs)) methods.add('email');
  if (usable.includes('recovery_code')) methods.add('recovery_code');
  const closed = ((await findSecondStepTries(ctx.scope, user.id))?.total_count ?? 0) >= guessableTries;
  return [...methods].filter((method) => !closed || !isGuessable(method));
}

/** What is presented as a second step. */
export type SecondStepAnswer =
  | { readonly method: 'totp' | 'email' | 'recovery_code'; readonly code: string }
  | { readonly method: 'passkey'; readonly credential: unknown };

/** A second step, or a confirmation by one. */
export type SecondStep = {
  readonly user: UserRow;
  readonly purpose: 'second_step' | 'confirm';
  /** A half sign-in, or a session that is being confirmed, with what was proven before. */
  readonly bound: Pick<SignInRow, 'id' | 'proofs'> | { readonly session_id: string; readonly proofs: readonly Proof[] };
  readonly answer: SecondStepAnswer;
  /** The secret of this browser's cookie, and the Host header, for passkeys. */
  readonly browser: string;
  readonly host: string | undefined;
  readonly origin: Origin;
};

/** The result of a second step. */
export type SecondStepVerdict =
  | { readonly outcome: 'proven'; readonly proof: Proof }
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

/**
 * Judges a second step. Each is counted before it is looked at, by the half sign-in and by the user over all methods, sign-ins and processes:
 * from `lockout_threshold` on none is looked at for `lockout_lifetime` seconds, the password isn't locked. A right one forgets them.
 */
export async function attemptSecondStep(ctx: Context, step: SecondStep): Promise<SecondStepVerdict> {
  const { user, bound, answer } = step;
  const now = ctx.clock.now();
  const tries = 'id' in bound ? await countSignInAttempt(ctx.scope, bound.id, signInAttempts, now) : 0;
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
  const found = await look(ctx, step);
  if (found.outcome === 'proven') {
    await succeed(ctx, step, found.proof);
    return found;
  }
  await fail(ctx, step, counted.locked_until !== null && counted.locked_until > now);
  if (found.outcome !== 'wrong') return found;
  return { outcome: 'wrong', attempts_left: 'id' in bound ? Math.max(0, signInAttempts - tries) : null };
}

/** Why a try wasn't counted: the lock, or too many without success. */
async function uncounted(ctx: Context, user_id: string, now: Date): Promise<SecondStepVerdict> {
  const locked_until = (await findSecondStepTries(ctx.scope, user_id))?.locked_until ?? null;
  if (locked_until === null || locked_until <= now) return { outcome: 'method_unavailable' };
  return { outcome: 'locked', retry_after: Math.max(1, Math.ceil((locked_until.getTime() - now.getTime()) / 1000)) };
}

type Look = Exclude<SecondStepVerdict, { outcome: 'locked' }>;

const wrong = { outcome: 'wrong', attempts_left: null } as const;

async function look(ctx: Context, { user, purpose, bound, answer, browser, host, origin }: SecondStep): Promise<Look> {
  const now = ctx.clock.now();
  if (answer.method === 'passkey') {
    const verdict = await usePasskey(ctx, { purpose, browser, user_id: user.id, host, credential: answer.credential, origin });
    if (verdict.outcome === 'proven') return { outcome: 'proven', proof: verdict.proof };
    return verdict.outcome === 'expired' ? { outcome: 'expired' } : { outcome: 'refused' };
  }
  if (answer.method === 'email') {
    if (!mayUseEmail(ctx, user, bound.proofs)) return { outcome: 'method_unavailable' };
    return (await proveSecondStepCode(ctx, user.id, bound, answer.code)) ? { outcome: 'proven', proof: emailStepProof(now) } : wrong;
  }
  const own = await listAuthenticatorsOfUser(ctx.scope, user.id);
  if (answer.method === 'totp') return firstRight(own.filter(isTotp), 'totp', now, (row) => useTotp(ctx, row, answer.code));
  const sets = own.filter(isRecoveryCodes);
  return firstRight(sets, 'recovery_code', now, (set) => spendAndTell(ctx, { user, set, code: answer.code, origin }));
}

/** Tries the code with each of the authenticators. One whose key is lost takes none: the others go on, and when it is the last the method is unavailable. */
async function firstRight<T extends AuthenticatorRow>(
  rows: readonly T[],
  method: 'totp' | 'recovery_code',
  now: Date,
  isRight: (row: T) => Promise<boolean>,
): Promise<Look> {
  let lost = 0;
  for (const row of rows) {
    try {
      if (await isRight(row)) return { outcome: 'proven', proof: proofNow(method, now, row.id) };
    } catch (error) {
      if (!(error instanceof SealError)) throw error;
      lost++;
    }
  }
  return lost > 0 && lost === rows.length ? { outcome: 'method_unavailable' } : wrong;
}

/** Spends a recovery code and tells the owner of it, both or neither. */
function spendAndTell(ctx: Context, use: { user: UserRow; set: RecoveryCodesRow; code: string; origin: Origin }): Promise<boolean> {
  const { user, set, code, origin } = use;
  return transaction(ctx, async (tx) => {
    if (!(await useRecoveryCode(tx, set, code))) return false;
    await tellOwner(tx, user, { kind: 'recovery_code_used', left: await countRecoveryCodesLeft(tx.scope, user.id) }, origin);
    return true;
  });
}

async function succeed(ctx: Context, { user, bound }: SecondStep, proof: Proof): Promise<void> {
  await deleteSecondStepTries(ctx.scope, user.id);
  // Who knows the password has another factor too: it isn't that of a stranger at the mailbox. A factor without it, such as a passkey alone, doesn't tell.
  const beside = bound.proofs.some(({ method }) => method === 'password') && proof.method !== 'email';
  if (user.password_set_by_mail && beside) await updateUser(ctx.scope, user.id, { password_set_by_mail: false });
}

async function fail(ctx: Context, { user, answer, origin }: SecondStep, lockedNow: boolean): Promise<void> {
  const { target } = userParty(user);
  noteSecurityEvent(ctx, 'login.failed', { target, origin, reason: 'second_step', detail: { method: answer.method } });
  if (!lockedNow) return;
  noteSecurityEvent(ctx, 'account.locked', { target, origin, reason: 'second_step' });
  await transaction(ctx, (tx) => tellOwner(tx, user, { kind: 'second_step_locked' }, origin));
}
