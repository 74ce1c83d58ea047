import type { JWK } from 'jose';
import type { SigningAlgorithm } from '../../lib/signing-algorithm.js';
import type { Knex } from 'knex';
import { insert, table, update, type Scope } from '../scope.js';
import { runSystem } from '../system.js';

/** A row of `signing_keys`; `private_sealed` holds the private JWK, sealed for `signing_keys/<kid>`. */
export type SigningKeyRow = {
  environment_id: string;
  kid: string;
  algorithm: SigningAlgorithm;
  status: 'next' | 'primary' | 'previous' | 'deactivated';
  public_jwk: JWK;
  private_sealed: Buffer;
  activated_at: Date | null;
  retired_at: Date | null;
  deactivated_at: Date | null;
  version: number;
  created_at: Date;
  updated_at: Date;
};

/** Every key that isn't deactivated, oldest first. */
export const listPublishedSigningKeys = async (scope: Scope): Promise<SigningKeyRow[]> =>
  table<SigningKeyRow>(scope, 'signing_keys').whereNot({ status: 'deactivated' }).orderBy('created_at');

/** Stores a key. The unique indexes refuse a second primary or a second next key of one algorithm. */
export const insertSigningKey = async (scope: Scope, row: Partial<SigningKeyRow>): Promise<SigningKeyRow> =>
  insert<SigningKeyRow>(scope, 'signing_keys', row);

export const updateSigningKey = async (scope: Scope, kid: string, changes: Partial<SigningKeyRow>): Promise<SigningKeyRow | null> =>
  update<SigningKeyRow>(scope, 'signing_keys', { kid }, changes);

/** The algorithm's key of the status, held until the transaction ends. */
export async function lockSigningKey(scope: Scope, status: 'primary' | 'next', algorithm: SigningAlgorithm): Promise<SigningKeyRow | null> {
  return (await table<SigningKeyRow>(scope, 'signing_keys').where({ status, algorithm }).forUpdate().first()) ?? null;
}

/** The longest lifetime in seconds of anything that the environment's keys sign. */
export async function longestSignedLifetime(scope: Scope): Promise<number> {
  const result = await scope.knex.raw<{ rows: { seconds: number }[] }>(
    `select greatest(
       (select greatest(default_access_token_lifetime, id_token_lifetime) from environments where id = ?),
       (select max(access_token_lifetime) from api_resources where environment_id = ?),
       (select max(id_token_lifetime) from clients where environment_id = ?))::integer as seconds`,
    [scope.environment_id, scope.environment_id, scope.environment_id],
  );
  return result.rows[0]?.seconds ?? 0;
}

/** A key that signs or is about to, with the slug of its environment. */
export type WatchedSigningKey = Pick<SigningKeyRow, 'kid' | 'algorithm' | 'status' | 'activated_at' | 'created_at'> & {
  readonly environment: string;
};

/** The primary and next keys of all environments. */
export async function listWatchedSigningKeys(knex: Knex): Promise<WatchedSigningKey[]> {
  const text = `select k.kid, k.algorithm, k.status, k.activated_at, k.created_at, e.slug as environment
    from signing_keys k join environments e on e.id = k.environment_id where k.status in ('primary', 'next') order by e.slug, k.algorithm`;
  return runSystem<WatchedSigningKey>(knex, { name: 'signing_keys.watched', text }, []);
}

/** The primary and next keys of the environment. */
export const listActingSigningKeys = async (scope: Scope): Promise<Omit<WatchedSigningKey, 'environment'>[]> =>
  table<SigningKeyRow>(scope, 'signing_keys')
    .whereIn('status', ['primary', 'next'])
    .select('kid', 'algorithm', 'status', 'activated_at', 'created_at') as unknown as Promise<Omit<WatchedSigningKey, 'environment'>[]>;

/** The `kid` of every key, of all environments, that isn't deactivated. */
export const listPublishedKids = async (knex: Knex): Promise<Pick<SigningKeyRow, 'environment_id' | 'kid'>[]> =>
  knex<SigningKeyRow>('signing_keys')
    .whereNot({ status: 'deactivated' })
    .orderBy(['environment_id', 'created_at'])
    .select('environment_id', 'kid');
