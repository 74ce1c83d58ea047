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
  account: { title: terms.account, groups: ['account', 'profile', 'password', 'identity', 'applications', 'sessions', 'done'] },
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

/** The name of the area whose page says the text. */
export function areaOf(key: MessageKey): { readonly name: string; readonly title: string } {
  const name = Object.entries(areas).find(([, { groups }]) => groups.includes(groupOf(key)))?.[0] ?? 'everywhere';
  return { name, title: own(areas, name)?.title ?? name };
}
