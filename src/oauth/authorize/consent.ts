import type { Request, Response } from 'express';
import { mailAgentAllowed } from '../../domain/grants/agent-mails.js';
import { giveConsent, noteConsentDenied } from '../../domain/grants/consents.js';
import { isUnstored, storeDocumentClient } from '../../domain/clients/document-clients.js';
import { transaction, type Context } from '../../domain/context.js';
import { isGoodFor } from '../../domain/organizations/admission.js';
import { PageError } from '../../errors.js';
import { originOf } from '../../http/pages/mail-origin.js';
import { deniedByPerson, traceRefusal } from '../../http/auth/trace.js';
import type { Web } from '../../http/web.js';
import { proceed, requirePendingRequest } from './authorize.js';
import { allowedIn, onlyAllowed } from './allowed-details.js';
import { AuthorizationError } from './authorization-error.js';
import { consentQuestion } from './interaction.js';
import { openPushedRequest } from './pushed-request.js';
import type { Protocol } from './protocol.js';
import { signInSession } from '../../http/auth/browser-session.js';
import { message } from '../../lib/languages/messages.js';

/** POST of the consent page: the person's answer. Yes is remembered and goes on with the request; no is `access_denied` (RFC 6749 4.1.2.1). */
export const consent = (web: Web, protocol: Protocol) => async (req: Request, res: Response) => {
  const { ctx, form } = req;
  const session = signInSession(req);
  const pending = requirePendingRequest(protocol, req, form.get('request'));
  const sent = (await openPushedRequest(req, pending)) ?? pending;
  const addressee = await protocol.findAddressee(web, req, sent);
  const decision = form.get('decision');
  if (decision === 'deny') {
    if (session !== null) noteConsentDenied(ctx, session.user_id, addressee.client.id, originOf(req));
    req.asking_client_id = addressee.client.id;
    req.error_code = 'access_denied';
    traceRefusal(req, deniedByPerson(addressee.client.id), sent.parameters);
    return protocol.refuse(web, req, res, sent, new AuthorizationError(addressee, 'access_denied', 'the person did not allow it'));
  }
  if (decision !== 'allow') throw new PageError(400, 'invalid_request', message('refusal.no_answer'));
  const allowed = allowedIn(form);
  try {
    const request = onlyAllowed(await protocol.validate(ctx, addressee, sent, session), allowed);
    if (session !== null && !session.blocked_clients.includes(request.client.id)) {
      const { client } = request;
      const give = async (tx: Context) => {
        if (isUnstored(client)) await storeDocumentClient(tx, client);
        const question = consentQuestion(request, session.user_id, !(await isGoodFor(tx, session, null)));
        const first = await giveConsent(tx, question, originOf(req));
        if (first) await mailAgentAllowed(tx, client, session, originOf(req));
      };
      // Where nothing else is written, the consent is whole by itself.
      await (isUnstored(client) || client.is_agent ? transaction(ctx, give) : give(ctx));
    }
  } catch (error) {
    if (!(error instanceof AuthorizationError)) throw error;
  }
  await proceed(protocol, web, req, res, sent, session === null ? null : allowed);
};
