import { countGuesses, noteHalfUsed, returnPasscodeGuess } from '../../db/tables/passcode_budgets.js';
import { countAttempt, insertPasscode, type AttemptLimits, type PasscodePurpose, type PasscodeRow } from '../../db/tables/passcodes.js';
import type { EmailAddress } from '../../lib/email-address.js';
import { isUuid, randomDigits, randomToken, uuidv7 } from '../../lib/random.js';
import type { Context } from '../context.js';
import { noOrigin } from '../origin.js';
import { noteSecurityEvent } from '../audit/security-trail.js';
import { attemptLimits, budgetWindowMs, codeLength, halfOf, longCodeLength } from './guess-budget.js';

/** What is digested: the code bound to its passcode, so that no other one's code is right here. */
const boundCode = (id: string, code: string) => `${id} ${code}`;

/**
 * A new code for the passcode. One that nobody may use (`usable` false) gets a digest of no code at all. While somebody guesses at the codes of
 * the address or of the environment, until half of its budget is used and beyond, new ones are longer and need no budget: using it up shuts nobody out.
 */
export async function mintCode(
  ctx: Context,
  { id, purpose, email_key }: Pick<PasscodeRow, 'id' | 'purpose' | 'email_key'>,
  usable = true,
): Promise<{ code: string } & Pick<PasscodeRow, 'code_digest' | 'code_length'>> {
  const { budget, max_wrong, since } = limitsOf(ctx);
  const guessed = await countGuesses(ctx.scope, { purpose, email_key }, since);
  const code_length = guessed.environment >= halfOf(budget) || guessed.address >= halfOf(max_wrong) ? longCodeLength : codeLength;
  const code = randomDigits(code_length);
  return { code, code_length, code_digest: ctx.crypto.sealer.digest('passcode', boundCode(id, usable ? code : randomToken(''))) };
}

/** Stores a passcode for an address; the caller mails the code. */
export async function startPasscode(
  tx: Context,
  input: EmailAddress & {
    purpose: PasscodePurpose;
    user_id: string | null;
    usable: boolean;
    lifetime: number;
    initiated_by?: 'user' | 'admin';
    link_digest?: Buffer;
    bound_digest?: Buffer;
  },
): Promise<{ passcode: PasscodeRow; code: string }> {
  const now = tx.clock.now();
  const id = uuidv7(now.getTime());
  const { purpose, email, email_key, user_id, usable, lifetime, initiated_by = 'user', link_digest = null, bound_digest = null } = input;
  const { code, code_digest, code_length } = await mintCode(tx, { id, purpose, email_key }, usable);
  const expires_at = new Date(now.getTime() + lifetime * 1000);
  const passcode = await insertPasscode(tx.scope, {
    id,
    purpose,
    email,
    email_key,
    user_id,
    initiated_by,
    code_digest,
    code_length,
    link_digest,
    bound_digest,
    sent_at: now,
    expires_at,
    created_at: now,
  });
  return { passcode, code };
}

/** The result of a try. `expired`: no such passcode, spent, out of tries, past its time, or a code that a later one replaced. */
export type CodeVerdict =
  | { readonly outcome: 'right'; readonly passcode: PasscodeRow }
  | { readonly outcome: 'wrong'; readonly attempts_left: number }
  | { readonly outcome: 'expired' }
  /** Too many wrong codes came in the environment: none of six digits is looked at for `retry_after` seconds; a new one is longer. */
  | { readonly outcome: 'budget_used_up'; readonly retry_after: number };

const limitsOf = ({ environment, clock }: Context): AttemptLimits => attemptLimits(environment.otp_max_attempts, clock.now());

/** Tells operators, by the log and a metric, that guesses use the environment's budget up: at half of it once a window, and at its end. */
async function watchBudget(ctx: Context, guess_count: number, half_noted: boolean, { budget }: AttemptLimits): Promise<void> {
  const half = halfOf(budget);
  const happening = {
    target: { target_type: 'environment', target_id: ctx.environment.id },
    origin: noOrigin,
    detail: { guess_count, budget },
  };
  if (guess_count >= half && !half_noted && (await noteHalfUsed(ctx.scope, half, ctx.clock.now())))
    noteSecurityEvent(ctx, 'passcode.budget_half_used', happening);
  if (guess_count >= budget) noteSecurityEvent(ctx, 'passcode.budget_used_up', happening);
}

/**
 * Tries a code. The try is counted before the code is compared, in constant time; a right one is not spent yet (`consumePasscode`).
 * Spaces and dashes are no part of a code.
 */
export async function tryCode(ctx: Context, purpose: PasscodePurpose, id: string, typed: string): Promise<CodeVerdict> {
  if (!isUuid(id)) return { outcome: 'expired' };
  const limits = limitsOf(ctx);
  const now = ctx.clock.now();
  const { passcode, guess_count, half_noted, used_up_since } = await countAttempt(ctx.scope, { purpose, id }, limits, now);
  if (used_up_since !== null) {
    const wait = used_up_since.getTime() + budgetWindowMs - now.getTime();
    return { outcome: 'budget_used_up', retry_after: Math.max(1, Math.ceil(wait / 1000)) };
  }
  if (!passcode) return { outcome: 'expired' };
  const isPresented = (stored: Buffer) => ctx.crypto.sealer.isDigest('passcode', boundCode(id, typed.replace(/[\s-]/g, '')), stored);
  const right = isPresented(passcode.code_digest);
  if (right || passcode.superseded_digests.some(isPresented)) {
    if (guess_count !== null) await returnPasscodeGuess(ctx.scope);
    return right ? { outcome: 'right', passcode } : { outcome: 'expired' };
  }
  if (guess_count !== null) await watchBudget(ctx, guess_count, half_noted, limits);
  return { outcome: 'wrong', attempts_left: Math.max(0, limits.max_attempts - passcode.attempt_count) };
}
