import type { Context } from '../../domain/context.js';
import { findOrganization } from '../../domain/organizations/organizations.js';
import { OAuthError } from '../../errors.js';
import { optional } from './grant.js';

/** The parameter `organization` of every grant type. */
export const organizationParam = optional(255);

/** A token request may repeat, by id or name, the organization that its tokens are for; `null`: for none. @throws {OAuthError} `invalid_target` */
export async function requireSameOrganization(ctx: Context, organization_id: string | null, word: string | undefined): Promise<void> {
  if (word === undefined) return;
  const named = organization_id === null ? null : await findOrganization(ctx, word);
  if (named !== null && named.id === organization_id) return;
  throw OAuthError.invalid_target('organization is not the one that these tokens are for: that is chosen where the person signs in').by(
    'beyond_authorization',
  );
}
