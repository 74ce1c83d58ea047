import { vouchesFor } from '../../domain/assertions/read-assertion.js';
import { isListed } from '../../domain/clients/admission.js';
import { enabledClient } from '../../domain/clients/clients.js';
import { isUnstored, storeDocumentClient } from '../../domain/clients/document-clients.js';
import { transaction } from '../../domain/context.js';
import type { FindClient } from '../../http/auth/authenticate-client.js';
import { isDocumentId } from '../../lib/document-client-id.js';
import { identifyClient, type Limiting } from './identify-client.js';

/**
 * Finds the client of a token request: a stored one; or one that is known by its document alone, if its host is listed and a verified identity assertion names
 * it. That one gets its row here, on which its tokens rest: no person is going to be asked.
 */
export const findAssertedClient =
  (web: Limiting): FindClient =>
  async (req, client_id) => {
    const { ctx } = req;
    const stored = await enabledClient(ctx, client_id);
    const assertion = req.form.get('assertion');
    if (stored || assertion === undefined || !isDocumentId(client_id) || !isListed(ctx.environment, client_id)) return stored;
    if (!(await vouchesFor(ctx, assertion, client_id))) return null;
    const client = await identifyClient(web, req, client_id);
    if (client && isUnstored(client)) await transaction(ctx, (tx) => storeDocumentClient(tx, client));
    return client;
  };
