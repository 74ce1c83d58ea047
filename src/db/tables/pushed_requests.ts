import { remove, run, type Scope, type Statement } from '../scope.js';
import { storeProofSql, type ProofUse } from './dpop_proofs.js';

/** A row of `pushed_requests`: an authorization request that waits under a reference (RFC 9126). */
export type PushedRequestRow = {
  environment_id: string;
  digest: Buffer;
  client_id: string;
  parameters: Record<string, string>;
  created_at: Date;
  /** Until when it may be opened; one that was opened in time may be answered later. */
  expires_at: Date;
  /** When a code was issued for it; null until then. */
  used_at: Date | null;
};

/** Stores a pushed request; false, and nothing is stored, when the DPoP proof that came with it was used before. */
export async function insertPushedRequest(
  scope: Scope,
  row: Omit<PushedRequestRow, 'environment_id' | 'used_at'>,
  proof: ProofUse | null,
): Promise<boolean> {
  const rows = await run(scope, proof === null ? insertStatement : insertOnceStatement, [
    row.digest, row.client_id, JSON.stringify(row.parameters), row.created_at, row.expires_at, ...(proof === null ? [] : [proof.digest, proof.expires_at]),
  ]); // prettier-ignore
  return rows.length > 0;
}

const insertText = (source: string) => `
  insert into pushed_requests (environment_id, digest, client_id, parameters, created_at, expires_at)
  select $1::uuid, $2::bytea, $3::text, $4::jsonb, $5::timestamptz, $6::timestamptz ${source} returning 1 as one`;

const insertStatement: Statement = { name: 'pushed_requests.insert', short: { kind: 'write', key: 2 }, text: insertText('') };

const insertOnceStatement: Statement = {
  name: 'pushed_requests.insert_with_proof',
  short: { kind: 'write', key: 7 },
  text: `with proof as (${storeProofSql('$7', '$8')}) ${insertText('from proof')}`,
};

/** The request of the reference, used or not, expired or not; null when there is none. */
export async function findPushedRequest(scope: Scope, digest: Buffer): Promise<PushedRequestRow | null> {
  const text = `select environment_id, digest, client_id, parameters, created_at, expires_at, used_at from pushed_requests where environment_id = $1 and digest = $2`;
  const [row] = await run<PushedRequestRow>(scope, { name: 'pushed_requests.find', short: 'look_up', text }, [digest]);
  return row ?? null;
}

/** SQL: spends the request of the digest; yields a row for whoever is the first. */
export const spendPushedRequestSql = (digest: string, now: string): string =>
  `update pushed_requests set used_at = ${now} where environment_id = $1 and digest = ${digest} and used_at is null returning digest`;

/** Ends the requests that a client pushed, answered or not. */
export async function deletePushedRequestsOfClient(scope: Scope, client_id: string): Promise<void> {
  await remove<PushedRequestRow>(scope, 'pushed_requests', { client_id });
}

/** Ends those that ask for the API resource of the identifier, with a slash at its end or without. */
export async function deletePushedRequestsForResource(scope: Scope, identifier: string): Promise<void> {
  const text = `delete from pushed_requests where environment_id = $1 and parameters ->> 'resource' in ($2, $2 || '/', rtrim($2, '/'))`;
  await run(scope, { name: 'pushed_requests.delete_for_resource', text }, [identifier]);
}
