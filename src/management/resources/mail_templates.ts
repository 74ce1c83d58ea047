import { z } from 'zod';
import { bodyLimits } from '../../http/request/body-limits.js';
import { createMailTemplate, updateMailTemplate, type MailTemplateInput } from '../../domain/mail/mail-templates.js';
import { mailNames, type MailName, type MailText } from '../../domain/mail/mails.js';
import { templateLimits, templateProblems } from '../../domain/mail/template-problems.js';
import { addressOfTester, countTestMail, sendTestMail } from '../../domain/mail/test-mail.js';
import { noReach } from '../../domain/reach/reach.js';
import { removeMailTemplate, type MailTemplateRow } from '../../db/tables/mail_templates.js';
import { canonicalLocale } from '../../lib/language-range.js';
import { boundedText, equalTo, stamps, stampSorts, textSort } from '../fields.js';
import { resource } from '../declaration.js';
import { changed } from '../resource.js';

const name = z.enum(mailNames);
const locale = z
  .string()
  .max(64)
  .refine((tag) => canonicalLocale(tag) === tag, {
    message: 'must be a language tag (BCP 47) in its canonical form, such as de or pt-BR',
    params: { code: 'invalid_format' },
  })
  .nullable();
/** Lines of text: no control characters but tabs and line ends. */
const lines = (max: number) =>
  z
    .string()
    .min(1)
    .max(max)
    // oxlint-disable-next-line no-control-regex -- control characters are what is refused
    .regex(/^[^\u0000-\u0008\u000b\u000c\u000e-\u001f\u007f]*$/, 'must not hold control characters');

type Creation = Omit<MailTemplateInput, 'locale' | 'html'> & Partial<Pick<MailTemplateInput, 'locale' | 'html'>>;

export const mail_templates = resource<MailTemplateRow, Creation, Partial<MailText>>({
  type: 'mail_template',
  path: 'mail_templates',
  description:
    'The words of the mails that the service sends, one template for each mail and language: [Mustache](https://mustache.github.io/mustache.5.html) without logic. Whoever writes them speaks to everybody in the name of the environment: give the permission to those alone whom you would give everybody’s attention.',
  maxBytes: bodyLimits.mail_template,
  attributes: z.object(stamps),
  // Words alone let nobody in: a link of variables is one of ours, and what else they bring about takes somebody who believes them.
  reach: { of: () => noReach },
  settable: {
    name: ['plain', name, 'needed and fixed'],
    locale: ['plain', locale, 'fixed'],
    subject: ['plain', boundedText(templateLimits.subject), 'needed'],
    text: ['plain', lines(templateLimits.text), 'needed'],
    html: ['plain', lines(templateLimits.html).nullable()],
  },
  filters: { name: equalTo('name', name, 'The mail.'), locale: equalTo('locale', boundedText(64), 'The language.') },
  sorts: { ...stampSorts('mail_templates'), name: textSort('mail_templates.name') },
  create: {
    problems: (_ctx, { name: mail, ...texts }) => (mail === undefined ? [] : templateProblems(mail, texts)),
    run: async (tx, _actor, input) => ({ row: await createMailTemplate(tx, input) }),
  },
  update: {
    problems: (_ctx, texts, row) => templateProblems(row.name as MailName, texts),
    run: async (tx, _actor, row, input) => ({ row: changed(await updateMailTemplate(tx, row.id, input)) }),
  },
  remove: { run: async (tx, _actor, row) => void (await removeMailTemplate(tx.scope, row.id)) },
  actions: {
    test: {
      method: 'POST',
      description:
        'Mails it with sample values to the verified address of the person who asks, and to nobody else; ten times in ten minutes at most. A client has no address: 409.',
      audit: 'tested',
      // It goes to the person's own address.
      touch: 'plain',
      async prepare(ctx, actor) {
        const to = await addressOfTester(ctx, actor);
        await countTestMail(ctx, actor);
        return to;
      },
      async run(tx, _actor, row, _input, to) {
        await sendTestMail(tx, to as string, row);
        return { row };
      },
    },
  },
  display: ({ name: mail, locale: language }) => (language === null ? mail : `${mail} (${language})`),
});
