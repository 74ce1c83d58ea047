import ejs from 'ejs';
import { lookUp } from '../../lib/languages/languages.js';
import { format, type MessageKey } from '../../lib/languages/messages.js';
import { plainWords } from '../../lib/plain-words.js';
import { createTemplates } from '../../lib/templates.js';
import { htmlOfText } from './html-of-text.js';
import { mailTheme } from './mail-theme.js';
import { variablesOf, type MailModels, type MailName, type MailText } from './mails.js';
import { filledIn } from './mustache.js';
import { valuesOf } from './values.js';

export type { MailModels } from './mails.js';

/** `language`: the BCP 47 tag of what it is written in. */
export type RenderedMail = { readonly subject: string; readonly text: string; readonly html: string; readonly language: string };

const templates = createTemplates();

const wholeDocument = /^\s*(?:<!doctype\b|<html\b)/i;

/** Whether an HTML template is a document of its own, rather than the content of ours. */
const isWholeDocument = (html: string): boolean => wholeDocument.test(html);

const rightToLeft: ReadonlySet<string> = new Set(['ar', 'dv', 'fa', 'he', 'ku', 'ps', 'sd', 'ug', 'ur', 'yi']);

/** A text of our own below both bodies: whose mail it is. */
const footerOf = ({ name, support_email }: { name: string; support_email: string | null }): string =>
  `\n${[plainWords(name), ...(support_email ? [support_email] : [])].join('\n')}\n`;

/**
 * A mail as subject (one line, whatever the names hold), text and HTML. The only links that don't stand in the template are the `address` variables.
 * @param template the environment's own, or the built-in one
 * @param language of the template, a BCP 47 tag
 * @throws {Error} when the template can't be read
 */
export function renderMail<Name extends MailName>(name: Name, model: MailModels[Name], template: MailText, language: string): RenderedMail {
  const values = valuesOf(name, model, language);
  const subject = oneLine(filledIn(template.subject, values, String));
  const footer = { ...model.environment, name: plainWords(model.environment.name) };
  const text = `${filledIn(template.text, values, String).trimEnd()}\n${footerOf(model.environment)}`;
  const theme = mailTheme(model.environment.theme);
  const buttons = {
    color: theme.accent.light,
    radius: theme.radius,
    label: (key: MessageKey) => format(lookUp([language]) ?? 'en', key, {}),
  };
  const html = filledIn(template.html ?? htmlOfText(template.text, variablesOf(name), buttons), values, ejs.escapeXML);
  if (isWholeDocument(html)) return { subject, text, html, language };
  const { logo_url, dark_logo_url } = model.environment;
  const [logo, dark_logo] = [logo_url, dark_logo_url].map(fetched);
  const heading = plainWords(model.environment.heading ?? model.environment.name);
  const page = { subject, heading, environment: footer, logo, dark_logo, theme, ...directionOf(language) };
  return {
    subject,
    text,
    html: `${templates.render('mail/top.html', page)}${html}${templates.render('mail/bottom.html', page)}`,
    language,
  };
}

/** The address of an image that mail programs load; null for one that is written into its address, which they don't show. */
const fetched = (address: string | null | undefined) => (/^https?:/i.test(address ?? '') ? address : null);

const directionOf = (lang: string) => ({ lang, dir: rightToLeft.has(new Intl.Locale(lang).language) ? 'rtl' : 'ltr' });

function oneLine(text: string): string {
  // oxlint-disable-next-line no-control-regex -- control characters are what is removed
  return text.replaceAll(/[\u0000-\u001f\u007f\u2028\u2029\s]+/g, ' ').trim();
}
