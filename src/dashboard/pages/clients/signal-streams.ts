import { apiResourceOf } from '../../../domain/clients/clients.js';
import { clientColumn } from '../../parts/records/linked-record.js';
import { signalsAudience } from '../../../lib/signals-api.js';
import type { ResourceObject } from '../../../management/documents.js';
import type { Value } from '../../parts/page-parts.js';
import type { LinkButton } from '../../parts/table-parts.js';
import { clientChoices } from '../../parts/forms/choices.js';
import { includedRecord, may, relatedId } from '../../parts/records/objects.js';
import { recordPath, type FieldSpec, type Presentation, type ViewContext } from '../../parts/records/presentation.js';
import { duration, durationWords, link, quiet, stack, state, tags, text, time, words } from '../../parts/values.js';
import { terms } from '../../parts/words.js';

const pausedBy: ReadonlyMap<unknown, string> = new Map([
  ['receiver', 'Paused by the client'],
  ['administrator', 'Paused by an administrator'],
  ['limit', 'Paused: too much waits'],
]);

function statusOf({ attributes: a }: ResourceObject): Value {
  if (a['status'] === 'paused') return state(a['paused_by'] === 'limit' ? 'bad' : 'quiet', pausedBy.get(a['paused_by']) ?? 'Paused');
  if (a['status'] === 'disabled') return state('quiet', terms.disabled);
  return a['last_error'] === null ? state('good', terms.enabled) : state('bad', 'Failing');
}

const clientOf = (record: ResourceObject, included: readonly ResourceObject[]): Value => {
  const client = includedRecord(record, 'client', included);
  return client ? link(words(client.attributes['name']), recordPath('clients', client.id)) : text(relatedId(record, 'client'));
};
const eventsOf = ({ attributes: a }: ResourceObject): Value => tags(a['events_requested'] as string[]);
const deliveryOf = ({ attributes: a }: ResourceObject): Value =>
  a['method'] === 'poll' ? text('Polled by the client') : stack(text('Pushed to'), quiet(words(a['endpoint_url'])));

/** What waits, in whole minutes where it is several: the oldest of it is told, and to the second nobody needs it. */
function backlogOf({ attributes: a }: ResourceObject): number {
  const seconds = a['lag_seconds'] as number;
  return seconds < 120 ? seconds : Math.round(seconds / 60) * 60;
}

/** Of whom a client's streams hear. */
export const signalAudienceField: FieldSpec = {
  name: 'signal_audience',
  label: 'Signals about',
  choices: async () => [
    { value: 'own', label: 'Its own people', hint: null },
    { value: 'organization', label: 'The organizations that use it', hint: null },
    { value: 'everybody', label: 'Everybody', hint: null },
  ],
  hint: 'Of whom its signal streams may hear, where it keeps any.',
};

/** Leads to the API resource that grants for signals are for, where there is none yet. */
async function makeSignalsApi({ req: { call } }: ViewContext): Promise<LinkButton | null> {
  const identifier = signalsAudience(call.ctx.environment);
  if (!may(call, 'api_resources', 'write') || (await apiResourceOf(call.ctx, identifier))) return null;
  const query = new URLSearchParams({ identifier, name: 'Signals' });
  return { label: 'Create the API of signals', path: `/dashboard/api_resources/new?${query.toString()}`, variant: 'primary' };
}

export const signalStreamsPresentation: Presentation = {
  path: 'signal_streams',
  title: 'Signals',
  under: 'clients',
  one: 'signal stream',
  lead: 'What clients hear of people and sessions (Shared Signals Framework). Clients make and change their streams themselves.',
  empty: { title: 'No streams yet', text: 'A client with a grant for the API of signals makes one at /ssf/streams.' },
  start: makeSignalsApi,
  include: 'client',
  columns: [
    clientColumn,
    { label: 'Delivery', value: deliveryOf },
    { label: terms.status, value: statusOf },
    {
      label: 'Backlog',
      value: (record) => (backlogOf(record) === 0 ? quiet(terms.none_in_sentence) : text(durationWords(backlogOf(record)))),
    },
    { label: terms.created, sort: 'created_at', value: (record, { now }) => time(record.attributes['created_at'], now) },
  ],
  filters: [
    { name: 'status', label: terms.status },
    { name: 'client', label: terms.client, choices: clientChoices },
  ],
  name: (record) => words(record.attributes['description'] ?? `Stream ${record.id.slice(-6)}`),
  state: statusOf,
  summary: (record, { now }, included) => {
    const { attributes: a } = record;
    return [
      { label: terms.client, value: clientOf(record, included) },
      { label: 'Delivery', value: deliveryOf(record) },
      { label: terms.events, value: eventsOf(record) },
      ...(a['status_reason'] === null ? [] : [{ label: 'Reason', value: text(a['status_reason']) }]),
      { label: 'Backlog', value: duration(backlogOf(record) === 0 ? null : backlogOf(record), 'All has arrived') },
      ...(a['method'] === 'poll'
        ? []
        : [
            { label: terms.authorization_header, value: text(a['has_authorization'] === true ? 'Sent along' : terms.none) },
            { label: 'Last pushed', value: time(a['last_sent_at'], now) },
          ]),
      ...(a['last_error'] === null ? [] : [{ label: 'Not taken because of', value: text(a['last_error']) }]),
      { label: terms.created, value: time(a['created_at'], now) },
    ];
  },
  remove: { label: 'Delete stream', text: 'The client hears nothing more, not even of what waits. It can make another stream.' },
  actions: {
    pause: {
      label: 'Pause',
      confirm: ['What happens waits until an administrator resumes the stream. The client is told, and can’t resume it by itself.'],
      done: 'updated',
      when: ({ attributes: a }) => a['status'] === 'enabled',
    },
    resume: { label: 'Resume', done: 'updated', when: ({ attributes: a }) => a['status'] === 'paused' },
  },
};
