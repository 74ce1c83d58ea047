import type { Client } from '../../domain/clients/clients.js';
import type { Context } from '../../domain/context.js';
import { findOrganization } from '../../domain/organizations/organizations.js';
import { isClass } from '../../domain/proofs/classes.js';
import { requirementOf, unmetOf } from '../../domain/proofs/sign-in-requirement.js';
import { stepRequiredOfGrant } from '../../domain/sign-ins/session-step.js';
import type { Target } from '../../domain/tokens/target.js';
import type { RefreshTokenState } from '../../db/tables/refresh_tokens.js';
import { OAuthError } from '../../errors.js';

const unmetTexts = {
  acr: 'the sign-in is below the class that is required now; ask the person to sign in again',
  max_age: 'the sign-in is older than is allowed now; ask the person to sign in again',
  second_factor: 'a second factor is required now; ask the person to sign in again',
} as const;

/**
 * Refuses to refresh what would be asked for at the authorization endpoint now: `required_acr` and `max_authentication_age` of client, API
 * resource and organization, and the policy on second factors. The token stays as it is: it may do again once less is required.
 * @throws {OAuthError} `invalid_grant`
 */
export async function requireSignInMet(ctx: Context, client: Client, token: RefreshTokenState, target: Target | null): Promise<void> {
  const organization = token.organization_id === null ? null : await findOrganization(ctx, token.organization_id);
  const acr = isClass(token.acr) ? token.acr : '1';
  const unmet = unmetOf(requirementOf(client, target?.resource, organization), acr, token.auth_time, ctx.clock.now());
  if (unmet !== null) throw OAuthError.invalid_grant(unmetTexts[unmet]).by('sign_in_class_not_met');
  const { user_id, factors } = token;
  if ((await stepRequiredOfGrant(ctx, { user_id, acr, factors })) !== 'none')
    throw OAuthError.invalid_grant(unmetTexts.second_factor).by('sign_in_class_not_met');
}
