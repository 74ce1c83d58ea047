import { countAttempt, insertPasscode, type AttemptLimits, type PasscodePurpose, type PasscodeRow } from '../db/tables/passcodes.js';
import type { EmailAddress } from '../lib/email-address.js';
import { isUuid, randomDigits, randomToken, uuidv7 } from '../lib/random.js';
import type { Context } from './context.js';

const codeLength = 6;
const budgetWindowMs = 3_600_000;
/** How many codes' worth of tries all passcodes of one address get in that window: a guesser can't win by asking again and again. */
const budgetFactor = 10;

/** What is digested: the code bound to its passcode, so that no other one's code is right here. */
const boundCode = (id: string, code: string) => `${id} ${code}`;

/** A new code for the passcode. One that nobody may use (`usable` false) gets a digest of no code at all. */
export function mintCode(ctx: Pick<Context, 'sealer'>, id: string, usable = true): { code: string; code_digest: Buffer } {
  const code = randomDigits(codeLength);
  return { code, code_digest: ctx.sealer.digest('passcode', boundCode(id, usable ? code : randomToken(''))) };
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
  },
): Promise<{ passcode: PasscodeRow; code: string }> {
  const now = tx.clock.now();
  const id = uuidv7(now.getTime());
  const { purpose, email, email_key, user_id, usable, lifetime, initiated_by = 'user', link_digest = null } = input;
  const { code, code_digest } = mintCode(tx, id, usable);
  const expires_at = new Date(now.getTime() + lifetime * 1000);
  const passcode = await insertPasscode(tx.scope, {
    id,
    purpose,
    email,
    email_key,
    user_id,
    initiated_by,
    code_digest,
    link_digest,
    sent_at: now,
    expires_at,
    created_at: now,
  });
  return { passcode, code };
}

/** What a try came to. `expired`: no such passcode, spent, out of tries, past its time, or a code that a later one replaced. */
export type CodeVerdict =
  | { readonly outcome: 'right'; readonly passcode: PasscodeRow }
  | { readonly outcome: 'wrong'; readonly attempts_left: number }
  | { readonly outcome: 'expired' };

const limitsOf = (ctx: Context): AttemptLimits => {
  const { otp_max_attempts } = ctx.environment;
  return {
    max_attempts: otp_max_attempts,
    max_wrong: otp_max_attempts * budgetFactor,
    since: new Date(ctx.clock.now().getTime() - budgetWindowMs),
  };
};

/**
 * Tries a code. The try is counted before the code is compared, in constant time; a right one is not spent yet (`consumePasscode`).
 * Spaces and dashes are no part of a code.
 */
export async function tryCode(ctx: Context, purpose: PasscodePurpose, id: string, typed: string): Promise<CodeVerdict> {
  if (!isUuid(id)) return { outcome: 'expired' };
  const limits = limitsOf(ctx);
  const passcode = await countAttempt(ctx.scope, { purpose, id }, limits, ctx.clock.now());
  if (!passcode) return { outcome: 'expired' };
  const isPresented = (stored: Buffer) => ctx.sealer.isDigest('passcode', boundCode(id, typed.replace(/[\s-]/g, '')), stored);
  if (isPresented(passcode.code_digest)) return { outcome: 'right', passcode };
  if (passcode.superseded_digests.some(isPresented)) return { outcome: 'expired' };
  return { outcome: 'wrong', attempts_left: Math.max(0, limits.max_attempts - passcode.attempt_count) };
}
