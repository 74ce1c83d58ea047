import type { Request, Response } from 'express';
import { sessionOf } from '../http/auth/browser-session.js';
import { requestOptions } from '../domain/authenticators/passkey-sign-in.js';
import { isClass, type AuthenticationClass } from '../domain/proofs/classes.js';
import { PageError } from '../errors.js';
import { confirmPath, proofFailureOf, renderConfirm, type Failed } from '../http/confirmation/ask-to-confirm.js';
import { browserSecret } from '../http/auth/browser-secret.js';
import { confirmationAnswerOf, demandedOf, isStale, ownNames, prove } from '../http/confirmation/confirmation.js';
import { waysToProve } from '../http/confirmation/proof-ways.js';
import { errorMessage } from '../http/pages/error-texts.js';
import { basePage } from '../http/pages/pages.js';
import { queryOf, wantsJson } from '../http/request/form.js';
import { safeReturnTo, withReturnTo } from '../http/request/return-to.js';
import type { Web } from '../http/web.js';
import { bodyReturnTo, bodyText } from './fields.js';
import { wordsOf } from '../http/pages/words.js';

const home = '/account';

/** The class that is asked for beyond the person's own; what is no class asks for none. */
const requestedClass = (value: string | null | undefined): AuthenticationClass => (isClass(value) ? value : '1');

type ConfirmationRequest = {
  readonly demanded: AuthenticationClass;
  readonly acr_values: AuthenticationClass;
  readonly return_to: string | null;
};

async function ask(
  web: Web,
  req: Request,
  res: Response,
  { demanded, acr_values, return_to }: ConfirmationRequest,
  failed: Failed | null,
): Promise<void> {
  const hidden = { return_to: return_to ?? '', acr_values: acr_values === '1' ? '' : acr_values };
  const back = withReturnTo(confirmPath, { ...(hidden.acr_values !== '' && { acr_values: hidden.acr_values }) }, return_to);
  await renderConfirm(web, req, res, {
    demanded,
    action: confirmPath,
    hidden,
    names: ownNames,
    back: return_to ?? back,
    held: false,
    failed,
    status: failed ? proofFailureOf(failed).status : 200,
  });
}

/** Tells somebody who confirmed in a second tab to go back to the first. */
function sayConfirmed(web: Web, req: Request, res: Response): void {
  web.renderPage(res, 'account/message', {
    ...basePage(req.ctx.environment, { title: wordsOf(req).t('confirmed.title'), request_id: req.request_id }),
    tone: 'good',
    text: [wordsOf(req).t('confirmed.text')],
    next: { href: home, label: wordsOf(req).t('confirmed.next') },
  });
}

/** GET /account/confirm: the page that asks; who is confirmed goes on at once. Needs a session, which sign-in gives otherwise. */
export const confirmPage = (web: Web) => async (req: Request, res: Response) => {
  if (!req.session) return res.redirect(303, `/login?${new URLSearchParams({ return_to: req.originalUrl })}`);
  const query = queryOf(req);
  const return_to = safeReturnTo(query.get('return_to'));
  const acr_values = requestedClass(query.get('acr_values'));
  const demanded = demandedOf(req, acr_values);
  if (isStale(req, demanded)) return ask(web, req, res, { demanded, acr_values, return_to }, null);
  if (return_to !== null) return res.redirect(303, return_to);
  sayConfirmed(web, req, res);
};

/** A refused proof as JSON; `methods` are those that would do. */
async function refuseJson(req: Request, demanded: AuthenticationClass, failed: Failed | null): Promise<never> {
  if (failed && failed.outcome.outcome !== 'confirmed') {
    const { status, code, text, extra } = proofFailureOf(failed);
    // The code of POST /login: here as there it is a password that somebody signs in with.
    throw code === 'invalid_password'
      ? new PageError(401, 'invalid_credentials', errorMessage('invalid_password'))
      : new PageError(status, code, text, extra);
  }
  const { password, methods } = await waysToProve(req, demanded);
  const extra = { acr_values: demanded, methods: [...(password ? ['password'] : []), ...methods] };
  throw new PageError(403, 'confirmation_required', errorMessage('confirmation_required'), extra);
}

/**
 * POST /account/confirm: a password, a passkey or a code, judged as at sign-in, proves that it is still the person; the session gets a new token.
 * Its class only rises.
 */
export const confirm = (web: Web) => async (req: Request, res: Response) => {
  const acr_values = requestedClass(bodyText(req, 'acr_values'));
  const return_to = bodyReturnTo(req);
  const demanded = demandedOf(req, acr_values);
  const answer = confirmationAnswerOf(req, ownNames);
  const failed = answer && { answer, outcome: await prove(req, res, answer) };
  const done = failed ? failed.outcome.outcome === 'confirmed' : true;
  if (!done || isStale(req, demanded)) {
    if (wantsJson(req)) return refuseJson(req, demanded, failed);
    return ask(web, req, res, { demanded, acr_values, return_to }, failed);
  }
  if (wantsJson(req)) return void res.set('Cache-Control', 'no-store').json({ redirect_to: return_to ?? home });
  res.redirect(303, return_to ?? home);
};

/** POST /account/confirm/passkey/options: the request for one of the person's passkeys. */
export async function confirmOptions(req: Request, res: Response): Promise<void> {
  const using = { purpose: 'confirm', browser: browserSecret(req, res), user_id: sessionOf(req).user_id } as const;
  res.set('Cache-Control', 'no-store').json(await requestOptions(req.ctx, using));
}
