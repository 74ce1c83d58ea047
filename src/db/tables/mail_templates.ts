import { rowFunctions, type RecordRow } from '../records.js';
import { holdLock, run, table, type Scope } from '../scope.js';

/** A row of `mail_templates`: the words of one mail in one language. */
export type MailTemplateRow = RecordRow & {
  /** Of the list in domain/mail/mails.ts. */
  name: string;
  /** A canonical language tag (BCP 47); null: for whoever has no template in a language of theirs. */
  locale: string | null;
  subject: string;
  text: string;
  /** Null: it follows from the text. */
  html: string | null;
};

/** How many templates the environment has: so many until the transaction ends, but for its own. */
export async function countMailTemplates(scope: Scope): Promise<number> {
  await holdLock(scope, 'mail_templates');
  const [row] = (await table<MailTemplateRow>(scope, 'mail_templates').count('* as count')) as unknown as { count: string }[];
  return Number(row?.count ?? 0);
}

/** @throws {Duplicate} `mail_templates_key` when the mail has one in the language */
export const {
  insert: insertMailTemplate,
  update: changeMailTemplate,
  remove: removeMailTemplate,
} = rowFunctions<MailTemplateRow>('mail_templates');

/** The template of the mail in the first of the languages that has one, else the one for all languages; null when there is none of these. */
export async function findMailTemplate(scope: Scope, name: string, locales: readonly string[]): Promise<MailTemplateRow | null> {
  const text = `select * from mail_templates where environment_id = $1 and name = $2 and (locale is null or locale = any ($3::text[]))
    order by array_position($3::text[], locale) nulls last limit 1`;
  const [row] = await run<MailTemplateRow>(scope, { name: 'mail_templates.find', text }, [name, [...locales]]);
  return row ?? null;
}
