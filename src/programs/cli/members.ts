import { InvalidArgumentError, Option } from 'commander';
import { named } from '../../lib/named.js';
import type { CommandMember, Link } from './catalogue.js';

const placeholders = named({ text: '<text>', time: '<time>', flag: '[true|false]', number: '<number>', json: '<json>', list: '<text>' });

export const optionName = (name: string): string => `--${name.replaceAll('_', '-')}`;

function jsonOf(text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch {
    throw new InvalidArgumentError('This is not JSON.');
  }
}

function numberOf(text: string): number {
  const number = Number(text);
  if (text.trim() === '' || !Number.isFinite(number)) throw new InvalidArgumentError('This is not a number.');
  return number;
}

/** Items one by one, or all of them as a JSON array. */
function listOf(text: string, earlier: unknown): unknown {
  const more = text.startsWith('[') ? jsonOf(text) : [text];
  return [...(Array.isArray(earlier) ? (earlier as unknown[]) : []), ...(more as unknown[])];
}

/** How the text after an option becomes a value; `null` where null is a value. */
const parserOf =
  ({ type, nullable }: CommandMember) =>
  (text: string, earlier: unknown): unknown => {
    // commander takes null for a value that is missing.
    if (nullable && text === 'null') return text;
    if (type === 'number') return numberOf(text);
    if (type === 'json') return jsonOf(text);
    return type === 'list' ? listOf(text, earlier) : text;
  };

const notes = (one: CommandMember, required: boolean): string =>
  [one.description, required && '(required)', one.nullable && !/\bnull\b/.test(one.description) && '(null: none)', one.type === 'list' && '(repeat it for several)']
    .filter(Boolean)
    .join(' '); // prettier-ignore

export function memberOption(member: CommandMember): Option {
  const { name, type, values, nullable } = member;
  const option = new Option(`${optionName(name)} ${placeholders[type]}`, notes(member, member.required === true));
  if (type === 'flag') option.choices(['true', 'false', ...(nullable ? ['null'] : [])]);
  else if (values && type === 'text') option.choices([...values, ...(nullable ? ['null'] : [])]);
  else option.argParser(parserOf(member));
  return option.makeOptionMandatory(member.required === true);
}

/** The option for a relationship: ids of the records. */
export function linkOption({ name, required, description, many, to }: Link): Option {
  const text = `${description} The id of ${/^[aeio]/.test(to) ? 'an' : 'a'} ${to}${many ? ' (repeat it for several)' : ''}${required ? ' (required)' : ''}`;
  const option = new Option(`${optionName(name)} <id>`, text);
  if (many) option.argParser(listOf);
  return option.makeOptionMandatory(required === true);
}

type Values = Readonly<Record<string, unknown>>;

const flags = new Map<unknown, unknown>([['true', true], ['false', false], ['null', null]]); // prettier-ignore

export function givenValues(members: readonly CommandMember[], given: Values): Record<string, unknown> {
  const pairs = members.flatMap((member): [string, unknown][] => {
    const value = given[memberOption({ ...member, values: [] }).attributeName()];
    if (value === undefined) return [];
    if (member.type === 'flag') return [[member.name, flags.get(value) ?? value]];
    return [[member.name, member.nullable && value === 'null' ? null : value]];
  });
  return Object.fromEntries(pairs);
}

/** What was given of these relationships, as linkage. */
export function linksOf(links: readonly Link[], given: Values): Record<string, { data: unknown }> {
  const pairs = links.flatMap((link): [string, { data: unknown }][] => {
    const value = given[linkOption(link).attributeName()];
    if (value === undefined) return [];
    const one = (id: unknown) => ({ type: link.to, id });
    const data = link.many ? (value as unknown[]).map(one) : value === 'null' ? null : one(value);
    return [[link.name, { data }]];
  });
  return Object.fromEntries(pairs);
}
