import type { Request, Response } from 'express';
import { basePage, formActionSource } from '../../http/pages/pages.js';
import type { Web } from '../../http/web.js';
import { withParameters } from '../../lib/redirect-uri.js';
import type { Addressee } from './request.js';

/**
 * Sends the answer to the client: a 303 with the parameters in the query, or a page that posts them (Form Post Response Mode).
 * `state` and `iss` (RFC 9207) travel with every answer, errors too.
 */
export function respond(web: Web, req: Request, res: Response, to: Addressee, answer: Readonly<Record<string, string>>): void {
  const parameters = { ...answer, state: to.state, iss: req.ctx.environment.issuer };
  res.setHeader('Cache-Control', 'no-store');
  res.setHeader('Referrer-Policy', 'no-referrer');
  if (to.response_mode === 'form_post') {
    const fields = Object.fromEntries(Object.entries(parameters).filter((entry): entry is [string, string] => entry[1] !== undefined));
    const base = basePage(req.ctx.environment, { title: `Back to ${to.client.name}`, request_id: req.request_id });
    const client = { name: to.client.name, logo_uri: to.client.logo_uri };
    web.renderPage(
      res,
      'oauth/form-post',
      { ...base, action: to.redirect_uri, fields, client },
      { formAction: [formActionSource(to.redirect_uri)] },
    );
    return;
  }
  // Express's redirect() parses, negotiates and writes a page that no browser shows; a registered URI is visible ASCII already.
  res.statusCode = 303;
  res.setHeader('Location', withParameters(to.redirect_uri, parameters));
  res.end();
}
