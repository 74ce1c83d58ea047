import { entryOfEvent } from '../../parts/activity/entry.js';
import { from, happened, partyValue, traceOf } from '../../parts/activity/columns.js';
import { namesOf } from '../../parts/activity/names.js';
import { listOf } from '../../parts/records/objects.js';
import { recordPath, type TabSpec } from '../../parts/records/presentation.js';
import { time } from '../../parts/values.js';
import { terms } from '../../parts/words.js';

const most = 10;

/** The latest identity assertions that were refused at a connection, or for an external server. */
export const refusedAssertionsTab = (nothingYet: string, when?: TabSpec['when']): TabSpec => ({
  name: 'refused_assertions',
  label: 'Refused assertions',
  needs: 'security_events',
  ...(when && { when }),
  async parts(view, { id }) {
    const { call } = view.req;
    const { records } = await listOf(call, 'security_events', { filters: { target: id, event: 'assertion.refused' }, size: most });
    const entries = records.map((record) => [record.id, entryOfEvent(record)] as const);
    const names = await namesOf(
      call,
      entries.map(([, entry]) => entry),
    );
    return [
      {
        kind: 'table',
        id: 'refused-assertions',
        caption: 'Refused assertions',
        heading: false,
        columns: [terms.event, terms.client, 'From', terms.request_id, terms.time].map((label) => ({ label })),
        rows: entries.map(([event_id, entry]) => ({
          path: recordPath('security_events', event_id),
          cells: [
            happened(entry, names, id, true),
            partyValue(entry.actor, names),
            from(entry),
            traceOf(view, entry.request_id),
            time(entry.occurred_at, view.now),
          ],
        })),
        empty: { title: terms.nothing_yet, text: nothingYet, button: null },
        pager: null,
      },
    ];
  },
});
