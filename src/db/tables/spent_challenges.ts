import { run, type Scope } from '../scope.js';

/** Spends a WebAuthn challenge by a digest of its nonce: true for one caller, whatever the process, and false for all later ones. */
export async function spendNonce(scope: Scope, nonce_digest: Buffer, expires_at: Date): Promise<boolean> {
  const text = `insert into spent_challenges (environment_id, nonce_digest, expires_at) values ($1, $2, $3) on conflict do nothing returning nonce_digest`;
  const rows = await run(scope, { name: 'spent_challenges.spend', text }, [nonce_digest, expires_at]);
  return rows.length > 0;
}
