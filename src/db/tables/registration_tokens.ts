import { rowFunctions, type RecordRow } from '../records.js';
import { remove, run, table, type Scope } from '../scope.js';

/** A row of `registration_tokens`: an initial access token (RFC 7591 1.2), and what clients that register with it may have. */
export type InitialAccessTokenRow = RecordRow & {
  name: string;
  digest: Buffer;
  expires_at: Date;
  /** Null: any number. */
  max_uses: number | null;
  use_count: number;
  grant_types: string[];
  /** Null: whatever is on offer. */
  scopes: string[] | null;
  /** Whether its clients are verified. */
  verified: boolean;
};

export const { insert: insertInitialAccessToken } = rowFunctions<InitialAccessTokenRow>('registration_tokens');

export const findInitialAccessToken = async (scope: Scope, digest: Buffer): Promise<InitialAccessTokenRow | null> =>
  (await table<InitialAccessTokenRow>(scope, 'registration_tokens').where({ digest }).first()) ?? null;

/** Uses the token once more, if it may be; of requests at once as many succeed as it has uses left. */
export async function spendInitialAccessToken(scope: Scope, id: string, now: Date): Promise<boolean> {
  const text = `update registration_tokens set use_count = use_count + 1
      where environment_id = $1 and id = $2 and expires_at > $3 and (max_uses is null or use_count < max_uses) returning id`;
  const rows = await run<{ id: string }>(scope, { name: 'registration_tokens.spend', text }, [id, now]);
  return rows.length === 1;
}

/** Deletes a token; its clients stay. */
export async function deleteInitialAccessToken(scope: Scope, id: string): Promise<void> {
  await remove<InitialAccessTokenRow>(scope, 'registration_tokens', { id });
}
