import { createPrivateKey, createPublicKey, type KeyObject } from 'node:crypto';
import { calculateJwkThumbprint, type JWK } from 'jose';
import { Duplicate } from '../../db/failures.js';
import { insertSigningKey, listPublishedSigningKeys, type SigningKeyRow } from '../../db/tables/signing_keys.js';
import { remembered, transaction, type Context } from '../context.js';
import type { PublicEntry } from '../cache/cache.js';
import { publicMaxAgeMs } from '../environments/environments.js';
import { emit } from '../events/emit.js';
import { signingKeyData } from '../events/data.js';

/** A published key, imported once and kept as a KeyObject. */
export type ImportedKey = { readonly kid: string; readonly status: SigningKeyRow['status']; readonly publicKey: KeyObject };

/** The keys of an environment: one that signs, and all that verify. */
export type KeyRing = {
  readonly kid: string;
  readonly privateKey: KeyObject;
  readonly byKid: ReadonlyMap<string, ImportedKey>;
  /** The JWKS document (RFC 7517 5) as it is sent. A string goes out in one write with its headers, a buffer in two. */
  readonly jwks: string;
};

/** A new key pair; `kid` is its RFC 7638 thumbprint. The private part comes sealed. */
export async function generateSigningKey(
  ctx: Pick<Context, 'sealer' | 'newKeyPair'>,
): Promise<Pick<SigningKeyRow, 'kid' | 'public_jwk' | 'private_sealed'>> {
  const { publicKey, privateKey } = await ctx.newKeyPair();
  const { kty, n, e } = publicKey.export({ format: 'jwk' }) as JWK;
  const kid = await calculateJwkThumbprint({ kty, n, e } as JWK);
  const private_sealed = ctx.sealer.seal(JSON.stringify(privateKey.export({ format: 'jwk' })), `signing_keys/${kid}`);
  return { kid, public_jwk: { kty, n, e, kid, use: 'sig', alg: 'RS256' } as JWK, private_sealed };
}

async function loadKeyRing(ctx: Context): Promise<KeyRing | null> {
  const rows = await listPublishedSigningKeys(ctx.scope);
  const primary = rows.find((row) => row.status === 'primary');
  if (!primary) return null;
  const privateJwk = JSON.parse(ctx.sealer.open(primary.private_sealed, `signing_keys/${primary.kid}`)) as JWK;
  const imported = rows.map((row): ImportedKey => ({
    kid: row.kid,
    status: row.status,
    publicKey: createPublicKey({ key: row.public_jwk as never, format: 'jwk' }),
  }));
  return {
    kid: primary.kid,
    privateKey: createPrivateKey({ key: privateJwk as never, format: 'jwk' }),
    byKid: new Map(imported.map((key) => [key.kid, key])),
    jwks: JSON.stringify({ keys: rows.map((row) => row.public_jwk) }),
  };
}

/** The environment's keys, remembered until one of them changes. @throws {Error} when none of them is primary */
export async function keyRing(ctx: Context): Promise<KeyRing> {
  const ring = await remembered(ctx, 'signing_keys', 'ring', loadKeyRing);
  if (!ring) throw new Error(`environment ${ctx.environment.slug} has no primary signing key`);
  return ring;
}

/** The keys for the JWKS, which everybody may keep for {@link publicMaxAgeMs}. */
export const recallPublicKeyRing = (ctx: Context): PublicEntry<KeyRing> | undefined =>
  ctx.cache.recallPublic(ctx.environment.id, 'signing_keys', 'ring', publicMaxAgeMs);

/** Makes the first key of an environment its primary one, unless it has one; safe when several processes do it at once. */
export async function ensureSigningKey(ctx: Context): Promise<void> {
  const existing = await listPublishedSigningKeys(ctx.scope);
  if (existing.some((row) => row.status === 'primary')) return;
  const key = await generateSigningKey(ctx);
  const now = ctx.clock.now();
  try {
    await transaction(ctx, async (tx) => {
      const row = await insertSigningKey(tx.scope, {
        ...key,
        algorithm: 'RS256',
        status: 'primary',
        activated_at: now,
        created_at: now,
        updated_at: now,
      });
      await emit(tx, 'signing_key.generated', signingKeyData(row));
    });
  } catch (error) {
    if (!(error instanceof Duplicate)) throw error;
  }
}
