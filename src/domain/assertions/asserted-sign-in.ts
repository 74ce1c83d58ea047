import type { ApiResource, Client } from '../clients/clients.js';
import type { Context } from '../context.js';
import { findOrganization } from '../organizations/organizations.js';
import { reachedBy, type AuthenticationContext } from '../proofs/classes.js';
import { providerProof } from '../proofs/proofs.js';
import { requirementOf, unmetOf, type SignInRequirement } from '../proofs/sign-in-requirement.js';
import { trustFor } from '../sign-ins/provider-trust.js';
import { isNumericDate } from '../../lib/numeric-date.js';
import type { AssertedPerson } from './asserted-person.js';
import type { ReadAssertion } from './read-assertion.js';

type Asserted = { readonly client: Client; readonly resource: ApiResource; readonly read: ReadAssertion; readonly person: AssertedPerson };

const texts = (value: unknown): string[] => (Array.isArray(value) ? value.filter((one) => typeof one === 'string') : []);

/**
 * What the sign-in at the provider counts for here (specification 8.4), or what the client, the API resource and the organization require beyond it. A second
 * step that would follow such a sign-in can't be asked for: without one there is nothing.
 */
export async function assertedContext(
  ctx: Context,
  { client, resource, read, person }: Asserted,
): Promise<AuthenticationContext | { readonly unmet: SignInRequirement }> {
  const { connection, claims } = read;
  const now = ctx.clock.now();
  const stated = { acr: typeof claims['acr'] === 'string' ? claims['acr'] : null, amr: texts(claims['amr']) };
  const auth_time = isNumericDate(claims['auth_time']) ? new Date(claims['auth_time'] * 1000) : null;
  const trust = await trustFor(ctx, connection, person.user, { ...stated, auth_time });
  const reached = reachedBy([providerProof(now, auth_time, trust)]);
  const organization = connection.organization_id === null ? null : await findOrganization(ctx, connection.organization_id);
  const step = !trust.suffices && (person.user.two_step_enabled || ctx.environment.second_factor_policy === 'required');
  const second = step ? { required_acr: '2' as const, max_authentication_age: null } : null;
  const required = requirementOf(client, resource, organization, second);
  const unmet = unmetOf(required, reached.acr, reached.auth_time_known ? reached.auth_time : null, now);
  return unmet === null ? reached : { unmet: required };
}
