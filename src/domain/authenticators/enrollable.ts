import type { Environment } from '../environment.js';

/** The kinds that people can add to their accounts; none where the policy is `off`: what exists is still asked for. */
export type Enrollable = { readonly passkey: boolean; readonly totp: boolean };

export function enrollable(environment: Pick<Environment, 'passkeys_enabled' | 'totp_enabled' | 'second_factor_policy'>): Enrollable {
  const open = environment.second_factor_policy !== 'off';
  return { passkey: open && environment.passkeys_enabled, totp: open && environment.totp_enabled };
}

/** The same as a list, the strongest first. */
export function enrollableKinds(environment: Parameters<typeof enrollable>[0]): ('passkey' | 'totp')[] {
  const can = enrollable(environment);
  return (['passkey', 'totp'] as const).filter((kind) => can[kind]);
}
