import type { Deps } from '../../domain/context.js';
import { askProvider } from '../../domain/provider-tokens/provider-endpoint.js';
import { openTokens } from '../../domain/provider-tokens/tokens.js';
import { providerSecretAad } from '../../domain/connections/connections.js';
import {
  oldestDueProviderRevocationSeconds,
  providerRevocationQueueRows,
  recordProviderRevocations,
  type ProviderTokenRevocationRow,
} from '../../db/tables/provider_token_revocations.js';
import type { Loop } from '../../platform/loop.js';
import { startQueueLoop } from '../queue/loop.js';
import { sendingQueue, timeoutMs, type RowSender } from '../queue/row-sender.js';

const providerRevocations: RowSender<ProviderTokenRevocationRow> = {
  name: 'provider_revocation',
  rows: providerRevocationQueueRows,
  // After the last one, a good day later, the provider is left alone.
  retryDelaysMs: [10_000, 60_000, 600_000, 3_600_000, 21_600_000, 57_600_000],
  oldestDueSeconds: oldestDueProviderRevocationSeconds,
  record: recordProviderRevocations,

  /** One POST (RFC 7009 2.1), of the refresh token where there is one: with it the provider ends what it gave. */
  async post(deps, row, signal) {
    const { token_id, connection_id, tokens_sealed, provider_client_secret_sealed: sealed, provider_client_id: id, auth_method } = row;
    if (tokens_sealed === null) return { response_status: null, error: null };
    const { access_token, refresh_token } = openTokens(deps, token_id, tokens_sealed);
    const secret = sealed && deps.crypto.sealer.open(sealed, providerSecretAad(connection_id));
    const body =
      refresh_token === null
        ? { token: access_token, token_type_hint: 'access_token' }
        : { token: refresh_token, token_type_hint: 'refresh_token' };
    const { status } = await askProvider(deps, { url: row.revocation_endpoint, as: { id, secret, auth_method }, body, signal }, timeoutMs);
    return { response_status: status, error: status >= 200 && status < 300 ? null : 'refused' };
  },

  noteUnsent: (logger, err, { id }) =>
    logger.warn({ event: 'provider_revocation.unsent', err, id }, 'a token at a provider could not be revoked'),
  note(logger, { environment_id, connection_id, id, attempt_count }, { ok, error, response_status, retry_in_ms }, lost) {
    const log = { environment_id, connection_id, id, attempt: attempt_count + 1, response_status };
    if (lost) logger.warn({ event: 'provider_revocation.lease_lost', id }, 'another process has taken over a revocation');
    else if (ok) logger.info({ event: 'provider_revocation.done', ...log }, 'a token was revoked at its provider');
    else
      logger.warn(
        { event: 'provider_revocation.failed', ...log, reason: error, last: retry_in_ms === null },
        'a provider did not revoke a token',
      );
  },
};

/** Revokes tokens at their providers until stopped; woken when one ends here. */
export const startProviderRevocations = (deps: Deps): Loop => startQueueLoop(sendingQueue(providerRevocations, deps), deps);
