import type { Request, Response } from 'express';
import type { MailName, MailText } from '../../../domain/mail/mails.js';
import { renderSample } from '../../../domain/mail/sample.js';
import type { RenderedMail } from '../../../domain/mail/templates.js';
import { sendFramedMail } from '../../../http/pages/framed-mail.js';
import type { ResourceObject } from '../../../management/documents.js';
import { recordOf } from '../../parts/records/objects.js';
import { addressedId } from '../../parts/records/record.js';

export function sampleOf({ call }: Request, { attributes }: ResourceObject): RenderedMail {
  const { name, locale, ...template } = attributes as { name: MailName; locale: string | null } & MailText;
  const { environment } = call.ctx;
  return renderSample(environment, name, template, locale ?? environment.default_locale);
}

/** GET /dashboard/mail_templates/{id}/rendered: the HTML of the mail with sample values, for the frame of its preview. @throws {ApiError} 403, 404 */
export async function renderedMail(req: Request, res: Response): Promise<void> {
  const { record } = await recordOf(req.call, 'mail_templates', addressedId(req));
  sendFramedMail(res, sampleOf(req, record).html);
}
