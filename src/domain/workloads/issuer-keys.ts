import { jsonObject, type JsonObject } from '../../lib/json-object.js';
import { mayAgain } from '../cache/pause.js';
import { importKeySet, type ClientKey } from '../clients/key-set.js';
import { remembered, type Context } from '../context.js';
import { noteIssuerError, type TrustedIssuerRow } from '../../db/tables/trusted_issuers.js';
import { OutboundError } from '../../platform/fetch/outbound-error.js';

const timeoutMs = 5_000;
const maxResponseBytes = 256 * 1024;
/** A key that isn't known makes for another look at most once in this time. */
const refetchPauseMs = 60_000;
/** Platforms publish more keys than a client has. */
const maxKeys = 100;

/** The keys of an issuer, or why they can't be had. */
export type IssuerKeys = { readonly keys: readonly ClientKey[]; readonly error: string | null };

/** What a document at the issuer says. @throws {Unusable} when there is none */
async function fetchJson(ctx: Context, url: string, what: string): Promise<JsonObject> {
  const answer = await ctx.fetch.request(url, {
    headers: { accept: 'application/json, application/jwk-set+json' },
    timeoutMs,
    maxResponseBytes,
  });
  if (answer.status !== 200) throw new Unusable(`${what}: status ${answer.status}`);
  if (answer.truncated) throw new Unusable(`${what} is too long`);
  let document: unknown;
  try {
    document = JSON.parse(answer.body.toString('utf8'));
  } catch {
    throw new Unusable(`${what} is no JSON`);
  }
  const members = jsonObject(document);
  if (members === null) throw new Unusable(`${what} is no object`);
  return members;
}

class Unusable extends Error {}

/** The address of the keys: the one that was set, else that of the issuer's own metadata, which must be its own (OIDC Discovery 4.3, RFC 8414 3.3). */
async function keysUrl(ctx: Context, { issuer, jwks_uri }: TrustedIssuerRow): Promise<string> {
  if (jwks_uri !== null) return jwks_uri;
  const metadata = await fetchJson(ctx, `${issuer.replace(/\/$/, '')}/.well-known/openid-configuration`, 'the metadata');
  if (metadata['issuer'] !== issuer) throw new Unusable('the metadata is of another issuer');
  const found = metadata['jwks_uri'];
  if (typeof found !== 'string') throw new Unusable('the metadata has no jwks_uri');
  return found;
}

async function fetchKeys(ctx: Context, issuer: TrustedIssuerRow): Promise<IssuerKeys> {
  try {
    const keys = importKeySet(await fetchJson(ctx, await keysUrl(ctx, issuer), 'the key set'), maxKeys);
    if (keys === null || keys.length === 0) throw new Unusable('the key set has no usable key');
    return { keys, error: null };
  } catch (error) {
    if (error instanceof OutboundError) return { keys: [], error: `could not be reached (${error.reason})` };
    if (error instanceof Unusable) return { keys: [], error: error.message };
    throw error;
  }
}

/** What the issuer's record says of its keys follows what came of fetching them. */
async function noted(ctx: Context, issuer: TrustedIssuerRow): Promise<IssuerKeys> {
  const fetched = await fetchKeys(ctx, issuer);
  if (fetched.error !== null)
    ctx.logger.warn(
      { event: 'issuer_keys.unusable', environment_id: ctx.environment.id, trusted_issuer_id: issuer.id, reason: fetched.error },
      'the keys of a trusted issuer can not be used',
    );
  if (fetched.error !== issuer.last_error) await noteIssuerError(ctx.scope, issuer.id, fetched.error, ctx.clock.now());
  return fetched;
}

const keyOf = ({ id, issuer, jwks_uri }: TrustedIssuerRow) => `${id} ${jwks_uri ?? issuer}`;

/** The keys of the issuer: as they were given, or fetched by the guarded fetch and remembered for a minute, one request at a time. */
async function keysOf(ctx: Context, issuer: TrustedIssuerRow): Promise<IssuerKeys> {
  if (issuer.jwks !== null) return { keys: importKeySet(issuer.jwks, maxKeys) ?? [], error: null };
  const fetched = await remembered(ctx, 'issuer_keys', keyOf(issuer), (shared) => noted(shared, issuer));
  return fetched ?? { keys: [], error: 'could not be reached' };
}

/** The same, fetched anew when a key of this id isn't among them: issuers change their keys, and made-up ids must not become requests. */
export async function issuerKeys(ctx: Context, issuer: TrustedIssuerRow, kid: string | undefined): Promise<IssuerKeys> {
  const known = await keysOf(ctx, issuer);
  const missing = kid !== undefined && known.error === null && !known.keys.some((key) => key.kid === kid);
  if (issuer.jwks !== null || !missing) return known;
  if (!(await mayAgain(ctx, `issuer ${issuer.id}`, refetchPauseMs))) return known;
  ctx.cache.forget(ctx.environment.id, 'issuer_keys', keyOf(issuer));
  return keysOf(ctx, issuer);
}
