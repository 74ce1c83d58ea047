import type { Request, Response } from 'express';
import { PageError } from '../../errors.js';
import { queryOf } from '../../http/form.js';
import { openPending, pendingPath } from '../../http/return-to.js';
import type { Web } from '../../http/web.js';
import type { Parameters } from '../../lib/parameters.js';
import { AuthorizationError } from './authorization-error.js';
import { interactionFor } from './interaction.js';
import { issueCode } from './issue-code.js';
import { respond } from './respond.js';
import { findAddressee, validate } from './validate.js';

/** Sends the person to the login page; the request waits, sealed, in the address to return to. */
function sendToLogin(req: Request, res: Response, parameters: Parameters, since: number): void {
  const path = pendingPath(req, { parameters: parameters.all, at: since });
  const hint = parameters.get('login_hint');
  const query = new URLSearchParams({ return_to: path, ...(hint !== undefined && hint.length <= 255 ? { login_hint: hint } : {}) });
  res.setHeader('Cache-Control', 'no-store');
  res.redirect(303, `/login?${query.toString()}`);
}

async function run(web: Web, req: Request, res: Response, parameters: Parameters, since: number): Promise<void> {
  const { ctx, session } = req;
  const addressee = await findAddressee(ctx, parameters);
  const silent = parameters.get('prompt') === 'none';
  try {
    const request = await validate(ctx, addressee, parameters);
    const interaction = await interactionFor(ctx, request, session, since);
    if (interaction.kind === 'login') return sendToLogin(req, res, parameters, since);
    if (interaction.kind === 'refuse') throw new AuthorizationError(addressee, interaction.error, interaction.description);
    const code = await issueCode(ctx, request, interaction.session);
    respond(web, req, res, addressee, { code });
  } catch (error) {
    if (!(error instanceof AuthorizationError)) throw error;
    // Whoever isn't signed in is not sent to a client's address by a broken link alone (RFC 9700 4.11.2).
    if (session === null && !silent) return sendToLogin(req, res, parameters, since);
    respond(web, req, res, error.addressee, { error: error.error, error_description: error.description });
  }
}

/** GET and POST /oauth/authorize (RFC 6749 4.1.1, OIDC Core 3.1.2.1). */
export function authorize(web: Web) {
  return async (req: Request, res: Response): Promise<void> => {
    const parameters = req.method === 'POST' ? req.form : queryOf(req);
    await run(web, req, res, parameters, req.ctx.clock.now().getTime());
  };
}

/** GET /oauth/authorize/resume: the request that waited while the person signed in. */
export function resume(web: Web) {
  return async (req: Request, res: Response): Promise<void> => {
    const handle = queryOf(req).get('request');
    const pending = handle === undefined ? null : openPending(req, handle);
    if (!pending) {
      throw new PageError(
        400,
        'invalid_request',
        'This sign-in has expired or its link was changed. Go back to the application and start again.',
      );
    }
    const all = pending.parameters;
    await run(web, req, res, { all, repeated: new Set(), get: (name) => all[name] || undefined }, pending.at);
  };
}
