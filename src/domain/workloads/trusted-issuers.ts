import { isDeepStrictEqual } from 'node:util';
import { newStamps } from '../../db/records.js';
import { deleteTrustedIssuer, insertTrustedIssuer, updateTrustedIssuer, type TrustedIssuerRow } from '../../db/tables/trusted_issuers.js';
import { checkUrl, type UrlProblem } from '../../platform/fetch/guard.js';
import type { Context } from '../context.js';
import { ownOrigins } from '../environment.js';
import { type Problem, Refusal, refuseDuplicates, unfit } from '../refusal.js';

export type TrustedIssuerInput = Partial<Pick<TrustedIssuerRow, 'name' | 'issuer' | 'jwks_uri' | 'jwks' | 'status'>>;

const duplicates = { trusted_issuers_issuer: { attribute: 'issuer', detail: 'There is a trusted issuer of this address already.' } };

const addressTexts: Partial<Record<UrlProblem, string>> = {
  url_scheme: 'must use https',
  url_address: 'leads into a private network',
  url_port: 'uses the port of another service',
  url_fragment: 'must not have a fragment',
};

/** Who can change what comes over http can be every workload: it is for this machine alone. */
const plainProblem = (url: string): UrlProblem | null =>
  /^http:\/\/(?!(localhost|127(\.\d{1,3}){3}|\[::1\])(:\d+)?(\/|$))/i.test(url) ? 'url_scheme' : null;

function addressProblem(ctx: Pick<Context, 'config'>, attribute: string, url: string | null | undefined): Problem[] {
  const problem = url === null || url === undefined ? null : (checkUrl(url, ctx.config) ?? plainProblem(url));
  if (problem === null) return [];
  return [unfit(attribute, 'invalid_url', `The address ${addressTexts[problem] ?? 'can not be used'}.`)];
}

/** Problems of a new issuer, or of a change of `row`. */
export function trustedIssuerProblems(
  ctx: Pick<Context, 'config' | 'environment'>,
  input: TrustedIssuerInput,
  row: TrustedIssuerRow | null,
): Problem[] {
  const next = { jwks: null, jwks_uri: null, ...row, ...input };
  const both: Problem = unfit('jwks_uri', 'jwks_twice', 'Keys are given by value or by address, not both.');
  const own: Problem = unfit('issuer', 'reserved_name', 'This service proves no workload to itself.');
  return [
    ...addressProblem(ctx, 'issuer', input.issuer),
    ...addressProblem(ctx, 'jwks_uri', input.jwks_uri),
    ...(next.jwks !== null && next.jwks_uri !== null ? [both] : []),
    ...(input.issuer !== undefined && ownOrigins(ctx.environment).includes(input.issuer.replace(/\/$/, '')) ? [own] : []),
  ];
}

/** Trusts an issuer: what its tokens prove, federated credentials say. @throws {Refusal} 409 */
export async function createTrustedIssuer(tx: Context, input: TrustedIssuerInput): Promise<TrustedIssuerRow> {
  const row = { ...input, ...newStamps(tx.clock.now()) };
  return refuseDuplicates(duplicates, () => insertTrustedIssuer(tx.scope, row));
}

/** Changes an issuer; other keys make what went wrong with the earlier ones past. @throws {Refusal} 404, 409 */
export async function changeTrustedIssuer(tx: Context, row: TrustedIssuerRow, input: TrustedIssuerInput): Promise<TrustedIssuerRow> {
  const next = { ...row, ...input };
  const moved = (['issuer', 'jwks_uri', 'jwks'] as const).some((name) => !isDeepStrictEqual(next[name], row[name]));
  const changes = { ...input, ...(moved && { last_error: null, last_error_at: null }), updated_at: tx.clock.now() };
  const changed = await refuseDuplicates(duplicates, () => updateTrustedIssuer(tx.scope, row.id, changes));
  if (!changed) throw new Refusal({ status: 404, code: 'not_found', detail: 'There is no such trusted issuer.' });
  return changed;
}

/** Trusts the issuer no longer: the credentials that rest on it go with it. */
export async function removeTrustedIssuer(tx: Context, row: TrustedIssuerRow): Promise<void> {
  await deleteTrustedIssuer(tx.scope, row.id);
}
