import type { Context } from '../context.js';
import { reachedBy, satisfies, type AuthenticationClass } from './classes.js';
import type { Proof, ProofMethod } from './proofs.js';

/** What a confirmation is given by, for the class that it takes: the session has reached that class, and somebody proves it is still them. */
const means: Readonly<Record<AuthenticationClass, readonly ProofMethod[]>> = {
  '1': ['password', 'provider', 'email', 'totp', 'recovery_code', 'passkey'],
  '2': ['totp', 'recovery_code', 'passkey'],
  phr: ['passkey'],
};

/** The class that changes of authenticators, devices, two-step and links take. */
export const confirmationClass = (user: { readonly two_step_enabled: boolean }): AuthenticationClass => (user.two_step_enabled ? '2' : '1');

/**
 * Whether a session may change what signs its person in: it has reached the class, and a proof that the class takes is not older than
 * `confirmation_lifetime`. A provider that doesn't say when its sign-in was proves nothing of now; its own word for a second factor does.
 */
export function isConfirmed(ctx: Pick<Context, 'environment' | 'clock'>, proofs: readonly Proof[], demanded: AuthenticationClass): boolean {
  if (!satisfies(reachedBy(proofs).acr, demanded)) return false;
  const since = ctx.clock.now().getTime() - ctx.environment.confirmation_lifetime * 1000;
  return proofs.some((proof) => {
    const fits = means[demanded].includes(proof.method) || (proof.asserted !== undefined && satisfies(proof.asserted, demanded));
    return fits && proof.at_unknown !== true && new Date(proof.at).getTime() > since;
  });
}
