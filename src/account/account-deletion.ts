import type { Request, Response } from 'express';
import { transaction } from '../domain/context.js';
import { Refusal } from '../domain/refusal.js';
import { requestDeletion } from '../domain/users/own-deletion.js';
import { PageError } from '../errors.js';
import { clearSessionCookie, sessionOf } from '../http/auth/browser-session.js';
import { errorMessage } from '../http/pages/error-texts.js';
import { originOf } from '../http/pages/mail-origin.js';
import { basePage } from '../http/pages/pages.js';
import { wordsOf } from '../http/pages/words.js';
import { wantsJson } from '../http/request/form.js';
import type { Web } from '../http/web.js';
import { message } from '../lib/languages/messages.js';
import { renderAccount } from './account-page.js';
import { refusalError } from './refusal.js';

/**
 * POST /account/delete (specification 4.14.1): signs out everywhere; the account is deleted once the time to return is over. 404 where people can't, 409 for the last
 * administrator.
 */
export const deleteOwnAccount = (web: Web) => async (req: Request, res: Response) => {
  const request = transaction(req.ctx, (tx) => requestDeletion(tx, sessionOf(req).user_id, originOf(req)));
  const leaving = await request.catch((error: unknown) => {
    if (error instanceof Refusal) return 'last_administrator' as const;
    throw error;
  });
  if (leaving === 'last_administrator') {
    const refusal = { status: 409, code: 'last_administrator', text: message('refusal.last_administrator') };
    if (wantsJson(req)) throw refusalError(refusal);
    return renderAccount(web, req, res, { refusal });
  }
  if (!leaving?.deletion_due_at) throw new PageError(404, 'not_found', errorMessage('not_found'));
  clearSessionCookie(req, res);
  const deletion_due_at = leaving.deletion_due_at.toISOString();
  if (wantsJson(req)) {
    res.set('Cache-Control', 'no-store').json({ deletion_due_at });
    return;
  }
  const words = wordsOf(req);
  web.renderPage(res, 'account/message', {
    ...basePage(req.ctx.environment, { title: words.t('deletion.done_title'), request_id: req.request_id }),
    tone: 'info',
    text: [words.t('deletion.done', { date: words.dateWords(deletion_due_at) })],
    next: { href: '/login', label: words.t('common.sign_in') },
  });
};
