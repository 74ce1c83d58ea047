import { acrOf } from '../../domain/sessions/authentication-context.js';
import { isAlwaysAsked, isConsented, type ConsentQuestion } from '../../domain/grants/consents.js';
import type { Context } from '../../domain/context.js';
import { isProvenSince, type BrowserSession } from '../../domain/sessions/sessions.js';
import { readIdTokenHint } from '../../domain/tokens/id-token.js';
import { scopesOfClaims } from '../claims.js';
import type { AuthorizationRequest } from './request.js';

/** What must happen before a code can be issued: nothing, a sign-in, a permission, or a refusal. */
export type Interaction =
  | { readonly kind: 'none'; readonly session: BrowserSession }
  /** `fresh`: the sign-in that the browser has doesn't do. */
  | { readonly kind: 'login'; readonly fresh: boolean }
  | { readonly kind: 'consent'; readonly session: BrowserSession; readonly question: ConsentQuestion }
  | { readonly kind: 'refuse'; readonly error: Refusal; readonly description: string };

/** Errors of OIDC Core 3.1.2.6 and of "OpenID Connect Core Error Code unmet_authentication_requirements 1.0". */
type Refusal = 'login_required' | 'consent_required' | 'unmet_authentication_requirements';

/** The members of a claim in the `claims` parameter (OIDC Core 5.5.1); null when it isn't asked for, or only voluntarily and plainly. */
function requestedClaim(request: AuthorizationRequest, name: string): Record<string, unknown> | null {
  const asked = request.claims.id_token?.[name];
  return typeof asked === 'object' && asked !== null ? (asked as Record<string, unknown>) : null;
}

/** Who will do: named by `id_token_hint` (null when that isn't one of ours), and by a `sub` value in `claims` (OIDC Core 5.5.1). */
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
  return values.length > 0 && !values.includes(acrOf(session));
}

/** What the client asks the person for: its scopes, and those whose claims it asks for one by one. */
export function consentQuestion(request: AuthorizationRequest, user_id: string): ConsentQuestion {
  const scopes = [...new Set([...request.scopes, ...scopesOfClaims(Object.keys(request.claims.userinfo ?? {}))])];
  return { user_id, client_id: request.client.id, scopes, resource: request.resource?.identifier ?? null };
}

async function loginInteraction(
  ctx: Context,
  request: AuthorizationRequest,
  session: BrowserSession | null,
  since: number,
): Promise<Interaction | null> {
  const silent = request.prompts.includes('none');
  const refuse = (description: string): Interaction => ({ kind: 'refuse', error: 'login_required', description });
  if (session === null) return silent ? refuse('nobody is signed in') : { kind: 'login', fresh: false };
  const fresh = session.signed_in_at.getTime() >= since;
  const proven = fresh && isProvenSince(session, since);
  const wanted = await wantedUsers(ctx, request);
  const reasons: [boolean, string][] = [
    [silent && wanted.includes(null), 'the id_token_hint is not one of ours'],
    [wanted.some((sub) => sub !== null && sub !== session.user_id), 'somebody else is signed in'],
    [!proven && tooOld(ctx, request, session), 'the sign-in is older than max_age'],
    [!proven && request.prompts.includes('login'), 'a new sign-in was asked for'],
    [!fresh && request.prompts.includes('select_account'), 'a choice of account was asked for'],
  ];
  const reason = reasons.find(([applies]) => applies)?.[1];
  if (reason === undefined) return null;
  // Whoever has just signed in as somebody else, or through a provider that goes by an older sign-in, is not asked over and over.
  return silent || fresh ? refuse(reason) : { kind: 'login', fresh: true };
}

/**
 * What the request asks of the person (OIDC Core 3.1.2.1). `since` is when the request first came (milliseconds): a sign-in after
 * that moment is the one that `prompt=login`, `select_account` and a small `max_age` demand. `allowed`: the person has just
 * answered the consent page with yes.
 */
export async function interactionFor(
  ctx: Context,
  request: AuthorizationRequest,
  session: BrowserSession | null,
  since: number,
  allowed: boolean,
): Promise<Interaction> {
  const login = await loginInteraction(ctx, request, session, since);
  if (login !== null || session === null) return login ?? { kind: 'login', fresh: false };
  if (missesAcr(request, session)) {
    return { kind: 'refuse', error: 'unmet_authentication_requirements', description: 'the essential acr value is not available' };
  }
  if (allowed) return { kind: 'none', session };
  const question = consentQuestion(request, session.user_id);
  const asked = request.prompts.includes('consent') || isAlwaysAsked(ctx, question);
  if (!asked && (request.client.first_party || (await isConsented(ctx, question)))) return { kind: 'none', session };
  if (request.prompts.includes('none'))
    return { kind: 'refuse', error: 'consent_required', description: 'the person has not allowed this yet' };
  return { kind: 'consent', session, question };
}
