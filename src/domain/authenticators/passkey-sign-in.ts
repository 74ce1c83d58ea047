import type { AuthenticationResponseJSON, PublicKeyCredentialRequestOptionsJSON } from '@simplewebauthn/server';
import type { z } from 'zod';
import { findPasskey, isPasskey, listAuthenticatorsOfUser, recordPasskeyUse, type PasskeyRow } from '../../db/tables/authenticators.js';
import { findUser, lockUser, type UserRow } from '../../db/tables/users.js';
import { noteSecurityEvent } from '../audit/security-trail.js';
import { transaction, type Context } from '../context.js';
import type { Origin } from '../origin.js';
import { passkeyProof, type SessionProof } from '../proofs/proofs.js';
import { ProofSpent, spendSingleUse, type SingleUse } from '../proofs/single-use.js';
import { challengeLifetime, judgeChallenge, mintChallenge, spendChallenge, type ChallengeUse } from './challenge.js';
import { tellOwner } from './notices.js';
import { requestedOrigin, rpIdOf } from './relying-party.js';
import { authenticationResponse, webauthnChallengeOf } from './webauthn-input.js';
import { describeCredential } from './webauthn-output.js';
import type { SecurityEventReason } from '../../lib/security-event.js';

/** A ceremony that uses a passkey: as the first step by whoever comes, or by a user who is known. */
export type Using = ChallengeUse & { readonly purpose: 'sign_in' | 'second_step' | 'confirm' };

/**
 * The options for `navigator.credentials.get` (WebAuthn L3 5.5). At a first step they name no credential, so that they tell nothing of anybody, and
 * the authenticator must verify its user; at a later step they name the user's, of whatever RP id is asked at this time.
 */
export async function requestOptions(ctx: Context, using: Using): Promise<PublicKeyCredentialRequestOptionsJSON> {
  const rpID = rpIdOf(ctx.environment);
  const own = using.user_id === null ? [] : (await listAuthenticatorsOfUser(ctx.scope, using.user_id)).filter(isPasskey);
  return {
    rpId: rpID,
    challenge: mintChallenge(ctx, using).toString('base64url'),
    timeout: challengeLifetime * 1000,
    allowCredentials: own.filter(({ rp_id }) => rp_id === rpID).map(describeCredential),
    userVerification: using.purpose === 'sign_in' ? 'required' : 'preferred',
  };
}

/** Where a passkey is presented. */
export type PasskeyRequest = Using & {
  /** The Host header, of which the origin must be. */
  readonly host: string | undefined;
  /** What the page posted. */
  readonly credential: unknown;
  readonly origin: Origin;
};

/** Why a passkey isn't taken. */
export type PasskeyRefusal =
  /** Nobody has the credential here: the browser may forget it (`signalUnknownCredential`). */
  | { readonly outcome: 'unknown' }
  /** `reason` is for the log, and no text for people. */
  | { readonly outcome: 'refused'; readonly reason: string }
  /** The challenge has run out, or was used before. */
  | { readonly outcome: 'expired' }
  /** The passkey is right, its user blocked. */
  | { readonly outcome: 'blocked' };

/** All but an expired one are recorded. */
type NotedRefusal = Exclude<PasskeyRefusal, { outcome: 'expired' }>;

/** The result of a ceremony. A right passkey uses up its challenge, and counts up. */
export type PasskeyVerdict =
  | { readonly outcome: 'proven'; readonly user: UserRow; readonly proof: SessionProof; readonly uses: SingleUse<PasskeyRefusal> }
  | PasskeyRefusal;

/** What must hold of the credential before its signature is looked at (WebAuthn L3 7.2, steps 5 to 7); null: nothing is wrong. */
function ownerProblem(passkey: PasskeyRow, { purpose, user_id }: Using, handle: string | null): string | null {
  if (user_id !== null && passkey.user_id !== user_id) return 'credential_of_another_user';
  if (handle !== null && passkey.user_handle !== null && handle !== passkey.user_handle) return 'user_handle';
  if (purpose !== 'sign_in') return null;
  return handle === null || !passkey.discoverable ? 'not_discoverable' : null;
}

/** An assertion that is verified, with its use to record. */
type Verified = {
  readonly outcome: 'verified';
  readonly passkey: PasskeyRow;
  readonly user: UserRow;
  readonly use: Parameters<typeof recordPasskeyUse>[2];
  readonly user_verified: boolean;
};

/**
 * Verifies an assertion (WebAuthn L3 7.2). The challenge of a right one is spent with what it opens, that of any other at once. A count that doesn't grow, where
 * it says something, is a copied authenticator: refused, recorded, and the owner is told.
 */
export async function judgePasskey(ctx: Context, { host, credential, origin, ...using }: PasskeyRequest): Promise<PasskeyVerdict> {
  const parsed = authenticationResponse.safeParse(credential);
  const challenge = parsed.success ? webauthnChallengeOf(parsed.data) : null;
  const expectedOrigin = requestedOrigin(ctx, host);
  const refuse = (refusal: NotedRefusal): PasskeyRefusal => {
    noteRefusal(ctx, null, notedReasons[refusal.outcome], origin);
    return refusal;
  };
  if (!parsed.success || challenge === null || expectedOrigin === null) return refuse({ outcome: 'refused', reason: 'malformed' });
  const made = judgeChallenge(ctx, using, challenge);
  if (made === 'expired') return { outcome: 'expired' };
  if (made === 'foreign') return refuse({ outcome: 'refused', reason: 'foreign_challenge' });
  const isFirst = async (tx: Context) => (await spendChallenge(tx, using, challenge)) === 'good';
  const verified = await verify(ctx, using, parsed.data, { challenge, expectedOrigin });
  if (verified.outcome !== 'verified') return (await isFirst(ctx)) ? refuse(verified) : { outcome: 'expired' };
  const { passkey, user, use, user_verified } = verified;
  const uses = {
    spend: async (tx: Context) => (await isFirst(tx)) && recordPasskeyUse(tx.scope, passkey.id, use),
    refuse: async (): Promise<PasskeyRefusal> => {
      if (!(await isFirst(ctx))) return { outcome: 'expired' };
      await transaction(ctx, (tx) => tellOwner(tx, user, { kind: 'passkey_copied', name: passkey.name }, origin));
      noteRefusal(ctx, user, 'passkey_counter', origin);
      return { outcome: 'refused', reason: 'passkey_counter' };
    },
  };
  if (user.status === 'active') return { outcome: 'proven', user, proof: passkeyProof(use.at, passkey.id, user_verified), uses };
  return (await spendAlone(ctx, user, uses)) ? refuse({ outcome: 'blocked' }) : uses.refuse();
}

/** Spends what a right passkey uses up where it opens nothing. @returns false, and nothing is spent, when another request came first or it is a copy */
export async function spendAlone(ctx: Context, { id }: Pick<UserRow, 'id'>, uses: SingleUse): Promise<boolean> {
  const spending = transaction(ctx, async (tx) => {
    await lockUser(tx.scope, id);
    await spendSingleUse(tx, uses);
    return true;
  });
  return spending.catch((error: unknown) => {
    if (error instanceof ProofSpent) return false;
    throw error;
  });
}

const notedReasons = { unknown: 'passkey_unknown', refused: 'passkey_refused', blocked: 'account_blocked' } as const;

/** Records why a passkey isn't taken; of a copied one, whose it is. */
function noteRefusal(ctx: Context, owner: UserRow | null, reason: SecurityEventReason, origin: Origin): void {
  const target = { target_type: 'user', target_id: owner?.id ?? null, display: owner?.email ?? null };
  noteSecurityEvent(ctx, 'login.failed', { target, origin, reason });
}

type ChallengeAnswered = { readonly challenge: string; readonly expectedOrigin: string };

async function verify(
  ctx: Context,
  using: Using,
  response: z.infer<typeof authenticationResponse>,
  { challenge, expectedOrigin }: ChallengeAnswered,
): Promise<Verified | NotedRefusal> {
  const refused = (reason: string) => ({ outcome: 'refused', reason }) as const;
  const passkey = await findPasskey(ctx.scope, response.id);
  if (!passkey) return { outcome: 'unknown' };
  const problem = ownerProblem(passkey, using, response.response.userHandle || null);
  if (problem !== null) return refused(problem);
  const { verifyAuthenticationResponse } = await import('@simplewebauthn/server');
  const verified = await verifyAuthenticationResponse({
    response: response as AuthenticationResponseJSON,
    expectedChallenge: challenge,
    expectedOrigin,
    expectedRPID: passkey.rp_id,
    expectedType: 'webauthn.get',
    // The library would refuse every count that doesn't grow, of synced passkeys too: ours is judged by `recordPasskeyUse`.
    credential: { id: passkey.credential_id, publicKey: new Uint8Array(Buffer.from(passkey.public_key, 'base64url')), counter: 0 },
    requireUserVerification: using.purpose === 'sign_in',
  }).catch((error: unknown) => refused(error instanceof Error ? error.message : 'malformed'));
  if ('outcome' in verified) return verified;
  if (!verified.verified) return refused('signature');
  const { newCounter, userVerified, credentialDeviceType, credentialBackedUp } = verified.authenticationInfo;
  // Whether a passkey can be copied is for good (WebAuthn L3 7.2, step 19).
  if ((credentialDeviceType === 'multiDevice') !== passkey.backup_eligible) return refused('backup_eligibility_changed');
  const user = await findUser(ctx.scope, passkey.user_id);
  if (!user) return { outcome: 'unknown' };
  const use = { sign_count: newCounter, backed_up: credentialBackedUp, at: ctx.clock.now() };
  return { outcome: 'verified', passkey, user, use, user_verified: userVerified };
}
