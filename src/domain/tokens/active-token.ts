import type { ClaimMapping, ClaimTarget } from '../../db/tables/clients.js';
import { findUserClaims, type UserWithRoles } from '../../db/tables/user_claims.js';
import type { Scope } from '../../db/scope.js';
import { named } from '../../lib/named.js';
import { formatScope } from '../../lib/scope-set.js';
import {
  apiResourceOf,
  askableScopes,
  clientGrantOf,
  enabledClient,
  exchangeableScopes,
  letsIn,
  withoutUnaskable,
  type ApiResource,
  type Client,
} from '../clients/clients.js';
import type { Context } from '../context.js';
import { usedBefore, type DpopProof, type ProofRefusal } from '../dpop/proof.js';
import { accessTokenMappedClaims, drawsOnUser } from '../claims/claim-mappings.js';
import { effectiveDetails } from './authorization-details.js';
import { agentAct, ownProfile } from './agent-claims.js';
import { isOfRecord, issuedAt, withoutEarlierNames } from './of-record.js';
import { isOpenidScope } from '../claims/scopes.js';
import { shownPermissions, withoutUnheld } from './target.js';
import { expiredAt, whyUnknown } from './unusable-token.js';
import { isOwnAudience, lookUpToken, texts, type FoundToken, type TokenContent } from './token-look-up.js';

/** An access token that is good right now. */
export type ActiveToken = TokenContent & {
  readonly client: Client;
  /** What the client is that acts for itself, where its API resource wants to know. */
  readonly client_profile: string | undefined;
};

const seconds = (time: Date) => Math.floor(time.getTime() / 1000);

/** A token that is not good, and why, in words for whoever holds it (`error_description` of RFC 6750 3). */
export type InactiveToken = { readonly inactive: string };

/** Why a token that was found is not good by itself; null when it is. */
function invalidReason(ctx: Context, { claims, status }: FoundToken): string | null {
  if (claims.expires_at <= ctx.clock.now()) return expiredAt(seconds(claims.expires_at));
  if (status.revoked) return 'the access token was revoked';
  if (claims.user_id !== null && status.user_status !== 'active') return 'the person of the access token is gone or blocked';
  if (!status.member_stands) return 'the person of the access token is no active member of its organization, or that is disabled';
  if (status.session_revoked_at === null) return null;
  const outlivesSession = claims.scope.split(' ').includes('offline_access');
  return outlivesSession ? null : 'the session of the access token has ended';
}

/** What a token still gives at its API resource. */
type EffectiveScope = { readonly scope: string; readonly resource: ApiResource | null; readonly permissions: readonly string[] | null };

async function ownEffectiveScope(
  ctx: Context,
  client: Client,
  resource: ApiResource,
  scopes: readonly string[],
): Promise<EffectiveScope | null> {
  const grant = letsIn(client, resource) ? await clientGrantOf(ctx, client.id, resource, 'client') : null;
  const granted = grant && scopes.filter((word) => grant.scopes.includes(word) && resource.permissions.includes(word));
  return granted && { scope: formatScope(granted), resource, permissions: granted };
}

/** What an exchanged token may still have: its client's policy may have been withdrawn. */
async function exchangedScopes(ctx: Context, client: Client, resource: ApiResource): Promise<readonly string[] | null> {
  const policy = await exchangeableScopes(ctx, client, resource);
  return policy === null || policy.grant.token_exchange === 'none' ? null : policy.scopes;
}

/** `held` null: nobody asked what the person holds, and what is withdrawn there is the caller's to find. */
async function effectiveScopeForPerson(
  ctx: Context,
  client: Client,
  resource: ApiResource,
  scopes: readonly string[],
  { held, exchanged }: { readonly held: readonly string[] | null; readonly exchanged: boolean },
): Promise<EffectiveScope | null> {
  const askable = exchanged ? await exchangedScopes(ctx, client, resource) : await askableScopes(ctx, client, resource);
  if (!askable) return null;
  const known = (word: string) => resource.permissions.includes(word) || isOpenidScope(word) || client.scopes?.includes(word) === true;
  const allowed = withoutUnaskable(resource, askable, scopes.filter(known)); // prettier-ignore
  const scope = formatScope(held === null ? allowed : withoutUnheld(resource, held, allowed));
  return { scope, resource, permissions: held && shownPermissions(client, { resource, askable, exchanged }, scope, held) };
}

/**
 * What is left of a token's scope at its API resource, from memory: a permission, the client's grant (for itself, or for people's tokens
 * where the resource demands one) and the resource itself may have been withdrawn since (specification 5.12.1); another resource of the same
 * identifier, made later, is not the token's. Null when that leaves nothing.
 */
async function effectiveScopeOf(ctx: Context, client: Client, { claims, permissions }: FoundToken): Promise<EffectiveScope | null> {
  const { audience, scope, user_id, issued_at, exchanged } = claims;
  if (isOwnAudience(ctx, audience)) return { scope, resource: null, permissions: null };
  const resource = await apiResourceOf(ctx, audience);
  if (!resource || seconds(resource.created_at) > seconds(issued_at)) return null;
  const issued = issuedAt(claims);
  if (!isOfRecord(resource, issued)) return null;
  const stated = scope.split(' ').filter((word) => word !== '');
  const current = withoutEarlierNames(resource, stated, issued);
  const effective =
    user_id === null
      ? await ownEffectiveScope(ctx, client, resource, current)
      : await effectiveScopeForPerson(ctx, client, resource, current, { held: permissions, exchanged });
  return effective && (effective.scope === '' && stated.length > 0 ? null : effective);
}

/** Named one by one, in the order of the type: copying an object of any shape takes V8 thirty times as long. */
const activeToken = (content: TokenContent, { scope, resource }: EffectiveScope, client: Client): ActiveToken => ({
  format: content.format,
  jti: content.jti,
  grant_id: content.grant_id,
  sub: content.sub,
  user_id: content.user_id,
  session_id: content.session_id,
  organization_id: content.organization_id,
  scope,
  audience: content.audience,
  issuer: content.issuer,
  claims: content.claims,
  client_profile: content.user_id === null ? ownProfile(client, resource) : undefined,
  // What the row of an opaque token of an agent's own doesn't say.
  act: content.act ?? (content.user_id === null ? null : agentAct(client, resource)),
  earlier_scopes: content.earlier_scopes,
  authorization_details: effectiveDetails(client, resource, content.authorization_details, issuedAt(content)),
  exchanged: content.exchanged,
  jkt: content.jkt,
  acr: content.acr,
  amr: content.amr,
  auth_time: content.auth_time,
  issued_at: content.issued_at,
  expires_at: content.expires_at,
  client,
});

type Activated = { readonly token: ActiveToken; readonly effective: EffectiveScope };

/** The token, if it and all that it hangs on are good right now. */
export async function activate(ctx: Context, found: FoundToken): Promise<Activated | InactiveToken> {
  const wrong = invalidReason(ctx, found);
  if (wrong !== null) return { inactive: wrong };
  const { claims } = found;
  const client = await enabledClient(ctx, claims.client_id);
  if (!client) return { inactive: 'the client of the access token is gone or disabled' };
  if (client.tokens_not_before !== null && !isOfRecord(client, issuedAt(claims)))
    return { inactive: 'the tokens of the client that were issued by then were revoked' };
  const effective = await effectiveScopeOf(ctx, client, found);
  if (!effective) return { inactive: 'what the access token allowed at its API resource has been withdrawn' };
  return { token: activeToken(claims, effective, client), effective };
}

/**
 * The access token if it is good right now: signature or digest, time, revocation, and that its user, session, client and API
 * resource still stand. One statement; client, resource and grant come from memory. Null for everything else, whatever the reason.
 */
export async function findActiveToken(ctx: Context, token: string): Promise<ActiveToken | null> {
  const found = await lookUpToken(ctx, ctx.scope, token, 'nothing');
  const active = found && (await activate(ctx, found));
  return active && 'token' in active ? active.token : null;
}

/** A good access token with the person's claims, for userinfo. */
export type TokenWithUser = {
  readonly token: ActiveToken;
  /** Null for a client's own token. */
  readonly user: UserWithRoles | null;
  /** What the token gives of its API resource's permissions that is still held; null without one. */
  readonly permissions: readonly string[] | null;
};

/** Of a JWT's permissions those that are still held; of an opaque token's, which stand nowhere, all that are held. */
function permissionsLeft({ effective }: Activated, { payload, claims }: FoundToken): readonly string[] | null {
  const words = payload && texts(payload['permissions']);
  const stated = words && effective.resource ? withoutEarlierNames(effective.resource, words, issuedAt(claims)) : words;
  return effective.permissions && (stated === null ? effective.permissions : effective.permissions.filter((name) => stated.includes(name)));
}

/** The person of a good token as mappings see them: looked up only where one draws on them. */
const mappedUser = async (
  scope: Scope,
  { user_id, organization_id }: ActiveToken,
  mappings: readonly ClaimMapping[],
  target: ClaimTarget,
) => (user_id !== null && drawsOnUser(mappings, [target]) ? findUserClaims(scope, user_id, organization_id) : null);

/** What is wrong with how a token was presented: bound to a key as bearer token, or the other way round (RFC 9449 7.1), or with another key's proof. */
function misPresented({ claims, first_use }: FoundToken, proof: DpopProof | null): InactiveToken | ProofRefusal | null {
  if (proof === null)
    return claims.jkt === null ? null : { inactive: 'the access token is bound to a key: send it with Authorization: DPoP and a proof' };
  if (claims.jkt === null) return { inactive: 'the access token is bound to no key: send it with Authorization: Bearer' };
  if (claims.jkt !== proof.jkt)
    return { error: 'invalid_dpop_proof', reason: 'the access token is bound to another key than the one of the DPoP proof' };
  return first_use ? null : usedBefore;
}

/**
 * The same with the user and what the user holds; or what is wrong with the token, or with the proof that it was presented with, whose use is stored.
 * One statement, and one more for a client whose mappings draw on people.
 * @param scope where it is looked up when no proof is stored: `lookUpScope(ctx)` where an answer up to a second old will do
 */
export async function findActiveTokenWithUser(
  ctx: Context,
  token: string,
  proof: DpopProof | null,
  scope: Scope = ctx.scope,
): Promise<TokenWithUser | InactiveToken | ProofRefusal> {
  const stored = proof?.use ? { use: proof.use, jkt: proof.jkt } : null;
  const found = await lookUpToken(ctx, stored === null ? scope : ctx.scope, token, 'user', stored);
  if (!found) return { inactive: await whyUnknown(ctx, token) };
  const wrong = misPresented(found, proof);
  if (wrong) return wrong;
  const active = await activate(ctx, found);
  if ('inactive' in active) return active;
  const { claim_mappings } = active.token.client;
  const mapped = claim_mappings.length === 0 ? null : await mappedUser(scope, active.token, claim_mappings, 'userinfo');
  return { token: active.token, user: mapped ?? found.user, permissions: permissionsLeft(active, found) };
}

/** A good access token with all that it says. */
export type DescribedToken = Omit<TokenWithUser, 'user'> & { readonly mapped: Readonly<Record<string, unknown>> };

/** Mapped claims of a JWT: those that it bears under names that are mapped. */
function mappedInJwt({ token, effective }: Activated, payload: Readonly<Record<string, unknown>>): Record<string, unknown> {
  const names = [...token.client.claim_mappings, ...(effective.resource?.claim_mappings ?? [])].map(({ claim }) => claim);
  return Object.fromEntries(names.filter((name) => Object.hasOwn(payload, name)).map((name) => [name, payload[name]]));
}

/**
 * The access token if it is good, or what is wrong with it, with permissions and mapped claims, for introspection: an opaque token says what the JWT in its place would.
 * @param scope where it is looked up: `lookUpScope(ctx)`, for an answer up to a second old will do
 */
export async function describeActiveToken(ctx: Context, token: string, scope: Scope): Promise<DescribedToken | InactiveToken> {
  const found = await lookUpToken(ctx, scope, token, 'permissions');
  if (!found) return { inactive: await whyUnknown(ctx, token) };
  const active = await activate(ctx, found);
  if ('inactive' in active) return active;
  const permissions = permissionsLeft(active, found);
  const { client } = active.token;
  const { resource } = active.effective;
  if (client.claim_mappings.length === 0 && !resource?.claim_mappings.length) return { token: active.token, permissions, mapped: named() };
  if (found.payload) return { token: active.token, permissions, mapped: mappedInJwt(active, found.payload) };
  const user = await mappedUser(scope, active.token, [...client.claim_mappings, ...(resource?.claim_mappings ?? [])], 'access_token');
  return { token: active.token, permissions, mapped: accessTokenMappedClaims(client, resource, { user, permissions }) };
}
