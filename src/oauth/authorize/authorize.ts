import type { Request, Response } from 'express';
import { PageError } from '../../errors.js';
import { isForeignPost, queryOf } from '../../http/request/form.js';
import { traceRefusal } from '../../http/auth/trace.js';
import type { Web } from '../../http/web.js';
import { onlyAllowed, type Allowed } from './allowed-details.js';
import { AuthorizationError } from './authorization-error.js';
import { renderConsent } from './consent-page.js';
import { interactionFor } from './interaction.js';
import { openPushedRequest } from './pushed-request.js';
import { redirectToGet, sendToLogin, sendToStep, openRequest, type SentRequest } from './pending.js';
import { unwrapRequestObject } from './request-object.js';
import { oauthProtocol } from './oauth-protocol.js';
import type { Protocol } from './protocol.js';
import { noMemberPage, renderChooser } from './chooser-page.js';
import { signInSession } from '../../http/auth/browser-session.js';
import { message } from '../../lib/languages/messages.js';

/** Answers a request: with the login page, the consent page, or what the protocol answers the client. `allowed`: what the person has just consented to. @throws {PageError} */
export async function proceed(
  protocol: Protocol,
  web: Web,
  req: Request,
  res: Response,
  sent: SentRequest,
  allowed: Allowed | null = null,
): Promise<void> {
  const { ctx } = req;
  const session = signInSession(req);
  req.ui_locales = sent.parameters.get('ui_locales');
  const addressee = await protocol.findAddressee(web, req, sent);
  req.asking_client_id = addressee.client.id;
  if (isForeignPost(req)) return redirectToGet(req, res, sent);
  try {
    const request = onlyAllowed(await protocol.validate(ctx, addressee, sent, session), allowed);
    const interaction = await interactionFor(ctx, request, session, { ...sent, allowed: allowed !== null });
    switch (interaction.kind) {
      case 'login':
        return sendToLogin(req, res, sent, interaction.fresh, interaction.again);
      case 'step':
        // The pages of the step are for whom this browser knows everywhere.
        return req.session === null ? sendToLogin(req, res, sent, true, true) : sendToStep(req, res, sent, interaction);
      case 'choose':
        return renderChooser(web, req, res, { sent, request, ...interaction });
      case 'no_member':
        throw noMemberPage(req, sent, interaction.session);
      case 'consent':
        return await renderConsent(web, req, res, { sent, request, ...interaction });
      case 'refuse':
        throw new AuthorizationError(addressee, interaction.error, interaction.description).by(interaction.rule);
      case 'none':
        return await protocol.accept(web, req, res, { sent, request, session: interaction.session });
    }
  } catch (error) {
    await refuse(protocol, web, req, res, sent, error);
  }
}

/** Sends the error to the client. Somebody who isn't signed in goes to the login page first, but for `prompt=none`, so that a crafted link alone redirects nobody to the client (RFC 9700 4.11.2). */
async function refuse(protocol: Protocol, web: Web, req: Request, res: Response, sent: SentRequest, error: unknown): Promise<void> {
  if (!(error instanceof AuthorizationError)) throw error;
  if (signInSession(req) === null && sent.parameters.get('prompt') !== 'none') return sendToLogin(req, res, sent, false);
  req.error_code = error.error;
  traceRefusal(req, error, sent.parameters);
  await protocol.refuse(web, req, res, sent, error);
}

/** Reads what the request refers to (a pushed request, RFC 9126; a request object, OIDC Core 6.1) and continues. @throws {PageError} */
async function enter(web: Web, req: Request, res: Response, sent: SentRequest): Promise<void> {
  const pushed = await openPushedRequest(req, sent);
  if (pushed) return proceed(oauthProtocol, web, req, res, pushed);
  let parameters;
  try {
    parameters = await unwrapRequestObject(web, req, sent.parameters);
  } catch (error) {
    return refuse(oauthProtocol, web, req, res, sent, error);
  }
  await proceed(oauthProtocol, web, req, res, { ...sent, parameters });
}

/** GET and POST /oauth/authorize (RFC 6749 4.1.1, OIDC Core 3.1.2.1). */
export const authorize = (web: Web) => async (req: Request, res: Response) => {
  const parameters = req.method === 'POST' ? req.form : queryOf(req);
  await enter(web, req, res, { parameters, since: req.ctx.clock.now().getTime() });
};

/** The request of the protocol behind a sealed handle. @throws {PageError} 400 when the handle was changed or is older than an hour */
export function requirePendingRequest({ name }: Protocol, req: Request, handle: string | undefined): SentRequest {
  const sent = openRequest(req, handle, name);
  if (!sent) {
    throw new PageError(400, 'invalid_request', message('refusal.sign_in_link_expired'));
  }
  return sent;
}

/** GET /oauth/authorize/resume: the request goes on after the person signed in. */
export const resume = (web: Web) => async (req: Request, res: Response) =>
  enter(web, req, res, requirePendingRequest(oauthProtocol, req, queryOf(req).get('request')));
