import type { Knex } from 'knex';
import type { Detail } from '../../lib/authorization-details.js';
import { run, type Scope } from '../scope.js';
import { runSystem } from '../system.js';
import type { AuthorizationCodeRow } from './authorization_codes.js';

/** What a code was issued for, told together with the refusal of whoever brought it. */
export type IssuedCode = Pick<
  AuthorizationCodeRow,
  'environment_id' | 'digest' | 'client_id' | 'redirect_uri' | 'scope' | 'resource' | 'request_id' | 'expires_at'
>;

/** The codes of the digests, in their environments, as far as they are known. */
export async function findIssuedCodes(
  knex: Knex,
  codes: readonly { readonly environment_id: string; readonly digest: Buffer }[],
): Promise<IssuedCode[]> {
  if (codes.length === 0) return [];
  const text = `
    select c.environment_id, c.digest, c.client_id, c.redirect_uri, c.scope, c.resource, c.request_id, c.expires_at
    from unnest($1::uuid[], $2::bytea[]) as asked (environment_id, digest)
    join authorization_codes c on c.environment_id = asked.environment_id and c.digest = asked.digest`;
  const values = [codes.map((one) => one.environment_id), codes.map((one) => one.digest)];
  return runSystem<IssuedCode>(knex, { name: 'authorization_codes.find_issued', text }, values);
}

/** The details of a code, for a token request that asks for some of them; null when there is none such. */
export async function findDetailsOfCode(scope: Scope, digest: Buffer): Promise<readonly Detail[] | null> {
  const text = 'select authorization_details as details from authorization_codes where environment_id = $1 and digest = $2';
  const [row] = await run<{ details: readonly Detail[] | null }>(scope, { name: 'authorization_codes.find_details', text }, [digest]);
  return row?.details ?? null;
}
