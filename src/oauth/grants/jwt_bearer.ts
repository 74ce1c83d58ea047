import { clientByWorkload } from '../../domain/workloads/assertion.js';
import { OAuthError } from '../../errors.js';
import { jwtBearerGrantType } from '../../lib/grant-types.js';
import { defaultResource, issueForClient } from './client_credentials.js';
import { grant, optional, required } from './grant.js';
import { organizationParam } from './same-organization.js';

/**
 * RFC 7523 2.1: a workload brings a token of its platform and gets the token of the client that it proves, for itself. What is proven by it is the client that
 * authenticated, if one did.
 */
export const jwt_bearer = grant({
  public_clients: false,
  spends_proof: true,
  params: { assertion: required(16_384), resource: required(4096), scope: optional(16_384), organization: organizationParam },
  absent: { resource: defaultResource },
  async handle(ctx, client, params, _origin, proof) {
    const proven = await clientByWorkload(ctx, params.assertion, client.id);
    if ('reason' in proven) throw OAuthError.invalid_grant(proven.reason);
    return issueForClient(ctx, proven, params, proof, jwtBearerGrantType);
  },
});
