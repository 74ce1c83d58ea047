import type { Context } from '../context.js';
import { reachedBy, satisfies, type AuthenticationClass } from '../proofs/classes.js';
import type { SessionProof, ProofMethod } from '../proofs/proofs.js';

/** What a confirmation is given by, for the class that it takes: the session has reached that class, and somebody proves it is still them. */
const means: Readonly<Record<AuthenticationClass, readonly ProofMethod[]>> = {
  '1': ['password', 'provider', 'email', 'totp', 'recovery_code', 'passkey'],
  '2': ['totp', 'recovery_code', 'passkey'],
  phr: ['passkey'],
};

/** The class that changes of authenticators, devices, two-step and links take. */
export const confirmationClass = (user: { readonly two_step_enabled: boolean }): AuthenticationClass => (user.two_step_enabled ? '2' : '1');

/**
 * When the session was last confirmed for the class: it has reached it, and this is the time of its latest proof that the class takes; else null. A
 * provider that doesn't say when its sign-in was proves nothing of now; its own word for a second factor does.
 */
export function confirmedAt(proofs: readonly SessionProof[], demanded: AuthenticationClass): Date | null {
  if (!satisfies(reachedBy(proofs).acr, demanded)) return null;
  const fits = (proof: SessionProof) =>
    means[demanded].includes(proof.method) || (proof.asserted !== undefined && satisfies(proof.asserted, demanded));
  const times = proofs.filter((proof) => fits(proof) && proof.at_unknown !== true).map(({ at }) => new Date(at).getTime());
  return times.length === 0 ? null : new Date(Math.max(...times));
}

/** Whether a session may change what signs its person in: it was confirmed for the class within `confirmation_lifetime`. */
export function isConfirmed(
  ctx: Pick<Context, 'environment' | 'clock'>,
  proofs: readonly SessionProof[],
  demanded: AuthenticationClass,
): boolean {
  const at = confirmedAt(proofs, demanded);
  return at !== null && at.getTime() > ctx.clock.now().getTime() - ctx.environment.confirmation_lifetime * 1000;
}
