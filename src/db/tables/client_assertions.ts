import { run, type Scope } from '../scope.js';

/** Spends the `jti` of an assertion; false when it was spent before (RFC 7523 3, 7). */
export async function spendAssertion(scope: Scope, client_id: string, jti_digest: Buffer, expires_at: Date): Promise<boolean> {
  const text = `insert into client_assertions (environment_id, client_id, jti_digest, expires_at) values ($1, $2, $3, $4)
      on conflict do nothing returning client_id`;
  const rows = await run<{ client_id: string }>(scope, { name: 'client_assertions.spend', text }, [client_id, jti_digest, expires_at]);
  return rows.length > 0;
}
