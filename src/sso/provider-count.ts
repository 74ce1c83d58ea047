import type { Connection } from '../domain/connections/connections.js';
import type { Context } from '../domain/context.js';
import { PageError } from '../errors.js';
import type { Flow } from './flow.js';

/** Codes of answers that a provider should not give. */
const failures: readonly string[] = ['sso_provider_error', 'saml_invalid', 'saml_expired', 'saml_wrong_audience', 'saml_no_identity'];

type ProviderCall = { readonly ctx: Context; readonly connection: Connection; readonly purpose: Flow['purpose'] };

/** Counts what came of asking a provider who somebody is, by day and connection: the doctor tells of those that only fail. A connection's test counts for nothing. */
export function countAtProvider({ ctx, connection, purpose }: ProviderCall, outcome: 'sso_failed' | 'sso_succeeded'): void {
  if (purpose !== 'test') ctx.metrics.daily.add(ctx.environment.id, outcome, connection.id);
}

/** Counts what was refused because of the provider: not a person who says no, and not a browser that brings another one's answer. */
export function countFailureAtProvider(call: ProviderCall, error: unknown): void {
  if (error instanceof PageError && failures.includes(error.code)) countAtProvider(call, 'sso_failed');
}
