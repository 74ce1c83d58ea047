import { hasPasskeys } from '../../db/tables/authenticators.js';
import type { EnvironmentRow } from '../../db/tables/environments.js';
import type { Context } from '../context.js';
import { invalidValue, Refusal } from '../refusal.js';

/** The settings of passkeys, second factors and confirmation; lifetimes in seconds. */
export type StrongSignInSettings = Pick<
  EnvironmentRow,
  | 'passkeys_enabled' | 'passkey_rp_id' | 'totp_enabled' | 'second_factor_policy' | 'second_factor_grace_lifetime' | 'confirmation_lifetime'
  | 'remember_device_lifetime' | 'email_code_sign_in_enabled' | 'email_second_factor_enabled' | 'new_device_mail'
  | 'management_required_acr'
>; // prettier-ignore

/** What differs by kind in a new environment: people who try things out sign in from new browsers all the time. */
export const strongSignInDefaults = ({ kind }: Pick<EnvironmentRow, 'kind'>): Pick<StrongSignInSettings, 'new_device_mail'> => ({
  new_device_mail: kind !== 'development',
});

/** The hosts that the passkeys of an environment can belong to: those that it answers at, never a parent domain, which others may share. */
const rpIdsOf = ({ origins }: Context['environment']): string[] => [...new Set(origins.map((origin) => new URL(origin).hostname))];

/**
 * Refuses an RP id that isn't a host of the environment, and another one once there are passkeys: they belong to theirs for good (WebAuthn L3 5.1.2).
 * @param ctx of the environment itself, in the transaction that has written it
 * @param before the environment as it was, held by the transaction; null for a new one
 * @param requested undefined: not in the request
 * @throws {Refusal} 409 `passkeys_exist`, 422
 */
export async function refuseRpId(ctx: Context, before: EnvironmentRow | null, requested: string | null | undefined): Promise<void> {
  if (requested === undefined || requested === (before?.passkey_rp_id ?? null)) return;
  const attribute = 'passkey_rp_id';
  const hosts = rpIdsOf(ctx.environment);
  if (requested !== null && !hosts.includes(requested))
    throw new Refusal(invalidValue(attribute, `Must be a host of the environment: ${hosts.join(', ')}.`));
  if (before === null || !(await hasPasskeys(ctx.scope))) return;
  const detail = `There are passkeys that belong to ${before.passkey_rp_id ?? 'another host'}, and would no longer work.`;
  throw new Refusal({ status: 409, code: 'passkeys_exist', attribute, detail });
}
