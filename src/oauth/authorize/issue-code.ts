import type { Context } from '../../domain/context.js';
import type { BrowserSession } from '../../domain/sessions/sessions.js';
import { codeLifetimeMs, insertAuthorizationCode, insertCodeForPushedRequest } from '../../db/tables/authorization_codes.js';
import { noteOrganizationOfSession } from '../../db/tables/session_organizations.js';
import { digest } from '../../lib/digest.js';
import { randomToken, uuidv7 } from '../../lib/random.js';
import { formatScope } from '../../lib/scope-set.js';
import { kindOfToken } from '../../domain/tokens/target.js';
import { knownClaims } from '../../domain/claims/claims.js';
import { unusableRequestUri } from './pushed-request.js';
import type { AuthorizationRequest } from './request.js';
import { statedContext } from './requested-classes.js';

/**
 * Stores a code of 256 random bits, good for one use within 60 s, bound to all that was asked (RFC 6749 4.1.2, RFC 9700 2.1.1).
 * @param how `pushed`: the reference of the pushed request that it answers, which is spent with that (RFC 9126 4); the request that it is issued by
 * @throws {PageError} when the pushed request was answered with a code before
 */
export async function issueCode(
  ctx: Context,
  request: AuthorizationRequest,
  session: BrowserSession,
  { pushed, request_id }: { readonly pushed: Buffer | null; readonly request_id: string },
): Promise<string> {
  const code = randomToken('ac_');
  const now = ctx.clock.now();
  const { acr, amr, auth_time, auth_time_known } = statedContext(request, session);
  const [atUserinfo, inIdToken] = [knownClaims(request.claims.userinfo), knownClaims(request.claims.id_token)];
  const { format, lifetime } = kindOfToken(ctx, request.client, request.resource);
  const row = {
    digest: digest(code),
    grant_id: uuidv7(now.getTime()),
    client_id: request.client.id,
    user_id: session.user_id,
    session_id: session.id,
    organization_id: request.organization?.id ?? null,
    redirect_uri: request.redirect_uri,
    scope: formatScope(request.scopes),
    resource: request.resource?.identifier ?? null,
    authorization_details: request.authorization_details,
    access_token_format: format,
    access_token_lifetime: lifetime,
    nonce: request.nonce,
    code_challenge: request.code_challenge,
    dpop_jkt: request.dpop_jkt,
    claims: atUserinfo.length === 0 ? null : Object.fromEntries(atUserinfo.map((name) => [name, null])),
    id_token_claims: inIdToken.length === 0 ? null : inIdToken,
    // The sign-in here doesn't tell when the person authenticated at the provider.
    auth_time: auth_time_known ? auth_time : null,
    auth_time_requested: request.max_age !== null,
    acr,
    amr,
    expires_at: new Date(now.getTime() + codeLifetimeMs),
    request_id,
  };
  if (request.organization && request.client.organization_usage === 'require') {
    const last = { session_id: session.id, client_id: request.client.id, organization_id: request.organization.id };
    await noteOrganizationOfSession(ctx.scope, last);
  }
  if (pushed === null) await insertAuthorizationCode(ctx.scope, row);
  else if (!(await insertCodeForPushedRequest(ctx.scope, row, { reference: pushed, now }))) throw unusableRequestUri();
  return code;
}
