import { deviceWords } from '../../lib/user-agent.js';
import { acrLabel } from '../choices.js';
import type { Value } from '../page-parts.js';
import { recordPath, type Presentation } from '../presentation.js';
import type { ResourceObject } from '../../management/documents.js';
import { relatedId, includedRecord } from '../resource-objects.js';
import { code, link, nothing, quiet, stack, tags, text, time, words, statusStates } from '../values.js';

const sessionState = statusStates({ active: ['good', 'Active'], expired: ['quiet', 'Expired'], revoked: ['bad', 'Revoked'] });

const device = (record: ResourceObject): string =>
  deviceWords((record.attributes['user_agent'] as string | null) ?? null) ?? 'Unknown device';

const userOf = (record: ResourceObject, included: readonly ResourceObject[]): Value => {
  const user = includedRecord(record, 'user', included);
  const id = relatedId(record, 'user');
  return user ? link(words(user.attributes['email']), recordPath('users', user.id)) : id === null ? nothing : code(id);
};

const isActive = (record: ResourceObject) => record.attributes['status'] === 'active';

/** Where users are signed in. */
export const sessions: Presentation = {
  path: 'sessions',
  title: 'Sessions',
  navigation: { group: 'People', icon: ['M2.75 4h14.5v9.5H2.75z', 'M7 16.5h6'] },
  one: 'session',
  lead: 'Where people are, or were, signed in. Ending a session ends what was issued in it.',
  empty: { title: 'No sessions yet', text: 'A session begins when somebody signs in.' },
  include: 'user',
  recordInclude: 'user,clients',
  columns: [
    {
      label: 'Device',
      value: (record) => stack(text(device(record)), quiet(words(record.attributes['ip_address'] ?? 'Address unknown'))),
    },
    { label: 'User', value: (record, _look, { included }) => userOf(record, included) },
    { label: 'Last active', sort: 'last_activity_at', value: (record, { now }) => time(record.attributes['last_activity_at'], now) },
    { label: 'Expires', value: (record, { now }) => time(record.attributes['expires_at'], now) },
    { label: 'Status', value: sessionState },
  ],
  filters: [
    { name: 'status', label: 'Status' },
    { name: 'ip_address', label: 'IP address', kind: 'text' },
    { name: 'active', label: 'Active', kind: 'period', filter: 'last_activity_at' },
  ],
  name: device,
  state: sessionState,
  summary: (record, { now }, included) => {
    const a = record.attributes;
    return [
      { label: 'User', value: userOf(record, included) },
      { label: 'IP address', value: code(a['ip_address'], true) },
      { label: 'User agent', value: code(a['user_agent']) },
      { label: 'Signed in', value: time(a['signed_in_at'], now) },
      {
        label: 'Proven',
        value: a['auth_time_known'] === true ? time(a['authenticated_at'], now) : quiet('The provider does not say when'),
      },
      { label: 'By', value: tags(a['amr']) },
      { label: 'Strength', value: text(acrLabel(a['acr'])) },
      ...(a['provider_amr'] === null ? [] : [{ label: 'The provider says', value: tags(a['provider_amr']) }]),
      { label: 'Last active', value: time(a['last_activity_at'], now) },
      { label: 'Expires', value: time(a['expires_at'], now) },
      {
        label: 'Revoked',
        value: a['revoked_at'] === null ? nothing : stack(time(a['revoked_at'], now), quiet(words(a['revoke_reason'] ?? ''))),
      },
      { label: 'Signed in to', value: tags(included.filter((one) => one.type === 'client').map((one) => one.attributes['name'])) },
      { label: 'Id', value: code(record.id, true) },
    ];
  },
  actions: {
    touch: { label: 'Touch', when: isActive, done: 'touched' },
    revoke: {
      label: 'End session',
      when: isActive,
      confirm: ['The browser is signed out at once, and so are the clients that it signed in to. Tokens with offline access go on.'],
      danger: true,
      done: 'revoked',
    },
  },
};
