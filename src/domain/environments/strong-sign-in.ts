import type { EnvironmentRow } from '../../db/tables/environments.js';

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
