import { apiResourceOf, askableScopes, namedResource, withoutUnaskable, type ApiResource, type Client } from '../clients/clients.js';
import { takesTokensOf } from '../clients/profile.js';
import type { Context } from '../context.js';
import { OAuthError } from '../../errors.js';
import type { ScopeRuling } from '../../lib/refusal-rules.js';
import { timeOfUuidv7 } from '../../lib/random.js';
import { formatScope, parseScope } from '../../lib/scope-set.js';
import { isOfRecord, withoutEarlierNames } from './of-record.js';

/** The API resource of a person's token, and which of its scopes the client may ask people for. */
export type Target = {
  readonly resource: ApiResource;
  readonly askable: readonly string[];
  /** When the authorization was given, in milliseconds: scopes of permissions that got their name later aren't part of it. Left out: now. */
  readonly granted_at?: number;
  /** For a token that is issued on the strength of another one (RFC 8693): nobody allowed more than its scope says. */
  readonly exchanged?: boolean;
};

/** The refusal of a client that may no longer ask people for the resource, or take its tokens (RFC 8707 2). */
export const notLetIn = () =>
  OAuthError.invalid_target('the resource is gone, or the client may no longer ask people for it, or take its tokens').by(
    'no_client_grant',
  );

/** `resource` of a token request as it is registered, whose spelling may be another one; the text itself when nothing is registered so. */
export const registeredName = async (ctx: Context, named: string): Promise<string> =>
  (await namedResource(ctx, named))?.identifier ?? named;

/**
 * The target that an authorization was given for, as it is now, from memory; null when the client is no longer let in, or another resource bears the
 * identifier by now.
 * @param grant_id of the authorization, whose time it tells
 */
export async function effectiveTarget(ctx: Context, client: Client, identifier: string, grant_id?: string): Promise<Target | null> {
  const granted_at = grant_id === undefined ? ctx.clock.now().getTime() : timeOfUuidv7(grant_id);
  const resource = await apiResourceOf(ctx, identifier);
  if (!resource || !isOfRecord(resource, granted_at) || !takesTokensOf(client, resource)) return null;
  const askable = await askableScopes(ctx, client, resource);
  return askable && { resource, askable, granted_at };
}

/** What kind of access token a person's is, how long it lives in seconds, and whom it is for. */
export const kindOfToken = ({ environment }: Pick<Context, 'environment'>, client: Client, resource: ApiResource | null) => ({
  format: resource?.token_format ?? client.access_token_format,
  lifetime: resource?.access_token_lifetime ?? environment.default_access_token_lifetime,
  audience: resource?.identifier ?? environment.issuer,
});

/** Whether a person's token for the resource holds what the person holds, and no more. */
export const isHeldOnly = (resource: ApiResource): boolean => resource.user_scopes === 'held';

/** Without the resource's scopes that the person doesn't hold, where the resource says so. */
export const withoutUnheld = (resource: ApiResource, held: readonly string[], scopes: readonly string[]): string[] =>
  scopes.filter((scope) => !isHeldOnly(resource) || !resource.permissions.includes(scope) || held.includes(scope));

/**
 * What is left of a granted scope: the client may be let in to less of the resource than when it was granted, and the person hold less.
 * @param held names of the resource's permissions that the person holds
 */
export function effectiveScope({ resource, askable, granted_at = Infinity }: Target, scope: string, held: readonly string[]): string {
  const scopes = withoutEarlierNames(resource, parseScope(scope) ?? [], granted_at);
  return formatScope(withoutUnheld(resource, held, withoutUnaskable(resource, askable, scopes)));
}

/** What became of each granted scope, where some of them are no longer given; undefined where all are. */
export function droppedScopes(
  { resource, askable }: Target,
  { granted, scope, held }: { readonly granted: string; readonly scope: string; readonly held: readonly string[] },
): ScopeRuling[] | undefined {
  if (scope === granted) return undefined;
  const [before, left] = [parseScope(granted) ?? [], parseScope(scope) ?? []];
  const letIn = withoutUnaskable(resource, askable, before);
  const unheld = (name: string) => !withoutUnheld(resource, held, [name]).includes(name);
  const rulings = before.map((name): ScopeRuling => {
    if (left.includes(name)) return { name, rule: 'granted' };
    return { name, rule: letIn.includes(name) && unheld(name) ? 'permission_not_held' : 'not_in_client_grant' };
  });
  return rulings.some(({ rule }) => rule !== 'granted') ? rulings : undefined;
}

/**
 * The permissions that a user's token shows: those the user holds and the client may ask for. Only what the person allowed, which is what
 * the scope says, to an application that isn't first-party, of the Management API, for which everybody is asked, and of exchanged tokens.
 */
export function shownPermissions(
  client: Client,
  { resource, askable, exchanged = false }: Target,
  scope: string,
  held: readonly string[],
): readonly string[] {
  const scopes = scope.split(' ');
  const all = client.first_party && !resource.is_system && !exchanged;
  return held.filter((permission) => askable.includes(permission) && (all || scopes.includes(permission)));
}
