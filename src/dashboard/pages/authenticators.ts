import { authenticatorKinds } from '../../db/tables/authenticators.js';
import { named } from '../../lib/named.js';
import type { ResourceObject } from '../../management/documents.js';
import type { Value } from '../page-parts.js';
import { recordPath, type Presentation } from '../presentation.js';
import { includedRecord, relatedId } from '../resource-objects.js';
import { code, link, nothing, quiet, stack, state, tags, text, time, words } from '../values.js';
import { fill, hints, nouns, sentences, terms } from '../words.js';

const kindWords = named<string>({ passkey: terms.passkey, totp: terms.authenticator_app, recovery_codes: terms.recovery_codes });

/** A kind of authenticator in words. */
export const kindLabel = (kind: unknown): string => kindWords[words(kind)] ?? words(kind);

type Attributes = ResourceObject['attributes'];

/** The kinds that a user has. */
export const kindsOf = (user: Attributes): readonly string[] => (user['authenticator_kinds'] ?? []) as string[];

/** Whether one factor is enough for a user. */
export const twoStepState = (user: Attributes): Value =>
  user['two_step_enabled'] === true ? state('good', terms.on) : state('quiet', terms.off);

/** How many recovery codes are left, with a warning when few are. */
export const codesLeft = (left: unknown): Value =>
  typeof left !== 'number'
    ? nothing
    : left < 3
      ? state('warning', left === 0 ? terms.none_left : fill(terms.codes_left_of, { left }))
      : text(fill(terms.codes_left_of, { left }));

const authenticatorState = (record: ResourceObject): Value =>
  record.attributes['status'] === 'active' ? state('good', terms.active) : state('info', terms.pending);

const lastUsed = ({ attributes: a }: ResourceObject, now: Date): Value =>
  a['last_used_at'] === null ? quiet(terms.never) : time(a['last_used_at'], now);

/** Where a passkey is kept, as far as it tells. */
function keptIn({ kind, backup_eligible, backed_up }: Attributes): Value {
  if (kind !== 'passkey') return nothing;
  if (backup_eligible !== true) return text(terms.single_device);
  return text(backed_up === true ? terms.multi_device_synced : terms.single_device_can_be_synced);
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
  title: terms.sign_in_methods,
  navigation: {
    group: 'People',
    icon: ['M6.5 13.5a3.5 3.5 0 1 1 3.2-4.9h7.3v3h-2v2.4h-3v-2.4h-2.3a3.5 3.5 0 0 1-3.2 1.9z', 'M6.4 10h.2'],
  },
  one: nouns.sign_in_method,
  lead: sentences.authenticators_lead,
  empty: {
    title: terms.no_sign_in_methods_yet,
    text: sentences.people_add_passkeys_and_authenticator,
  },
  include: 'user',
  recordInclude: 'user',
  columns: [
    {
      label: terms.method,
      value: ({ attributes: a }) => {
        const kind = kindLabel(a['kind']);
        return a['name'] === kind ? text(kind) : stack(text(a['name']), quiet(kind));
      },
    },
    { label: terms.user, value: (record, _look, { included }) => userOf(record, included) },
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
      { label: terms.user, value: userOf(record, included) },
      { label: terms.type, value: text(kindLabel(a['kind'])) },
      ...(a['kind'] === 'recovery_codes' ? [{ label: terms.codes_left, value: codesLeft(a['codes_left']) }] : []),
      ...(a['kind'] === 'passkey'
        ? [
            { label: terms.domain, value: code(a['rp_id']) },
            { label: terms.passkey_storage, value: keptIn(a) },
            { label: terms.transports, value: tags(a['transports']) },
            { label: terms.aaguid, value: code(a['aaguid'], true) },
          ]
        : []),
      { label: terms.last_used, value: lastUsed(record, now) },
      { label: terms.added, value: time(a['created_at'], now) },
      ...(a['expires_at'] === null ? [] : [{ label: terms.expires, value: time(a['expires_at'], now) }]),
      { label: terms.id, value: code(record.id, true) },
    ];
  },
  fields: [{ name: 'name', label: terms.name, hint: hints.name, attributes: { maxlength: 100, autocomplete: 'off' } }],
  remove: {
    label: terms.remove,
    text: sentences.it_no_longer_signs_this,
    leadsTo: tabOf,
  },
};
