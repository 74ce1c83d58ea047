import { isClass, satisfies } from '../../domain/sessions/classes.js';
import { acrOf } from '../../domain/sessions/authentication-context.js';
import { isAlwaysAsked, isConsented, type ConsentQuestion } from '../../domain/grants/consents.js';
import type { Context } from '../../domain/context.js';
import { isProvenSince, type BrowserSession } from '../../domain/sessions/sessions.js';
import { readIdTokenHint } from '../../domain/tokens/id-token.js';
import { scopesOfClaims } from '../../domain/tokens/claims.js';
import type { AuthorizationRequest } from './request.js';

/** What must happen before a code can be issued: nothing, a sign-in, a permission, or a refusal. */
export type Interaction =
  | { readonly kind: 'none'; readonly session: BrowserSession }
  /** `fresh`: the sign-in that the browser has doesn't do. */
  | { readonly kind: 'login'; readonly fresh: boolean }
  | { readonly kind: 'consent'; readonly session: BrowserSession; readonly question: ConsentQuestion }
  | { readonly kind: 'refuse'; readonly error: InteractionError; readonly description: string };

/** Errors of OIDC Core 3.1.2.6 and of "OpenID Connect Core Error Code unmet_authentication_requirements 1.0". */
type InteractionError = 'login_required' | 'consent_required' | 'unmet_authentication_requirements';

/** The members of a claim in the `claims` parameter (OIDC Core 5.5.1); null when it isn't asked for, or only voluntarily and plainly. */
function requestedClaim(request: AuthorizationRequest, name: string): Record<string, unknown> | null {
  const asked = request.claims.id_token?.[name];
  return typeof asked === 'object' && asked !== null ? (asked as Record<string, unknown>) : null;
}

/** The users that the request names, by `id_token_hint` (null when that isn't one of ours) and by a `sub` value in `claims` (OIDC Core 5.5.1); none: anybody. */
async function wantedUsers(ctx: Context, request: AuthorizationRequest): Promise<(string | null)[]> {
  const hint = request.id_token_hint === null ? null : await readIdTokenHint(ctx, request.id_token_hint);
  const wanted: (string | null)[] = request.id_token_hint === null ? [] : [hint?.sub ?? null];
  const sub = requestedClaim(request, 'sub')?.['value'];
  if (typeof sub === 'string') wanted.push(sub);
  return wanted;
}

/** A sign-in of which the provider doesn't say when it was is too old for any `max_age` (OIDC Core 3.1.2.1). */
const tooOld = (ctx: Context, request: AuthorizationRequest, session: BrowserSession) =>
  request.max_age !== null &&
  (!session.auth_time_known || ctx.clock.now().getTime() - session.authenticated_at.getTime() > request.max_age * 1000);

/** Whether an essential `acr` with values was asked for that the session's sign-in didn't reach (OIDC Core 5.5.1.1). */
function missesAcr(request: AuthorizationRequest, session: BrowserSession): boolean {
  const asked = requestedClaim(request, 'acr');
  if (asked?.['essential'] !== true) return false;
  const values = Array.isArray(asked['values']) ? asked['values'] : asked['value'] === undefined ? [] : [asked['value']];
  return values.length > 0 && !values.some((value) => isClass(value) && satisfies(acrOf(session), value));
}

/** What the client asks the person for: its scopes, and those whose claims it asks for one by one. */
export function consentQuestion(request: AuthorizationRequest, user_id: string): ConsentQuestion {
  const named = Object.keys({ ...request.claims.userinfo, ...request.claims.id_token });
  const scopes = [...new Set([...request.scopes, ...scopesOfClaims(named)])];
  return { user_id, client_id: request.client.id, scopes, resource: request.resource?.identifier ?? null };
}

/** What the checks look at. */
type Asking = {
  readonly ctx: Context;
  readonly request: AuthorizationRequest;
  readonly session: BrowserSession;
  /** `prompt=none`: the person may not be asked for anything. */
  readonly silent: boolean;
  /** The person signed in to this browser after the request came. */
  readonly fresh: boolean;
  /** The person proved who they are after the request came; false when a provider goes by an older sign-in. */
  readonly proven: boolean;
  /** Ids of the users that satisfy the request; see {@link wantedUsers}. */
  readonly wanted: readonly (string | null)[];
  /** The person has just answered the consent page with yes. */
  readonly allowed: boolean;
};

/** A check: its name, the interaction that it requires (null: none), and the section that asks for it. */
type Check = readonly [name: string, check: (asking: Asking) => Interaction | null | Promise<Interaction | null>, source: string];

/** What is checked of a valid request once somebody is signed in, in this order; the first that asks for something decides. */
export const interactionChecks: readonly Check[] = [
  ['id_token_hint of ours', signInWhen((a) => a.silent && a.wanted.includes(null), 'the id_token_hint is not one of ours'), 'OIDC Core 3.1.2.2'],
  ['the person who is wanted', signInWhen((a) => a.wanted.some((sub) => sub !== null && sub !== a.session.user_id), 'somebody else is signed in'), 'OIDC Core 3.1.2.2'],
  ['max_age', signInWhen((a) => !a.proven && tooOld(a.ctx, a.request, a.session), 'the sign-in is older than max_age'), 'OIDC Core 3.1.2.1'],
  ['prompt=login', signInWhen((a) => !a.proven && a.request.prompts.includes('login'), 'a new sign-in was asked for'), 'OIDC Core 3.1.2.1'],
  ['prompt=select_account', signInWhen((a) => !a.fresh && a.request.prompts.includes('select_account'), 'a choice of account was asked for'), 'OIDC Core 3.1.2.1'],
  ['essential acr', reachesAcr, 'OIDC Core 5.5.1.1'],
  ['consent', consentGiven, 'OIDC Core 3.1.2.4'],
]; // prettier-ignore

/**
 * What must happen before a code can be issued (OIDC Core 3.1.2.1).
 * @param since when the request first came, in milliseconds: a sign-in after that moment is the one that `prompt=login`, `select_account` and a
 *   small `max_age` demand
 * @param allowed the person has just answered the consent page with yes
 */
export async function interactionFor(
  ctx: Context,
  request: AuthorizationRequest,
  session: BrowserSession | null,
  since: number,
  allowed: boolean,
): Promise<Interaction> {
  const silent = request.prompts.includes('none');
  if (session === null) return silent ? refuse('login_required', 'nobody is signed in') : { kind: 'login', fresh: false };
  const fresh = session.signed_in_at.getTime() >= since;
  const proven = fresh && isProvenSince(session, since);
  const asking: Asking = { ctx, request, session, silent, fresh, proven, wanted: await wantedUsers(ctx, request), allowed };
  for (const [, check] of interactionChecks) {
    const found = check(asking);
    const interaction = found instanceof Promise ? await found : found;
    if (interaction) return interaction;
  }
  return { kind: 'none', session };
}

const refuse = (error: InteractionError, description: string): Interaction => ({ kind: 'refuse', error, description });

/**
 * Requires a sign-in while `needed`. `login_required` instead with `prompt=none`, and when the person has signed in after the request came and
 * still doesn't satisfy it (another user, or a provider that answered with an older sign-in): asking again would loop.
 */
function signInWhen(needed: (asking: Asking) => boolean, description: string): Check[1] {
  return (asking) => {
    if (!needed(asking)) return null;
    return asking.silent || asking.fresh ? refuse('login_required', description) : { kind: 'login', fresh: true };
  };
}

function reachesAcr({ request, session }: Asking): Interaction | null {
  if (!missesAcr(request, session)) return null;
  return refuse('unmet_authentication_requirements', 'the essential acr value is not available');
}

async function consentGiven({ ctx, request, session, silent, allowed }: Asking): Promise<Interaction | null> {
  if (allowed) return null;
  const question = consentQuestion(request, session.user_id);
  const asked = request.prompts.includes('consent') || isAlwaysAsked(ctx, question);
  if (!asked && (request.client.first_party || (await isConsented(ctx, question)))) return null;
  return silent ? refuse('consent_required', 'the person has not allowed this yet') : { kind: 'consent', session, question };
}
