import { randomBytes } from 'node:crypto';
import type * as OneTimePasswords from 'otpauth';
import { spendTotpStep, type TotpRow } from '../../db/tables/authenticators.js';
import { onDemand } from '../../lib/on-demand.js';
import type { Aad } from '../../lib/seal.js';
import type { Context } from '../context.js';
import type { SingleUse } from '../proofs/single-use.js';

/** Loaded for the first person who has an authenticator app. */
const otpauth = () => onDemand('otpauth') as typeof OneTimePasswords;

/** What a new TOTP is made of (RFC 6238): what every authenticator app knows. Bytes, digits, seconds. */
export const totpDefaults = { algorithm: 'SHA1', digits: 6, period: 30 } as const;
const secretLength = 20;
/** Steps on either side that are taken, for clocks that differ. */
const window = 1;

/** Where a TOTP's secret belongs. */
export const totpAad = (id: string): Aad => `authenticators/${id}`;

type Parameters = Pick<TotpRow, 'algorithm' | 'digits' | 'period'>;

/** A new secret, 160 bits in base32 (RFC 4226 4, R6). */
export const mintTotpSecret = (): string => new (otpauth().Secret)({ buffer: new Uint8Array(randomBytes(secretLength)).buffer }).base32;

/** The address that an authenticator app reads from the QR code (Key Uri Format). */
export const otpauthUri = (secret: string, { issuer, label, ...parameters }: Parameters & { issuer: string; label: string }): string =>
  new (otpauth().TOTP)({ issuer, label, secret, ...parameters }).toString();

/** The time step whose code was typed, one step either way; null when it is none of theirs. Spaces and dashes are no part of a code. */
export function stepOfCode(secret: string, { algorithm, digits, period }: Parameters, typed: string, now: Date): number | null {
  const token = typed.replaceAll(/[\s-]/g, '');
  if (!/^\d{6,8}$/.test(token) || token.length !== digits) return null;
  const { Secret, TOTP } = otpauth();
  const timestamp = now.getTime();
  const delta = TOTP.validate({ token, secret: Secret.fromBase32(secret), algorithm, digits, period, timestamp, window });
  return delta === null ? null : TOTP.counter({ period, timestamp }) + delta;
}

/** The secret of a TOTP, in base32. */
export const totpSecretOf = (ctx: Pick<Context, 'crypto'>, row: TotpRow): string =>
  ctx.crypto.sealer.open(row.secret_sealed, totpAad(row.id));

/**
 * What the code of an active TOTP uses up; null for a wrong code, and for one of a step that was spent (RFC 6238 5.2).
 * @throws {SealError} when no key of this process opens the secret
 */
export function totpUse(ctx: Context, row: TotpRow, typed: string): SingleUse['spend'] | null {
  const now = ctx.clock.now();
  const step = stepOfCode(totpSecretOf(ctx, row), row, typed, now);
  if (step === null || (row.last_step !== null && row.last_step >= step)) return null;
  return (tx) => spendTotpStep(tx.scope, row.id, step, now);
}
