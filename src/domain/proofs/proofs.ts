import type { SessionProof, ProofMethod, SessionRow } from '../../db/tables/sessions.js';

export type { SessionProof, ProofMethod };

/** A proof that was just given. */
export const proofNow = (
  method: Exclude<ProofMethod, 'provider' | 'passkey'>,
  now: Date,
  authenticator_id: string | null = null,
): SessionProof => ({ method, authenticator_id, at: now.toISOString() });

/** A code by mail that was just given as the second step. */
export const emailStepProof = (now: Date): SessionProof => ({ ...proofNow('email', now), second_step: true });

export function passkeyProof(now: Date, authenticator_id: string, user_verified: boolean): SessionProof {
  return { method: 'passkey', authenticator_id, at: now.toISOString(), ...(user_verified && { user_verified }) };
}

/**
 * A sign-in at a provider. Its time is never believed to be later than now; null when the provider doesn't say.
 * @param trust what its word is worth: the class that it is trusted for (null: none of its own), and whether anything may be asked after it
 */
export function providerProof(
  now: Date,
  auth_time: Date | null,
  trust: { readonly asserted: '2' | 'phr' | null; readonly suffices: boolean } = { asserted: null, suffices: false },
): SessionProof {
  const at = auth_time !== null && auth_time < now ? auth_time : now;
  return {
    method: 'provider',
    authenticator_id: null,
    at: at.toISOString(),
    ...(auth_time === null && { at_unknown: true as const }),
    ...(trust.asserted !== null && { asserted: trust.asserted }),
    ...(trust.suffices && { suffices: true as const }),
  };
}

/** The proofs of a session. One of before proofs were kept rests on what its `amr` tells: a password, or a provider's word. */
export function proofsOf(session: Pick<SessionRow, 'proofs' | 'amr' | 'authenticated_at' | 'auth_time_known'>): readonly SessionProof[] {
  if (session.proofs.length > 0) return session.proofs;
  const { authenticated_at, auth_time_known } = session;
  if (session.amr.includes('pwd')) return [proofNow('password', authenticated_at)];
  if (session.amr.includes('otp')) return [proofNow('email', authenticated_at)];
  return [providerProof(authenticated_at, auth_time_known ? authenticated_at : null)];
}

const same = (one: SessionProof, other: SessionProof) => one.method === other.method && one.authenticator_id === other.authenticator_id;

/** The proofs with further ones: a later proof by the same means replaces the earlier one, so that the list stays short. */
export function withProofs(proofs: readonly SessionProof[], added: readonly SessionProof[]): SessionProof[] {
  return [...proofs.filter((proof) => !added.some((one) => same(one, proof))), ...added];
}
