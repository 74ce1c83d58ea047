import { hasDetailsToAsk, isAlwaysAsked, isConsented, withTypes, type ConsentQuestion } from '../../domain/grants/consents.js';
import { clientDigest } from '../../domain/clients/document-clients.js';
import type { Context } from '../../domain/context.js';
import { isGoodFor } from '../../domain/organizations/admission.js';
import { isProvenSince, type BrowserSession } from '../../domain/sessions/sessions.js';
import { readIdTokenHint } from '../../domain/tokens/id-token.js';
import { scopesOfClaims } from '../../domain/claims/claims.js';
import { isNativeRedirectUri } from '../../lib/redirect-uri.js';
import { askForSignIn, refuseInteraction, type InteractionInput, type InteractionCheck, type Interaction } from './interaction-check.js';
import { essentialReached, requiredReached, secondStepTaken, wishedReached } from './class-checks.js';
import { goodForOrganization, organizationKnown } from './organization-checks.js';
import type { AuthorizationRequest } from './request.js';
import { requirementOfRequest, requestedClaim, statedContext } from './requested-classes.js';

/** The users that the request names, by `id_token_hint` (null when that isn't one of ours) and by a `sub` value in `claims` (OIDC Core 5.5.1); none: anybody. */
async function requestedUsersOf(ctx: Context, request: AuthorizationRequest): Promise<(string | null)[]> {
  const hint = request.id_token_hint === null ? null : await readIdTokenHint(ctx, request.id_token_hint);
  const users: (string | null)[] = request.id_token_hint === null ? [] : [hint?.sub ?? null];
  const sub = requestedClaim(request, 'sub')?.['value'];
  if (typeof sub === 'string') users.push(sub);
  return users;
}

/**
 * Whether what the tokens would state is older than anybody allows. A sign-in of which the provider doesn't say when it was is too old for any age
 * (OIDC Core 3.1.2.1).
 */
function tooOld({ ctx, request, session, requirement, proven }: InteractionInput): boolean {
  const ages = [request.max_age, requirement.max_age].filter((age) => age !== null);
  if (ages.length === 0 || proven) return false;
  const { auth_time, auth_time_known } = statedContext(request, session);
  return !auth_time_known || ctx.clock.now().getTime() - auth_time.getTime() > Math.min(...ages) * 1000;
}

/**
 * What the client asks the person for: its scopes, and those whose claims it asks for one by one.
 * @param guest whether an organization's provider alone says that it is the person (specification 16.2.7): what it allows isn't theirs elsewhere
 */
export function consentQuestion(request: AuthorizationRequest, user_id: string, guest = false): ConsentQuestion {
  const named = Object.keys({ ...request.claims.userinfo, ...request.claims.id_token });
  const scopes = [...new Set([...request.scopes, ...scopesOfClaims(named)])];
  const { client, redirect_uri, resource } = request;
  const details = withTypes(resource, request.authorization_details);
  const unproven = (guest && !client.first_party) || (!client.verified && isNativeRedirectUri(redirect_uri));
  const question = {
    user_id,
    client_id: client.id,
    scopes,
    resource: resource?.identifier ?? null,
    unproven,
    client_digest: clientDigest(client),
  };
  return details.length === 0 ? question : { ...question, details };
}

/** What is checked of a valid request once somebody is signed in, in this order; the first that asks for something decides. */
export const interactionChecks: readonly InteractionCheck[] = [
  ['id_token_hint of ours', signInWhen((a) => a.silent && a.requestedUsers.includes(null), 'the id_token_hint is not one of ours'), 'OIDC Core 3.1.2.2'],
  ['the person who is wanted', signInWhen((a) => a.requestedUsers.some((sub) => sub !== null && sub !== a.session.user_id), 'somebody else is signed in'), 'OIDC Core 3.1.2.2'],
  ['max_age', signInWhen(tooOld, 'the sign-in is older than max_age'), 'OIDC Core 3.1.2.1'],
  ['prompt=login', signInWhen((a) => !a.proven && a.request.prompts.includes('login'), 'a new sign-in was asked for'), 'OIDC Core 3.1.2.1'],
  ['prompt=select_account', signInWhen((a) => !a.fresh && a.request.prompts.includes('select_account'), 'a choice of account was asked for'), 'OIDC Core 3.1.2.1'],
  ['not blocked', notBlocked, 'RFC 6749 4.1.2.1'],
  ['organization', organizationKnown, 'specification 16.2.3'],
  ['sign-in for the organization', goodForOrganization, 'specification 16.2.6'],
  ['second step', secondStepTaken, 'OIDC Core 3.1.2.3'],
  ['essential acr', essentialReached, 'OIDC Core 5.5.1.1'],
  ['required acr', requiredReached, 'RFC 9470 5'],
  ['acr_values', wishedReached, 'OIDC Core 3.1.2.1'],
  ['consent', consentGiven, 'OIDC Core 3.1.2.4'],
]; // prettier-ignore

/**
 * What must happen before a code can be issued (OIDC Core 3.1.2.1).
 * @param how `since`: when the request first came, in milliseconds: a sign-in after that moment is the one that `prompt=login`, `select_account` and a
 *   small `max_age` demand; whether the person was asked for the class that the client wishes for, and has just answered the consent page with yes
 */
export async function interactionFor(
  ctx: Context,
  request: AuthorizationRequest,
  session: BrowserSession | null,
  { since, wished = false, allowed }: { readonly since: number; readonly wished?: boolean; readonly allowed: boolean },
): Promise<Interaction> {
  const silent = request.prompts.includes('none');
  if (session === null) return silent ? refuseInteraction('login_required', 'nobody is signed in') : { kind: 'login', fresh: false };
  const fresh = session.signed_in_at.getTime() >= since;
  const proven = fresh && isProvenSince(session, since);
  const requirement = requirementOfRequest(request);
  const requestedUsers = await requestedUsersOf(ctx, request);
  const input: InteractionInput = { ctx, request, session, requirement, silent, fresh, proven, requestedUsers, allowed, wished };
  for (const [, check] of interactionChecks) {
    const found = check(input);
    const interaction = found instanceof Promise ? await found : found;
    if (interaction) return interaction;
  }
  return { kind: 'none', session };
}

/**
 * Requires a sign-in while `needed`. `login_required` instead with `prompt=none`, and when the person has signed in after the request came and
 * still doesn't satisfy it (another user, or a provider that answered with an older sign-in): asking again would loop.
 */
function signInWhen(needed: (input: InteractionInput) => boolean, description: string): InteractionCheck[1] {
  return (input) => (needed(input) ? askForSignIn(input, description) : null);
}

/** Whether the person has to be asked before the client gets what the request asks for (specification 5.3). */
export async function isConsentNeeded(ctx: Context, request: AuthorizationRequest, user_id: string, guest = false): Promise<boolean> {
  const question = consentQuestion(request, user_id, guest);
  if (request.prompts.includes('consent') || isAlwaysAsked(ctx, question) || (await hasDetailsToAsk(ctx, question))) return true;
  return !request.client.first_party && !(await isConsented(ctx, question));
}

/** A client that the person never wants to see again isn't asked about, first-party or not. */
function notBlocked({ session, request }: InteractionInput): Interaction | null {
  if (!session.blocked_clients.includes(request.client.id)) return null;
  return refuseInteraction('access_denied', 'the person has blocked the client', 'client_blocked');
}

async function consentGiven({ ctx, request, session, silent, allowed }: InteractionInput): Promise<Interaction | null> {
  const guest = !(await isGoodFor(ctx, session, null));
  if (allowed || !(await isConsentNeeded(ctx, request, session.user_id, guest))) return null;
  const question = consentQuestion(request, session.user_id, guest);
  return silent ? refuseInteraction('consent_required', 'the person has not allowed this yet') : { kind: 'consent', session, question };
}
