import { authenticatorKinds } from '../../db/tables/authenticators.js';
import { named } from '../../lib/named.js';
import type { ResourceObject } from '../../management/documents.js';
import type { Value } from '../page-parts.js';
import { recordPath, type Presentation } from '../presentation.js';
import { includedRecord, relatedId } from '../resource-objects.js';
import { code, link, nothing, quiet, stack, state, tags, text, time, words } from '../values.js';

const kindWords = named<string>({ passkey: 'Passkey', totp: 'Authenticator app', recovery_codes: 'Recovery codes' });

/** A kind of authenticator in words. */
export const kindLabel = (kind: unknown): string => kindWords[words(kind)] ?? words(kind);

type Attributes = ResourceObject['attributes'];

/** The kinds that a user has. */
export const kindsOf = (user: Attributes): readonly string[] => (user['authenticator_kinds'] ?? []) as string[];

/** Whether one factor is enough for a user. */
export const twoStepState = (user: Attributes): Value => (user['two_step_enabled'] === true ? state('good', 'On') : state('quiet', 'Off'));

/** How many recovery codes are left, with a warning when few are. */
export const codesLeft = (left: unknown): Value =>
  typeof left !== 'number' ? nothing : left < 3 ? state('warning', left === 0 ? 'None left' : `${left} left`) : text(`${left} left`);

const authenticatorState = (record: ResourceObject): Value =>
  record.attributes['status'] === 'active' ? state('good', 'Active') : state('info', 'Waits for its first code');

const lastUsed = ({ attributes: a }: ResourceObject, now: Date): Value =>
  a['last_used_at'] === null ? quiet('Never') : time(a['last_used_at'], now);

/** Where a passkey is kept, as far as it tells. */
function keptIn({ kind, backup_eligible, backed_up }: Attributes): Value {
  if (kind !== 'passkey') return nothing;
  if (backup_eligible !== true) return text('One device');
  return text(backed_up === true ? 'Synced between devices' : 'One device, can be synced');
}

const tabOf = (record: ResourceObject) => {
  const user = relatedId(record, 'user');
  return user === null ? null : `${recordPath('users', user)}/authenticators`;
};

const userOf = (record: ResourceObject, included: readonly ResourceObject[]): Value => {
  const id = relatedId(record, 'user');
  const user = includedRecord(record, 'user', included);
  return user ? link(words(user.attributes['email']), recordPath('users', user.id)) : id === null ? nothing : code(id);
};

/** What people sign in with beside a password. */
export const authenticators: Presentation = {
  path: 'authenticators',
  title: 'Sign-in methods',
  navigation: {
    group: 'People',
    icon: ['M6.5 13.5a3.5 3.5 0 1 1 3.2-4.9h7.3v3h-2v2.4h-3v-2.4h-2.3a3.5 3.5 0 0 1-3.2 1.9z', 'M6.4 10h.2'],
  },
  one: 'sign-in method',
  lead: 'Passkeys, authenticator apps and recovery codes. People add them in their account; nobody is shown a key or a secret here.',
  empty: {
    title: 'No sign-in methods yet',
    text: 'People add passkeys and authenticator apps in their account. Those of another system are moved in through the Management API or the command line.',
  },
  include: 'user',
  recordInclude: 'user',
  columns: [
    {
      label: 'Method',
      value: ({ attributes: a }) => {
        const kind = kindLabel(a['kind']);
        return a['name'] === kind ? text(kind) : stack(text(a['name']), quiet(kind));
      },
    },
    { label: 'User', value: (record, _look, { included }) => userOf(record, included) },
    {
      label: 'Status',
      value: (record) =>
        record.attributes['kind'] === 'recovery_codes' ? codesLeft(record.attributes['codes_left']) : authenticatorState(record),
    },
    { label: 'Last used', sort: 'last_used_at', value: (record, { now }) => lastUsed(record, now) },
    { label: 'Added', sort: 'created_at', value: (record, { now }) => time(record.attributes['created_at'], now) },
  ],
  filters: [
    { name: 'kind', label: 'Kind', choices: async () => authenticatorKinds.map((value) => ({ value, label: kindLabel(value) })) },
    { name: 'status', label: 'Status' },
    { name: 'used', label: 'Used', kind: 'period', filter: 'last_used_at' },
  ],
  name: ({ attributes: a }) => words(a['name']),
  state: authenticatorState,
  summary: (record, { now }, included) => {
    const a = record.attributes;
    return [
      { label: 'User', value: userOf(record, included) },
      { label: 'Kind', value: text(kindLabel(a['kind'])) },
      ...(a['kind'] === 'recovery_codes' ? [{ label: 'Codes', value: codesLeft(a['codes_left']) }] : []),
      ...(a['kind'] === 'passkey'
        ? [
            { label: 'Domain', value: code(a['rp_id']) },
            { label: 'Kept in', value: keptIn(a) },
            { label: 'Reached by', value: tags(a['transports']) },
            { label: 'Model (AAGUID)', value: code(a['aaguid'], true) },
          ]
        : []),
      { label: 'Last used', value: lastUsed(record, now) },
      { label: 'Added', value: time(a['created_at'], now) },
      ...(a['expires_at'] === null ? [] : [{ label: 'Goes', value: time(a['expires_at'], now) }]),
      { label: 'Id', value: code(record.id, true) },
    ];
  },
  fields: [
    { name: 'name', label: 'Name', hint: 'What the person sees in the account.', attributes: { maxlength: 100, autocomplete: 'off' } },
  ],
  remove: {
    label: 'Remove',
    text: 'It no longer signs this person in, remembered browsers take the second step again, and the person is told by mail. With the last passkey or app, two-step sign-in ends and the recovery codes go.',
    leadsTo: tabOf,
  },
};
