import { jsonObject, type JsonObject } from '../../lib/json-object.js';
import { importKeySet, type ClientKey } from '../clients/key-set.js';
import type { Cache } from '../cache/cache.js';
import { remembered, type Context } from '../context.js';
import { noteIssuerError, type TrustedIssuerRow } from '../../db/tables/trusted_issuers.js';
import { OutboundError } from '../../platform/fetch/outbound-error.js';
import { memo, ofEach } from '../../lib/memo.js';

/** For metadata and keys together. */
const timeoutMs = 5_000;
const maxResponseBytes = 256 * 1024;
/** An unknown key causes another fetch at most once in this time. */
const refetchPauseMs = 60_000;
/** How long fetched keys are used without fetching them again. */
const freshMs = 60_000;
/** How long cached keys are used while the issuer can't be reached. */
const cacheMs = 3_600_000;
/** How long an issuer that failed isn't asked again. */
const failedPauseMs = 10_000;
/** Platforms publish more keys than a client has. */
const maxKeys = 100;
const maxIssuers = 1_000;

/** Whose keys are asked for, and what tells where they are, if not its metadata of OpenID Connect. `last_error` is left out where no record keeps what came of it. */
export type KeyOwner = Pick<TrustedIssuerRow, 'id' | 'issuer' | 'jwks_uri' | 'jwks'> &
  Partial<Pick<TrustedIssuerRow, 'last_error'>> & { readonly metadata?: 'ssf-configuration' | 'oauth-authorization-server' };

/** The keys of an issuer, or why they can't be had. */
export type IssuerKeys = { readonly keys: readonly ClientKey[]; readonly error: string | null };

/** What a document at the issuer says. @throws {UnusableMetadata} when there is none */
async function fetchJson(ctx: Context, url: string, what: string, started: number): Promise<JsonObject> {
  const answer = await ctx.net.fetch.request(url, {
    headers: { accept: 'application/json, application/jwk-set+json' },
    timeoutMs: Math.max(1, timeoutMs - Math.round(performance.now() - started)),
    maxResponseBytes,
  });
  if (answer.status !== 200) throw new UnusableMetadata(`${what}: status ${answer.status}`);
  if (answer.truncated) throw new UnusableMetadata(`${what} is too long`);
  let document: unknown;
  try {
    document = JSON.parse(answer.body.toString('utf8'));
  } catch {
    throw new UnusableMetadata(`${what} is no JSON`);
  }
  const members = jsonObject(document);
  if (members === null) throw new UnusableMetadata(`${what} is no object`);
  return members;
}

export class UnusableMetadata extends Error {}

/** Of OpenID Connect the path comes first, else last (SSF 1.0 7.2.1, RFC 8414 3.1). */
function metadataUrl({ issuer, metadata }: Pick<KeyOwner, 'issuer' | 'metadata'>): string {
  const base = issuer.replace(/\/$/, '');
  if (metadata === undefined || !URL.canParse(base)) return `${base}/.well-known/openid-configuration`;
  const { origin, pathname } = new URL(base);
  return `${origin}/.well-known/${metadata}${pathname === '/' ? '' : pathname}`;
}

/** The issuer's own metadata (OIDC Discovery 4.3, RFC 8414 3.3). */
async function fetchMetadata(ctx: Context, owner: Pick<KeyOwner, 'issuer' | 'metadata'>, started: number): Promise<JsonObject> {
  const metadata = await fetchJson(ctx, metadataUrl(owner), 'the metadata', started);
  if (metadata['issuer'] !== owner.issuer) throw new UnusableMetadata('the metadata is of another issuer');
  return metadata;
}

/** What the issuer says of itself as a transmitter of signals (SSF 1.0 7.1), or as an authorization server (RFC 8414). @throws {OutboundError | UnusableMetadata} */
export const issuerMetadata = (ctx: Context, issuer: string, metadata: NonNullable<KeyOwner['metadata']>): Promise<JsonObject> =>
  fetchMetadata(ctx, { issuer, metadata }, performance.now());

/** The address of the keys: the one that was set, else that of the issuer's own metadata. */
async function keysUrl(ctx: Context, owner: KeyOwner, started: number): Promise<string> {
  if (owner.jwks_uri !== null) return owner.jwks_uri;
  const found = (await fetchMetadata(ctx, owner, started))['jwks_uri'];
  if (typeof found !== 'string') throw new UnusableMetadata('the metadata has no jwks_uri');
  return found;
}

async function fetchKeys(ctx: Context, issuer: KeyOwner): Promise<IssuerKeys> {
  const started = performance.now();
  try {
    const url = await keysUrl(ctx, issuer, started);
    const keys = importKeySet(await fetchJson(ctx, url, 'the key set', started), maxKeys);
    if (keys === null || keys.length === 0) throw new UnusableMetadata('the key set has no usable key');
    return { keys, error: null };
  } catch (error) {
    if (error instanceof OutboundError) return { keys: [], error: `could not be reached (${error.reason})` };
    if (error instanceof UnusableMetadata) return { keys: [], error: error.message };
    throw error;
  }
}

/** What the issuer's record says of its keys follows what came of fetching them. */
async function noted(ctx: Context, issuer: KeyOwner): Promise<IssuerKeys> {
  const fetched = await fetchKeys(ctx, issuer);
  if (fetched.error !== null)
    ctx.logger.warn(
      { event: 'issuer_keys.unusable', environment_id: ctx.environment.id, issuer: issuer.issuer, reason: fetched.error },
      'the keys of an issuer can not be used',
    );
  if (issuer.last_error !== undefined && fetched.error !== issuer.last_error)
    await noteIssuerError(ctx.scope, issuer.id, fetched.error, ctx.clock.now());
  return fetched;
}

/** What a process has of an issuer. */
type CachedKeys = {
  /** What was read last, and when, by `Clock.elapsed`; null before. */
  read: { readonly keys: readonly ClientKey[]; readonly at: number } | null;
  /** Of the last attempt; null when it read the keys. */
  error: string | null;
  dueAt: number;
  /** When an unknown key may cause the next fetch, and the fetch under way. */
  refetchAt: number;
  refetch: Promise<void> | null;
};

/** By the cache of the process, so that each process of a test has its own. */
const keysByIssuer = ofEach((_cache: Cache) =>
  memo((_issuer: string): CachedKeys => ({ read: null, error: null, dueAt: 0, refetchAt: 0, refetch: null }), maxIssuers),
);

const cachedOf = ({ cache, environment }: Context, { id, issuer, jwks_uri }: KeyOwner): CachedKeys =>
  keysByIssuer(cache)(`${environment.id} ${id} ${jwks_uri ?? issuer}`);

/** Fetches the keys; whoever asks meanwhile waits for the same answer. What was read before stays when they can't be had. */
async function attempt(ctx: Context, issuer: KeyOwner, cached: CachedKeys): Promise<void> {
  await remembered(ctx, 'issuer_keys', `${issuer.id} ${issuer.jwks_uri ?? issuer.issuer}`, async (shared) => {
    const { keys, error } = await noted(shared, issuer);
    const at = shared.clock.elapsed();
    cached.error = error;
    cached.dueAt = at + (error === null ? freshMs : failedPauseMs);
    if (error === null) cached.read = { keys, at };
    return null;
  });
}

/** The keys that serve now; an issuer that is away for an hour has none. */
function serving({ clock }: Context, { read, error }: CachedKeys): IssuerKeys {
  if (read && (error === null || clock.elapsed() - read.at < cacheMs)) return { keys: read.keys, error: null };
  return { keys: [], error: error ?? 'could not be reached' };
}

/**
 * The keys of the issuer: as they were given, or fetched by the guarded fetch and taken as they are for a minute. While the issuer is away those that were
 * read last serve, for an hour at most, and nobody waits for it.
 */
async function keysOf(ctx: Context, issuer: KeyOwner): Promise<IssuerKeys> {
  if (issuer.jwks !== null) return { keys: importKeySet(issuer.jwks, maxKeys) ?? [], error: null };
  const cached = cachedOf(ctx, issuer);
  if (ctx.clock.elapsed() < cached.dueAt) return serving(ctx, cached);
  const attempted = attempt(ctx, issuer, cached);
  const known = cached.error === null ? null : serving(ctx, cached);
  if (known?.error !== null) await attempted;
  // It is tried again by those who come next.
  else attempted.catch(() => undefined);
  return serving(ctx, cached);
}

/**
 * The same, fetched anew when a key of this id isn't among them: issuers change their keys, and made-up ids must not become requests, nor have those wait who
 * bring a key that is known.
 */
export async function issuerKeys(ctx: Context, issuer: KeyOwner, kid: string | undefined): Promise<IssuerKeys> {
  const known = await keysOf(ctx, issuer);
  const missing = kid !== undefined && known.error === null && !known.keys.some((key) => key.kid === kid);
  if (issuer.jwks !== null || !missing) return known;
  const cached = cachedOf(ctx, issuer);
  const now = ctx.clock.elapsed();
  if (now >= cached.refetchAt) {
    cached.refetchAt = now + refetchPauseMs;
    cached.refetch = attempt(ctx, issuer, cached).finally(() => (cached.refetch = null));
  }
  if (cached.refetch === null) return known;
  await cached.refetch;
  return serving(ctx, cached);
}
