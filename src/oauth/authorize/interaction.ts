import type { BrowserSession } from '../../core/sessions.js';
import { verifyJwt } from '../../core/tokens/formats/jwt.js';
import { keyRing } from '../../core/signing-keys.js';
import type { Context } from '../../core/context.js';
import type { AuthorizationRequest } from './request.js';

/** What must happen before a code can be issued: nothing, a login, or (with `prompt=none`) a refusal. */
export type Interaction =
  | { readonly kind: 'none'; readonly session: BrowserSession }
  | { readonly kind: 'login'; readonly fresh: boolean }
  | { readonly kind: 'refuse'; readonly error: 'login_required'; readonly description: string };

/** The `sub` of an ID token of ours, expired or not (OIDC Core 3.1.2.1, `id_token_hint`); null when it isn't one. */
async function hintedSub(ctx: Context, hint: string): Promise<string | null> {
  const claims = verifyJwt(await keyRing(ctx), 'JWT', hint);
  return claims && typeof claims['iss'] === 'string' && ctx.environment.issuers.includes(claims['iss']) ? String(claims['sub']) : null;
}

const tooOld = (ctx: Context, request: AuthorizationRequest, session: BrowserSession) =>
  request.max_age !== null && ctx.clock.now().getTime() - session.authenticated_at.getTime() > request.max_age * 1000;

/**
 * What the request asks of the person (OIDC Core 3.1.2.1). `since` is when the request first came (milliseconds): a login after
 * that moment is the one that `prompt=login`, `select_account` and a small `max_age` demand.
 */
export async function interactionFor(
  ctx: Context,
  request: AuthorizationRequest,
  session: BrowserSession | null,
  since: number,
): Promise<Interaction> {
  const silent = request.prompts.includes('none');
  const fresh = session !== null && session.authenticated_at.getTime() >= since;
  const again = request.prompts.includes('login') || request.prompts.includes('select_account');
  const hinted = request.id_token_hint === null ? null : await hintedSub(ctx, request.id_token_hint);
  const reasons: [boolean, string][] = [
    [session === null, 'nobody is signed in'],
    [request.id_token_hint !== null && hinted === null, 'the id_token_hint is not one of ours'],
    [session !== null && hinted !== null && hinted !== session.user_id, 'somebody else is signed in'],
    [session !== null && !fresh && tooOld(ctx, request, session), 'the sign-in is older than max_age'],
    [again && !fresh, 'a new sign-in was asked for'],
  ];
  const reason = reasons.find(([applies]) => applies)?.[1];
  if (reason === undefined) return { kind: 'none', session: session as BrowserSession };
  if (silent) return { kind: 'refuse', error: 'login_required', description: reason };
  return { kind: 'login', fresh: session !== null };
}
