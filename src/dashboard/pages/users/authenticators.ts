import { authenticatorKinds } from '../../../db/tables/authenticators.js';
import { linkedRecord } from '../../parts/records/linked-record.js';
import { named } from '../../../lib/named.js';
import type { ResourceObject } from '../../../management/documents.js';
import type { Value } from '../../parts/page-parts.js';
import { recordPath, type Presentation } from '../../parts/records/presentation.js';
import { relatedId } from '../../parts/records/objects.js';
import { code, nothing, quiet, stack, state, tags, text, time, words } from '../../parts/values.js';
import { terms } from '../../parts/words.js';

const kindWords = named<string>({ passkey: 'Passkey', totp: terms.authenticator_app, recovery_codes: terms.recovery_codes });

export const kindLabel = (kind: unknown): string => kindWords[words(kind)] ?? words(kind);

type Attributes = ResourceObject['attributes'];

export const kindsOf = (user: Attributes): readonly string[] => (user['authenticator_kinds'] ?? []) as string[];

/** Whether one factor is enough for a user. */
export const twoStepState = (user: Attributes): Value =>
  user['two_step_enabled'] === true ? state('good', 'On') : state('quiet', terms.off);

/** How many recovery codes are left, with a warning when few are. */
export const codesLeft = (left: unknown): Value =>
  typeof left !== 'number' ? nothing : left < 3 ? state('warning', left === 0 ? 'None left' : `${left} left`) : text(`${left} left`);

const authenticatorState = (record: ResourceObject): Value =>
  record.attributes['status'] === 'active' ? state('good', terms.active) : state('info', terms.pending);

const lastUsed = ({ attributes: a }: ResourceObject, now: Date): Value =>
  a['last_used_at'] === null ? quiet(terms.never) : time(a['last_used_at'], now);

/** Where a passkey is kept, as far as it tells. */
function keptIn({ kind, backup_eligible, backed_up }: Attributes): Value {
  if (kind !== 'passkey') return nothing;
  if (backup_eligible !== true) return text('Single-device');
  return text(backed_up === true ? 'Multi-device (synced)' : 'Single-device (can be synced)');
}

const tabOf = (record: ResourceObject) => {
  const user = relatedId(record, 'user');
  return user === null ? null : `${recordPath('users', user)}/authenticators`;
};

export const authenticatorsPresentation: Presentation = {
  path: 'authenticators',
  title: terms.sign_in_methods,
  under: 'users',
  one: 'sign-in method',
  lead: 'Passkeys, authenticator apps and recovery codes. People add them in their account. Keys and secrets are never shown.',
  empty: {
    title: 'No sign-in methods yet',
    text: 'People add passkeys and authenticator apps in their account. Import them from another system with the Management API or the command line.',
  },
  include: 'user',
  columns: [
    {
      label: 'Method',
      value: ({ attributes: a }) => {
        const kind = kindLabel(a['kind']);
        return a['name'] === kind ? text(kind) : stack(text(a['name']), quiet(kind));
      },
    },
    { label: terms.user, value: (record, _view, { included }) => linkedRecord(record, 'user', 'users', 'email', included) },
    {
      label: terms.status,
      value: (record) =>
        record.attributes['kind'] === 'recovery_codes' ? codesLeft(record.attributes['codes_left']) : authenticatorState(record),
    },
    { label: terms.last_used, sort: 'last_used_at', value: (record, { now }) => lastUsed(record, now) },
    { label: terms.added, sort: 'created_at', value: (record, { now }) => time(record.attributes['created_at'], now) },
  ],
  filters: [
    { name: 'kind', label: terms.type, choices: async () => authenticatorKinds.map((value) => ({ value, label: kindLabel(value) })) },
    { name: 'status', label: terms.status },
    { name: 'used', label: terms.last_used, kind: 'period', filter: 'last_used_at' },
  ],
  name: ({ attributes: a }) => words(a['name']),
  state: authenticatorState,
  summary: (record, { now }, included) => {
    const a = record.attributes;
    return [
      { label: terms.user, value: linkedRecord(record, 'user', 'users', 'email', included) },
      { label: terms.type, value: text(kindLabel(a['kind'])) },
      ...(a['kind'] === 'recovery_codes' ? [{ label: 'Codes left', value: codesLeft(a['codes_left']) }] : []),
      ...(a['kind'] === 'passkey'
        ? [
            { label: terms.domain, value: code(a['rp_id']) },
            { label: 'Passkey storage', value: keptIn(a) },
            { label: 'Transports', value: tags(a['transports']) },
            { label: 'AAGUID', value: code(a['aaguid'], true) },
          ]
        : []),
      { label: terms.last_used, value: lastUsed(record, now) },
      { label: terms.added, value: time(a['created_at'], now) },
      ...(a['expires_at'] === null ? [] : [{ label: terms.expires, value: time(a['expires_at'], now) }]),
    ];
  },
  fields: [
    { name: 'name', label: terms.name, hint: 'What the person sees in the account.', attributes: { maxlength: 100, autocomplete: 'off' } },
  ],
  remove: {
    label: terms.remove,
    text: 'The person can no longer sign in with it, is asked for the second factor on remembered devices again, and is notified by email. Removing the last passkey or app also turns off multi-factor authentication and removes the recovery codes.',
    leadsTo: tabOf,
  },
};
