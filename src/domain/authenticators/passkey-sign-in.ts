import type { AuthenticationResponseJSON, PublicKeyCredentialRequestOptionsJSON } from '@simplewebauthn/server';
import { findPasskey, isPasskey, listAuthenticatorsOfUser, recordPasskeyUse, type PasskeyRow } from '../../db/tables/authenticators.js';
import { findUser, type UserRow } from '../../db/tables/users.js';
import { noteSecurityEvent } from '../audit/security-trail.js';
import { transaction, type Context } from '../context.js';
import type { Origin } from '../origin.js';
import { passkeyProof, type Proof } from '../sessions/proofs.js';
import { challengeLifetime, mintChallenge, spendChallenge, type ChallengeUse } from './challenge.js';
import { tellOwner } from './notices.js';
import { originAsked, rpIdOf } from './relying-party.js';
import { authenticationResponse, challengeOf } from './webauthn-input.js';
import { describeCredential } from './webauthn-output.js';

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

/** The result of a ceremony. `reason` is for the log, and no text for people. */
export type PasskeyVerdict =
  | { readonly outcome: 'proven'; readonly passkey: PasskeyRow; readonly user: UserRow; readonly proof: Proof }
  /** Nobody has the credential here: the browser may forget it (`signalUnknownCredential`). */
  | { readonly outcome: 'unknown' }
  | { readonly outcome: 'refused'; readonly reason: string }
  /** The challenge has run out, or was used before. */
  | { readonly outcome: 'expired' }
  /** The passkey is right, its user blocked. */
  | { readonly outcome: 'blocked' };

/** What must hold of the credential before its signature is looked at (WebAuthn L3 7.2, steps 5 to 7); null: nothing is wrong. */
function ownerProblem(passkey: PasskeyRow, { purpose, user_id }: Using, handle: string | null): string | null {
  if (user_id !== null && passkey.user_id !== user_id) return 'credential_of_another_user';
  if (handle !== null && passkey.user_handle !== null && handle !== passkey.user_handle) return 'user_handle';
  if (purpose !== 'sign_in') return null;
  return handle === null || !passkey.discoverable ? 'not_discoverable' : null;
}

/**
 * Verifies an assertion (WebAuthn L3 7.2) and notes its use. The challenge is spent whatever comes of it. A count that doesn't grow, where it says
 * something, is a copied authenticator: refused, recorded, and the owner is told.
 */
export async function usePasskey(ctx: Context, { host, credential, origin, ...using }: PasskeyRequest): Promise<PasskeyVerdict> {
  const verdict = await judge(ctx, using, host, credential);
  if (verdict.outcome === 'copied') {
    const { passkey, user } = verdict;
    await transaction(ctx, (tx) => tellOwner(tx, user, { kind: 'passkey_copied', name: passkey.name }, origin));
    noteRefusal(ctx, user, 'passkey_counter', origin);
    return { outcome: 'refused', reason: 'passkey_counter' };
  }
  if (verdict.outcome === 'unknown') noteRefusal(ctx, null, 'passkey_unknown', origin);
  if (verdict.outcome === 'refused') noteRefusal(ctx, null, 'passkey_refused', origin);
  if (verdict.outcome === 'blocked') noteRefusal(ctx, null, 'account_blocked', origin);
  return verdict;
}

function noteRefusal(ctx: Context, user: UserRow | null, reason: string, origin: Origin): void {
  const target = { target_type: 'user', target_id: user?.id ?? null, display: user?.email ?? null };
  noteSecurityEvent(ctx, 'login.failed', { target, origin, reason });
}

type Copied = { readonly outcome: 'copied'; readonly passkey: PasskeyRow; readonly user: UserRow };

async function judge(ctx: Context, using: Using, host: string | undefined, credential: unknown): Promise<PasskeyVerdict | Copied> {
  const refused = (reason: string) => ({ outcome: 'refused', reason }) as const;
  const parsed = authenticationResponse.safeParse(credential);
  const challenge = parsed.success ? challengeOf(parsed.data) : null;
  const origin = originAsked(ctx, host);
  if (!parsed.success || challenge === null || origin === null) return refused('malformed');
  const spent = await spendChallenge(ctx, using, challenge);
  if (spent !== 'good') return spent === 'expired' ? { outcome: 'expired' } : refused('foreign_challenge');
  const passkey = await findPasskey(ctx.scope, parsed.data.id);
  if (!passkey) return { outcome: 'unknown' };
  const problem = ownerProblem(passkey, using, parsed.data.response.userHandle || null);
  if (problem !== null) return refused(problem);
  const { verifyAuthenticationResponse } = await import('@simplewebauthn/server');
  const verified = await verifyAuthenticationResponse({
    response: parsed.data as AuthenticationResponseJSON,
    expectedChallenge: challenge,
    expectedOrigin: origin,
    expectedRPID: passkey.rp_id,
    expectedType: 'webauthn.get',
    // The library would refuse every count that doesn't grow, of synced passkeys too: ours is judged by `recordPasskeyUse`.
    credential: { id: passkey.credential_id, publicKey: new Uint8Array(Buffer.from(passkey.public_key, 'base64url')), counter: 0 },
    requireUserVerification: using.purpose === 'sign_in',
  }).catch((error: unknown) => refused(error instanceof Error ? error.message : 'malformed'));
  if ('outcome' in verified) return verified;
  if (!verified.verified) return refused('signature');
  return settle(ctx, passkey, verified.authenticationInfo);
}

/** What the authenticator stated, all of it signed. */
type Stated = {
  readonly newCounter: number;
  readonly userVerified: boolean;
  readonly credentialDeviceType: 'singleDevice' | 'multiDevice';
  readonly credentialBackedUp: boolean;
};

async function settle(ctx: Context, passkey: PasskeyRow, stated: Stated): Promise<PasskeyVerdict | Copied> {
  // Whether a passkey can be copied is for good (WebAuthn L3 7.2, step 19).
  if ((stated.credentialDeviceType === 'multiDevice') !== passkey.backup_eligible)
    return { outcome: 'refused', reason: 'backup_eligibility_changed' };
  const user = await findUser(ctx.scope, passkey.user_id);
  if (!user) return { outcome: 'unknown' };
  const at = ctx.clock.now();
  const used = await recordPasskeyUse(ctx.scope, passkey.id, { sign_count: stated.newCounter, backed_up: stated.credentialBackedUp, at });
  if (!used) return { outcome: 'copied', passkey, user };
  if (user.status !== 'active') return { outcome: 'blocked' };
  return { outcome: 'proven', passkey, user, proof: passkeyProof(at, passkey.id, stated.userVerified) };
}
