import { pinRpId } from '../../db/tables/environments.js';
import type { Context } from '../context.js';
import { originOfHost, type Environment } from '../environment.js';

/**
 * The domain that the environment's passkeys belong to (WebAuthn L3 5.1.2): fixed with the first passkey, the issuer's host until then; never a
 * parent domain, which others may share.
 */
export const rpIdOf = ({ passkey_rp_id, issuer }: Pick<Environment, 'passkey_rp_id' | 'issuer'>): string =>
  passkey_rp_id ?? new URL(issuer).hostname;

/**
 * The origin that a browser must state: exactly that of the host which was asked.
 * @param host the Host header
 * @returns null when passkeys are for no such origin of the environment, so that none counts there
 */
export function requestedOrigin({ environment }: Pick<Context, 'environment'>, host: string | undefined): string | null {
  const origin = originOfHost(environment, host);
  return origin !== null && environment.passkey_origins.includes(origin) ? origin : null;
}

/** The document under `/.well-known/webauthn` of the RP id's host: where else its passkeys may be used (WebAuthn L3 5.11.1). */
export const relatedOrigins = ({ passkey_origins }: Pick<Environment, 'passkey_origins'>) => ({ origins: passkey_origins });

/** Fixes the RP id, in the transaction that stores a passkey. False when another one was fixed meanwhile. */
export async function holdRpId(tx: Context, rp_id: string): Promise<boolean> {
  if (tx.environment.passkey_rp_id === rp_id) return true;
  return (await pinRpId(tx.scope, rp_id)) === rp_id;
}
