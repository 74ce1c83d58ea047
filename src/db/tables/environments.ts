import type { Knex } from 'knex';

/** A row of `environments`; lifetimes in seconds. */
export type EnvironmentRow = {
  id: string;
  name: string;
  slug: string;
  kind: 'production' | 'staging' | 'development';
  is_default: boolean;
  session_lifetime: number;
  session_idle_lifetime: number | null;
  default_access_token_lifetime: number;
  id_token_lifetime: number;
  refresh_token_lifetime: number;
  refresh_token_idle_lifetime: number;
  branding: { name?: string | null; logo_url?: string | null; primary_color?: string | null };
  support_email: string | null;
  registration_enabled: boolean;
  password_min_length: number;
  otp_lifetime: number;
  otp_max_attempts: number;
  lockout_threshold: number;
  lockout_lifetime: number;
  allowed_email_domains: string[];
  dynamic_registration_enabled: boolean;
  version: number;
  created_at: Date;
  updated_at: Date;
};

/** The environment of the id, or null. */
export async function findEnvironment(knex: Knex, id: string): Promise<EnvironmentRow | null> {
  return (await knex<EnvironmentRow>('environments').where({ id }).first()) ?? null;
}

/** The environment that answers on every host that no other claims. */
export async function findDefaultEnvironment(knex: Knex): Promise<EnvironmentRow | null> {
  return (await knex<EnvironmentRow>('environments').where({ is_default: true }).first()) ?? null;
}

/** All environments, oldest first. */
export async function listEnvironments(knex: Knex): Promise<EnvironmentRow[]> {
  return knex<EnvironmentRow>('environments').orderBy('created_at');
}

/** Stores a new environment. */
export async function insertEnvironment(knex: Knex, row: Partial<EnvironmentRow>): Promise<EnvironmentRow> {
  const [stored] = await knex<EnvironmentRow>('environments').insert(row).returning('*');
  return stored as EnvironmentRow;
}
