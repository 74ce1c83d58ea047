import { findConnection, listEnabledConnections, type ConnectionRow } from '../../db/tables/connections.js';
import { isUuid } from '../../lib/random.js';
import type { Aad } from '../../lib/seal.js';
import { normalizeEmail } from '../../lib/email-address.js';
import { connectionStrategies, strategyOf, type StrategyName } from './strategies.js';
import type { Actor } from '../actor.js';
import { remembered, type Context } from '../context.js';
import type { Environment } from '../environment.js';

export type Connection = ConnectionRow;

/** The connection of the id in this environment, whatever its status; null for anything else. */
export async function connectionOf(ctx: Context, id: string): Promise<Connection | null> {
  if (!isUuid(id)) return null;
  return remembered(ctx, 'connections', id, ({ scope }) => findConnection(scope, id));
}

/** The connections that people may use, by their display names. */
export const enabledConnections = async (ctx: Context): Promise<Connection[]> =>
  (await remembered(ctx, 'connections', 'enabled', ({ scope }) => listEnabledConnections(scope))) ?? [];

/** Where a provider sends people back to: one address for all, but for SAML, whose responses are posted to the connection's own. */
export const callbackUrl = (environment: Pick<Environment, 'issuer'>, { id, strategy }: Pick<Connection, 'id' | 'strategy'>): string =>
  strategy === 'saml' ? `${environment.issuer}/auth/sso/${id}/callback` : `${environment.issuer}/auth/sso/callback`;

/** Who we are for the provider of a SAML connection, and where our metadata is. */
export const samlEntityId = (environment: Pick<Environment, 'issuer'>, { id }: Pick<Connection, 'id'>): string =>
  `${environment.issuer}/auth/sso/${id}/metadata`;

export const connectionLoginUrl = (environment: Pick<Environment, 'issuer'>, connection: Pick<Connection, 'id'>): string =>
  `${environment.issuer}/auth/sso/${connection.id}`;

/** The domain of an address in its ASCII form, lower case; null when it isn't one plain address. */
export const domainOfEmail = (email: string): string | null => normalizeEmail(email)?.email_key.split('@')[1] ?? null;

/** Whether a list of domains names this one: whole names only, without regard to case or spelling (RFC 5890). */
export const namesDomain = (domains: readonly string[], domain: string): boolean =>
  domains.some((one) => domainOfEmail(`x@${one.trim()}`) === domain);

/** The connection that the address's domain belongs to, a required one first; or null. */
export function connectionForAddress(connections: readonly Connection[], email: string): Connection | null {
  const domain = domainOfEmail(email);
  if (domain === null) return null;
  const named = connections.filter((connection) => namesDomain(connection.domains, domain));
  return named.find(({ required }) => required) ?? named[0] ?? null;
}

/** The connection through which alone the address signs in (`required`), or null when it may come in any way. */
export async function requiredConnectionFor(ctx: Context, email: string): Promise<Connection | null> {
  const connection = connectionForAddress(await enabledConnections(ctx), email);
  return connection?.required ? connection : null;
}

/** `iss` of the provider's identity assertions (ID-JAG): what was set, as for SAML it has to be, else its own. */
export function assertionIssuerOf({
  assertion_issuer,
  issuer,
  strategy,
}: Pick<Connection, 'assertion_issuer' | 'issuer' | 'strategy'>): string | null {
  const known = Object.hasOwn(connectionStrategies, strategy) ? strategyOf(strategy as StrategyName).issuer : null;
  return assertion_issuer ?? issuer ?? known;
}

/** `iss` of the provider itself. */
export const providerIssuerOf = (connection: Pick<Connection, 'issuer' | 'strategy'>): string | null =>
  assertionIssuerOf({ ...connection, assertion_issuer: null });

/** `iss` of the provider's signals: what was set, as for SAML it has to be, else its own. */
export const signalsIssuerOf = (connection: Pick<Connection, 'signals_issuer' | 'issuer' | 'strategy'>): string | null =>
  connection.signals_issuer ?? (connection.strategy === 'saml' ? null : providerIssuerOf(connection));

type StreamSettings = Pick<
  Connection,
  'signals' | 'signals_poll_url' | 'signals_token_sealed' | 'signals_issuer' | 'strategy' | 'provider_client_secret_sealed'
>;

/** Whether our client at the provider gets the tokens for the stream: the provider is the transmitter, so that its secret goes nowhere else. */
export const ownClientKeepsStream = (row: StreamSettings): boolean =>
  row.signals === 'poll' &&
  row.signals_poll_url === null &&
  row.signals_token_sealed === null &&
  row.signals_issuer === null &&
  row.strategy === 'oidc' &&
  row.provider_client_secret_sealed !== null;

/** Whether the service makes the stream of signals at the transmitter itself: where it takes what is sent, or was not told where to fetch. */
export const keepsStream = (row: StreamSettings): boolean =>
  (row.signals_token_sealed !== null && (row.signals === 'push' || (row.signals === 'poll' && row.signals_poll_url === null))) ||
  ownClientKeepsStream(row);

/** Where a provider sends its signals to, which is what they have to be meant for unless it was told otherwise. */
export const signalsUrl = (environment: Pick<Environment, 'issuer'>, { id }: Pick<Connection, 'id'>): string =>
  `${environment.issuer}/auth/sso/${id}/signals`;

/** Whether the provider can say, in a signed ID token or assertion, when the person signed in there (`auth_time`, OIDC Core 2). */
export function tellsAuthTime({ strategy, issuer }: Pick<Connection, 'strategy' | 'issuer'>): boolean {
  if (!Object.hasOwn(connectionStrategies, strategy)) return false;
  const description = strategyOf(strategy as StrategyName);
  return description.protocol === 'saml' || (description.protocol === 'oidc' && (issuer ?? description.issuer) !== null);
}

const testAad = 'sso-test';
const testLifetimeMs = 3_600_000;

/**
 * Where an administrator tries a connection out: a real login that shows what comes back and changes nothing. Works for an hour, and while the
 * connection is disabled too. Whom it would sign in, and what the provider says of the person, it tells to holders of `users:read`.
 */
export function connectionTestUrl(
  ctx: Context,
  { permissions, setup_link_id }: Pick<Actor, 'permissions' | 'setup_link_id'>,
  { id, version }: Pick<Connection, 'id' | 'version'>,
): string {
  const until = ctx.clock.now().getTime() + testLifetimeMs;
  const setup = setup_link_id === undefined ? {} : { setup: { link_id: setup_link_id, version } };
  const content: TestTicket = { connection_id: id, until, tells_people: permissions.has('users:read'), ...setup };
  const ticket = ctx.crypto.sealer.sealText(JSON.stringify(content), `${testAad} ${ctx.environment.id}`);
  return `${connectionLoginUrl(ctx.environment, { id })}?test=${ticket}`;
}

/** What a test of a connection may show, and until when it works. */
export type TestTicket = {
  readonly connection_id: string;
  readonly until: number;
  readonly tells_people: boolean;
  /** Of a test that belongs to a set-up link: which, and the version of the connection that is tried. */
  readonly setup?: SetupTest;
};

export type SetupTest = { readonly link_id: string; readonly version: number };

/** The ticket of {@link connectionTestUrl}; null when it is not for this connection, or no longer good. */
export function openTestTicket(ctx: Context, ticket: string, connection_id: string): TestTicket | null {
  const text = ctx.crypto.sealer.openText(ticket, `${testAad} ${ctx.environment.id}`);
  if (text === null) return null;
  const opened = JSON.parse(text) as TestTicket;
  return opened.connection_id === connection_id && opened.until > ctx.clock.now().getTime() ? opened : null;
}

/** Opens the provider's secret, or null when the connection has none. */
export function providerSecret(ctx: Pick<Context, 'crypto'>, connection: Connection): string | null {
  const { id, provider_client_secret_sealed: sealed } = connection;
  return sealed && ctx.crypto.sealer.open(sealed, providerSecretAad(id));
}

/** Opens the token that signals are fetched with, or null when the connection has none. */
export const signalsToken = (ctx: Pick<Context, 'crypto'>, { id, signals_token_sealed: sealed }: Connection): string | null =>
  sealed && ctx.crypto.sealer.open(sealed, providerSecretAad(id));

export const providerSecretAad = (connection_id: string): Aad => `connections/${connection_id}`;
