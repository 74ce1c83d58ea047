import type { breachedPasswordRules, breachedSignInRules } from '../../lib/breach-rules.js';
import type { Font } from '../../lib/fonts.js';
import type { Language } from '../../lib/languages/languages.js';
import type { Knex } from 'knex';
import type { SigningAlgorithm } from '../../lib/signing-algorithm.js';
import { run, type Scope } from '../scope.js';

export const environmentKinds = ['production', 'staging', 'development'] as const;

/**
 * Who must have a second factor: nobody, and none can be enrolled (`off`); nobody (`optional`); everybody; whoever holds a permission of the
 * Management API.
 */
export const secondFactorPolicies = ['off', 'optional', 'required', 'required_for_management'] as const;

/** The classes that can be demanded: above `1`, which every sign-in reaches. */
export const requiredAcrs = ['2', 'phr'] as const;

/** Who may register clients (RFC 7591): nobody, who brings an initial access token, everybody. */
export const clientRegistrationPolicies = ['off', 'initial_access_token', 'open'] as const;

/** What approving takes: proofs given for it, or what the session has proven. */
export const approvalConfirmations = ['fresh', 'session'] as const;

/** Which clients may be known by the address of their document alone: none, those of listed hosts, all. */
export const metadataDocumentPolicies = ['off', 'allow_list', 'open'] as const;

/** Whether a DPoP proof without a nonce will do (RFC 9449 8). */
export const dpopNonceRules = ['optional', 'required'] as const;

/** How pages and mails look; colours as `#1a2b3c`, `dark_` for dark schemes, the radius in pixels. What is absent or null is the default. */
export type Branding = {
  name?: string | null;
  logo_url?: string | null;
  dark_logo_url?: string | null;
  favicon_url?: string | null;
  primary_color?: string | null;
  dark_primary_color?: string | null;
  background_color?: string | null;
  dark_background_color?: string | null;
  corner_radius?: number | null;
  font?: Font | null;
};

/** A row of `environments`; lifetimes in seconds. */
export type EnvironmentRow = {
  id: string;
  name: string;
  slug: string;
  kind: (typeof environmentKinds)[number];
  is_default: boolean;
  session_lifetime: number;
  session_idle_lifetime: number | null;
  default_access_token_lifetime: number;
  id_token_lifetime: number;
  refresh_token_lifetime: number;
  refresh_token_idle_lifetime: number;
  branding: Branding & { policy_uri?: string | null; tos_uri?: string | null };
  support_email: string | null;
  /** The language of pages where nothing says what the person speaks. */
  default_locale: Language;
  registration_enabled: boolean;
  password_min_length: number;
  breached_passwords: (typeof breachedPasswordRules)[number];
  breached_password_sign_in: (typeof breachedSignInRules)[number];
  otp_lifetime: number;
  otp_max_attempts: number;
  lockout_threshold: number;
  lockout_lifetime: number;
  allowed_email_domains: string[];
  /** Whether `preferred_username` in tokens is the address of whoever has no other. */
  preferred_username_from_email: boolean;
  client_registration_policy: (typeof clientRegistrationPolicies)[number];
  /** Whether the policy isn't `off`; the database keeps both in step. */
  dynamic_registration_enabled: boolean;
  /** The most clients that may have registered themselves. */
  self_registered_client_limit: number;
  /** After how many seconds without consent and refresh token such a client goes; null: never. */
  unused_client_lifetime: number | null;
  /** Seconds without use after which an authorization ends; null: never. */
  unused_authorization_lifetime: number | null;
  /** Seconds for which people may answer what clients ask them elsewhere (CIBA), at most. */
  approval_lifetime: number;
  /** Whether approving takes new proofs, or the session does. */
  approval_confirmation: (typeof approvalConfirmations)[number];
  client_id_metadata_documents: (typeof metadataDocumentPolicies)[number];
  /** Hosts whose documents are let in, and verified: names, or `*.example.com`. */
  client_id_metadata_hosts: string[];
  passkeys_enabled: boolean;
  /** The domain of its passkeys (WebAuthn L3 5.1.2); null until the first one is made, or it is chosen. */
  passkey_rp_id: string | null;
  /** Until when tokens are taken of which the base URL is the `iss`, while a domain is the issuer. */
  base_url_issuer_until: Date | null;
  totp_enabled: boolean;
  second_factor_policy: (typeof secondFactorPolicies)[number];
  /** How long somebody of whom the policy wants a factor may sign in without. */
  second_factor_grace_lifetime: number;
  /** How old a proof may be for changes of authenticators, devices, two-step and links. */
  confirmation_lifetime: number;
  /** How long a browser skips the second step; 0: never. */
  remember_device_lifetime: number;
  email_code_sign_in_enabled: boolean;
  email_second_factor_enabled: boolean;
  new_device_mail: boolean;
  /** Whether `token.issued` is stored, for the events feed, also while no webhook names it. */
  record_token_issued: boolean;
  /** How long people may return who delete their accounts; null: they can't. */
  account_deletion_delay: number | null;
  /** The class that writes through the Management API and the dashboard need; null: what the policy says. */
  management_required_acr: (typeof requiredAcrs)[number] | null;
  /** Whether every client has to push its authorization requests (RFC 9126). */
  require_pushed_authorization_requests: boolean;
  /** Whether DPoP proofs have to bear a nonce (RFC 9449 8). */
  dpop_nonce: (typeof dpopNonceRules)[number];
  /** RS256 is always among them. */
  signing_algorithms: SigningAlgorithm[];
  /** What makes the pairwise identifiers of its people (SAML Core 8.3.7): nobody who knows a person's id can tell them. */
  pairwise_salt: string;
  /** How users are spread over kinds of password hashes, as last counted; null: nobody has an imported one. */
  password_hash_mix: { readonly shape: string; readonly users: number }[] | null;
  password_hash_mix_at: Date | null;
  /** Who is asked whether the first password of people is right whose accounts came without hashes; null: nobody. */
  password_migration_url: string | null;
  /** Since when it is held, because it moves to another cell, and since when it is served there: nothing is done for it here. */
  held_at: Date | null;
  moved_at: Date | null;
  version: number;
  created_at: Date;
  updated_at: Date;
};

export const findEnvironment = async (knex: Knex, id: string): Promise<EnvironmentRow | null> =>
  (await knex<EnvironmentRow>('environments').where({ id }).first()) ?? null;

/** The environment that answers on every host that no other claims. */
export const findDefaultEnvironment = async (knex: Knex): Promise<EnvironmentRow | null> =>
  (await knex<EnvironmentRow>('environments').where({ is_default: true }).first()) ?? null;

export const listEnvironments = async (knex: Knex): Promise<EnvironmentRow[]> => knex<EnvironmentRow>('environments').orderBy('created_at');

export async function insertEnvironment(knex: Knex, row: Partial<EnvironmentRow>): Promise<EnvironmentRow> {
  const [stored] = await knex<EnvironmentRow>('environments').insert(row).returning('*');
  return stored as EnvironmentRow;
}

/** An environment with the domain that its issuer is made of. */
export type ListedEnvironmentRow = EnvironmentRow & { primary_domain: string | null };

/** The environments that a scope may see: its own, and from the default one all. */
export function visibleEnvironments(scope: Scope): Knex.QueryBuilder {
  const { knex, environment_id } = scope;
  const rows = `(select e.*, (select d.domain from custom_domains d where d.environment_id = e.id and d.is_primary and d.status = 'verified') as primary_domain
    from environments e where e.id = ? or exists (select 1 from environments o where o.id = ? and o.is_default)) as environments`;
  return knex.from(knex.raw(rows, [environment_id, environment_id]) as unknown as string) as unknown as Knex.QueryBuilder;
}

/** Changes an environment and returns it, or null when there is no such environment. */
export async function updateEnvironment(scope: Scope, id: string, changes: Partial<EnvironmentRow>): Promise<EnvironmentRow | null> {
  scope.touched.add('environments');
  const { knex } = scope;
  const [row] = await knex('environments')
    .where({ id })
    .update({ ...changes, version: knex.raw('version + 1') })
    .returning('*');
  return (row as EnvironmentRow | undefined) ?? null;
}

/** Fixes the RP id of the environment's passkeys unless it is fixed already, and returns the one that is in force. */
export async function pinRpId(scope: Scope, rp_id: string): Promise<string> {
  scope.touched.add('environments');
  const { knex } = scope;
  const pinned = knex.raw('coalesce(passkey_rp_id, ?)', [rp_id]);
  const [row] = await knex('environments').where({ id: scope.environment_id }).update({ passkey_rp_id: pinned }).returning('passkey_rp_id');
  return (row as { passkey_rp_id: string }).passkey_rp_id;
}

/** The RP id of the scope's environment, as it stays until the transaction ends. */
export async function lockRpId(scope: Scope): Promise<string | null> {
  const row = await scope.knex<EnvironmentRow>('environments').where({ id: scope.environment_id }).forShare().first('passkey_rp_id');
  return row?.passkey_rp_id ?? null;
}

/** The most seconds that an access or ID token of the scope's environment is good. */
export async function longestTokenLifetime(scope: Scope): Promise<number> {
  const { rows } = await scope.knex.raw<{ rows: { longest: number }[] }>(
    `select greatest(e.default_access_token_lifetime, e.id_token_lifetime,
       (select max(a.access_token_lifetime) from api_resources a where a.environment_id = e.id),
       (select max(c.id_token_lifetime) from clients c where c.environment_id = e.id)) as longest
     from environments e where e.id = ?`,
    [scope.environment_id],
  );
  return rows[0]?.longest ?? 0;
}

/** Takes tokens whose `iss` is the base URL until a time, now that a domain is the issuer; null: it is the issuer again. */
export async function storeBaseUrlIssuerUntil(scope: Scope, base_url_issuer_until: Date | null): Promise<void> {
  scope.touched.add('environments');
  await scope.knex('environments').where({ id: scope.environment_id }).update({ base_url_issuer_until });
}

/** What the scope's environment signs with, as it stays until the transaction ends. */
export async function lockSigningAlgorithms(scope: Scope): Promise<readonly SigningAlgorithm[]> {
  const row = await scope.knex<EnvironmentRow>('environments').where({ id: scope.environment_id }).forShare().first('signing_algorithms');
  return row?.signing_algorithms ?? [];
}

/** Adds an algorithm to those that the scope's environment signs with; false when it was among them. */
export async function storeSigningAlgorithm(scope: Scope, algorithm: SigningAlgorithm, updated_at: Date): Promise<boolean> {
  const { knex } = scope;
  const added = await knex('environments')
    .where({ id: scope.environment_id })
    .whereRaw('not ? = any (signing_algorithms)', [algorithm])
    .update({
      signing_algorithms: knex.raw('array_append(signing_algorithms, ?)', [algorithm]),
      updated_at,
      version: knex.raw('version + 1'),
    });
  if (added > 0) scope.touched.add('environments');
  return added > 0;
}

export async function deleteEnvironment(scope: Scope, id: string): Promise<void> {
  scope.touched.add('environments');
  await scope.knex('environments').where({ id }).delete();
}

/** How long the count of an environment's hashes may take, in milliseconds: it reads all of its users. */
const patienceMs = 300_000;

/** An environment whose password hashes were not counted since then; null when there is none. */
export async function findStaleHashMix(knex: Knex, since: Date): Promise<string | null> {
  const stale = "held_at is null and coalesce(password_hash_mix_at, '-infinity') < ?";
  const row = await knex<EnvironmentRow>('environments').whereRaw(stale, [since]).first('id');
  return row?.id ?? null;
}

/** Counts the shapes of the environment's password hashes anew; null where all are of our own kind. In a transaction of its own. */
export async function renewHashMix(scope: Scope, at: Date): Promise<void> {
  scope.touched.add('environments');
  await scope.knex.raw(`set local statement_timeout = ${patienceMs}`);
  const text = `update environments set password_hash_mix_at = $2, password_hash_mix = (
        select jsonb_agg(jsonb_build_object('shape', shape, 'users', users)) from (
          select password_hash_shape(password_hash) as shape, count(*) as users from users
          where environment_id = $1 and password_hash is not null group by 1 order by 2 desc, 1 limit 64) as counted
        where exists (select from users where environment_id = $1 and password_hash_work(password_hash) is not null))
      where id = $1`;
  await run(scope, { name: 'environments.renew_hash_mix', text }, [at]);
}
