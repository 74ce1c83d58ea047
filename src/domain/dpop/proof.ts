import { createHash } from 'node:crypto';
import { calculateJwkThumbprint, compactVerify, decodeProtectedHeader, errors, type JWK } from 'jose';
import { insertProofUse, type ProofUse } from '../../db/tables/dpop_proofs.js';
import { OAuthError } from '../../errors.js';
import { digest } from '../../lib/digest.js';
import { jsonObject, type JsonObject } from '../../lib/json-object.js';
import type { Client } from '../clients/clients.js';
import { importClientKey, type ClientKey } from '../clients/key-set.js';
import { isFapi2 } from '../clients/profile.js';
import type { Context } from '../context.js';
import { currentNonce, nonceEnd } from './nonces.js';
import { memo } from '../../lib/memo.js';

/** What proofs may be signed with (`dpop_signing_alg_values_supported`, RFC 9449 5.1). */
export const proofAlgorithms = ['ES256', 'PS256', 'EdDSA', 'Ed25519'] as const;

/** A proof that the sender of a request holds a key, made for this request (RFC 9449 4.3). */
export type DpopProof = {
  /** The thumbprint of the key (RFC 7638). */
  readonly jkt: string;
  /** What has to be stored with whatever the request is granted; null once that it is the first use is settled. */
  readonly use: ProofUse | null;
  /** Its clock is further off than clocks may be, which only its nonce makes up for: not for a client with a profile that says otherwise. */
  readonly clock_off: boolean;
};

/** Why a proof isn't taken; `reason` is public. */
export type ProofRefusal = {
  readonly error: 'invalid_dpop_proof' | 'use_dpop_nonce';
  readonly reason: string;
  /** The proof, where its clock is off and nothing but a nonce is missing: who sends it decides whether one would help ({@link problemForClient}). */
  readonly but_for_nonce?: DpopProof;
};

export type ProvenRequest = {
  readonly method: string;
  /** Of the host that was asked, one of the environment's own. */
  readonly origin: string;
  /** Of the request target, without query. */
  readonly path: string;
  /** The access token that comes with it, at a protected resource. */
  readonly access_token?: string;
  /** Who sends it, where that is known already. */
  readonly client?: Pick<Client, 'profile'>;
};

const maxLength = 8192;
const maxJtiLength = 256;
/** How old a proof without nonce may be, and how far ahead, in seconds. */
const maxAge = 60;
const maxAhead = 10;
/** How wrong the clock may be of a client whose proof bears a nonce, in seconds. */
const maxWrong = 86_400;
/** A use is remembered a little longer than the proof is good, for the replicas' clocks. */
const slackMs = 10_000;

const isJws = (text: string) => /^[\w-]+\.[\w-]+\.[\w-]+$/.test(text);

type ProofKey = { readonly key: ClientKey['key']; readonly alg: string; readonly jkt: string };

/**
 * The key that the header bears, or what is wrong with the header (RFC 9449 4.2). The last thousand are remembered: a client sends the same header with each
 * of its proofs.
 */
const keyOf = memo(async (_header: string, jws: string): Promise<ProofKey | string> => {
  const { typ, alg, crit, jwk: member } = decodeProtectedHeader(jws);
  if (typ !== 'dpop+jwt') return 'typ must be dpop+jwt';
  if (alg === undefined || !proofAlgorithms.includes(alg as never)) return `alg must be one of ${proofAlgorithms.join(', ')}`;
  if (crit !== undefined) return 'the header asks for an extension that is not supported';
  const jwk = jsonObject(member);
  if (jwk === null) return 'jwk must be in the header';
  const imported = importClientKey(jwk);
  if (!imported) return 'jwk must be a public key: P-256, Ed25519, or RSA of 2048 to 4096 bits';
  if (!imported.algorithms.includes(alg as never)) return 'alg is not one of jwk';
  return { key: imported.key, alg, jkt: await calculateJwkThumbprint(jwk as JWK) };
}, 1_000);

/** The key of a proof whose signature is right, and its claims; or what is wrong. */
async function opened(jws: string): Promise<{ readonly jkt: string; readonly claims: JsonObject } | string> {
  if (jws.length > maxLength) return `it is longer than ${maxLength} characters`;
  if (!isJws(jws)) return 'there must be one header DPoP, which holds one JWS';
  try {
    const key = await keyOf(jws.slice(0, jws.indexOf('.')), jws);
    if (typeof key === 'string') return key;
    const { payload } = await compactVerify(jws, key.key, { algorithms: [key.alg] });
    const claims = jsonObject(JSON.parse(Buffer.from(payload).toString('utf8')));
    return claims ? { jkt: key.jkt, claims } : 'it holds no claims';
  } catch (error) {
    if (error instanceof errors.JWSSignatureVerificationFailed) return 'the signature does not fit jwk';
    if (error instanceof errors.JOSEError || error instanceof TypeError || error instanceof SyntaxError) return 'it can not be read';
    throw error;
  }
}

const unreserved = /[\w.~-]/;

/** An http address in normal form, without query and fragment (RFC 3986 6.2.2, 6.2.3); null for what is none. */
function normalised(uri: string): string | null {
  if (!URL.canParse(uri)) return null;
  const url = new URL(uri);
  url.search = '';
  url.hash = '';
  return url.href.replaceAll(/%[0-9a-f]{2}/gi, (escaped) => {
    const character = String.fromCharCode(Number.parseInt(escaped.slice(1), 16));
    return unreserved.test(character) ? character : escaped.toUpperCase();
  });
}

/** Whether `htu` is the address of the request: at the issuer, or at the host that was asked, no other. */
function isAddressOf({ environment }: Pick<Context, 'environment'>, { origin, path }: ProvenRequest, htu: unknown): boolean {
  const named = typeof htu === 'string' ? normalised(htu) : null;
  return named !== null && [environment.issuer, origin].some((own) => normalised(own + path) === named);
}

/** First thing wrong with the claims (RFC 9449 4.3), but for their time; null when nothing is. */
function problemOf(ctx: Context, claims: JsonObject, request: ProvenRequest): string | null {
  const { method, access_token } = request;
  const { jti, htm, htu, iat, ath, nonce } = claims;
  const list: [boolean, string][] = [
    [typeof jti !== 'string' || jti === '' || jti.length > maxJtiLength, `jti must have 1 to ${maxJtiLength} characters`],
    [htm !== method, 'htm must be the method of the request'],
    [!isAddressOf(ctx, request, htu), 'htu must be the address of the request, without query and fragment'],
    [typeof iat !== 'number' || !Number.isFinite(iat), 'iat must be a number'],
    [nonce !== undefined && typeof nonce !== 'string', 'nonce must be a text'],
    [access_token !== undefined && ath !== createHash('sha256').update(access_token).digest('base64url'), 'ath must be the SHA-256 hash of the access token'],
  ]; // prettier-ignore
  return list.find(([applies]) => applies)?.[1] ?? null;
}

/** What is said of a clock that a client's profile doesn't take, nonce or not (FAPI 2.0 Security Profile 5.3.2.1). */
const clockRefused: ProofRefusal = { error: 'invalid_dpop_proof', reason: 'iat is off: set the clock right' };

/** Whether the clock of the proof is further off than clocks may be. */
function isOff({ clock }: Pick<Context, 'clock'>, { iat }: JsonObject): boolean {
  const age = clock.now().getTime() / 1000 - (iat as number);
  return age > maxAge || age < -maxAhead;
}

/** Until when a proof of this time and nonce is good, and whether its clock is off; or why it isn't good (RFC 9449 4.3, 8, 11.1). */
function endOf(
  ctx: Context,
  { iat, nonce }: { readonly iat: number; readonly nonce?: string },
  client: ProvenRequest['client'],
): { readonly end: Date; readonly clock_off: boolean } | ProofRefusal {
  const clock_off = isOff(ctx, { iat });
  if (clock_off && client && isFapi2(client)) return clockRefused;
  if (nonce === undefined) {
    if (ctx.environment.dpop_nonce === 'required') return { error: 'use_dpop_nonce', reason: 'the proof must bear a nonce' };
    // With a nonce it is known to be new, whatever the client's clock says.
    if (clock_off) return { error: 'use_dpop_nonce', reason: 'iat is off: the proof must bear a nonce' };
    return { end: new Date((iat + maxAge) * 1000), clock_off };
  }
  const end = nonceEnd(ctx, nonce);
  if (end === null) return { error: 'use_dpop_nonce', reason: 'the nonce is too old, or none of ours' };
  return Math.abs(ctx.clock.now().getTime() / 1000 - iat) > maxWrong
    ? { error: 'invalid_dpop_proof', reason: 'iat is more than a day off' }
    : { end, clock_off };
}

/** Checks a proof against the request that it came with; that it wasn't used before is for whoever stores its `use`. */
export async function verifyProof(ctx: Context, jws: string, request: ProvenRequest): Promise<DpopProof | ProofRefusal> {
  const invalid = (reason: string): ProofRefusal => ({ error: 'invalid_dpop_proof', reason: `the DPoP proof is not good: ${reason}` });
  const proof = await opened(jws);
  if (typeof proof === 'string') return invalid(proof);
  const { jkt, claims } = proof;
  const problem = problemOf(ctx, claims, request);
  if (problem !== null) return invalid(problem);
  const good = endOf(ctx, claims as { iat: number; nonce?: string }, request.client);
  if ('error' in good)
    return good.error === 'use_dpop_nonce' && isOff(ctx, claims) ? { ...good, but_for_nonce: { jkt, clock_off: true, use: null } } : good;
  const { end, clock_off } = good;
  return { jkt, clock_off, use: { digest: digest(`${jkt} ${String(claims['jti'])}`), expires_at: new Date(end.getTime() + slackMs) } };
}

/** What is wrong with a good proof of this client all the same: with FAPI 2.0 a nonce makes up for no clock. */
export const problemForClient = (client: Pick<Client, 'profile'>, { clock_off }: Pick<DpopProof, 'clock_off'>): ProofRefusal | null =>
  clock_off && isFapi2(client) ? clockRefused : null;

/** What is said of a proof that was used before (RFC 9449 11.1). */
export const usedBefore: ProofRefusal = { error: 'invalid_dpop_proof', reason: 'the DPoP proof was used before' };

/** The refusal of the authorization server, which always tells the nonce (RFC 9449 5, 8). */
export const proofRefused = (ctx: Context, { error, reason }: ProofRefusal): OAuthError =>
  new OAuthError(400, error, reason, { 'DPoP-Nonce': currentNonce(ctx) });

/** Spends a proof by a statement of its own, where no other runs that could. @throws {OAuthError} when it was used before */
export async function spendProof(ctx: Context, proof: DpopProof): Promise<void> {
  if (proof.use && !(await insertProofUse(ctx.scope, proof.use))) throw proofRefused(ctx, usedBefore);
}

/** Refuses who asks without a proof for what is given out bound to a key only. @throws {OAuthError} */
export function requireBound(ctx: Context, of: { readonly dpop_bound_access_tokens: boolean } | null, proof: DpopProof | null): void {
  if (proof !== null || !of?.dpop_bound_access_tokens) return;
  throw proofRefused(ctx, { error: 'invalid_dpop_proof', reason: 'the tokens asked for are bound to a key: a DPoP proof is needed' });
}
