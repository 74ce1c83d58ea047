import { aboveDetails, detailExtras, detailedSummary } from '../../parts/records/details.js';
import { clientChoices } from '../../parts/forms/choices.js';
import { includedRecord, relatedId } from '../../parts/records/objects.js';
import type { Presentation } from '../../parts/records/presentation.js';
import type { ResourceObject } from '../../../management/documents.js';
import { code, statusStates, tags, text, time, words } from '../../parts/values.js';
import { terms } from '../../parts/words.js';
import { linkedRecord, userColumn } from '../users/user-links.js';

const stateOf = statusStates({
  pending: ['info', 'Waiting'],
  approved: ['good', 'Approved'],
  refused: ['warning', 'Refused'],
  expired: ['quiet', 'Expired'],
});

const clientOf = (record: ResourceObject, included: readonly ResourceObject[]) =>
  words(includedRecord(record, 'client', included)?.attributes['name'] ?? relatedId(record, 'client'));

const about = 'About';

const summary: Presentation['summary'] = (record, { now }, included) => [
  { label: terms.user, value: linkedRecord(record, 'user', 'users', 'email', included) },
  { label: terms.client, value: linkedRecord(record, 'client', 'clients', 'name', included) },
  { label: about, value: text(words(record.attributes['binding_message'])) },
  { label: terms.scopes, value: tags(record.attributes['scopes'], 100) },
  { label: 'Asked', value: time(record.attributes['created_at'], now) },
  { label: 'Answered', value: time(record.attributes['decided_at'], now) },
  { label: terms.expires, value: time(record.attributes['expires_at'], now) },
  { label: terms.id, value: code(record.id, true) },
];

export const approvalsPresentation: Presentation = {
  path: 'approvals',
  title: 'Approvals',
  under: 'users',
  one: 'approval',
  lead: 'What clients asked people who were elsewhere (CIBA), and what came of it.',
  empty: { title: 'No approvals yet', text: 'One appears when a client asks a person who is elsewhere.' },
  include: 'user,client',
  recordInclude: 'user,client',
  columns: [
    { label: terms.client, value: (record, _view, { included }) => text(clientOf(record, included)) },
    userColumn,
    {
      label: about,
      value: ({ id, attributes: a }, _view, { extras }) => aboveDetails(text(words(a['binding_message'])), extras?.get(id)),
    },
    { label: terms.status, value: stateOf },
    { label: 'Asked', sort: 'created_at', value: (record, { now }) => time(record.attributes['created_at'], now) },
  ],
  filters: [
    { name: 'client', label: terms.client, choices: clientChoices },
    { name: 'status', label: terms.status },
  ],
  name: (record, included = []) => clientOf(record, included),
  state: stateOf,
  extras: detailExtras,
  summary,
  named: detailedSummary(summary, about),
  actions: {
    cancel: {
      label: 'Cancel',
      when: ({ attributes: a }) => a['status'] === 'pending',
      confirm: ['The person can’t answer any more, and the client gets nothing.'],
      danger: true,
      done: 'cancelled',
    },
  },
};
