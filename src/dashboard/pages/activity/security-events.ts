import { securityEvents } from '../../../lib/security-events.js';
import { securityEventChoices } from '../../parts/activity/choices.js';
import { adviceRows, eventColumns, partiesFor, originRows, partyRows, shownValue } from '../../parts/activity/columns.js';
import { entryOfEvent } from '../../parts/activity/entry.js';
import { namesOf, storedNames, type Names } from '../../parts/activity/names.js';
import { activitySentence } from '../../parts/activity/sentences.js';
import type { Presentation } from '../../parts/records/presentation.js';
import type { Part, Value } from '../../parts/page-parts.js';
import { pageTable } from '../../parts/page-tables.js';
import type { ResourceObject } from '../../../management/documents.js';
import { code, inWords, state, text, time } from '../../parts/values.js';
import { terms } from '../../parts/words.js';

type Detail = { reason: string | null; target: unknown } & Record<string, unknown>;

const detailOf = (record: ResourceObject) => record.attributes['detail'] as Detail;

const severities = { info: ['quiet', 'Info'], warning: ['warning', terms.warning], critical: ['bad', 'Critical'] } as const;

function severity(record: ResourceObject): Value {
  const [tone, label] = severities[record.attributes['severity'] as keyof typeof severities];
  return state(tone, label);
}

function details(record: ResourceObject, names: Names): Part {
  const { reason: _reason, target: _target, ...rest } = detailOf(record);
  const rows = Object.entries(rest).map(([name, value]) => ({ cells: [code(name), shownValue(name, value, names)] }));
  const nothing = [terms.none, 'This kind of event has no further details.'] as const;
  return pageTable({ id: 'detail', caption: 'Details', columns: [terms.name, terms.value], rows, nothing });
}

const severityChoices = async () => Object.entries(severities).map(([value, [, label]]) => ({ value, label }));

const recordParts = (names: Names): Pick<Presentation, 'name' | 'summary' | 'more'> => ({
  name: (record) => activitySentence(entryOfEvent(record), names).text,
  summary: (record, view) => {
    const { attributes } = record;
    const entry = entryOfEvent(record);
    const meaning = entry.event && securityEvents[entry.event].description;
    return [
      ...adviceRows(activitySentence(entry, names)),
      { label: terms.event, value: code(attributes['event']) },
      { label: 'What it means', value: text(meaning?.replaceAll('`', '')) },
      { label: terms.time, value: time(attributes['occurred_at'], view.now) },
      { label: terms.outcome, value: text(inWords(entry.outcome)) },
      { label: terms.reason, value: code(entry.reason) },
      ...partyRows(view, entry, names),
      ...originRows(view, entry),
    ];
  },
  more: async (_view, record) => [details(record, names)],
});

export const securityEventsPresentation: Presentation = {
  path: 'security_events',
  title: terms.security_events,
  navigation: {
    group: 'Events',
    label: 'Logs',
    icon: ['M10 2.75l6 2.25v4.5c0 3.75-2.5 6.5-6 7.75-3.5-1.25-6-4-6-7.75V5z', 'M7.25 10l2 2 3.5-3.75'],
  },
  one: 'security event',
  lead: 'Sign-ins, refused sign-ins, reused codes and tokens, changes to roles, keys, secrets and settings, and denied operations. Each is also written to the log; repetitions within a minute are counted.',
  empty: { title: terms.nothing_yet, text: 'The first sign-in appears here.' },
  ...eventColumns,
  filters: [
    { name: 'event', label: terms.event, choices: securityEventChoices },
    { name: 'severity', label: 'Severity', choices: severityChoices },
    { name: 'actor', label: terms.actor, kind: 'text', lookUp: partiesFor },
    { name: 'target', label: terms.target, kind: 'text', lookUp: partiesFor },
    { name: 'since', label: terms.period, kind: 'period', filter: 'occurred_at' },
  ],
  showsId: false,
  ...recordParts(storedNames),
  named: async ({ req }, record) => recordParts(await namesOf(req.call, [entryOfEvent(record)])),
  state: severity,
};
