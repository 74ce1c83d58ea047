import { tokensOfAnswer } from './answered-elsewhere.js';
import { detailsParam, grant, optional, required } from './grant.js';
import { organizationParam } from './same-organization.js';

/** CIBA Core 1.0 10.1: a client asks whether the person has answered whom it asked elsewhere. */
export const ciba = grant({
  public_clients: false,
  spends_proof: true,
  params: { auth_req_id: required(1024), resource: optional(4096), organization: organizationParam, authorization_details: detailsParam },
  handle: (ctx, client, { auth_req_id: presented, ...params }, _origin, proof) =>
    tokensOfAnswer(ctx, client, 'auth_req_id', { presented, ...params }, proof),
});
