import { clientByWorkload } from '../../domain/workloads/assertion.js';
import { OAuthError } from '../../errors.js';
import { jwtBearerGrantType, jwtDpopGrantType } from '../../lib/grant-types.js';
import { isIdJag } from '../../lib/identity-assertions.js';
import { defaultResource, issueForClient } from './client_credentials.js';
import { detailsParam, grant, optional, required } from './grant.js';
import { redeem } from './redeem-assertion.js';
import { organizationParam } from './same-organization.js';

const params = {
  assertion: required(16_384), resource: optional(4096), scope: optional(16_384), organization: organizationParam, authorization_details: detailsParam,
}; // prettier-ignore

/**
 * RFC 7523 2.1. A workload brings a token of its platform and gets the token of the client that it proves, for itself: what is proven by it is the client that
 * authenticated, if one did. An identity assertion (ID-JAG), which its type alone tells apart, gives a person's token to the client that authenticated.
 */
export const jwt_bearer = grant({
  public_clients: true,
  spends_proof: true,
  params,
  async handle(ctx, client, sent, origin, proof) {
    if (isIdJag(sent.assertion)) return redeem(ctx, client, sent, { origin, proof, grant_type: jwtBearerGrantType });
    if (client.token_endpoint_auth_method === 'none')
      throw OAuthError.unauthorized_client('the client may not use this grant type').by('grant_type_not_allowed');
    const { resource = await defaultResource(ctx, client) } = sent;
    const proven = await clientByWorkload(ctx, sent.assertion, client.id);
    if ('reason' in proven) throw OAuthError.invalid_grant(proven.reason);
    return issueForClient(ctx, proven, { ...sent, resource }, proof, jwtBearerGrantType);
  },
});

/** The same for an identity assertion that is bound to a key. */
export const jwt_dpop = grant({
  public_clients: true,
  spends_proof: true,
  params,
  handle: (ctx, client, sent, origin, proof) => redeem(ctx, client, sent, { origin, proof, grant_type: jwtDpopGrantType }),
});
