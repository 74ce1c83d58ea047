import type { MessageKey } from '../../../lib/languages/messages.js';
import { pageTextKeys } from '../../../lib/languages/own-texts.js';
import { named, own } from '../../../lib/named.js';
import { terms } from '../../parts/words.js';

type Area = { readonly title: string; readonly groups: readonly string[] };

/** The texts by the pages that say them: a key begins with its group. What is in none of these is said by many pages. */
const areas = named<Area>({
  sign_in: { title: terms.sign_in, groups: ['login', 'login_code', 'code', 'providers', 'passkey', 'link', 'leaving'] },
  second_step: { title: terms.multi_factor_authentication, groups: ['verify', 'enroll'] },
  registration: { title: 'Registration', groups: ['register', 'complete'] },
  recovery: { title: 'Password reset', groups: ['forgot', 'reset', 'review'] },
  consent: { title: terms.consent, groups: ['consent', 'scope', 'unverified'] },
  device: { title: 'Device sign-in', groups: ['device', 'device_answer'] },
  account: {
    title: terms.account,
    groups: ['account', 'profile', 'password', 'identity', 'applications', 'sessions', 'sign_ins', 'data', 'done'],
  },
  sign_in_methods: { title: terms.sign_in_methods, groups: ['methods', 'devices', 'totp', 'recovery_codes', 'confirm', 'confirmed'] },
  sign_out: { title: terms.sign_out, groups: ['logout', 'logged_out'] },
  errors: { title: 'Errors', groups: ['error', 'error_page', 'refusal'] },
  everywhere: { title: 'Several pages', groups: [] },
});

const groupOf = (key: MessageKey) => key.slice(0, key.indexOf('.'));
const listed = new Set(Object.values(areas).flatMap(({ groups }) => groups));

export const pageTextAreas = (): { readonly name: string; readonly title: string; readonly keys: readonly MessageKey[] }[] =>
  Object.entries(areas).map(([name, { title, groups }]) => ({
    name,
    title,
    keys: pageTextKeys().filter((key) => (groups.length === 0 ? !listed.has(groupOf(key)) : groups.includes(groupOf(key)))),
  }));

export function areaOf(key: MessageKey): { readonly name: string; readonly title: string } {
  const name = Object.entries(areas).find(([, { groups }]) => groups.includes(groupOf(key)))?.[0] ?? 'everywhere';
  return { name, title: own(areas, name)?.title ?? name };
}

export function areaOfGroup(group: string): { readonly title: string; readonly groups: readonly string[] } {
  const area = Object.values(areas).find(({ groups }) => groups.includes(group));
  if (area) return area;
  const others = pageTextKeys()
    .map(groupOf)
    .filter((one) => !listed.has(one));
  return { title: areas['everywhere']?.title ?? group, groups: [...new Set(others)] };
}

export const keysOf = (group: string): readonly MessageKey[] => pageTextKeys().filter((key) => groupOf(key) === group);

const groupTitles = named({
  login: 'Sign-in',
  login_code: 'Sign in with a code',
  code: 'Enter the code',
  link: 'Connect an account',
  leaving: 'Continue to provider',
  verify: 'Second step',
  enroll: 'Set up a second step',
  register: 'Create an account',
  complete: 'Name and password',
  forgot: 'Forgot password',
  reset: 'New password',
  review: 'After a reset',
  scope: 'Access',
  unverified: 'Unverified application',
  device_answer: 'Result',
  identity: terms.connected_accounts,
  sign_ins: 'Recent sign-ins',
  data: 'Your data',
  done: 'Notices',
  methods: terms.sign_in_methods,
  devices: 'Remembered devices',
  totp: terms.authenticator_app,
  confirm: 'Confirm identity',
  confirmed: 'Identity confirmed',
  logout: terms.sign_out,
  logged_out: 'Signed out',
  error: 'Errors',
  refusal: 'More errors',
  form_post: 'Return to the application',
  script: 'Messages',
});

/** What people call the page of a group; else its name in words, as `recovery_codes`. */
export const groupTitle = (group: string): string =>
  own(groupTitles, group) ?? `${group.charAt(0).toUpperCase()}${group.slice(1).replaceAll('_', ' ')}`;
