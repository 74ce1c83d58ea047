import type { Request, Response } from 'express';
import type { MailName, MailText } from '../domain/mail/mails.js';
import { renderSample } from '../domain/mail/sample.js';
import type { RenderedMail } from '../domain/mail/templates.js';
import type { ResourceObject } from '../management/documents.js';
import { recordOf } from './resource-objects.js';
import { addressedId } from './resource-record.js';

/** A template with sample values. */
export function sampleOf({ call }: Request, { attributes }: ResourceObject): RenderedMail {
  const { name, locale, ...template } = attributes as { name: MailName; locale: string | null } & MailText;
  const { environment } = call.ctx;
  return renderSample(environment, name, template, locale ?? environment.default_locale);
}

/** What somebody else has written does nothing here: no script, no form, no origin of its own, and it is shown in our frames alone. */
const policy =
  "sandbox; default-src 'none'; style-src 'unsafe-inline'; img-src https: data:; form-action 'none'; base-uri 'none'; frame-ancestors 'self'";

/** GET /dashboard/mail_templates/{id}/rendered: the HTML of the mail with sample values, for the frame of its preview. @throws {ApiError} 403, 404 */
export async function renderedMail(req: Request, res: Response): Promise<void> {
  const { record } = await recordOf(req.call, 'mail_templates', addressedId(req));
  res.set({
    'Content-Type': 'text/html; charset=utf-8',
    'Content-Security-Policy': policy,
    'X-Frame-Options': 'SAMEORIGIN',
    'X-Content-Type-Options': 'nosniff',
    'Referrer-Policy': 'no-referrer',
  });
  res.send(sampleOf(req, record).html);
}
