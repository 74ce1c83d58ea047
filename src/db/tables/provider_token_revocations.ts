import type { Knex } from 'knex';
import { oldestWaitingSeconds, queueRows, recordAttempts, type AttemptRecord, type WaitingRow } from '../queue-rows.js';
import { run, type Scope } from '../scope.js';
import type { ProviderAuthMethod } from './provider_tokens.js';

/**
 * A row of `provider_token_revocations`: a token that ended here, and is to be revoked at its provider (RFC 7009). `tokens_sealed` is sealed for
 * `provider_tokens/<token id>`, the secret for `connections/<connection id>`.
 */
export type ProviderTokenRevocationRow = WaitingRow & {
  connection_id: string;
  token_id: string;
  revocation_endpoint: string;
  auth_method: ProviderAuthMethod;
  provider_client_id: string;
  provider_client_secret_sealed: Buffer | null;
  tokens_sealed: Buffer | null;
  last_response_status: number | null;
  completed_at: Date | null;
};

/**
 * What a refresh gave that nobody waits for any more is revoked too: its token ended meanwhile, perhaps because its connection leads elsewhere by now. So it goes
 * with what the endpoint knew us by when it gave it, and never with what another provider does.
 */
export async function queueProviderRevocation(
  scope: Scope,
  token: Pick<
    ProviderTokenRevocationRow,
    'connection_id' | 'token_id' | 'revocation_endpoint' | 'auth_method' | 'provider_client_id' | 'provider_client_secret_sealed'
  > & { tokens_sealed: Buffer },
): Promise<void> {
  const text = `with queued as (
      insert into provider_token_revocations (environment_id, id, connection_id, token_id, revocation_endpoint, auth_method, provider_client_id,
        provider_client_secret_sealed, tokens_sealed, next_attempt_at, created_at)
      select e.id, uuid_v7(now()), $2::uuid, $3::uuid, $4, $5, $6, $7::bytea, $8::bytea, now(), now() from environments e where e.id = $1 returning id)
    select notify_after_commit('outbox', 'provider_revocation') from queued`;
  const values = [
    token.connection_id, token.token_id, token.revocation_endpoint, token.auth_method, token.provider_client_id, token.provider_client_secret_sealed,
    token.tokens_sealed,
  ]; // prettier-ignore
  await run(scope, { name: 'provider_token_revocations.queue', text }, values);
}

/** What waits to be revoked: each endpoint is a destination, so that a slow one doesn't hold up the others. */
export const providerRevocationQueueRows = queueRows<ProviderTokenRevocationRow>(
  'provider_token_revocations',
  'provider_revocation',
  'revocation_endpoint',
);

export type ProviderRevocationRecord = AttemptRecord & { readonly last_response_status: number | null; readonly at: Date };

/** Records attempts; of what is over no token is kept. @returns the ids of those whose lease was not lost meanwhile */
export function recordProviderRevocations(knex: Knex, records: readonly ProviderRevocationRecord[]): Promise<string[]> {
  const set = `last_response_status = g.last_response_status, completed_at = case when g.retry_in_ms is null then g.at end,
    tokens_sealed = case when g.retry_in_ms is not null then q.tokens_sealed end,
    provider_client_secret_sealed = case when g.retry_in_ms is not null then q.provider_client_secret_sealed end`;
  const columns = 'last_response_status integer, at timestamptz';
  return recordAttempts(knex, { name: 'provider_token_revocations', set, columns }, records);
}

/** Seconds for which the oldest due revocation has waited; 0 when none waits. */
export const oldestDueProviderRevocationSeconds = (knex: Knex): Promise<number> =>
  oldestWaitingSeconds(knex, 'provider_token_revocations', 'next_attempt_at');
