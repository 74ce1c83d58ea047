import type { UserRow } from '../../db/tables/users.js';
import { normalizeEmail, type EmailAddress } from '../../lib/email-address.js';

/** A person as a directory describes them. `resource` is what else it says: core and enterprise schema (RFC 7643 4.1, 4.3), by their names. */
export type DirectoryPerson = {
  readonly user_name: string;
  readonly external_id: string | null;
  readonly active: boolean;
  readonly resource: Readonly<Record<string, unknown>>;
};

type Entry = { readonly value?: unknown; readonly type?: unknown; readonly primary?: unknown };

const entriesOf = (list: unknown): readonly Entry[] =>
  Array.isArray(list) ? list.filter((one): one is Entry => typeof one === 'object' && one !== null) : [];

const isWork = ({ type }: Entry) => typeof type === 'string' && type.toLowerCase() === 'work';

/** The primary value, else that of work. */
function preferred(list: unknown): string | null {
  const entries = entriesOf(list);
  const found = entries.find(({ primary }) => primary === true) ?? entries.find(isWork);
  return typeof found?.value === 'string' ? found.value : null;
}

/** The address of the person's account: the primary email, else that of work, else the userName; null where that is none. */
export const addressOf = ({ user_name, resource }: Pick<DirectoryPerson, 'user_name' | 'resource'>): EmailAddress | null =>
  normalizeEmail(preferred(resource['emails']) ?? user_name);

const text = (value: unknown, longest = 255): string | null => {
  const trimmed = typeof value === 'string' ? value.trim().slice(0, longest) : '';
  return trimmed === '' ? null : trimmed;
};

type Profile = Partial<Pick<UserRow, 'first_name' | 'middle_name' | 'last_name' | 'nickname'>>;

/** What of the account's profile the directory says. What it says nothing of stays. */
export function profileOf({ resource }: Pick<DirectoryPerson, 'resource'>): Profile {
  const name = (resource['name'] ?? {}) as Readonly<Record<string, unknown>>;
  const columns = {
    first_name: text(name['givenName']),
    middle_name: text(name['middleName']),
    last_name: text(name['familyName']),
    nickname: text(resource['nickName']),
  };
  return Object.fromEntries(Object.entries(columns).filter(([, value]) => value !== null));
}

/** The value with all texts in it in small letters, as filters compare them. */
export function foldedOf(value: unknown): unknown {
  if (typeof value === 'string') return value.toLowerCase();
  if (Array.isArray(value)) return value.map(foldedOf);
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([name, one]) => [name, foldedOf(one)]));
}
