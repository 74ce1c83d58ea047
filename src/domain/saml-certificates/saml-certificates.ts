import { createPrivateKey, type KeyObject } from 'node:crypto';
import { Duplicate } from '../../db/connection/failures.js';
import { insertSamlCertificate, listSamlCertificates, type SamlCertificateRow } from '../../db/tables/saml_certificates.js';
import { uuidv7 } from '../../lib/random.js';
import { remembered, transaction, type Context } from '../context.js';
import { selfSignedCertificate } from './self-signed.js';

/** A certificate with its key, imported once. */
export type SamlKey = Pick<SamlCertificateRow, 'id' | 'status' | 'pem' | 'expires_at'> & { readonly privateKey: KeyObject };

/** The environment's certificates: the primary one signs, every one's key decrypts. */
export type SamlKeys = { readonly primary: SamlKey; readonly all: readonly SamlKey[] };

export type NewSamlCertificate = Pick<SamlCertificateRow, 'id' | 'pem' | 'private_key_sealed' | 'expires_at' | 'created_at' | 'updated_at'>;

const lifetimeYears = 10;

/** A new RSA key with a certificate of its own for ten years. The private part comes sealed. Makes no statement: call it outside of any transaction. */
export async function mintSamlCertificate(ctx: Pick<Context, 'crypto' | 'clock' | 'environment'>): Promise<NewSamlCertificate> {
  const pair = await ctx.crypto.newKeyPair('RS256');
  const now = ctx.clock.now();
  const id = uuidv7(now.getTime());
  // Whole seconds: X.509 has no others.
  const from = new Date(Math.floor(now.getTime() / 1000) * 1000);
  const expires_at = new Date(from);
  expires_at.setUTCFullYear(from.getUTCFullYear() + lifetimeYears);
  const pem = await selfSignedCertificate(pair, { name: new URL(ctx.environment.issuer).host, from, until: expires_at });
  const key = pair.privateKey.export({ type: 'pkcs8', format: 'pem' }) as string;
  const private_key_sealed = ctx.crypto.sealer.seal(key, `saml_certificates/${id}`);
  return { id, pem, private_key_sealed, expires_at, created_at: now, updated_at: now };
}

async function loadSamlKeys(ctx: Context): Promise<SamlKeys | null> {
  const rows = await listSamlCertificates(ctx.scope);
  const all = rows.map(({ id, status, pem, expires_at, private_key_sealed }): SamlKey => {
    const privateKey = createPrivateKey(ctx.crypto.sealer.open(private_key_sealed, `saml_certificates/${id}`));
    return { id, status, pem, expires_at, privateKey };
  });
  const primary = all.find(({ status }) => status === 'primary');
  return primary ? { primary, all } : null;
}

const keysOf = (ctx: Context) => remembered(ctx, 'saml_certificates', 'keys', loadSamlKeys);

/** The environment's certificates, remembered until one of them changes; its first use makes the primary one, however many processes come at once. @throws {Error} when it can't be read back */
export async function samlKeys(ctx: Context): Promise<SamlKeys> {
  const known = await keysOf(ctx);
  if (known) return known;
  const certificate = await mintSamlCertificate(ctx);
  await transaction(ctx, (tx) => insertSamlCertificate(tx.scope, { ...certificate, status: 'primary' })).catch((error: unknown) => {
    if (!(error instanceof Duplicate)) throw error;
  });
  const made = await loadSamlKeys(ctx);
  if (!made) throw new Error(`environment ${ctx.environment.slug} has no primary SAML certificate`);
  return made;
}
