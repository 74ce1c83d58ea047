import type { ConnectionRow } from '../../db/tables/connections.js';
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
