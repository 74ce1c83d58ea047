import { adoptPassword, type UserRow } from '../../db/tables/users.js';
import { digest } from '../../lib/digest.js';
import { uuidv7 } from '../../lib/random.js';
import { OutboundError } from '../../platform/fetch/fetch.js';
import type { Context } from '../context.js';
import { OverloadedError } from '../passwords/hashing-queue.js';
import { signerFor } from '../signing-keys/signing-keys.js';
import { signJwt } from '../tokens/formats/jwt.js';

/** Whether the system that the person came from is asked: nobody has set a password here yet. */
export const isMigrating = (ctx: Context, user: UserRow | null): boolean =>
  user !== null && user.pending_migration && user.password_hash === null && ctx.environment.password_migration_url !== null;

const askMs = 3_000;
const maxAnswerBytes = 4_096;
/** When somebody is told to come again for whom the old system has no answer, in seconds. */
const retryAfter = 5;
const tokenSeconds = 60;

/** Proves to the old system who asks, and what: verified by the environment's keys, for this address and this body alone. */
async function proofOf(ctx: Context, url: string, body: string): Promise<string> {
  const now = ctx.clock.now().getTime();
  const iat = Math.floor(now / 1000);
  const claims = { iss: ctx.environment.issuer, aud: url, iat, exp: iat + tokenSeconds, jti: uuidv7(now) };
  return signJwt(ctx, await signerFor(ctx, 'RS256'), 'password-migration+jwt', {
    ...claims,
    body_sha256: digest(body).toString('base64url'),
  });
}

/** What the old system says; null for anything but its word. */
async function ask(ctx: Context, url: string, body: string): Promise<boolean | null> {
  const headers = { 'content-type': 'application/json', authorization: `Bearer ${await proofOf(ctx, url, body)}` };
  const answer = await ctx.net.fetch.request(url, { method: 'POST', headers, body, timeoutMs: askMs, maxResponseBytes: maxAnswerBytes });
  if (answer.status !== 200 || answer.truncated) return null;
  try {
    const { valid } = JSON.parse(answer.body.toString('utf8')) as { valid?: unknown };
    return typeof valid === 'boolean' ? valid : null;
  } catch {
    return null;
  }
}

/**
 * Asks the system that the person came from whether the password is right. Without its word nobody is told anything but to come again: 503.
 * @throws {OverloadedError}
 */
export async function isRightElsewhere(ctx: Context, user: UserRow, password: string): Promise<boolean> {
  const url = ctx.environment.password_migration_url ?? '';
  let reason = 'answer';
  const valid = await ask(ctx, url, JSON.stringify({ email: user.email, password })).catch((error: unknown) => {
    if (!(error instanceof OutboundError)) throw error;
    reason = error.reason;
    return null;
  });
  if (valid !== null) return valid;
  ctx.logger.warn(
    { event: 'password_migration.failed', user_id: user.id, reason },
    'the old system did not say whether a password is right',
  );
  throw new OverloadedError(retryAfter);
}

/** Keeps a hash of the password that was right there: nobody is asked again. Null when the user has got another one meanwhile. */
export async function adopt(ctx: Context, user: UserRow, password: string): Promise<UserRow | null> {
  const hash = await ctx.crypto.passwords.hash(password, { environment_id: ctx.environment.id, deadline: ctx.scope.deadline });
  return adoptPassword(ctx.scope, user.id, hash, ctx.clock.now());
}
