import { decodeJwt, decodeProtectedHeader, errors } from 'jose';
import { listCredentialsOfIssuer, type FederatedCredentialRow } from '../../db/tables/federated_credentials.js';
import { findTrustedIssuer } from '../../db/tables/trusted_issuers.js';
import { noteWorkloadRefusal } from '../../db/tables/workload_refusals.js';
import { jsonObject, type JsonObject } from '../../lib/json-object.js';
import { isNumericDate } from '../../lib/numeric-date.js';
import { uuidv7 } from '../../lib/random.js';
import { enabledClient, type Client } from '../clients/clients.js';
import { mayAgain } from '../clients/pause.js';
import { signedBy } from '../clients/key-set.js';
import { isFapi2 } from '../clients/profile.js';
import { remembered, type Context } from '../context.js';
import { unmetConditions } from '../claims/conditions.js';
import { issuerKeys, type KeyOwner } from './issuer-keys.js';

/** The algorithms of the platforms (RFC 8725 3.1): never a symmetric one, never `none`. */
const algorithms = ['RS256', 'ES256', 'PS256', 'EdDSA'] as const;

const maxLength = 16_384;
/** A difference between the platform's clock and ours. */
const skewSeconds = 60;
const maxLifetimeSeconds = 86_400;
const refusalsKeptMs = 30 * 86_400_000;
/** Of one client a process notes at most one refusal in this time: anybody can cause them. */
const notePauseMs = 1_000;

/** Why no client is proven; public: it names claims, never what they hold. */
export type AssertionRefusal = { readonly reason: string };

/** The unverified `iss` of a token, if that is an address, as those of platforms are and ids of clients aren't; else null. */
export function claimedIssuer(assertion: string): string | null {
  try {
    const { iss } = decodeJwt(assertion) as { iss?: unknown };
    return typeof iss === 'string' && /^https?:\/\//.test(iss) ? iss : null;
  } catch {
    return null;
  }
}

/** The type of a platform's token, if it names one. */
const types = [undefined, 'jwt'];

/**
 * The claims that one of the issuer's keys signed; or why that isn't so. @throws {errors.JOSEError | TypeError | SyntaxError} as {@link signedBy}
 * @param types of the header, in small letters
 */
export async function verifiedClaims(
  ctx: Context,
  issuer: KeyOwner,
  assertion: string,
  types: readonly (string | undefined)[],
): Promise<{ readonly claims: JsonObject } | AssertionRefusal> {
  const { alg = '', kid, typ, crit } = decodeProtectedHeader(assertion);
  if (crit !== undefined) return { reason: 'the assertion asks for an extension that is not supported' };
  if (!algorithms.some((one) => one === alg)) return { reason: `the assertion must be signed with ${algorithms.join(', ')}` };
  if (!types.includes(typ?.toLowerCase())) return { reason: 'the assertion is of another type' };
  const { keys, error } = await issuerKeys(ctx, issuer, kid);
  if (error !== null) return { reason: `the keys of the issuer can not be had: ${error}` };
  const claims = jsonObject(await signedBy(keys, assertion, alg, kid));
  return claims ? { claims } : { reason: 'the assertion holds no claims' };
}

/** What is wrong with the times of the token (RFC 7523 3); null when nothing is. */
export function timeProblem(ctx: Context, { exp, nbf, iat }: JsonObject): string | null {
  const now = Math.floor(ctx.clock.now().getTime() / 1000);
  const problems: [boolean, string][] = [
    [!isNumericDate(exp), 'exp is required in the assertion'],
    [isNumericDate(exp) && exp <= now - skewSeconds, 'exp: the assertion has expired'],
    [isNumericDate(exp) && exp > now + maxLifetimeSeconds + skewSeconds, 'exp: the assertion must expire within 24 hours'],
    [nbf !== undefined && !(isNumericDate(nbf) && nbf <= now + skewSeconds), 'nbf: the assertion is not valid yet'],
    [iat !== undefined && !(isNumericDate(iat) && iat <= now + skewSeconds), 'iat: the assertion was issued in the future'],
  ];
  return problems.find(([applies]) => applies)?.[1] ?? null;
}

/** The one credential that the claims fit, or which claims they don't. */
function credentialFor(credentials: readonly FederatedCredentialRow[], claims: JsonObject): FederatedCredentialRow | AssertionRefusal {
  const audiences = [claims['aud']].flat();
  if (audiences.length !== 1) return { reason: 'aud of the assertion must be one value' };
  const judged = credentials.map((credential) => {
    const unmet = unmetConditions(credential.claims, claims);
    return { credential, unmet: credential.audience === audiences[0] ? unmet : ['aud', ...unmet] };
  });
  const fitting = judged.filter(({ unmet }) => unmet.length === 0);
  if (fitting.length > 1) return { reason: 'more than one federated credential fits the assertion' };
  const [nearest] = judged.sort((one, other) => one.unmet.length - other.unmet.length);
  if (!nearest) return { reason: 'no federated credential rests on the issuer of the assertion' };
  return fitting[0]?.credential ?? { reason: `these claims of the assertion fit no federated credential: ${nearest.unmet.join(', ')}` };
}

/** What is said of an assertion that can't be verified; other errors are thrown on. */
export function notSigned(error: unknown): AssertionRefusal {
  if (error instanceof errors.JOSEError || error instanceof TypeError || error instanceof SyntaxError)
    return { reason: 'the assertion is not signed with a key of its issuer' };
  throw error;
}

async function judge(ctx: Context, assertion: string, client_id: string | null): Promise<Client | AssertionRefusal> {
  if (assertion.length > maxLength) return { reason: 'the assertion is too long' };
  const iss = claimedIssuer(assertion);
  if (iss === null) return { reason: 'iss of the assertion is missing, or no address' };
  const issuer = await remembered(ctx, 'trusted_issuers', iss, ({ scope }) => findTrustedIssuer(scope, iss));
  if (issuer?.status !== 'enabled') return { reason: 'iss of the assertion is no trusted issuer' };
  const verified = await verifiedClaims(ctx, issuer, assertion, types);
  if ('reason' in verified) return verified;
  const { claims } = verified;
  const late = timeProblem(ctx, claims);
  if (late !== null) return { reason: late };
  const all = await remembered(ctx, 'federated_credentials', issuer.id, ({ scope }) => listCredentialsOfIssuer(scope, issuer.id));
  const credentials = (all ?? []).filter((one) => client_id === null || one.client_id === client_id);
  const credential = credentialFor(credentials, claims);
  if ('reason' in credential) return credential;
  const client = await enabledClient(ctx, credential.client_id);
  if (client?.token_endpoint_auth_method !== 'private_key_jwt') return { reason: 'the client does not authenticate by private_key_jwt' };
  if (isFapi2(client)) return { reason: 'the profile of the client takes assertions of its own keys only' };
  return client;
}

/** Notes a refusal at the client that the workload named, for whoever sets it up. */
async function note(ctx: Context, client_id: string, reason: string): Promise<void> {
  const client = await enabledClient(ctx, client_id);
  if (!client) return;
  if (!(await mayAgain(ctx, `refusals ${client_id}`, notePauseMs))) return;
  const refused_at = ctx.clock.now();
  const expires_at = new Date(refused_at.getTime() + refusalsKeptMs);
  await noteWorkloadRefusal(ctx.scope, { id: uuidv7(refused_at.getTime()), client_id, reason, refused_at, expires_at });
}

/**
 * The client that a token of a trusted issuer proves (RFC 7523 3), or why it proves none; the reason stays with the client that was named. Such a token is not
 * spent: platforms hand a workload the same one for as long as it is good.
 * @param client_id the client that the workload names; null when it names none
 */
export async function clientByWorkload(ctx: Context, assertion: string, client_id: string | null): Promise<Client | AssertionRefusal> {
  const judged = await judge(ctx, assertion, client_id).catch(notSigned);
  if ('reason' in judged && client_id !== null) await note(ctx, client_id, judged.reason);
  return judged;
}
