import { setTimeout as wait } from 'node:timers/promises';
import { handOutProviderToken, type TokenFound, type RequestedToken } from '../../db/tables/provider_tokens.js';
import { findEnabledProviderGrant } from '../../db/tables/provider_grants.js';
import { listSubjectAudiences } from '../../db/tables/client_grants.js';
import { logSecurityEvent, securityEventRow } from '../../domain/audit/security-trail.js';
import type { Client } from '../../domain/clients/clients.js';
import { clientDigest } from '../../domain/clients/document-clients.js';
import { connectionOf, type Connection } from '../../domain/connections/connections.js';
import { remembered, type Context } from '../../domain/context.js';
import { proofRefused, usedBefore, type DpopProof } from '../../domain/dpop/proof.js';
import type { Origin } from '../../domain/origin.js';
import { isTokenGoodFor } from '../../domain/organizations/admission.js';
import { refreshProviderToken, type StaleToken } from '../../domain/provider-tokens/refresh.js';
import { openTokens, type SealedTokens } from '../../domain/provider-tokens/tokens.js';
import { findExchangeableTokens } from '../../domain/tokens/exchangeable-token.js';
import { OAuthError } from '../../errors.js';
import { accessTokenType } from '../../lib/grant-types.js';
import { isUuid } from '../../lib/random.js';
import { formatScope, parseScope } from '../../lib/scope-set.js';
import { ofRefreshToken, refreshTokenType, type AssertionSubject } from './assertion-subject.js';
import { requireGood } from './good-token.js';
import type { GrantedTokens } from './grant.js';
import { requireSameOrganization } from './same-organization.js';

type Sent = {
  readonly connection: string;
  readonly subject_token: string;
  readonly subject_token_type: string;
  readonly actor_token: string | undefined;
  readonly actor_token_type: string | undefined;
  readonly requested_token_type: string | undefined;
  readonly audience: string | undefined;
  readonly resource: string | undefined;
  readonly scope: string | undefined;
  readonly organization: string | undefined;
};
type HandOut = { readonly origin: () => Origin; readonly proof: DpopProof | null };

/** An access token is good for so long at least when it is handed out. */
const leastLeftMs = 60_000;
/** So long a request waits for another one's refresh. */
const patienceMs = 5_000;
const [pauseMs, longestPauseMs] = [50, 500];

/** RFC 8693 2.1. @throws {OAuthError} `invalid_request` */
function requireAlone({ audience, resource, actor_token, actor_token_type, requested_token_type }: Sent): void {
  const alone = { audience, resource, actor_token, actor_token_type };
  const one = Object.entries(alone).find(([, value]) => value !== undefined)?.[0];
  if (one !== undefined) throw OAuthError.invalid_request(`${one} does not go with connection`);
  if (requested_token_type !== undefined && requested_token_type !== accessTokenType)
    throw OAuthError.invalid_request(`requested_token_type must be ${accessTokenType}`);
}

type Subject = Pick<AssertionSubject, 'user_id' | 'organization_id' | 'session_id' | 'amr' | 'refresh'>;

/** Whose token is asked for: the person of an access token that the client may bring, or of a refresh token of its own. @throws {OAuthError} */
async function subjectOf(ctx: Context, client: Client, sent: Sent, { origin, proof }: HandOut): Promise<Subject> {
  const { subject_token, subject_token_type } = sent;
  if (subject_token_type === refreshTokenType) return ofRefreshToken(ctx, client, { subject_token, subject_token_type, proof, origin });
  if (subject_token_type !== accessTokenType)
    throw OAuthError.invalid_request(`subject_token_type must be ${accessTokenType} or ${refreshTokenType}`);
  const audiences = await remembered(ctx, 'client_grants', `subject_audiences ${client.id}`, ({ scope }) =>
    listSubjectAudiences(scope, client.id),
  );
  const found = await findExchangeableTokens(ctx, client, { subject: subject_token, actor: undefined }, audiences ?? []);
  const { token } = requireGood('subject_token', found.subject, proof);
  const { user_id, organization_id, session_id, amr, act, exchanged, earlier_scopes } = token;
  if (user_id === null) throw OAuthError.invalid_request('subject_token: this is the token of a client for itself, not of a person');
  // What was exchanged without saying who acts is the word of a client, not of the person.
  if (act === null && (exchanged || Object.keys(earlier_scopes).length > 0))
    throw OAuthError.invalid_request('subject_token: a client got this token in the name of the person, by impersonation');
  return { user_id, organization_id, session_id, amr, refresh: null };
}

const noTarget = () => OAuthError.invalid_target('connection names no provider whose tokens the client may have').by('no_provider_grant');

const notNow = () =>
  new OAuthError(503, 'temporarily_unavailable', 'the provider has not given a new access token yet', { 'Retry-After': '5' }).by(
    'provider_away',
  );

/** The person has to allow it first, on the page that `error_uri` leads to (RFC 6749 5.2). */
function notAllowed(ctx: Context, client: Client, connection: Connection, scopes: readonly string[]): OAuthError {
  const [return_to] = client.redirect_uris;
  const query = new URLSearchParams({
    client_id: client.id,
    connection: connection.id,
    scope: formatScope(scopes),
    ...(return_to !== undefined && { return_to }),
  });
  return new OAuthError(400, 'interaction_required', 'the person has to allow the client this access at the provider')
    .with({ error_uri: `${ctx.environment.issuer}/account/provider_access?${query}` })
    .by('provider_access_missing');
}

type HandedOut = { readonly tokens: SealedTokens; readonly scopes: readonly string[]; readonly expires_at: Date | null };

/** Looks for the token, and refreshes it, or waits until another request has. @throws {OAuthError} */
async function tokenFor(ctx: Context, client: Client, connection: Connection, input: RequestedToken): Promise<HandedOut> {
  const until = performance.now() + Math.min(patienceMs, ctx.scope.deadline.left());
  for (let attempt = 0; ; attempt++) {
    const found = await handOutProviderToken(ctx.scope, attempt === 0 ? input : { ...input, proof: null });
    requireAllowed(ctx, client, connection, found, input);
    const { id = '', tokens_sealed, scopes = [], expires_at = null, handed_out } = found;
    if (handed_out && tokens_sealed) return { tokens: openTokens(ctx, id, tokens_sealed), scopes, expires_at };
    const needs = input.scopes ?? found.granted ?? [];
    const refreshed = await refreshProviderToken(ctx, connection, found as StaleToken, { needs, audit: input.audit });
    if (refreshed.outcome === 'fresh')
      return { tokens: refreshed.tokens, scopes: refreshed.tokens.scopes, expires_at: refreshed.expires_at };
    if (refreshed.outcome === 'away' || performance.now() >= until) throw notNow();
    if (refreshed.outcome === 'busy') await wait(Math.min(pauseMs * 2 ** attempt, longestPauseMs));
  }
}

/** @throws {OAuthError} where the client may not have it, or the person has to be asked */
function requireAllowed(ctx: Context, client: Client, connection: Connection, found: TokenFound, { scopes }: RequestedToken): void {
  if (found.first_use === false) throw proofRefused(ctx, usedBefore);
  if (found.blocked) throw OAuthError.invalid_grant('the person of the subject_token has blocked the client').by('client_blocked');
  const { granted } = found;
  if (granted === null) throw noTarget();
  if (scopes?.some((scope) => !granted.includes(scope)))
    throw OAuthError.invalid_scope('the scope goes beyond the provider grant of the client').by('not_in_client_grant');
  if (!found.id) throw notAllowed(ctx, client, connection, scopes ?? granted);
}

/**
 * A person's access token at the provider of a connection, for a client that a grant and the person allow it (specification 21.2). One statement looks up what
 * the client brings, one what it gets; a refresh takes two more.
 */
export async function handOutToken(ctx: Context, client: Client, sent: Sent, request: HandOut): Promise<GrantedTokens> {
  requireAlone(sent);
  const requested = parseScope(sent.scope ?? '');
  if (requested === null) throw OAuthError.invalid_scope('the scope is malformed');
  const connection = isUuid(sent.connection) ? await connectionOf(ctx, sent.connection.toLowerCase()) : null;
  if (connection?.status !== 'enabled' || !connection.token_storage) throw noTarget();
  const subject = await subjectOf(ctx, client, sent, request);
  const { user_id, refresh } = subject;
  await requireSameOrganization(ctx, subject.organization_id, sent.organization);
  const keeper = connection.organization_id === null ? null : { id: connection.organization_id };
  if (!(await isTokenGoodFor(ctx, subject, keeper))) {
    const grant = await findEnabledProviderGrant(ctx.scope, client.id, connection.id);
    throw grant ? notAllowed(ctx, client, connection, requested) : noTarget();
  }
  const now = ctx.clock.now();
  const trace = {
    actor: { actor_kind: 'client' as const, actor_id: client.id, display: client.name },
    target: { target_type: 'user', target_id: user_id },
    origin: request.origin(),
    detail: { connection_id: connection.id },
  };
  const { tokens, scopes, expires_at } = await tokenFor(ctx, client, connection, {
    client_id: client.id,
    connection_id: connection.id,
    user_id,
    scopes: requested.length > 0 ? requested : null,
    first_party: client.first_party,
    client_digest: clientDigest(client),
    now,
    fresh_until: new Date(now.getTime() + leastLeftMs),
    audit: securityEventRow(ctx, 'provider_token.handed_out', trace),
    refresh,
    proof: request.proof && request.proof.use,
  });
  logSecurityEvent(ctx, 'provider_token.handed_out', trace);
  const expires_in = expires_at === null ? undefined : Math.floor((expires_at.getTime() - ctx.clock.now().getTime()) / 1000);
  return {
    access_token: tokens.access_token,
    issued_token_type: accessTokenType,
    token_type: 'Bearer',
    expires_in,
    scope: formatScope(scopes),
  };
}
