import type { PagePasskey } from './sign-in-models.js';

/**
 * What signs the person in beside a password and a provider. Forms post to /account/authenticators/..., /account/two_step and /account/devices/...; the
 * script public/passkeys.js adds passkeys.
 */
export type PageSignInMethods = {
  /** Null where no passkey can be added. */
  passkey: PagePasskey | null;
  /** Whether an authenticator app can be added. */
  totp: boolean;
  /** Times as ISO 8601; `codes_left` of a set of recovery codes. */
  authenticators: {
    id: string;
    kind: 'passkey' | 'totp' | 'recovery_codes';
    name: string;
    created_at: string;
    last_used_at: string | null;
    codes_left: number | null;
  }[];
  /** Whether the person has a passkey or an app, which recovery codes can replace. */
  has_factor: boolean;
  two_step_enabled: boolean;
  /** Browsers that skip the second step. */
  devices: { id: string; device: string; ip_address: string | null; last_used_at: string; expires_at: string }[];
  /** What browsers are told of the passkeys that are still good (WebAuthn L3 5.1.10.3); ids in base64url. */
  signal: { rp_id: string; user_id: string; credential_ids: string[] };
};
