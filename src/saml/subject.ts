import { findUserClaims, type UserWithRoles } from '../db/tables/user_claims.js';
import { asClaimed, claimsOf } from '../domain/claims/claims.js';
import type { Context } from '../domain/context.js';
import { satisfies } from '../domain/proofs/classes.js';
import { nameIdAt, nameIdFormats, pairwise } from '../domain/saml/name-id.js';
import type { BrowserSession } from '../domain/sessions/sessions.js';
import { named, own } from '../lib/named.js';
import { AuthorizationError } from '../oauth/authorize/authorization-error.js';
import type { AuthorizationRequest } from '../oauth/authorize/request.js';
import { statedContext } from '../oauth/authorize/requested-classes.js';
import type { Subject } from './assertion.js';
import { contextClasses, passwordContext, secondFactorContext, unspecifiedContext } from './names.js';

const textsOf = (value: unknown): string[] => (Array.isArray(value) ? value : [value]).map(String);

/** The attributes that the application gets, by the names that it has for them; what somebody doesn't have is left out. */
function attributesOf({ client, organization }: AuthorizationRequest, user: UserWithRoles): Subject['attributes'] {
  const { id: org_id, name: org_name, display_name: org_display_name } = organization ?? {};
  const claims: Readonly<Record<string, unknown>> = named({
    ...claimsOf(user, [], Object.values(client.saml_attributes)),
    // Applications go by the address, and have nothing that says whether it is proven.
    ...(!user.email_verified && { email: undefined }),
    org_id,
    org_name,
    org_display_name,
  });
  const values = Object.entries(client.saml_attributes).map(([name, claim]) => [name, own(claims, claim)] as const);
  return named(Object.fromEntries(values.filter(([, value]) => value !== undefined).map(([name, value]) => [name, textsOf(value)])));
}

/** The class of the sign-in: one that was demanded and is reached, else what it is. */
function contextOf(request: AuthorizationRequest, session: BrowserSession, contexts: readonly string[]): string {
  const { acr, amr } = statedContext(request, session);
  const demanded = contexts.find((name) => satisfies(acr, own(contextClasses, name) ?? 'phr'));
  if (demanded !== undefined) return demanded;
  if (acr !== '1') return secondFactorContext;
  return amr.includes('pwd') ? passwordContext : unspecifiedContext;
}

/**
 * What the assertion says of the person.
 * @param contexts the classes of sign-in of which the request demands one
 * @throws {AuthorizationError} where there is nobody, or the NameID is an address that nobody has proven
 */
export async function assertedSubject(
  ctx: Context,
  request: AuthorizationRequest,
  session: BrowserSession,
  contexts: readonly string[],
): Promise<Subject> {
  const { client, organization } = request;
  const found = await findUserClaims(ctx.scope, session.user_id, organization?.id ?? null);
  if (!found) throw new AuthorizationError(request, 'access_denied', 'the person is gone');
  const user = asClaimed(ctx.environment, found);
  const name_id = nameIdAt(ctx.environment, client, { id: user.id, verified_email: user.email_verified ? user.email : null });
  if (name_id === null) throw new AuthorizationError(request, 'access_denied', 'the address of the person is not verified');
  return {
    name_id,
    format: nameIdFormats[client.saml_name_id],
    is_pairwise: client.saml_name_id === 'persistent',
    attributes: attributesOf(request, user),
    context: contextOf(request, session, contexts),
    auth_time: statedContext(request, session).auth_time,
    session_index: pairwise(ctx.environment, 'session', client.id, session.id),
    session_until: session.expires_at,
  };
}
