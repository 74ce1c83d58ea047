import type { Request, Response } from 'express';
import { sessionOf } from '../http/auth/browser-session.js';
import { basePage, type BasePage, type PageLink } from '../http/pages/pages.js';
import { wantsJson } from '../http/request/form.js';
import type { Web } from '../http/web.js';
import { wordsOf, type Words } from '../http/pages/words.js';

/** The one time that somebody sees their recovery codes: to print, or to keep as a file. */
export interface RecoveryCodesPage extends BasePage {
  /** As they are typed, one a line. */
  codes: string[];
  email: string;
  /** Where the person's account is, and when the codes were made (ISO 8601): what a sheet of paper says that lies somewhere for years. */
  account_url: string;
  made_at: string;
  /** A `data:` URL with the codes as a text file, and its name. */
  download: { href: string; name: string };
  next: PageLink;
}

declare module '../http/pages/page-models.js' {
  interface PageModels {
    'account/recovery-codes': RecoveryCodesPage;
  }
}

function downloadOf({ t }: Words, service: string, email: string, codes: readonly string[]): RecoveryCodesPage['download'] {
  const text = [t('recovery_codes.for', { email, service }), t('recovery_codes.once'), '', ...codes, ''].join('\r\n');
  return { href: `data:text/plain;charset=utf-8,${encodeURIComponent(text)}`, name: 'recovery-codes.txt' };
}

type Shown = { status: number; codes: string[]; body?: object; next?: PageLink; email?: string };

/** Shows new recovery codes, on a page of their own or as a member of the JSON answer. */
export function showRecoveryCodes(web: Web, req: Request, res: Response, { status, codes, body = {}, next, ...shown }: Shown): void {
  if (wantsJson(req))
    return void res
      .status(status)
      .set('Cache-Control', 'no-store')
      .json({ ...body, recovery_codes: codes });
  const words = wordsOf(req);
  const base = basePage(req.ctx.environment, { title: words.t('recovery_codes.title'), request_id: req.request_id });
  const email = shown.email ?? sessionOf(req).user_email;
  web.renderPage(
    res,
    'account/recovery-codes',
    {
      ...base,
      codes,
      email,
      account_url: `${req.ctx.environment.issuer}/account`,
      made_at: req.ctx.clock.now().toISOString(),
      download: downloadOf(words, base.environment.name, email, codes),
      next: next ?? { href: '/account', label: words.t('recovery_codes.kept') },
    },
    { status },
  );
}
