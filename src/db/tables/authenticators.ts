import { rowFunctions, type RecordRow } from '../records.js';
import { remove, run, table, update, type Scope } from '../scope.js';

export const authenticatorKinds = ['passkey', 'totp', 'recovery_codes'] as const;
export type AuthenticatorKind = (typeof authenticatorKinds)[number];

/** The hash functions of a TOTP (RFC 6238 1.2). */
export const totpAlgorithms = ['SHA1', 'SHA256', 'SHA512'] as const;

/**
 * A row of `authenticators`; the columns of the other kinds are null. `secret_sealed` is sealed for `authenticators/<id>`: the secret of a
 * TOTP in base32, the key of a set's digests in base64.
 */
export type AuthenticatorRow = RecordRow & {
  user_id: string;
  kind: AuthenticatorKind;
  name: string;
  status: 'pending' | 'active';
  /** When a pending one ends; null for active ones. */
  expires_at: Date | null;
  /** In base64url. */
  credential_id: string | null;
  /** COSE (RFC 9052 7), in base64url. */
  public_key: string | null;
  rp_id: string | null;
  /** What the authenticator calls the user (WebAuthn L3 5.4.3), in base64url; null where another system chose it. */
  user_handle: string | null;
  /** WebAuthn L3 6.1.1. */
  sign_count: number | null;
  aaguid: string | null;
  transports: string[] | null;
  backup_eligible: boolean | null;
  backed_up: boolean | null;
  /** Whether it can be the first step: the authenticator finds it by itself. */
  discoverable: boolean | null;
  secret_sealed: Buffer | null;
  algorithm: (typeof totpAlgorithms)[number] | null;
  digits: number | null;
  /** Seconds. */
  period: number | null;
  last_step: number | null;
  /** Of a set of recovery codes: how many are not spent. */
  codes_left: number | null;
  last_used_at: Date | null;
};

export type PasskeyRow = AuthenticatorRow & {
  kind: 'passkey';
  credential_id: string;
  public_key: string;
  rp_id: string;
  sign_count: number;
  transports: string[];
  backup_eligible: boolean;
  backed_up: boolean;
  discoverable: boolean;
};

export type TotpRow = AuthenticatorRow & {
  kind: 'totp';
  secret_sealed: Buffer;
  algorithm: (typeof totpAlgorithms)[number];
  digits: number;
  period: number;
};

export type RecoveryCodesRow = AuthenticatorRow & { kind: 'recovery_codes'; secret_sealed: Buffer };

export const isPasskey = (row: AuthenticatorRow): row is PasskeyRow => row.kind === 'passkey';
export const isTotp = (row: AuthenticatorRow): row is TotpRow => row.kind === 'totp';
export const isRecoveryCodes = (row: AuthenticatorRow): row is RecoveryCodesRow => row.kind === 'recovery_codes';

const name = 'authenticators';

/** The user's active authenticators, last used first. */
export const listAuthenticatorsOfUser = async (scope: Scope, user_id: string): Promise<AuthenticatorRow[]> =>
  table<AuthenticatorRow>(scope, name)
    .where({ user_id, status: 'active' } as never)
    .orderByRaw('last_used_at desc nulls last, created_at desc, id desc') as unknown as Promise<AuthenticatorRow[]>;

/** @throws {Duplicate} `authenticators_credential`, `authenticators_recovery_codes` */
export const { find: findAuthenticator, insert: insertAuthenticator } = rowFunctions<AuthenticatorRow>(name);

/** The passkey of the credential id, whoever has it, or null. */
export async function findPasskey(scope: Scope, credential_id: string): Promise<PasskeyRow | null> {
  const text = 'select * from authenticators where environment_id = $1 and credential_id = $2';
  const rows = await run<PasskeyRow>(scope, { name: 'authenticators.find_passkey', short: 'look_up', text }, [credential_id]);
  return rows[0] ?? null;
}

/** How many of the kind the user has, pending ones too. */
export async function countAuthenticators(scope: Scope, user_id: string, kind: AuthenticatorKind): Promise<number> {
  const [row] = await table<AuthenticatorRow>(scope, name)
    .where({ user_id, kind } as never)
    .count({ count: '*' });
  return Number((row as unknown as { count: string }).count);
}

/** Whether the user has a passkey that can be the first step. */
export async function hasDiscoverablePasskey(scope: Scope, user_id: string): Promise<boolean> {
  const row = await table<AuthenticatorRow>(scope, name).where({ user_id, discoverable: true } as never).first('id'); // prettier-ignore
  return row !== undefined;
}

/** Whether the environment has any passkey, which fixes its RP id. */
export async function hasPasskeys(scope: Scope): Promise<boolean> {
  const row = await table<AuthenticatorRow>(scope, name).whereNotNull('credential_id').first('id');
  return row !== undefined;
}

/** Changes an authenticator and returns it, or null when the user has none of the id. */
export const updateAuthenticator = async (
  scope: Scope,
  key: { id: string; user_id: string },
  changes: Partial<AuthenticatorRow>,
): Promise<AuthenticatorRow | null> => update<AuthenticatorRow>(scope, name, key, changes);

export async function noteAuthenticatorUse(scope: Scope, id: string, at: Date): Promise<void> {
  await run(
    scope,
    { name: 'authenticators.note_use', text: 'update authenticators set last_used_at = $3 where environment_id = $1 and id = $2' },
    [id, at],
  );
}

/** Deletes an authenticator of the user and returns how many there were. */
export const deleteAuthenticator = async (scope: Scope, key: { id: string; user_id: string }): Promise<number> =>
  remove<AuthenticatorRow>(scope, name, key);

/** Deletes the user's authenticators, of one kind if told, pending ones alone if told; returns them. */
export async function deleteAuthenticatorsOfUser(
  scope: Scope,
  which: { user_id: string; kind?: AuthenticatorKind; status?: 'pending' },
): Promise<AuthenticatorRow[]> {
  scope.touched.add(name);
  return table<AuthenticatorRow>(scope, name)
    .where(which as never)
    .delete()
    .returning('*') as unknown as Promise<AuthenticatorRow[]>;
}

/** Makes a pending TOTP an active one with the step of its first code; null when it has ended, or was made active before. One statement decides. */
export async function activateTotp(scope: Scope, key: { id: string; user_id: string }, step: number, now: Date): Promise<TotpRow | null> {
  const text = `update authenticators set status = 'active', expires_at = null, last_step = $4, last_used_at = $5, updated_at = $5, version = version + 1
      where environment_id = $1 and id = $2 and user_id = $3 and kind = 'totp' and status = 'pending' and expires_at > $5
      returning *`;
  const rows = await run<TotpRow>(scope, { name: 'authenticators.activate_totp', text }, [key.id, key.user_id, step, now]);
  return rows[0] ?? null;
}

/** Spends the code of a time step: true for one caller, false when that step or a later one was spent before (RFC 6238 5.2). One statement decides. */
export async function spendTotpStep(scope: Scope, id: string, step: number, now: Date): Promise<boolean> {
  const text = `update authenticators set last_step = $3, last_used_at = $4
      where environment_id = $1 and id = $2 and kind = 'totp' and status = 'active' and (last_step is null or last_step < $3)
      returning id`;
  const rows = await run(scope, { name: 'authenticators.spend_totp_step', text }, [id, step, now]);
  return rows.length > 0;
}

/**
 * Notes a use of a passkey. One that isn't backed up must count up once it counts (WebAuthn L3 7.2, step 22): two authenticators with one key
 * would not. Copies of a synced one each count for themselves, so theirs says nothing. One statement decides.
 * @returns false when the count is not above the stored one, or the passkey is gone
 */
export async function recordPasskeyUse(
  scope: Scope,
  id: string,
  use: { sign_count: number; backed_up: boolean; at: Date },
): Promise<boolean> {
  const text = `update authenticators set sign_count = $3, backed_up = $4, last_used_at = $5
      where environment_id = $1 and id = $2 and kind = 'passkey' and (backup_eligible or sign_count = 0 or sign_count < $3)
      returning id`;
  const rows = await run(scope, { name: 'authenticators.record_passkey_use', text }, [id, use.sign_count, use.backed_up, use.at]);
  return rows.length > 0;
}
