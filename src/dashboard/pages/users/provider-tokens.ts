import { clientChoices, connectionChoices } from '../../parts/forms/choices.js';
import { clientColumn, linkedName, linkedRecord, userColumn } from '../../parts/records/linked-record.js';
import type { Presentation } from '../../parts/records/presentation.js';
import type { ResourceObject } from '../../../management/documents.js';
import type { Value } from '../../parts/page-parts.js';
import { state, tags, time } from '../../parts/values.js';
import { terms } from '../../parts/words.js';

const statusOf = ({ attributes: a }: ResourceObject): Value => (a['status'] === 'live' ? state('good', 'Live') : state('quiet', 'Lost'));

export const providerTokensPresentation: Presentation = {
  path: 'provider_tokens',
  title: 'Provider tokens',
  under: 'users',
  one: 'provider token',
  lead: 'What clients have of people’s accounts at providers. The tokens themselves are never shown.',
  empty: { title: 'No provider tokens yet', text: 'One appears when a person allows a client with a provider grant.' },
  include: 'user,client,connection',
  columns: [
    clientColumn,
    {
      label: terms.connection,
      value: (record, _view, { included }) => linkedRecord(record, 'connection', 'connections', 'display_name', included),
    },
    userColumn,
    { label: terms.status, value: statusOf },
    { label: terms.last_used, value: (record, { now }) => time(record.attributes['last_used_at'], now) },
    { label: terms.allowed, sort: 'created_at', value: (record, { now }) => time(record.attributes['granted_at'], now) },
  ],
  filters: [
    { name: 'client', label: terms.client, choices: clientChoices },
    { name: 'connection', label: terms.connection, choices: connectionChoices },
    { name: 'status', label: terms.status },
  ],
  name: (record, included = []) => linkedName(record, 'client', included),
  state: statusOf,
  summary: (record, { now }, included) => [
    { label: terms.user, value: linkedRecord(record, 'user', 'users', 'email', included) },
    { label: terms.client, value: linkedRecord(record, 'client', 'clients', 'name', included) },
    { label: terms.connection, value: linkedRecord(record, 'connection', 'connections', 'display_name', included) },
    { label: terms.scopes, value: tags(record.attributes['scopes'], 100) },
    { label: terms.allowed, value: time(record.attributes['granted_at'], now) },
    { label: terms.last_used, value: time(record.attributes['last_used_at'], now) },
  ],
  actions: {
    revoke: {
      label: 'Revoke token',
      when: ({ attributes: a }) => a['status'] === 'live',
      confirm: ['The client gets no more access until the person allows it again. The provider is told too, if it can be.'],
      danger: true,
      done: 'revoked',
    },
  },
};
