import { Router, type Request, type Response } from 'express';
import { listCapturedMails } from '../../domain/mail/mail.js';
import { PageError } from '../../errors.js';
import { browserSession } from '../../http/auth/browser-session.js';
import { queryOf } from '../../http/request/form.js';
import { mayReadMailbox } from '../../http/auth/mailbox-access.js';
import { route } from '../../http/routes.js';
import { sendFramedMail } from '../../http/pages/framed-mail.js';
import { basePage } from '../../http/pages/pages.js';
import type { Web } from '../../http/web.js';

/** So many mails are on the page; filtered by recipient it finds older ones, and JSON has more. */
const onPage = 15;

/** Whether the request accepts HTML (browsers do); everything else gets JSON. */
const wantsPage = (req: Request) => (req.headers.accept ?? '').includes('text/html') && req.accepts(['html', 'json']) === 'html';

function mailbox(web: Web) {
  return async (req: Request, res: Response): Promise<void> => {
    if (!mayReadMailbox(req)) throw new PageError(404, 'not_found', 'There’s nothing at this address.');
    const to = queryOf(req).get('to')?.trim().slice(0, 254) || null;
    const messages = await listCapturedMails(req.ctx, to);
    if (!wantsPage(req)) {
      res.set('Cache-Control', 'no-store').json({ messages });
      return;
    }
    const page = basePage(req.ctx.environment, { title: 'Mailbox', request_id: req.request_id });
    const shown = messages.slice(0, onPage).map((message) => ({ ...message, code: /^\d{4,10}$/m.exec(message.text)?.[0] ?? null }));
    web.renderPage(res, 'dev/mailbox', { ...page, messages: shown, to: to ?? '' }, { frames: 'holds' });
  };
}

/** GET /dev/mailbox/{id}: the HTML of a mail as its reader sees it, for the frame of the page. */
async function mailInFrame(req: Request, res: Response): Promise<void> {
  const messages = mayReadMailbox(req) ? await listCapturedMails(req.ctx, null) : [];
  const message = messages.find(({ id }) => id === req.params['id']);
  if (!message) throw new PageError(404, 'not_found', 'There’s nothing at this address.');
  sendFramedMail(res, message.html, { links: true });
}

/** GET /dev/mailbox: the mail that a development environment without an SMTP server would have sent (specification 1.5). 404 for callers that may not read it. */
export function mailboxRouter(web: Web): Router {
  const router = Router({ caseSensitive: true });
  route(router, '/dev/mailbox', { get: [browserSession, mailbox(web)] });
  route(router, '/dev/mailbox/:id', { get: [browserSession, mailInFrame] });
  return router;
}
