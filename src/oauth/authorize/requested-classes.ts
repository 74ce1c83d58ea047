import { isClass, type AuthenticationClass, type AuthenticationContext } from '../../domain/proofs/classes.js';
import { contextFor } from '../../domain/sessions/authentication-context.js';
import { requirementOf, type SignInRequirement } from '../../domain/proofs/sign-in-requirement.js';
import type { BrowserSession } from '../../domain/sessions/sessions.js';
import type { AuthorizationRequest } from './request.js';

/** The members of a claim in the `claims` parameter (OIDC Core 5.5.1); null when it isn't asked for, or only voluntarily and plainly. */
export function requestedClaim(request: AuthorizationRequest, name: string): Record<string, unknown> | null {
  const claim = request.claims.id_token?.[name];
  return typeof claim === 'object' && claim !== null ? (claim as Record<string, unknown>) : null;
}

const listOf = ({ value, values }: Record<string, unknown>): unknown[] =>
  Array.isArray(values) ? values : value === undefined ? [] : [value];

/** The values of an essential `acr` claim, in the client's order (OIDC Core 5.5.1.1); null where none is essential, or none is named. */
export function essentialClasses(request: AuthorizationRequest): readonly unknown[] | null {
  const claim = requestedClaim(request, 'acr');
  const values = claim?.['essential'] === true ? listOf(claim) : [];
  return values.length > 0 ? values : null;
}

/** The classes that the client wishes for, in its order: `acr_values`, and an `acr` claim that isn't essential. Unknown values count for nothing. */
export function wishedClasses(request: AuthorizationRequest): AuthenticationClass[] {
  const claim = requestedClaim(request, 'acr');
  const claimed = claim === null || claim['essential'] === true ? [] : listOf(claim);
  return [...request.acr_values, ...claimed].filter(isClass);
}

/** What client, API resource and organization require of every sign-in. */
export const requirementOfRequest = ({ client, resource, organization }: AuthorizationRequest): SignInRequirement =>
  requirementOf(client, resource, organization);

/** What the tokens are to state of the session: of the classes that anybody asks for the highest one that is reached, else the one that is. */
export function statedContext(request: AuthorizationRequest, session: BrowserSession): AuthenticationContext {
  const { acr } = requirementOfRequest(request);
  const requested = [...wishedClasses(request), ...(essentialClasses(request) ?? []).filter(isClass), ...(acr === null ? [] : [acr])];
  return contextFor(session, requested);
}
