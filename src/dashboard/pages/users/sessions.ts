import { deviceWords } from '../../../lib/user-agent.js';
import { linkedRecord } from '../../parts/records/linked-record.js';
import { acrLabel } from '../../parts/forms/choices.js';
import { type Presentation } from '../../parts/records/presentation.js';
import type { ResourceObject } from '../../../management/documents.js';
import { code, quiet, stack, tags, text, time, words, statusStates } from '../../parts/values.js';
import { terms } from '../../parts/words.js';

const sessionState = statusStates({ active: ['good', terms.active], expired: ['quiet', 'Expired'], revoked: ['bad', 'Revoked'] });

const device = (record: ResourceObject): string =>
  deviceWords((record.attributes['user_agent'] as string | null) ?? null) ?? 'Unknown device';

const isActive = (record: ResourceObject) => record.attributes['status'] === 'active';

export const sessionsPresentation: Presentation = {
  path: 'sessions',
  title: terms.sessions,
  under: 'users',
  one: 'session',
  lead: 'Where people are, or were, signed in. Ending a session revokes what was issued in it.',
  empty: { title: 'No sessions yet', text: 'A session starts when someone signs in.' },
  include: 'user',
  recordInclude: 'user,clients',
  columns: [
    { label: 'Device', value: (record) => stack(text(device(record)), quiet(words(record.attributes['ip_address'] ?? 'Address unknown'))) },
    { label: terms.user, value: (record, _view, { included }) => linkedRecord(record, 'user', 'users', 'email', included) },
    { label: 'Last active', sort: 'last_activity_at', value: (record, { now }) => time(record.attributes['last_activity_at'], now) },
    { label: terms.expires, value: (record, { now }) => time(record.attributes['expires_at'], now) },
    { label: terms.status, value: sessionState },
  ],
  filters: [
    { name: 'status', label: terms.status },
    { name: 'ip_address', label: terms.ip_address, kind: 'text' },
    { name: 'active', label: terms.active, kind: 'period', filter: 'last_activity_at' },
  ],
  name: device,
  state: sessionState,
  summary: (record, { now }, included) => {
    const a = record.attributes;
    return [
      { label: terms.user, value: linkedRecord(record, 'user', 'users', 'email', included) },
      { label: terms.ip_address, value: code(a['ip_address'], true) },
      { label: 'User agent', value: code(a['user_agent']) },
      { label: 'Signed in', value: time(a['signed_in_at'], now) },
      {
        label: 'Authenticated',
        value: a['auth_time_known'] === true ? time(a['authenticated_at'], now) : quiet('The provider doesn’t say when'),
      },
      { label: 'Authentication methods', value: tags(a['amr']) },
      { label: 'Authentication context', value: text(acrLabel(a['acr'])) },
      ...(a['provider_amr'] === null ? [] : [{ label: 'Reported by the provider', value: tags(a['provider_amr']) }]),
      { label: 'Last active', value: time(a['last_activity_at'], now) },
      { label: terms.expires, value: time(a['expires_at'], now) },
      ...(a['revoked_at'] === null
        ? []
        : [{ label: 'Revoked', value: stack(time(a['revoked_at'], now), quiet(words(a['revoke_reason'] ?? ''))) }]),
      { label: terms.clients, value: tags(included.filter((one) => one.type === 'client').map((one) => one.attributes['name'])) },
    ];
  },
  actions: {
    revoke: {
      label: 'End session',
      when: isActive,
      confirm: ['The browser is signed out at once, and so are the clients that it signed in to. Offline tokens stay valid.'],
      danger: true,
      done: 'revoked',
    },
  },
};
