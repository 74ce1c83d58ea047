import { newStamps } from '../../db/records.js';
import {
  changeMailTemplate,
  countMailTemplates,
  findMailTemplate,
  insertMailTemplate,
  type MailTemplateRow,
} from '../../db/tables/mail_templates.js';
import type { Context } from '../context.js';
import { Refusal, refuseDuplicates } from '../refusal.js';
import { builtInText } from './built-in.js';
import { mailLanguage } from './mail-language.js';
import type { MailModels, MailName, MailText } from './mails.js';
import { renderMail, type RenderedMail } from './templates.js';

/** What can be set on a template. `locale` null: for whoever has no template in a language of theirs. */
export type MailTemplateInput = MailText & { readonly name: MailName; readonly locale: string | null };

const maxTemplates = 1_000;

const duplicates = { mail_templates_key: { attribute: 'name', detail: 'This mail has a template in this language already.' } } as const;

/** Makes a template: the mail has its words from the commit on. @throws {Refusal} 409 `already_exists`, `too_many` */
export async function createMailTemplate(
  tx: Context,
  input: Omit<MailTemplateInput, 'locale' | 'html'> & Partial<MailTemplateInput>,
): Promise<MailTemplateRow> {
  if ((await countMailTemplates(tx.scope)) >= maxTemplates)
    throw new Refusal({ status: 409, code: 'too_many', detail: `An environment has at most ${maxTemplates} mail templates.` });
  const row = { locale: null, html: null, ...input, ...newStamps(tx.clock.now()) };
  return refuseDuplicates(duplicates, () => insertMailTemplate(tx.scope, row));
}

/** Changes what is given; null when it is gone. */
export const updateMailTemplate = (tx: Context, id: string, changes: Partial<MailText>): Promise<MailTemplateRow | null> =>
  changeMailTemplate(tx.scope, id, { ...changes, updated_at: tx.clock.now() });

/**
 * A mail in the first language that serves: in the environment's template for it, or for what it is a form of (`de` for `de-CH`), else in the one for all
 * languages, else in the built-in text. A template that can't be used is passed over and told in the log: people need their mail.
 * @param preferred the languages of whoever gets it, the best first; null for what isn't known
 * @param has_template false: there is none, so none is looked for
 */
export async function renderForEnvironment<Name extends MailName>(
  tx: Pick<Context, 'scope' | 'logger' | 'environment'>,
  name: Name,
  model: MailModels[Name],
  preferred: readonly (string | null)[],
  has_template = true,
): Promise<RenderedMail> {
  const { default_locale } = tx.environment;
  const { templates, builtIn } = mailLanguage([...preferred, default_locale]);
  const row = has_template ? await findMailTemplate(tx.scope, name, templates) : null;
  const otherwise = () => renderMail(name, model, builtInText(name, builtIn), builtIn);
  if (!row) return otherwise();
  const about = { template: name, mail_template_id: row.id };
  try {
    // With a parser of HTML, which few environments need.
    const { isUsable } = await import('./template-problems.js');
    if (await isUsable(name, row)) return renderMail(name, model, row, row.locale ?? default_locale);
    tx.logger.error({ event: 'mail.template_unusable', ...about }, 'a mail template does not fit its mail');
  } catch (error) {
    tx.logger.error({ event: 'mail.template_unusable', ...about, err: error }, 'a mail template failed');
  }
  return otherwise();
}
