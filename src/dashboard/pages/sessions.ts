import { deviceWords } from '../../lib/user-agent.js';
import { acrLabel } from '../choices.js';
import type { Value } from '../page-parts.js';
import { recordPath, type Presentation } from '../presentation.js';
import type { ResourceObject } from '../../management/documents.js';
import { relatedId, includedRecord } from '../resource-objects.js';
import { code, link, nothing, quiet, stack, tags, text, time, words, statusStates } from '../values.js';
import { nouns, sentences, terms } from '../words.js';

const sessionState = statusStates({
  active: ['good', terms.active],
  expired: ['quiet', terms.expired],
  revoked: ['bad', terms.revoked],
});

const device = (record: ResourceObject): string =>
  deviceWords((record.attributes['user_agent'] as string | null) ?? null) ?? terms.unknown_device;

const userOf = (record: ResourceObject, included: readonly ResourceObject[]): Value => {
  const user = includedRecord(record, 'user', included);
  const id = relatedId(record, 'user');
  return user ? link(words(user.attributes['email']), recordPath('users', user.id)) : id === null ? nothing : code(id);
};

const isActive = (record: ResourceObject) => record.attributes['status'] === 'active';

/** Where users are signed in. */
export const sessions: Presentation = {
  path: 'sessions',
  title: terms.sessions,
  navigation: { group: 'People', icon: ['M2.75 4h14.5v9.5H2.75z', 'M7 16.5h6'] },
  one: nouns.session,
  lead: sentences.sessions_lead,
  empty: { title: terms.no_sessions_yet, text: sentences.a_session_begins_when_somebody },
  include: 'user',
  recordInclude: 'user,clients',
  columns: [
    {
      label: terms.device,
      value: (record) => stack(text(device(record)), quiet(words(record.attributes['ip_address'] ?? 'Address unknown'))),
    },
    { label: terms.user, value: (record, _look, { included }) => userOf(record, included) },
    { label: terms.last_active, sort: 'last_activity_at', value: (record, { now }) => time(record.attributes['last_activity_at'], now) },
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
      { label: terms.user, value: userOf(record, included) },
      { label: terms.ip_address, value: code(a['ip_address'], true) },
      { label: terms.user_agent, value: code(a['user_agent']) },
      { label: terms.signed_in, value: time(a['signed_in_at'], now) },
      {
        label: terms.authenticated,
        value: a['auth_time_known'] === true ? time(a['authenticated_at'], now) : quiet(terms.the_provider_does_not_say_when),
      },
      { label: terms.authentication_methods, value: tags(a['amr']) },
      { label: terms.authentication_context, value: text(acrLabel(a['acr'])) },
      ...(a['provider_amr'] === null ? [] : [{ label: terms.reported_by_the_provider, value: tags(a['provider_amr']) }]),
      { label: terms.last_active, value: time(a['last_activity_at'], now) },
      { label: terms.expires, value: time(a['expires_at'], now) },
      {
        label: terms.revoked,
        value: a['revoked_at'] === null ? nothing : stack(time(a['revoked_at'], now), quiet(words(a['revoke_reason'] ?? ''))),
      },
      { label: terms.clients, value: tags(included.filter((one) => one.type === 'client').map((one) => one.attributes['name'])) },
      { label: terms.id, value: code(record.id, true) },
    ];
  },
  actions: {
    touch: { label: terms.record_activity, when: isActive, done: 'touched' },
    revoke: {
      label: terms.end_session,
      when: isActive,
      confirm: [sentences.the_browser_is_signed_out],
      danger: true,
      done: 'revoked',
    },
  },
};
