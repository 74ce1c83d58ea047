import { aboveDetails, detailExtras, detailedSummary } from '../../parts/records/details.js';
import { clientChoices } from '../../parts/forms/choices.js';
import { clientColumn, linkedName, linkedRecord, userColumn } from '../../parts/records/linked-record.js';
import type { Presentation } from '../../parts/records/presentation.js';
import { statusStates, tags, text, time, words } from '../../parts/values.js';
import { terms } from '../../parts/words.js';

const stateOf = statusStates({
  pending: ['info', 'Waiting'],
  approved: ['good', 'Approved'],
  refused: ['warning', 'Refused'],
  expired: ['quiet', 'Expired'],
});

const about = 'About';

const summary: Presentation['summary'] = (record, { now }, included) => [
  { label: terms.user, value: linkedRecord(record, 'user', 'users', 'email', included) },
  { label: terms.client, value: linkedRecord(record, 'client', 'clients', 'name', included) },
  { label: about, value: text(words(record.attributes['binding_message'])) },
  { label: terms.scopes, value: tags(record.attributes['scopes'], 100) },
  { label: 'Asked', value: time(record.attributes['created_at'], now) },
  { label: 'Answered', value: time(record.attributes['decided_at'], now) },
  { label: terms.expires, value: time(record.attributes['expires_at'], now) },
];

export const approvalsPresentation: Presentation = {
  path: 'approvals',
  title: 'Approvals',
  under: 'users',
  one: 'approval',
  lead: 'What clients asked people who were elsewhere (CIBA), and what came of it.',
  empty: { title: 'No approvals yet', text: 'One appears when a client asks a person who is elsewhere.' },
  include: 'user,client',
  columns: [
    clientColumn,
    userColumn,
    { label: about, value: ({ id, attributes: a }, _view, { extras }) => aboveDetails(text(words(a['binding_message'])), extras?.get(id)) },
    { label: terms.status, value: stateOf },
    { label: 'Asked', sort: 'created_at', value: (record, { now }) => time(record.attributes['created_at'], now) },
  ],
  filters: [
    { name: 'client', label: terms.client, choices: clientChoices },
    { name: 'status', label: terms.status },
  ],
  name: (record, included = []) => linkedName(record, 'client', included),
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
