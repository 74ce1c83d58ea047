import { tokensOfAnswer } from './answered-elsewhere.js';
import { detailsParam, grant, optional, required } from './grant.js';
import { organizationParam } from './same-organization.js';

/** RFC 8628 3.4: a device asks whether its person has answered. */
export const device_code = grant({
  public_clients: true,
  spends_proof: true,
  params: { device_code: required(4096), resource: optional(4096), organization: organizationParam, authorization_details: detailsParam },
  handle: (ctx, client, { device_code: presented, ...params }, _origin, proof) =>
    tokensOfAnswer(ctx, client, 'device_code', { presented, ...params }, proof),
});
