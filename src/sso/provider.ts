import { strategyOf, type StrategyName } from '../domain/connections/strategies.js';
import { callbackUrl, providerSecret, type Connection } from '../domain/connections/connections.js';
import type { Context } from '../domain/context.js';
import { ProviderFailure } from './provider-failure.js';
import type { ProviderMemory } from './provider-memory.js';
import { behaviourOf, strategies } from './strategies/index.js';
import type { Provider, ProviderServer, Strategy } from './strategies/strategy.js';

export type OpenProvider = {
  readonly provider: Provider;
  readonly strategy: Strategy;
  readonly isOidc: boolean;
  /** Whether what it says of a sign-in is signed, and about that sign-in. */
  readonly isSigned: boolean;
};

/** Makes a connection ready for a login. Null for a strategy that this version doesn't have. */
export function openProvider(ctx: Context, connection: Connection, memory: ProviderMemory): OpenProvider | null {
  const strategy = behaviourOf(connection);
  if (!strategy) return null;
  const description = strategyOf(connection.strategy as StrategyName);
  const provider: Provider = {
    ctx,
    connection,
    description,
    client_secret: providerSecret(ctx, connection),
    redirect_uri: callbackUrl(ctx.environment, connection),
    fetch: ctx.net.fetch.fetch,
    memory,
    clock: ctx.clock,
  };
  const isOidc = description.protocol === 'oidc' && strategy !== strategies.oauth2;
  return { provider, strategy, isOidc, isSigned: isOidc || description.protocol === 'saml' };
}

const originOf = (url: string | null | undefined) => (url && URL.canParse(url) ? new URL(url).origin : null);

/**
 * Refuses a provider that sends people to another connection's provider and takes their codes itself (RFC 9700 4.4): its answer would
 * be the other's, and no `iss` might tell.
 * @throws {ProviderFailure}
 */
export function refuseMixUp(connection: Connection, server: ProviderServer, others: readonly Connection[]): void {
  const [authorization, token] = [originOf(server.authorization_endpoint), originOf(server.token_endpoint)];
  if (authorization === null || !/^https?:/.test(authorization))
    throw new ProviderFailure('the authorization endpoint is not a web address');
  for (const other of others) {
    if (!behaviourOf(other)) continue;
    const description = strategyOf(other.strategy as StrategyName);
    const issuer = other.issuer ?? description.issuer;
    if (issuer !== null && issuer === (connection.issuer ?? server.issuer)) continue;
    const doors = [issuer, other.authorization_endpoint ?? description.endpoints.authorization_endpoint].map(originOf);
    const own = [...doors, originOf(other.token_endpoint ?? description.endpoints.token_endpoint)];
    if (doors.includes(authorization) && !own.includes(token)) {
      throw new ProviderFailure(`the provider sends people to that of the connection ${other.name} and takes the codes itself`);
    }
  }
}

/** `{tenantid}` stands for the directory in the issuer that Microsoft's shared addresses announce. */
function isIssuer(iss: string, issuer: string): boolean {
  const [before = '', after] = issuer.split('{tenantid}');
  if (after === undefined) return iss === issuer;
  return iss.startsWith(before) && iss.endsWith(after) && /^[\w-]{1,64}$/.test(iss.slice(before.length, iss.length - after.length));
}

/**
 * Whether an answer comes from the provider that was asked (RFC 9207 2.4): `iss` must name it; it may be missing only where the provider
 * doesn't announce it; a provider without a known issuer is told by the origin that people were sent to.
 */
export function isAnswerOf(server: ProviderServer, iss: string | undefined): boolean {
  if (iss === undefined) return !server.announces_iss;
  if (server.issuer !== null) return isIssuer(iss, server.issuer);
  return originOf(iss) !== null && originOf(iss) === originOf(server.authorization_endpoint);
}
