import type { Request, Response } from 'express';
import { builtInText } from '../../../domain/mail/built-in.js';
import { mailLanguage } from '../../../domain/mail/mail-language.js';
import { mailNames, type MailName, type MailText } from '../../../domain/mail/mails.js';
import { renderSample } from '../../../domain/mail/sample.js';
import { templateLimits, templateProblems } from '../../../domain/mail/template-problems.js';
import type { RenderedMail } from '../../../domain/mail/templates.js';
import { queryOf } from '../../../http/request/form.js';
import { sendFramedMail } from '../../../http/pages/framed-mail.js';
import { canonicalLocale } from '../../../lib/language-range.js';
import { requirePermissions } from '../../../management/authorize.js';
import type { ResourceObject } from '../../../management/documents.js';
import { notFound } from '../../../management/problems.js';
import { recordOf } from '../../parts/records/objects.js';
import { addressedId } from '../../parts/records/record.js';
import { terms } from '../../parts/words.js';

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

/** The address of a preview of the mail, in the language or the environment's: of the built-in text, and for a form of its texts. */
export const draftPath = (name: MailName, locale: string | null): string =>
  `/dashboard/mail_templates/draft?${new URLSearchParams({ name, locale: locale ?? '' })}`;

/** The mail and the language that the address names. @throws {ApiError} 403, 404 */
function addressed(req: Request): { name: MailName; language: string } {
  requirePermissions(req.call, 'mail_templates:read');
  const query = queryOf(req);
  const name = mailNames.find((one) => one === query.get('name'));
  if (name === undefined) throw notFound(terms.nothing_here);
  const locale = query.get('locale') ?? '';
  return { name, language: canonicalLocale(locale) === locale ? locale : req.call.ctx.environment.default_locale };
}

/** GET /dashboard/mail_templates/draft: a mail with the built-in text. @throws {ApiError} 403, 404 */
export function builtInDraft(req: Request, res: Response): void {
  const { name, language } = addressed(req);
  const text = builtInText(name, mailLanguage([language]).builtIn);
  sendFramedMail(res, renderSample(req.call.ctx.environment, name, text, language).html);
}

const paragraph = (text: string) => `<!doctype html><html lang="en"><head></head><body><p>${text}</p></body></html>`;

/** POST /dashboard/mail_templates/draft: a mail with the texts of a form, or that they can't be read yet. Nothing is stored. @throws {ApiError} 403, 404 */
export async function postedDraft(req: Request, res: Response): Promise<void> {
  const { name, language } = addressed(req);
  const text = (field: keyof MailText) => (req.form.get(field) ?? '').replaceAll('\r\n', '\n').slice(0, templateLimits[field]);
  const template = { subject: text('subject'), text: text('text'), html: text('html') || null };
  const problems = template.text === '' ? [{}] : await templateProblems(name, template);
  if (problems.length > 0) return sendFramedMail(res, paragraph('This text can’t be shown yet. Save it to see what is missing.'));
  sendFramedMail(res, renderSample(req.call.ctx.environment, name, template, language).html);
}
