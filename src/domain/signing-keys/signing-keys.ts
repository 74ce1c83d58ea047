import { createPrivateKey, createPublicKey, type KeyObject } from 'node:crypto';
import { calculateJwkThumbprint, type JWK } from 'jose';
import type { SigningAlgorithm } from '../../lib/signing-algorithm.js';
import { listPublishedSigningKeys, type SigningKeyRow } from '../../db/tables/signing_keys.js';
import { remembered, type Context } from '../context.js';
import type { PublicEntry } from '../cache/cache.js';
import type { Environment } from '../environment.js';
import { publicMaxAgeMs } from '../environments/environments.js';

/** A published key, imported once and kept as a KeyObject. Its algorithm alone verifies with it (RFC 8725 3.1). */
export type ImportedKey = Pick<SigningKeyRow, 'kid' | 'status' | 'algorithm'> & { readonly publicKey: KeyObject };

export type Signer = Pick<SigningKeyRow, 'kid' | 'algorithm'> & { readonly privateKey: KeyObject };

/** The keys of an environment: one of each algorithm that signs, and all that verify. */
export type KeyRing = {
  readonly signers: ReadonlyMap<SigningAlgorithm, Signer>;
  readonly byKid: ReadonlyMap<string, ImportedKey>;
  /** The JWKS document (RFC 7517 5). */
  readonly jwks: string;
};

export type NewSigningKey = Pick<SigningKeyRow, 'kid' | 'algorithm' | 'public_jwk' | 'private_sealed'>;

/** A new key pair; `kid` is its RFC 7638 thumbprint, one that a command line doesn't take for an option. The private part comes sealed. */
export async function generateSigningKey(ctx: Pick<Context, 'crypto'>, algorithm: SigningAlgorithm, tries = 8): Promise<NewSigningKey> {
  const { publicKey, privateKey } = await ctx.crypto.newKeyPair(algorithm);
  const jwk = publicKey.export({ format: 'jwk' }) as JWK;
  const kid = await calculateJwkThumbprint(jwk);
  if (kid.startsWith('-') && tries > 1) return generateSigningKey(ctx, algorithm, tries - 1);
  const private_sealed = ctx.crypto.sealer.seal(JSON.stringify(privateKey.export({ format: 'jwk' })), `signing_keys/${kid}`);
  return { kid, algorithm, public_jwk: { ...jwk, kid, use: 'sig', alg: algorithm }, private_sealed };
}

function signerOf(ctx: Context, { kid, algorithm, private_sealed }: SigningKeyRow): Signer {
  const privateJwk = JSON.parse(ctx.crypto.sealer.open(private_sealed, `signing_keys/${kid}`)) as JWK;
  return { kid, algorithm, privateKey: createPrivateKey({ key: privateJwk as never, format: 'jwk' }) };
}

async function loadKeyRing(ctx: Context): Promise<KeyRing | null> {
  const rows = await listPublishedSigningKeys(ctx.scope);
  const signers = rows.filter((row) => row.status === 'primary').map((row) => signerOf(ctx, row));
  if (signers.length === 0) return null;
  const imported = rows.map((row): ImportedKey => ({
    kid: row.kid,
    status: row.status,
    algorithm: row.algorithm,
    publicKey: createPublicKey({ key: row.public_jwk as never, format: 'jwk' }),
  }));
  return {
    signers: new Map(signers.map((signer) => [signer.algorithm, signer])),
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

/** The keys from memory alone, if they may be trusted now. */
export const recallKeyRing = ({ cache }: Pick<Context, 'cache'>, environment: Environment): KeyRing | undefined =>
  cache.recall(environment.id, 'signing_keys', 'ring');

/** The keys for the JWKS, which everybody may keep for {@link publicMaxAgeMs}. */
export const recallPublicKeyRing = (ctx: Context): PublicEntry<KeyRing> | undefined =>
  ctx.cache.recallPublic(ctx.environment.id, 'signing_keys', 'ring', publicMaxAgeMs);

/**
 * The key that signs with the algorithm.
 * @throws {Error} when the environment doesn't sign with it, which what is saved rules out
 */
export async function signerFor(ctx: Context, algorithm: SigningAlgorithm): Promise<Signer> {
  const signer = (await keyRing(ctx)).signers.get(algorithm);
  if (!signer) throw new Error(`environment ${ctx.environment.slug} has no primary ${algorithm} key`);
  return signer;
}
