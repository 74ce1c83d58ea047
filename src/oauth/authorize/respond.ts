import type { Request, Response } from 'express';
import { algorithmFor } from '../../domain/clients/profile.js';
import { signerFor } from '../../domain/signing-keys/signing-keys.js';
import { signJwt } from '../../domain/tokens/formats/jwt.js';
import { basePage, formActionSource } from '../../http/pages/pages.js';
import type { Web } from '../../http/web.js';
import { withParameters } from '../../lib/redirect-uri.js';
import { isFragment, isSigned, type Addressee } from './request.js';
import { shownNameOf } from '../../http/pages/shown-client.js';
import { wordsOf } from '../../http/pages/words.js';

type Answer = Readonly<Record<string, string>>;
type Answered = Readonly<Record<string, string | undefined>>;

/** How long a client may take to read a signed answer: as long as a code lives, and some. */
const signedLifetimeSeconds = 300;

/** The answer as the one parameter `response`, signed for the client (JARM 2.1). */
async function signedAnswer({ ctx }: Request, { client }: Addressee, answer: Answered): Promise<Answered> {
  const exp = Math.floor(ctx.clock.now().getTime() / 1000) + signedLifetimeSeconds;
  const signer = await signerFor(ctx, client.authorization_signed_response_alg ?? algorithmFor(client));
  return { response: await signJwt(ctx, signer, 'JWT', { ...answer, aud: client.id, exp }) };
}

/**
 * Sends the answer to the client: a 303 with the parameters in the query or the fragment, or a page that posts them (Form Post Response Mode), and either with all of
 * them signed in one (JARM). `state` and `iss` (RFC 9207) travel with every answer, errors too.
 */
export async function respond(web: Web, req: Request, res: Response, to: Addressee, answer: Answer): Promise<void> {
  const plain = { ...answer, state: to.state, iss: req.ctx.environment.issuer };
  const parameters: Answered = isSigned(to.response_mode) ? await signedAnswer(req, to, plain) : plain;
  res.setHeader('Cache-Control', 'no-store');
  res.setHeader('Referrer-Policy', 'no-referrer');
  if (to.response_mode === 'form_post' || to.response_mode === 'form_post.jwt') {
    const fields = Object.fromEntries(Object.entries(parameters).filter((entry): entry is [string, string] => entry[1] !== undefined));
    req.branded_for = to.client;
    const words = wordsOf(req);
    const client = { name: shownNameOf(words, to.client) };
    const base = basePage(req.ctx.environment, { title: words.t('form_post.title', { client: client.name }), request_id: req.request_id });
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
  res.setHeader('Location', withParameters(to.redirect_uri, parameters, isFragment(to.response_mode)));
  res.end();
}
