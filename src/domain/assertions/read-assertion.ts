import { decodeJwt } from 'jose';
import { claimedIssuer, notSigned, timeProblem, verifiedClaims } from '../workloads/assertion.js';
import type { Client } from '../clients/clients.js';
import type { Connection } from '../connections/connections.js';
import type { Context } from '../context.js';
import type { DpopProof } from '../dpop/proof.js';
import { acceptedIssuers } from '../environment.js';
import { idJagTyp, isIdJag } from '../../lib/identity-assertions.js';
import { jsonObject, type JsonObject } from '../../lib/json-object.js';
import { isNumericDate } from '../../lib/numeric-date.js';
import type { SecurityEventReason } from '../../lib/security-event.js';
import type { Act } from '../tokens/agent-claims.js';
import { assertedActors } from './asserted-act.js';
import { connectionOfIssuer, keyOwnerOf } from './assertion-issuer.js';

/** Seconds between `iat` and `exp`. */
const maxLifetime = 600;
const maxJtiLength = 256;

/** An assertion that a connection's provider made for this environment and this client. */
export type ReadAssertion = {
  readonly connection: Connection;
  readonly claims: JsonObject;
  readonly jti: string;
  readonly expires_at: Date;
  /** Who acts for the person, as the provider says. */
  readonly act: Act | null;
};

/** Why it isn't taken: `reason` is public and names claims, never what they hold; `because` is for the trail. */
export type RefusedAssertion = { readonly reason: string; readonly because: SecurityEventReason; readonly connection: Connection | null };

/** What an assertion is brought with. */
export type Presented = { readonly assertion: string; readonly client: Client; readonly proof: DpopProof | null };

const isText = (value: unknown, most: number): value is string => typeof value === 'string' && value !== '' && value.length <= most;

/** The key that the assertion is bound to (RFC 7800); null for none, undefined for a confirmation of another kind. */
function boundKey(cnf: unknown): string | null | undefined {
  if (cnf === undefined) return null;
  const members = jsonObject(cnf) ?? {};
  return Object.keys(members).length === 1 && typeof members['jkt'] === 'string' ? members['jkt'] : undefined;
}

const actorsOf = (ctx: Context, { iss, act }: JsonObject) => assertedActors(act, iss as string, acceptedIssuers(ctx));

type Problem = readonly [applies: boolean, reason: string, because: SecurityEventReason];

/** The first thing that is wrong with what a signed assertion says of itself; null when nothing is. */
function claimProblem(ctx: Context, { connection, claims }: SignedAssertion, of: string): Problem | null {
  const { aud, client_id, tenant, aud_tenant, exp, iat, jti, cnf } = claims;
  const act = actorsOf(ctx, claims);
  const { environment } = ctx;
  const ours = [environment.id, connection.organization_id];
  const late = timeProblem(ctx, claims);
  const long = !isNumericDate(iat) || (exp as number) - iat > maxLifetime;
  const problems: Problem[] = [
    [late !== null, late ?? '', 'assertion_expired'],
    [long, 'exp: the assertion must expire within 10 minutes of its iat', 'assertion_expired'],
    // A list of one is the same text (RFC 7519 4.1.3); a second audience could bring it here.
    [[aud].flat().length !== 1 || [aud].flat()[0] !== environment.issuer, 'aud of the assertion must be this issuer alone', 'assertion_not_for_us'],
    [client_id !== of, 'client_id of the assertion is not the authenticated client', 'assertion_not_for_client'],
    [(tenant ?? null) !== connection.assertion_tenant, 'tenant of the assertion is not the one that is trusted', 'assertion_not_for_us'],
    [aud_tenant !== undefined && !(isText(aud_tenant, 255) && ours.includes(aud_tenant)), 'aud_tenant of the assertion is none of ours', 'assertion_not_for_us'],
    [!isText(jti, maxJtiLength), 'jti of the assertion is missing, or too long', 'assertion_invalid'],
    [act === undefined, 'act of the assertion names nobody, too many, or one of ours', 'assertion_invalid'],
    [boundKey(cnf) === undefined, 'cnf of the assertion must hold jkt alone', 'assertion_invalid'],
  ]; // prettier-ignore
  return problems.find(([applies]) => applies) ?? null;
}

/** The first thing that is wrong with how it is brought. */
function keyProblem({ connection, claims: { cnf } }: SignedAssertion, { client, proof }: Presented): Problem | null {
  const key = boundKey(cnf);
  const unproven = client.token_endpoint_auth_method === 'none' && key === null && connection.assertion_clients !== 'any';
  const problems: Problem[] = [
    [typeof key === 'string' && key !== proof?.jkt, 'cnf: the assertion is bound to a key: it takes a DPoP proof of that key', 'assertion_key'],
    [unproven, 'a client without secret or key brings assertions that are bound to a key', 'assertion_key'],
  ]; // prettier-ignore
  return problems.find(([applies]) => applies) ?? null;
}

type SignedAssertion = { readonly connection: Connection; readonly claims: JsonObject };

/** What the provider of exactly one connection that takes assertions has signed as one. */
async function readSigned(ctx: Context, assertion: string): Promise<SignedAssertion | RefusedAssertion> {
  const refused = (reason: string, because: SecurityEventReason, connection: Connection | null = null) => ({ reason, because, connection });
  if (!isIdJag(assertion)) return refused(`typ of the assertion must be ${idJagTyp}`, 'assertion_invalid');
  const iss = claimedIssuer(assertion);
  if (iss === null || acceptedIssuers(ctx).includes(iss))
    return refused('iss of the assertion is no issuer of assertions', 'assertion_issuer');
  const connection = await connectionOfIssuer(ctx, iss, decodeJwt(assertion)['tenant']);
  if (!connection) return refused('iss of the assertion is no issuer of assertions', 'assertion_issuer');
  const read = await verifiedClaims(ctx, keyOwnerOf(connection, iss), assertion, [idJagTyp]).catch(notSigned);
  return 'reason' in read ? refused(read.reason, 'assertion_invalid', connection) : { connection, claims: read.claims };
}

/**
 * Reads an identity assertion (draft-ietf-oauth-identity-assertion-authz-grant 4.4): signed by the provider of exactly one connection that takes them, for
 * this environment and the client that brings it, now. Whom it is about, and that it wasn't redeemed before, is for others.
 */
export async function readAssertion(ctx: Context, presented: Presented): Promise<ReadAssertion | RefusedAssertion> {
  const read = await readSigned(ctx, presented.assertion);
  if ('reason' in read) return read;
  const { connection, claims } = read;
  const problem = claimProblem(ctx, read, presented.client.id) ?? keyProblem(read, presented);
  if (problem) return { reason: problem[1], because: problem[2], connection };
  const expires_at = new Date((claims['exp'] as number) * 1000);
  return { connection, claims, jti: claims['jti'] as string, expires_at, act: actorsOf(ctx, claims) ?? null };
}

/** Whether the assertion is all that it has to be for the client, but for its key: what speaks for a client that nobody here has seen. */
export async function vouchesFor(ctx: Context, assertion: string, client_id: string): Promise<boolean> {
  const read = await readSigned(ctx, assertion);
  return !('reason' in read) && claimProblem(ctx, read, client_id) === null;
}
