import { satisfies, type AuthenticationClass } from './classes.js';

export type SignInRequirement = {
  /** Null: any class. */
  readonly acr: AuthenticationClass | null;
  /** Seconds that it may be old; null: any number. */
  readonly max_age: number | null;
};

/** A client or an API resource, as far as it requires something of sign-ins. */
export type RequirementSource = { readonly required_acr: '2' | 'phr' | null; readonly max_authentication_age: number | null };

/** What all of them require together: the highest class and the shortest age. */
export function requirementOf(...all: readonly (RequirementSource | null | undefined)[]): SignInRequirement {
  let acr: AuthenticationClass | null = null;
  let max_age: number | null = null;
  for (const one of all) {
    if (!one) continue;
    const { required_acr, max_authentication_age: age } = one;
    if (required_acr !== null && (acr === null || satisfies(required_acr, acr))) acr = required_acr;
    if (age !== null && (max_age === null || age < max_age)) max_age = age;
  }
  return { acr, max_age };
}

/** The first requirement that a sign-in of this class and time doesn't meet; null when it meets all. One of unknown time is too old for any age. */
export function unmetOf(
  requirement: SignInRequirement,
  acr: AuthenticationClass,
  auth_time: Date | null,
  now: Date,
): 'acr' | 'max_age' | null {
  if (!satisfies(acr, requirement.acr)) return 'acr';
  if (requirement.max_age === null) return null;
  return auth_time !== null && now.getTime() - auth_time.getTime() <= requirement.max_age * 1000 ? null : 'max_age';
}
