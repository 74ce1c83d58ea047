import { run, type Scope, type Statement } from '../scope.js';

/** What is remembered of a proof that was used (RFC 9449 11.1). */
export type ProofUse = {
  /** Of its key and `jti`. */
  readonly digest: Buffer;
  /** When it is too old to be used anyway. */
  readonly expires_at: Date;
};

/** What binds the tokens that are issued to the key of a proof; all null: nothing does. */
export type ProofBinding = {
  readonly jkt: string | null;
  /** Of the refresh token. */
  readonly refresh_jkt: string | null;
  /** If its use has to be stored: with one that was used before nothing happens. */
  readonly proof: ProofUse | null;
};

/**
 * SQL: stores the use of a proof; yields a row for whoever is the first. For statements whose first parameter is the environment.
 * @param from what it depends on: nothing is stored, and no row comes, when that yields none
 */
export const storeProofSql = (digest: string, expires_at: string, from = ''): string =>
  `insert into dpop_proofs (environment_id, digest, expires_at) select $1::uuid, ${digest}::bytea, ${expires_at}::timestamptz ${from}
   on conflict do nothing returning 1 as one`;

const insertStatement: Statement = { name: 'dpop_proofs.insert', short: { kind: 'write', key: 2 }, text: storeProofSql('$2', '$3') };

/** Stores the use of a proof; false when it was used before. */
export const insertProofUse = async (scope: Scope, { digest, expires_at }: ProofUse): Promise<boolean> =>
  (await run(scope, insertStatement, [digest, expires_at])).length > 0;
