import type { PublicKeyCredentialCreationOptionsJSON, RegistrationResponseJSON } from '@simplewebauthn/server';
import type { PasskeyRow } from '../../db/tables/authenticators.js';
import type { Context } from '../context.js';
import { challengeLifetime, mintChallenge, spendChallenge, type ChallengeUse } from './challenge.js';
import { requestedOrigin, rpIdOf } from './relying-party.js';
import { webauthnChallengeOf, registrationResponse, userHandleOf } from './webauthn-input.js';
import { describeCredential } from './webauthn-output.js';

/** COSE algorithms that are taken (RFC 9053): EdDSA, ES256, RS256. */
export const passkeyAlgorithms = [-8, -7, -257];

/** A ceremony that makes a passkey: for an account that is there, or one that is made with it. */
export type Making = ChallengeUse & { readonly purpose: 'enroll' | 'register'; readonly user_id: string };

/** Whom the passkey is for, as the authenticator shows it, and what it must not be once more. */
export type CreationRequest = {
  readonly purpose: Making['purpose'];
  /** The secret of this browser's cookie. */
  readonly browser: string;
  readonly user: { readonly id: string; readonly email: string; readonly name: string };
  readonly exclude: readonly PasskeyRow[];
};

/**
 * The options for `navigator.credentials.create` (WebAuthn L3 5.4). With no password beside it the passkey must be found by the authenticator
 * itself and verify its user; beside one both are preferred.
 */
export async function creationOptions(
  ctx: Pick<Context, 'environment' | 'clock' | 'crypto'>,
  { purpose, browser, user, exclude }: CreationRequest,
): Promise<PublicKeyCredentialCreationOptionsJSON> {
  const { branding, name } = ctx.environment;
  const strictness = purpose === 'register' ? 'required' : 'preferred';
  // It is wanted within seconds. What becomes of this is told to whoever needs it.
  import('@simplewebauthn/server').catch(() => undefined);
  return {
    rp: { name: branding.name || name, id: rpIdOf(ctx.environment) },
    user: { id: userHandleOf(user.id), name: user.email, displayName: user.name },
    challenge: mintChallenge(ctx, { purpose, browser, user_id: user.id }).toString('base64url'),
    pubKeyCredParams: passkeyAlgorithms.map((alg) => ({ type: 'public-key', alg })),
    timeout: challengeLifetime * 1000,
    attestation: 'none',
    excludeCredentials: exclude.map(describeCredential),
    authenticatorSelection: { residentKey: strictness, requireResidentKey: strictness === 'required', userVerification: strictness },
    extensions: { credProps: true },
  };
}

/** A passkey that was proven to be there, as it is stored; not stored yet. */
export type NewPasskey = Pick<
  PasskeyRow,
  | 'credential_id' | 'public_key' | 'rp_id' | 'user_handle' | 'sign_count' | 'aaguid' | 'transports' | 'backup_eligible' | 'backed_up'
  | 'discoverable'
> & { readonly user_verified: boolean }; // prettier-ignore

/** The result of a ceremony. `reason` is for the log, and no text for people. */
export type MakingVerdict =
  | { readonly outcome: 'verified'; readonly passkey: NewPasskey }
  | { readonly outcome: 'refused'; readonly reason: string }
  /** The challenge has run out, or was used before. */
  | { readonly outcome: 'expired' };

const noAaguid = '00000000-0000-0000-0000-000000000000';
/**
 * With attestation `none` a browser hands on nothing but these (WebAuthn L3 5.1.3). The library is shown no other: it asks where the certificates of an
 * `android-key` say, whoever made them.
 */
const formats: readonly string[] = ['none', 'packed'];

/** What the attestation is; null when it can't be read. */
async function formatOf(attestation: string): Promise<string | null> {
  const { decodeAttestationObject } = await import('@simplewebauthn/server/helpers');
  try {
    return decodeAttestationObject(new Uint8Array(Buffer.from(attestation, 'base64url'))).get('fmt');
  } catch {
    return null;
  }
}

/**
 * Verifies a new credential (WebAuthn L3 7.1). The challenge is spent whatever comes of it.
 * @param host the Host header, of which the origin must be
 * @param credential what the page posted
 */
export async function verifyNewPasskey(
  ctx: Context,
  { host, credential, ...making }: Making & { readonly host: string | undefined; readonly credential: unknown },
): Promise<MakingVerdict> {
  const refused = (reason: string) => ({ outcome: 'refused', reason }) as const;
  const parsed = registrationResponse.safeParse(credential);
  const challenge = parsed.success ? webauthnChallengeOf(parsed.data) : null;
  const origin = requestedOrigin(ctx, host);
  if (!parsed.success || challenge === null || origin === null) return refused('malformed');
  const spent = await spendChallenge(ctx, making, challenge);
  if (spent !== 'good') return spent === 'expired' ? { outcome: 'expired' } : refused('foreign_challenge');
  if (!formats.includes((await formatOf(parsed.data.response.attestationObject)) ?? '')) return refused('attestation');
  const { verifyRegistrationResponse } = await import('@simplewebauthn/server');
  const registering = making.purpose === 'register';
  const verified = await verifyRegistrationResponse({
    response: parsed.data as RegistrationResponseJSON,
    expectedChallenge: challenge,
    expectedOrigin: origin,
    expectedRPID: rpIdOf(ctx.environment),
    expectedType: 'webauthn.create',
    requireUserVerification: registering,
    supportedAlgorithmIDs: passkeyAlgorithms,
  }).catch((error: unknown) => refused(error instanceof Error ? error.message : 'malformed'));
  if ('outcome' in verified) return verified;
  if (!verified.verified) return refused('attestation');
  const { aaguid, credential: made, userVerified, credentialDeviceType, credentialBackedUp, rpID } = verified.registrationInfo;
  // The library doesn't compare the id beside the attested one.
  if (made.id !== parsed.data.id) return refused('attestation');
  const backup_eligible = credentialDeviceType === 'multiDevice';
  const isDiscoverable = parsed.data.clientExtensionResults.credProps?.rk;
  if (registering && isDiscoverable === false) return refused('not_discoverable');
  const passkey: NewPasskey = {
    credential_id: made.id,
    public_key: Buffer.from(made.publicKey).toString('base64url'),
    rp_id: rpID ?? rpIdOf(ctx.environment),
    user_handle: userHandleOf(making.user_id),
    sign_count: made.counter,
    aaguid: aaguid === noAaguid ? null : aaguid,
    transports: parsed.data.response.transports ?? [],
    backup_eligible,
    backed_up: credentialBackedUp,
    // A client that doesn't say made what was required; a synced one is always found.
    discoverable: isDiscoverable ?? (registering || backup_eligible),
    user_verified: userVerified,
  };
  return { outcome: 'verified', passkey };
}
