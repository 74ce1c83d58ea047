import { satisfies, type AuthenticationClass } from './classes.js';

/** What is demanded of the sign-in that a token rests on. */
export type Demand = {
  /** Null: any class. */
  readonly acr: AuthenticationClass | null;
  /** Seconds that it may be old; null: any number. */
  readonly max_age: number | null;
};

/** A client or an API resource, as far as it demands something of sign-ins. */
export type Demanding = { readonly required_acr: '2' | 'phr' | null; readonly max_authentication_age: number | null };

/** What all of them demand together: the highest class and the shortest age. */
export function demandOf(...all: readonly (Demanding | null | undefined)[]): Demand {
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

/** The first thing that a sign-in of this class and time lacks; null when it meets the demand. One of unknown time is too old for any age. */
export function lackOf(demand: Demand, acr: AuthenticationClass, auth_time: Date | null, now: Date): 'acr' | 'max_age' | null {
  if (!satisfies(acr, demand.acr)) return 'acr';
  if (demand.max_age === null) return null;
  return auth_time !== null && now.getTime() - auth_time.getTime() <= demand.max_age * 1000 ? null : 'max_age';
}
