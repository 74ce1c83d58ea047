import { isIP } from 'node:net';
import { dateTimeWords } from '../../lib/date-words.js';
import { isLanguage, lookUp, type Language } from '../../lib/languages/languages.js';
import { format, localeOf, type Message, type Values } from '../../lib/languages/messages.js';
import { named } from '../../lib/named.js';
import { plainWords } from '../../lib/plain-words.js';
import { mailSpec, type MailModels, type MailName, type MailRequest } from './mails.js';
import type { VariableKind } from './variables.js';

/** The language of a template: its tag, that as Intl takes it, and the nearest one that there are texts in. */
type Spoken = { readonly tag: string; readonly locale: string; readonly language: Language };

const spokenIn = (tag: string): Spoken =>
  isLanguage(tag) ? { tag, locale: localeOf(tag), language: tag } : { tag, locale: tag, language: lookUp([tag]) ?? 'en' };

/** The message with what people chose in it free of links (`plainWords`). */
function plainMessage({ key, values }: Message): Message {
  const plain = Object.entries(values).map(([name, value]): [string, Values[string]] => [
    name,
    typeof value === 'string' ? plainWords(value) : typeof value === 'object' ? plainMessage(value) : value,
  ]);
  return { key, values: named(Object.fromEntries(plain)) };
}

function sentenceWords(message: Message, language: Language, also: Values): string {
  const { key, values } = plainMessage(message);
  return format(language, key, { ...also, ...values });
}

/** A value as mails have it. Addresses are ours and unchanged; all other texts may come from users, and are made free of links (`plainWords`). */
function valueOf(kind: VariableKind, value: unknown, spoken: Spoken, also: Values): unknown {
  if (kind === 'flag') return value === true;
  if (kind === 'list') return (value as readonly string[]).map(plainWords);
  if (kind === 'sentence') return sentenceWords(value as Message, spoken.language, also);
  if (value === null || value === undefined) return '';
  if (kind === 'duration') return durationWords(value as number, spoken.locale);
  return kind === 'address' || kind === 'mailbox' || kind === 'message' ? value : plainWords(value as string);
}

/**
 * What a template of the mail can name, with the values of this one.
 * @param tag the language of the template (BCP 47)
 */
export function valuesOf<Name extends MailName>(name: Name, model: MailModels[Name], tag: string): Record<string, unknown> {
  const spoken = spokenIn(tag);
  const given = model as unknown as Readonly<Record<string, unknown>>;
  const environment_name = plainWords(model.environment.name);
  const { variables } = mailSpec(name);
  const own = Object.entries(variables).map(([each, { kind }]): [string, unknown] => [
    each,
    valueOf(kind, given[each], spoken, { environment_name }),
  ]);
  const lists = Object.keys(variables).filter((each) => variables[each]?.kind === 'list');
  return named({
    ...Object.fromEntries(own),
    ...Object.fromEntries(lists.map((each) => [`has_${each}`, (given[each] as readonly string[]).length > 0])),
    environment_name,
    support_email: model.environment.support_email ?? '',
    ...requestValues(model.request, spoken),
  });
}

/** The request as it is told: its address is shown only if it is one, since a proxy in front may pass anything on. */
function requestValues(request: MailRequest, spoken: Spoken): Record<string, string | string[]> {
  const { language } = spoken;
  const time = timeWords(request.at, spoken);
  const device = deviceWords(request.device, language);
  const ip_address = request.ip_address !== null && isIP(request.ip_address) !== 0 ? request.ip_address : '';
  const details = [
    format(language, 'mail.when', { time }),
    ...(device === '' ? [] : [format(language, 'mail.device', { device })]),
    ...(ip_address === '' ? [] : [format(language, 'mail.ip_address', { ip_address })]),
  ];
  return { time, device, ip_address, details, origin: originWords({ time, device, ip_address }, language) };
}

/** `Chrome unter macOS`; empty when nothing is known. */
function deviceWords(device: MailRequest['device'], language: Language): string {
  if (device === null) return '';
  const browser = plainWords(device.name);
  return device.system === null ? browser : format(language, 'common.device_on', { browser, system: plainWords(device.system) });
}

type Known = { readonly time: string; readonly device: string; readonly ip_address: string };

/** `on 21 November 2026 at 09:05 UTC, from Chrome on macOS at the address 203.0.113.5`; a list in other languages, which inflect. */
function originWords({ time, device, ip_address }: Known, language: Language): string {
  if (language !== 'en') return [time, device, ip_address].filter((each) => each !== '').join(' · ');
  const address = ip_address && `the address ${ip_address}`;
  const from = device && address ? `${device} at ${address}` : device || address;
  return `on ${time}${from && `, from ${from}`}`;
}

/** `21. November 2026 um 09:05 UTC` */
function timeWords(at: string, { tag, locale }: Spoken): string {
  if (isLanguage(tag)) return dateTimeWords(at, tag);
  return `${new Intl.DateTimeFormat(locale, { dateStyle: 'long', timeStyle: 'short', timeZone: 'UTC' }).format(new Date(at))} UTC`;
}

/** Units, the length of each in seconds, and from how many seconds on it is the one to count in. */
const units = [
  { unit: 'day', length: 86_400, from: 172_800 },
  { unit: 'hour', length: 3_600, from: 7_200 },
  { unit: 'minute', length: 60, from: 60 },
  { unit: 'second', length: 1, from: 0 },
] as const;

/** `10 minutes`, `24 Stunden` */
function durationWords(seconds: number, locale: string): string {
  const { unit, length } = units.find(({ from }) => seconds >= from) ?? units[3];
  return new Intl.NumberFormat(locale, { style: 'unit', unit, unitDisplay: 'long' }).format(Math.floor(seconds / length));
}
