import { outboundTarget } from '../../domain/assertions/outbound.js';
import { enabledClient } from '../../domain/clients/clients.js';
import type { Context } from '../../domain/context.js';
import { findMembership } from '../../domain/organizations/memberships.js';
import { findOrganization } from '../../domain/organizations/organizations.js';
import type { AuthenticationClass } from '../../domain/proofs/classes.js';
import { findAuthorization } from '../../db/tables/authorizations.js';
import type { ExternalServerRow } from '../../db/tables/external_servers.js';
import type { UserRow } from '../../db/tables/users.js';
import { OAuthError, RuledError } from '../../errors.js';
import { tokenExchangeGrantType } from '../../lib/grant-types.js';
import type { RefusalRule } from '../../lib/refusal-rules.js';
import type { AssertionSubject } from '../grants/assertion-subject.js';
import { decideAssertion, noOutboundTarget } from '../grants/decided-assertion.js';
import { grantFor } from '../token.js';

export type AssertionPreviewRequest = {
  readonly client_id: string;
  readonly user: UserRow;
  readonly server: Pick<ExternalServerRow, 'issuer'>;
  readonly resource: string;
  readonly scope: string | undefined;
  /** Id or name of the organization that the sign-in is for. */
  readonly organization: string | undefined;
  /** How the person signed in, just now. */
  readonly acr: AuthenticationClass;
};

/** What the assertion would say, or by which rule there would be none. */
export type AssertionPreview =
  { readonly claims: Readonly<Record<string, unknown>> } | { readonly refusal: { readonly error: string; readonly rule: RefusalRule } };

/** The person as they would be after such a sign-in. @throws {OAuthError} */
async function subjectOf(ctx: Context, { client_id, user, organization, acr }: AssertionPreviewRequest): Promise<AssertionSubject> {
  if (user.status !== 'active') throw OAuthError.invalid_grant('the person is blocked').by('user_blocked');
  if ((await findAuthorization(ctx.scope, { user_id: user.id, client_id }))?.blocked_at)
    throw OAuthError.invalid_grant('the person has blocked the client').by('client_blocked');
  const found = organization === undefined ? null : await findOrganization(ctx, organization);
  const membership = found?.status === 'enabled' ? await findMembership(ctx, found.id, user.id) : null;
  if (organization !== undefined && membership?.status !== 'active')
    throw OAuthError.invalid_grant('the person is no active member').by('not_a_member');
  return {
    user_id: user.id,
    email: user.email_verified ? user.email : null,
    organization_id: found?.id ?? null,
    acr,
    amr: [],
    session_id: null,
    auth_time: ctx.clock.now(),
    refresh: null,
  };
}

/** Whether a person, with a client, gets an assertion for a server outside: answered by the code that issues them; nothing is signed or stored. */
export async function previewAssertion(ctx: Context, request: AssertionPreviewRequest): Promise<AssertionPreview> {
  try {
    const client = await enabledClient(ctx, request.client_id);
    if (!client) throw OAuthError.invalid_client().by('client_disabled');
    grantFor(client, tokenExchangeGrantType);
    const target = await outboundTarget(ctx, request.server.issuer, request.resource);
    if (!target) throw noOutboundTarget();
    const { claims } = await decideAssertion(ctx, client, target, await subjectOf(ctx, request), request);
    return { claims };
  } catch (error) {
    if (!(error instanceof RuledError) || error.rule === null) throw error;
    return { refusal: { error: error.answer.code, rule: error.rule } };
  }
}
