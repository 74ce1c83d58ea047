import { isIP } from 'node:net';
import ejs from 'ejs';
import { parseHex, readable } from '../../lib/contrast.js';
import { dateTimeWords } from '../../lib/date-words.js';
import { named } from '../../lib/named.js';
import { plainWords } from '../../lib/plain-words.js';
import { createTemplates } from '../../lib/templates.js';
import { builtInTexts } from './built-in.js';
import { htmlOfText } from './html-of-text.js';
import { mailSpec, variablesOf, type MailModels, type MailName, type MailRequest, type MailText } from './mails.js';
import { filledIn } from './mustache.js';
import type { VariableKind } from './variables.js';

export type { MailModels } from './mails.js';

export type RenderedMail = { subject: string; text: string; html: string };

const templates = createTemplates();

/** The request as it is told: its address is shown only if it is one, since a proxy in front may pass anything on. */
const requestOf = ({ request }: { request: MailRequest }): MailRequest => ({
  ip_address: request.ip_address !== null && isIP(request.ip_address) !== 0 ? request.ip_address : null,
  device: request.device === null ? null : plainWords(request.device),
  at: request.at,
});

/**
 * A value as mails have it. Addresses are ours and unchanged; all other texts may come from users, and are made free of links (`plainWords`).
 * @param locale the language of the template
 */
function valueOf(kind: VariableKind, value: unknown, locale: string): unknown {
  if (kind === 'flag') return value === true;
  if (kind === 'list') return (value as readonly string[]).map(plainWords);
  if (value === null || value === undefined) return '';
  if (kind === 'duration') return durationWords(value as number, locale);
  const words = String(value as string | number);
  return kind === 'address' || kind === 'mailbox' || kind === 'number' ? words : plainWords(words);
}

/** What a template of the mail can name, with the values of this one. */
function valuesOf<Name extends MailName>(name: Name, model: MailModels[Name], locale: string): Record<string, unknown> {
  const request = requestOf(model);
  const given = model as unknown as Readonly<Record<string, unknown>>;
  const { variables } = mailSpec(name);
  const own = Object.entries(variables).map(([each, { kind }]): [string, unknown] => [each, valueOf(kind, given[each], locale)]);
  const lists = Object.keys(variables).filter((each) => variables[each]?.kind === 'list');
  return named({
    ...Object.fromEntries(own),
    ...Object.fromEntries(lists.map((each) => [`has_${each}`, (given[each] as readonly string[]).length > 0])),
    environment_name: plainWords(model.environment.name),
    support_email: model.environment.support_email ?? '',
    time: timeWords(request.at, locale),
    device: request.device ?? '',
    ip_address: request.ip_address ?? '',
    origin: originWords(request),
  });
}

const wholeDocument = /^\s*(?:<!doctype\b|<html\b)/i;

/** Whether an HTML template is a document of its own, rather than the content of ours. */
export const isWholeDocument = (html: string): boolean => wholeDocument.test(html);

const rightToLeft: ReadonlySet<string> = new Set(['ar', 'dv', 'fa', 'he', 'ku', 'ps', 'sd', 'ug', 'ur', 'yi']);

/** A text of our own below both bodies: whose mail it is. */
function footerOf({ name, support_email }: { name: string; support_email: string | null }): string {
  return `\n${[plainWords(name), ...(support_email ? [support_email] : [])].join('\n')}\n`;
}

/**
 * A mail as subject (one line, whatever the names hold), text and HTML. The only links that don't stand in the template are the `address` variables.
 * @param template the environment's own, else the built-in one
 * @param language of the template, a BCP 47 tag
 * @throws {Error} when the template can't be read
 */
export function renderMail<Name extends MailName>(
  name: Name,
  model: MailModels[Name],
  template: MailText = builtInTexts[name],
  language: string | null = null,
): RenderedMail {
  const locale = language ?? 'en';
  const values = valuesOf(name, model, locale);
  const subject = oneLine(filledIn(template.subject, values, String));
  const footer = { ...model.environment, name: plainWords(model.environment.name) };
  const text = `${filledIn(template.text, values, String).trimEnd()}\n${footerOf(model.environment)}`;
  const html = filledIn(template.html ?? htmlOfText(template.text, variablesOf(name)), values, ejs.escapeXML);
  if (isWholeDocument(html)) return { subject, text, html };
  const page = { subject, environment: footer, accent: accentOf(model.environment.primary_color), ...directionOf(locale) };
  return { subject, text, html: `${templates.render('mail/top.html', page)}${html}${templates.render('mail/bottom.html', page)}` };
}

const directionOf = (lang: string) => ({ lang, dir: rightToLeft.has(new Intl.Locale(lang).language) ? 'rtl' : 'ltr' });

/** The colour of links on the light and on the dark background of views/mail/top.html.ejs, readable on both. */
function accentOf(primary_color: string | null | undefined): { light: string; dark: string } {
  const chosen = parseHex(primary_color ?? '');
  if (chosen === null) return { light: '#2b5fc7', dark: '#8fb8ff' };
  return { light: `#${readable(chosen, ['ffffff'], 4.5, 'black')}`, dark: `#${readable(chosen, ['1b1d22'], 4.5, 'white')}` };
}

/** `on 21 November 2026 at 09:05 UTC, from Chrome on macOS at the address 203.0.113.5` */
function originWords({ ip_address, device, at }: MailRequest): string {
  const address = ip_address ? `the address ${ip_address}` : '';
  const words = device && address ? `from ${device} at ${address}` : device || address ? `from ${device ?? address}` : '';
  return `on ${dateTimeWords(at)}${words ? `, ${words}` : ''}`;
}

/** `21. November 2026 um 09:05 UTC` */
function timeWords(at: string, locale: string): string {
  if (locale === 'en') return dateTimeWords(at);
  return `${new Intl.DateTimeFormat(locale, { dateStyle: 'long', timeStyle: 'short', timeZone: 'UTC' }).format(new Date(at))} UTC`;
}

/** `10 minutes`, `24 Stunden` */
function durationWords(seconds: number, locale: string): string {
  const [count, unit] =
    seconds >= 7200 ? [Math.floor(seconds / 3600), 'hour'] : seconds >= 60 ? [Math.floor(seconds / 60), 'minute'] : [seconds, 'second'];
  return new Intl.NumberFormat(locale, { style: 'unit', unit, unitDisplay: 'long' }).format(count);
}

function oneLine(text: string): string {
  // oxlint-disable-next-line no-control-regex -- control characters are what is removed
  return text.replaceAll(/[\u0000-\u001f\u007f\u2028\u2029\s]+/g, ' ').trim();
}
