import { decodeProtectedHeader, errors, type JWTPayload } from 'jose';
import { jsonObject } from '../../lib/json-object.js';
import { OutboundError } from '../../platform/fetch/outbound-error.js';
import { importKeySet, signedBy, type ClientKey } from './key-set.js';
import type { Client } from './clients.js';
import { algorithmsOfClient } from './profile.js';
import { remembered, type Context } from '../context.js';
import { ofEach } from '../../lib/memo.js';

/** Why a JWT of a client wasn't taken; `reason` is public. */
export type ClientJwtRefusal = { readonly reason: string };
export type ClientJwt = { readonly payload: JWTPayload };

type ClientKeys = readonly ClientKey[];

const fetchTimeoutMs = 5_000;
const maxBytes = 128 * 1024;
const refetchPauseMs = 5_000;

function parseKeySet(text: string): ClientKeys | null {
  try {
    return importKeySet(JSON.parse(text));
  } catch {
    return null;
  }
}

/** The keys at the client's `jwks_uri`, by the guarded fetch; null when there is nothing usable. */
async function fetchKeys(ctx: Context, client: Client, uri: string): Promise<ClientKeys | null> {
  const log = { environment_id: ctx.environment.id, client_id: client.id };
  try {
    const headers = { accept: 'application/json, application/jwk-set+json' };
    const answer = await ctx.net.fetch.request(uri, { headers, timeoutMs: fetchTimeoutMs, maxResponseBytes: maxBytes });
    const keys = answer.status === 200 && !answer.truncated ? parseKeySet(answer.body.toString('utf8')) : null;
    if (!keys) ctx.logger.warn({ event: 'client_keys.unusable', ...log, status: answer.status }, "a client's keys can not be used");
    return keys;
  } catch (error) {
    if (!(error instanceof OutboundError)) throw error;
    ctx.logger.warn({ event: 'client_keys.unreachable', ...log, reason: error.reason }, "a client's keys can not be fetched");
    return null;
  }
}

/**
 * The keys registered by value, imported once for as long as the client is remembered: parsing and checking them again for each JWT would cost more than
 * verifying it.
 */
export const registeredKeys = ofEach((jwks: object): ClientKeys | null => importKeySet(jwks));

/** The client's keys: registered by value, or fetched and remembered for a minute. */
async function keysOf(ctx: Context, client: Client): Promise<ClientKeys | null> {
  if (client.jwks !== null) return registeredKeys(client.jwks);
  const uri = client.jwks_uri;
  return uri === null ? null : remembered(ctx, 'client_keys', `${client.id} ${uri}`, (shared) => fetchKeys(shared, client, uri));
}

/** Reads the keys again. What is known stays while there is nothing better: anybody can name a key that isn't there. */
async function readAnew(ctx: Context, client: Client, uri: string): Promise<ClientKeys | null> {
  const anew = await fetchKeys(ctx, client, uri);
  if (anew === null) return null;
  const key = `${client.id} ${uri}`;
  ctx.cache.forget(ctx.environment.id, 'client_keys', key);
  return remembered(ctx, 'client_keys', key, async () => anew);
}

type Reread = { allowedAt: number; running: Promise<ClientKeys | null> | null };

/** The keys anew, for a `kid` that isn't among the remembered ones; at most every few seconds, lest made-up names become requests. */
async function refetchedKeys(ctx: Context, client: Client): Promise<ClientKeys | null> {
  const uri = client.jwks_uri;
  if (uri === null || client.jwks !== null) return null;
  const now = ctx.clock.now().getTime();
  const reread = await ctx.cache.get<Reread>(ctx.environment.id, 'rereads', `keys ${client.id}`, async () => ({
    allowedAt: 0,
    running: null,
  }));
  if (reread && now >= reread.allowedAt) {
    reread.allowedAt = now + refetchPauseMs;
    reread.running = readAnew(ctx, client, uri).finally(() => (reread.running = null));
  }
  return reread?.running ?? null;
}

const hasKid = (keys: ClientKeys, kid: string | undefined) => kid === undefined || keys.some((key) => key.kid === kid);

/** What a JWT of a client is for, as its `typ` says it: one that says the other is none (RFC 8725 3.11, RFC 9101 10.8). */
type ClientJwtType = 'client-authentication+jwt' | 'oauth-authz-req+jwt';
const maxLength = 16_384;

/**
 * The claims of a JWT that the client signed with one of its registered keys (RFC 7523 3, OIDC Core 6.1). The token doesn't choose how it
 * is verified: keys come from the registration, algorithms from the client's profile (RFC 8725 3.1, 3.10). What it claims is the caller's
 * to check, time included.
 */
export async function verifyClientJwt(
  ctx: Context,
  client: Client,
  jwt: string,
  type: ClientJwtType,
): Promise<ClientJwt | ClientJwtRefusal> {
  if (jwt.length > maxLength) return { reason: 'the JWT is too long' };
  try {
    const { alg, kid, typ, crit } = decodeProtectedHeader(jwt);
    if (crit !== undefined) return { reason: 'the JWT asks for an extension that is not supported' };
    const algorithms = algorithmsOfClient(client);
    if (alg === undefined || !algorithms.includes(alg as never)) return { reason: `the JWT must be signed with ${algorithms.join(', ')}` };
    if (typ !== undefined && !['jwt', type].includes(typ.toLowerCase().replace(/^application\//, '')))
      return { reason: 'the JWT is of another type' };
    let keys = await keysOf(ctx, client);
    if (keys === null || !hasKid(keys, kid)) keys = (await refetchedKeys(ctx, client)) ?? keys;
    if (keys === null) return { reason: 'the client has no key to verify the JWT with' };
    const payload = jsonObject(await signedBy(keys, jwt, alg, kid));
    return payload ? { payload } : { reason: 'the JWT holds no claims' };
  } catch (error) {
    if (error instanceof errors.JOSEError || error instanceof TypeError || error instanceof SyntaxError) {
      return { reason: 'the JWT is not signed with a key of the client' };
    }
    throw error;
  }
}

/** A few seconds of difference between the client's clock and ours (FAPI 2.0: 10 s are to be taken, 60 s to be refused). */
export const clientClockSkewSeconds = 10;
