import { vouchesFor } from '../../domain/assertions/read-assertion.js';
import { isListed } from '../../domain/clients/admission.js';
import { enabledClient, type Client } from '../../domain/clients/clients.js';
import { documentAddressProblem, isUnstored, storeDocumentClient } from '../../domain/clients/document-clients.js';
import { transaction, type Context } from '../../domain/context.js';
import type { FindClient } from '../../http/auth/authenticate-client.js';
import { isDocumentId } from '../../lib/document-client-id.js';
import { identifyClient, type Limiting } from './identify-client.js';

/** Whether the time of the document is over that the client is known by. */
const isOutdated = ({ clock }: Context, { origin, document_fresh_until: until }: Client): boolean =>
  origin === 'metadata_document' && (until === null || until <= clock.now());

/**
 * Finds the client of a token request: a stored one; or, if its host is listed and a verified identity assertion names it, one that is known by its document
 * alone, which is read anew when its time is over. Such a client gets its row here, on which its tokens rest: no person is going to be asked.
 */
export const findAssertedClient =
  (web: Limiting): FindClient =>
  async (req, client_id) => {
    const { ctx } = req;
    const stored = await enabledClient(ctx, client_id);
    const assertion = req.form.get('assertion');
    if (assertion === undefined || (stored && !isOutdated(ctx, stored))) return stored;
    if (!isDocumentId(client_id) || documentAddressProblem(ctx, client_id) !== null || !isListed(ctx.environment, client_id)) return stored;
    if (!(await vouchesFor(ctx, assertion, client_id))) return stored;
    const client = await identifyClient(web, req, client_id);
    if (client && isUnstored(client)) await transaction(ctx, (tx) => storeDocumentClient(tx, client));
    return client;
  };
