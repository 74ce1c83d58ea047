import { refuseUnlessOperator } from '../domain/environments/settings.js';
import { recordDenial } from './audit.js';
import { requireStrongSignIn, requirePermissions } from './authorize.js';
import type { Call } from './call.js';
import type { Endpoint } from './calls/endpoint.js';
import { translated } from './problems.js';
import { readMeta } from './input.js';
import type { Row } from './resource.js';

/**
 * Runs an endpoint, for the API and the dashboard: permissions first, then `read` hands over the document, then its input is checked. A refusal for
 * want of permission is noted in the audit log.
 * @returns the top-level `meta` of the answer
 * @throws {ApiError} 400, 401, 403, 409, 422
 */
export async function runEndpoint(call: Call, endpoint: Endpoint, read: () => Promise<Row> | Row = () => ({})): Promise<Row> {
  const entry = { action: endpoint.name, resource: { type: endpoint.group }, target_id: null };
  return recordDenial(call, entry, () =>
    translated(undefined, async () => {
      if (endpoint.writes) requireStrongSignIn(call);
      requirePermissions(call, ...endpoint.permissions);
      if (endpoint.operators) refuseUnlessOperator(call.ctx);
      const document = await read();
      return endpoint.run(call, endpoint.input ? readMeta(endpoint.input, document) : {});
    }),
  );
}
