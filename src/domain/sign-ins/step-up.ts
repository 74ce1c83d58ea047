import type { Context } from '../context.js';
import { enrollableKinds } from '../authenticators/enrollable.js';
import { reaches, type AuthenticationClass } from '../proofs/classes.js';
import { proofNow, passkeyProof, withProofs, type SessionProof } from '../proofs/proofs.js';
import { hasFactor, type FactorState } from '../authenticators/next-step.js';

/** What may be added to what is proven, to reach a class. */
const stepUpMethods = ['passkey', 'totp', 'recovery_code'] as const;
type StepUpMethod = (typeof stepUpMethods)[number];

/** Whether the proofs reach the class once one by this method comes to them; of a passkey, when it verifies its user. */
function reachesWith(proofs: readonly SessionProof[], method: StepUpMethod, demanded: AuthenticationClass, now: Date): boolean {
  const added = method === 'passkey' ? passkeyProof(now, '', true) : proofNow(method, now, '');
  return reaches(withProofs(proofs, [added]), demanded);
}

/**
 * How somebody who is signed in comes to a class: they have reached it (`none`); by a factor that they have (`verify`); by signing in as a whole,
 * for what is proven so far leads nowhere (`sign_in`); by a factor that they have yet to enrol (`enroll`); not at all (`never`).
 */
export type StepUp = 'none' | 'verify' | 'sign_in' | 'enroll' | 'never';

type StepUpState = {
  readonly ctx: Context;
  readonly user: FactorState;
  readonly proofs: readonly SessionProof[];
  /** The person has just signed in as a whole: once more would change nothing. */
  readonly fresh: boolean;
};

/** The methods that the user has. They count whatever may be enrolled now. */
function methodsOf({ authenticator_kinds: kinds }: FactorState): StepUpMethod[] {
  const kindOf = { passkey: 'passkey', totp: 'totp', recovery_code: 'recovery_codes' } as const satisfies Record<StepUpMethod, string>;
  return stepUpMethods.filter((method) => kinds.includes(kindOf[method]));
}

function wayTo({ ctx, user, proofs, fresh }: StepUpState, demanded: AuthenticationClass): StepUp {
  const now = ctx.clock.now();
  const leads = (method: StepUpMethod) => reachesWith(proofs, method, demanded, now);
  if (reaches(proofs, demanded)) return 'none';
  if (methodsOf(user).some(leads)) return 'verify';
  // A code by mail is no first step to a higher class; a password is, with a factor that is there.
  if (!fresh && hasFactor(user) && methodsOf(user).some((method) => reachesWith([proofNow('password', now)], method, demanded, now)))
    return 'sign_in';
  return enrollableKinds(ctx.environment).some(leads) ? 'enroll' : 'never';
}

/** How little it asks of the person. */
const ease: readonly StepUp[] = ['none', 'verify', 'sign_in', 'enroll', 'never'];

/**
 * The easiest way to one of the classes; of two that are alike, to the one that is named first.
 * @throws {Error} where none is named
 */
export function stepUpTo(
  state: StepUpState,
  demanded: readonly AuthenticationClass[],
): { readonly way: StepUp; readonly acr: AuthenticationClass } {
  const ways = demanded.map((acr) => ({ way: wayTo(state, acr), acr }));
  const [best] = ease.flatMap((way) => ways.filter((one) => one.way === way));
  if (!best) throw new Error('no class is demanded');
  return best;
}

/** Of the classes that a client wishes for, in its order: the first that is reached, or that the person has the factors for; null for none. */
export function wishedStep(
  state: StepUpState,
  wished: readonly AuthenticationClass[],
): { readonly way: 'none' | 'verify'; readonly acr: AuthenticationClass } | null {
  for (const acr of wished) {
    const way = wayTo(state, acr);
    if (way === 'none' || way === 'verify') return { way, acr };
  }
  return null;
}
