import { run, type Scope } from '../scope.js';

/** A row of `saml_assertions`: an assertion that somebody signed in with. `digest` is of its ID, with its issuer. */
export type SamlAssertionRow = { environment_id: string; connection_id: string; digest: Buffer; expires_at: Date };

/** Takes an assertion, once. False when it was taken before, at whichever process. */
export async function takeSamlAssertion(
  scope: Scope,
  { connection_id, digest, expires_at }: Omit<SamlAssertionRow, 'environment_id'>,
): Promise<boolean> {
  const text = `insert into saml_assertions (environment_id, connection_id, digest, expires_at) values ($1, $2, $3, $4)
      on conflict do nothing returning 1`;
  const rows = await run(scope, { name: 'saml_assertions.take', text }, [connection_id, digest, expires_at]);
  return rows.length > 0;
}
