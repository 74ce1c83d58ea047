import { randomBytes } from 'node:crypto';
import { spendNonce } from '../../db/tables/spent_challenges.js';
import { digest, equalDigests } from '../../lib/digest.js';
import type { Context } from '../context.js';

/** What a passkey is asked for. A challenge of one purpose is worthless for another. */
export type ChallengePurpose = 'sign_in' | 'second_step' | 'confirm' | 'enroll' | 'register';

/** Whom a challenge is for. */
export type ChallengeUse = {
  readonly purpose: ChallengePurpose;
  /** The secret of this browser's cookie. */
  readonly browser: string;
  /** The user's id once it is known; null at a first step. */
  readonly user_id: string | null;
};

/** Seconds that a challenge is good for. */
export const challengeLifetime = 300;

const nonceLength = 16;
const timeLength = 6;
const contentLength = nonceLength + timeLength;
const digestLength = 32;

const bound = (ctx: Pick<Context, 'environment'>, { purpose, browser, user_id }: ChallengeUse, content: Buffer) =>
  [purpose, ctx.environment.id, browser, user_id ?? '', content.toString('hex')].join('\0');

/**
 * A WebAuthn challenge (WebAuthn L3 13.4.3) that needs no row: 16 random bytes, when it ends, and a keyed digest over both, its purpose, the
 * environment, the browser and the user.
 */
export function mintChallenge(ctx: Pick<Context, 'environment' | 'clock' | 'crypto'>, use: ChallengeUse): Buffer {
  const content = Buffer.alloc(contentLength);
  randomBytes(nonceLength).copy(content);
  content.writeUIntBE(ctx.clock.now().getTime() + challengeLifetime * 1000, nonceLength, timeLength);
  return Buffer.concat([content, ctx.crypto.sealer.digest('webauthn challenge', bound(ctx, use, content))]);
}

/** What became of a challenge: `foreign` was not made for this use, `expired` ran out or was used before. */
type ChallengeVerdict = 'good' | 'foreign' | 'expired';

/**
 * Whether the challenge was made for this use and is not over, without spending it.
 * @param presented the challenge of the client data, in base64url
 */
export function judgeChallenge(
  ctx: Pick<Context, 'environment' | 'clock' | 'crypto'>,
  use: ChallengeUse,
  presented: string,
): ChallengeVerdict {
  const challenge = Buffer.from(presented, 'base64url');
  if (challenge.length !== contentLength + digestLength) return 'foreign';
  const content = challenge.subarray(0, contentLength);
  const presentedDigest = challenge.subarray(contentLength);
  const expected = ctx.crypto.sealer.digests('webauthn challenge', bound(ctx, use, content));
  if (!expected.some((one) => equalDigests(one, presentedDigest))) return 'foreign';
  return content.readUIntBE(nonceLength, timeLength) > ctx.clock.now().getTime() ? 'good' : 'expired';
}

/** Spends a challenge: of all who present it, in whatever process, one gets `good`. */
export async function spendChallenge(ctx: Context, use: ChallengeUse, presented: string): Promise<ChallengeVerdict> {
  const verdict = judgeChallenge(ctx, use, presented);
  if (verdict !== 'good') return verdict;
  const challenge = Buffer.from(presented, 'base64url');
  const expires_at = new Date(challenge.readUIntBE(nonceLength, timeLength));
  return (await spendNonce(ctx.scope, digest(challenge.toString('hex', 0, nonceLength)), expires_at)) ? 'good' : 'expired';
}
