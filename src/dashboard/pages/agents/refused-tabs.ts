import { entryOfEvent } from '../../parts/activity/entry.js';
import { pageTable } from '../../parts/page-tables.js';
import { from, happened, partyValue, traceOf } from '../../parts/activity/columns.js';
import { namesOf } from '../../parts/activity/names.js';
import { listOf } from '../../parts/records/objects.js';
import { recordPath, type TabSpec } from '../../parts/records/presentation.js';
import { time } from '../../parts/values.js';
import { terms } from '../../parts/words.js';

const most = 10;

const inAddress = (label: string) => label.toLowerCase().replace(' ', '_');

type Refused = {
  readonly event: 'assertion.refused' | 'signal.refused';
  readonly label: string;
  readonly nothingYet: string;
  /** Whether each was brought by a client of ours. */
  readonly hasClient: boolean;
  readonly when?: TabSpec['when'];
};

/** The latest that were refused at a connection, or for an external server. */
const refusedTab = ({ event, label, nothingYet, hasClient, when }: Refused): TabSpec => ({
  name: inAddress(label),
  label,
  needs: 'security_events',
  ...(when && { when }),
  async parts(view, { id }) {
    const { call } = view.req;
    const { records } = await listOf(call, 'security_events', { filters: { target: id, event }, size: most });
    const entries = records.map((record) => [record.id, entryOfEvent(record)] as const);
    const names = await namesOf(
      call,
      entries.map(([, entry]) => entry),
    );
    return [
      pageTable({
        id: inAddress(label).replace('_', '-'),
        caption: label,
        heading: false,
        columns: [terms.event, ...(hasClient ? [terms.client] : []), 'From', terms.request_id, terms.time],
        rows: entries.map(([event_id, entry]) => ({
          path: recordPath('security_events', event_id),
          cells: [
            happened(entry, names, id, true),
            ...(hasClient ? [partyValue(entry.actor, names)] : []),
            from(entry),
            traceOf(view, entry.request_id),
            time(entry.occurred_at, view.now),
          ],
        })),
        nothing: [terms.nothing_yet, nothingYet],
      }),
    ];
  },
});

export const refusedAssertionsTab = (nothingYet: string, when?: TabSpec['when']): TabSpec =>
  refusedTab({ event: 'assertion.refused', label: 'Refused assertions', nothingYet, hasClient: true, ...(when && { when }) });

export const refusedSignalsTab: TabSpec = refusedTab({
  event: 'signal.refused',
  label: 'Refused signals',
  nothingYet: 'Signals of this provider that are refused appear here.',
  hasClient: false,
  when: ({ attributes }) => attributes['signals'] !== 'off',
});
