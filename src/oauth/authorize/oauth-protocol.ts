import { errorDescription } from '../../lib/error-description.js';
import { traceNarrowed } from '../../http/auth/trace.js';
import { findAddressee } from './addressee.js';
import { chosenIn } from './chooser-page.js';
import { issueCode } from './issue-code.js';
import type { Protocol } from './protocol.js';
import { respond } from './respond.js';
import { validate } from './validate.js';

/** RFC 6749 4.1, OIDC Core 3.1: the answer is a code, or an error, at the redirect URI. */
export const oauthProtocol: Protocol = {
  name: 'oauth',
  findAddressee: (web, req, sent) => findAddressee(web, req, sent.parameters),
  validate: (ctx, addressee, sent, session) =>
    validate(ctx, addressee, sent.parameters, { session, pushed: sent.pushed !== undefined, ...chosenIn(sent) }),
  async accept(web, req, res, { sent, request, session }) {
    traceNarrowed(req, sent.parameters, request.rulings, request.client.id);
    const code = await issueCode(req.ctx, request, session, { pushed: sent.pushed?.reference ?? null, request_id: req.request_id });
    await respond(web, req, res, request, { code });
  },
  refuse: (web, req, res, _sent, { addressee, error, description }) =>
    respond(web, req, res, addressee, { error, error_description: errorDescription(description) }),
};
