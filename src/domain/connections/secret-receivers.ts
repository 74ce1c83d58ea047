import type { ConnectionRow } from '../../db/tables/connections.js';
import { type Problem, unfit } from '../refusal.js';
import { keepsStream, signalsIssuerOf } from './connections.js';
import { strategyOf, type StrategyName } from './strategies.js';

export type SecretWay = Pick<ConnectionRow, 'strategy' | 'issuer' | 'token_endpoint'>;

/**
 * Where the client secret may be sent: the origin of the token endpoint (RFC 6749 2.3.1), and of the issuer, whose metadata names one
 * (OIDC Discovery 3) wherever the connection leaves an address to it.
 */
function receiversOf({ strategy, issuer, token_endpoint }: SecretWay): ReadonlySet<string> {
  const known = strategyOf(strategy as StrategyName);
  const addresses = [issuer ?? known.issuer, token_endpoint ?? known.endpoints.token_endpoint ?? null];
  return new Set(addresses.flatMap((url) => (url !== null && URL.canParse(url) ? [new URL(url).origin] : [])));
}

/** Whether a change leads the client secret to a server that it wasn't stored for: it would be read there by whoever runs it. */
export function leadsSecretElsewhere(before: SecretWay, after: SecretWay): boolean {
  const known = receiversOf(before);
  return [...receiversOf(after)].some((origin) => !known.has(origin));
}

/** Where the token goes: to the transmitter, whose metadata name its endpoints, or to where signals are fetched. */
function originOf(row: ConnectionRow): string | null {
  const url = keepsStream({ ...row, signals_token_sealed: Buffer.alloc(0) }) ? signalsIssuerOf(row) : row.signals_poll_url;
  return url !== null && URL.canParse(url) ? new URL(url).origin : null;
}

/** The same of the token that signals are fetched with. */
export function leadsSignalsTokenElsewhere(before: ConnectionRow, after: ConnectionRow): boolean {
  const next = originOf(after);
  return next !== null && next !== originOf(before);
}

const secretRequired = (attribute: string, what: string): Problem =>
  unfit(attribute, 'secret_required', `The ${what} would be sent to another server: say it once more, or null for none.`);

/** Nobody reads a stored secret again: sending it to a server of one's own would be just that. */
export const secretProblems = (
  before: ConnectionRow,
  after: ConnectionRow,
  requested: { readonly provider_client_secret?: string | null; readonly signals_token?: string | null },
): Problem[] => [
  ...(requested.provider_client_secret === undefined && before.provider_client_secret_sealed !== null && leadsSecretElsewhere(before, after)
    ? [secretRequired('provider_client_secret', 'client secret')]
    : []),
  ...(requested.signals_token === undefined && before.signals_token_sealed !== null && leadsSignalsTokenElsewhere(before, after)
    ? [secretRequired('signals_token', 'token of the signals')]
    : []),
];
