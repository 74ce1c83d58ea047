import { insert, remove, run, table, update, type Scope } from '../scope.js';

/** A row of `trusted_issuers`: somebody outside whose tokens prove workloads. */
export type TrustedIssuerRow = {
  environment_id: string;
  id: string;
  name: string;
  issuer: string;
  /** Where its keys are; null: where its own metadata says, unless `jwks` holds them. */
  jwks_uri: string | null;
  jwks: Record<string, unknown> | null;
  status: 'enabled' | 'disabled';
  /** Why its keys could not be had lately; null when they could. */
  last_error: string | null;
  last_error_at: Date | null;
  version: number;
  created_at: Date;
  updated_at: Date;
};

const withJson = (row: Partial<TrustedIssuerRow>): Partial<TrustedIssuerRow> =>
  row.jwks === undefined || row.jwks === null ? row : { ...row, jwks: JSON.stringify(row.jwks) as never };

export async function findTrustedIssuer(scope: Scope, issuer: string): Promise<TrustedIssuerRow | null> {
  return (await table<TrustedIssuerRow>(scope, 'trusted_issuers').where({ issuer }).first()) ?? null;
}

export async function insertTrustedIssuer(scope: Scope, row: Partial<TrustedIssuerRow>): Promise<TrustedIssuerRow> {
  return insert<TrustedIssuerRow>(scope, 'trusted_issuers', withJson(row));
}

export async function updateTrustedIssuer(scope: Scope, id: string, changes: Partial<TrustedIssuerRow>): Promise<TrustedIssuerRow | null> {
  return update<TrustedIssuerRow>(scope, 'trusted_issuers', { id }, withJson(changes));
}

/** Deletes an issuer with the credentials that rest on it. */
export async function deleteTrustedIssuer(scope: Scope, id: string): Promise<boolean> {
  return (await remove<TrustedIssuerRow>(scope, 'trusted_issuers', { id })) > 0;
}

/** Notes why the keys of an issuer could not be had, or null that they could; the record is no newer for it. */
export async function noteIssuerError(scope: Scope, id: string, error: string | null, at: Date): Promise<void> {
  const text = `update trusted_issuers set last_error = $3, last_error_at = case when $3::text is null then last_error_at else $4::timestamptz end
                where environment_id = $1 and id = $2 and last_error is distinct from $3`;
  await run(scope, { name: 'trusted_issuers.note_error', text }, [id, error, at]);
}
