import { addressMembers, profileColumns, type AddressMember, type ProfileColumn } from '../lib/profile-columns.js';
import type { ProfileChanges } from '../domain/users/profile.js';
import { isBirthdate, isLocale, isTimeZone, isWebAddress, normalizePhoneNumber } from '../lib/claim-syntax.js';
import { nameProblems } from './fields.js';
import { named, own } from '../lib/named.js';

type Reading = { value: string | null } | { problem: string };

const maxLength = 255;
const maxLineLength = 512;
// oxlint-disable-next-line no-control-regex -- control characters are what is looked for
const control = /[\u0000-\u0009\u000b\u000c\u000e-\u001f\u007f-\u009f]/;

const plain = (text: string): Reading => {
  const [problem] = nameProblems(text);
  return problem === undefined ? { value: text } : { problem };
};
const when = (right: (text: string) => boolean, problem: string) => (text: string) => (right(text) ? { value: text } : { problem });

/** What a column's text must be; every other one is a short line. */
const syntax: Partial<Record<ProfileColumn, (text: string) => Reading>> = {
  profile: when(isWebAddress, 'invalid_url'),
  picture: when(isWebAddress, 'invalid_url'),
  website: when(isWebAddress, 'invalid_url'),
  birthdate: when(isBirthdate, 'invalid_date'),
  zoneinfo: when(isTimeZone, 'invalid_value'),
  locale: when(isLocale, 'invalid_value'),
  phone_number(text) {
    const value = normalizePhoneNumber(text);
    return value === null ? { problem: 'invalid_value' } : { value };
  },
};

const required: readonly ProfileColumn[] = ['first_name', 'last_name'];

function readColumn(name: ProfileColumn, given: unknown): Reading {
  if (given === null) return required.includes(name) ? { problem: 'required' } : { value: null };
  if (typeof given !== 'string') return { problem: 'invalid_value' };
  const text = given.trim();
  if (text === '') return required.includes(name) ? { problem: 'required' } : { value: null };
  if (text.length > 8 * maxLength) return { problem: 'too_long' };
  return (syntax[name] ?? plain)(text);
}

function readAddressMember(given: unknown): Reading {
  if (given === null || given === undefined) return { value: null };
  if (typeof given !== 'string') return { problem: 'invalid_value' };
  const text = given.replaceAll('\r\n', '\n').trim();
  if (text.length > maxLineLength) return { problem: 'too_long' };
  return control.test(text) ? { problem: 'invalid_value' } : { value: text === '' ? null : text };
}

/** The `address` of a JSON body (which replaces all of it) or the `address_<member>` fields of a form, as members with their field names. */
function givenAddress(body: Readonly<Record<string, unknown>>): [AddressMember, unknown][] {
  const { address } = body;
  if (address === null) return addressMembers.map((member) => [member, null]);
  if (typeof address === 'object') return addressMembers.map((member) => [member, own(address as Record<string, unknown>, member)]);
  return addressMembers.filter((member) => Object.hasOwn(body, `address_${member}`)).map((member) => [member, body[`address_${member}`]]);
}

/** What of a profile a form or JSON body changes, and what is wrong with it by field. Members that no person may edit are ignored. */
export function readProfileFields(body: Readonly<Record<string, unknown>>): {
  changes: ProfileChanges;
  problems: Record<string, string[]>;
} {
  const columns: Partial<Record<ProfileColumn, string | null>> = {};
  const address: Partial<Record<AddressMember, string | null>> = {};
  const problems: Record<string, string[]> = named();
  for (const name of profileColumns) {
    if (!Object.hasOwn(body, name)) continue;
    const reading = readColumn(name, body[name]);
    if ('problem' in reading) problems[name] = [reading.problem];
    else columns[name] = reading.value;
  }
  if (body['address'] !== undefined && typeof body['address'] !== 'object') problems['address'] = ['invalid_value'];
  for (const [member, given] of givenAddress(body)) {
    const reading = readAddressMember(given);
    if ('problem' in reading) problems[`address_${member}`] = [reading.problem];
    else address[member] = reading.value;
  }
  return { changes: { columns, address }, problems };
}
