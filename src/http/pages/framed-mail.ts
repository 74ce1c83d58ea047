import type { Response } from 'express';

/** What somebody else has written does nothing here: no script, no form, no origin of its own, and it is shown in our frames alone. `links` open beside them. */
const policy = (links: boolean) =>
  [
    links ? 'sandbox allow-popups allow-popups-to-escape-sandbox' : 'sandbox',
    "default-src 'none'",
    "style-src 'unsafe-inline'",
    'img-src https: http: data:',
    "form-action 'none'",
    "base-uri 'none'",
    "frame-ancestors 'self'",
  ].join('; ');

/** Answers with the HTML of a mail, for a frame of one of our pages. */
export function sendFramedMail(res: Response, html: string, { links = false } = {}): void {
  res.set({
    'Content-Type': 'text/html; charset=utf-8',
    'Content-Security-Policy': policy(links),
    'X-Frame-Options': 'SAMEORIGIN',
    'X-Content-Type-Options': 'nosniff',
    'Referrer-Policy': 'no-referrer',
    'Cache-Control': 'no-store',
  });
  res.send(html.replace('<head>', '<head><base target="_blank">'));
}
