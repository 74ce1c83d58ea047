import { rowFunctions, type RecordRow } from '../records.js';
import { run, table, type Scope } from '../scope.js';

/** A row of `trusted_issuers`: somebody outside whose tokens prove workloads. */
export type TrustedIssuerRow = RecordRow & {
  name: string;
  issuer: string;
  /** Where its keys are; null: where its own metadata says, unless `jwks` holds them. */
  jwks_uri: string | null;
  jwks: Record<string, unknown> | null;
  status: 'enabled' | 'disabled';
  /** Why its keys could not be had lately; null when they could. */
  last_error: string | null;
  last_error_at: Date | null;
};

const withJson = (row: Partial<TrustedIssuerRow>): Partial<TrustedIssuerRow> =>
  row.jwks === undefined || row.jwks === null ? row : { ...row, jwks: JSON.stringify(row.jwks) as never };

export const findTrustedIssuer = async (scope: Scope, issuer: string): Promise<TrustedIssuerRow | null> =>
  (await table<TrustedIssuerRow>(scope, 'trusted_issuers').where({ issuer }).first()) ?? null;

/** The credentials that rest on an issuer are deleted with it. */
export const {
  insert: insertTrustedIssuer,
  update: updateTrustedIssuer,
  remove: deleteTrustedIssuer,
} = rowFunctions<TrustedIssuerRow>('trusted_issuers', withJson);

/** Notes why the keys of an issuer could not be had, or null that they could; the record is no newer for it. */
export async function noteIssuerError(scope: Scope, id: string, error: string | null, at: Date): Promise<void> {
  const text = `update trusted_issuers set last_error = $3, last_error_at = case when $3::text is null then last_error_at else $4::timestamptz end
                where environment_id = $1 and id = $2 and last_error is distinct from $3`;
  await run(scope, { name: 'trusted_issuers.note_error', text }, [id, error, at]);
}
