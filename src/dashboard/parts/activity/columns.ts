import { deviceWords } from '../../../lib/user-agent.js';
import type { ResourceObject } from '../../../management/documents.js';
import { listOf, may } from '../records/objects.js';
import { recordPath, type ColumnSpec, type ViewContext } from '../records/presentation.js';
import type { Choice, Row, Value } from '../page-parts.js';
import { code, figure, inWords, link, nothing, number, quiet, stack, state, text, time, words } from '../values.js';
import { terms } from '../words.js';
import { entryOfEvent, entryOfLog, type ActivityEntry, type Party } from './entry.js';
import { namesOf, partyIn, type Names } from './names.js';
import { nounOf } from './operations.js';
import { activitySentence, type Sentence } from './sentences.js';

/** What happened, with what there is to do about it where `advised`. */
export function happened(entry: ActivityEntry, names: Names, subject: string | null = null, advised = false): Value {
  const { text: sentence, tone, fix } = activitySentence(entry, names, subject);
  const times = entry.count > 1 ? [quiet(`${figure(entry.count)} times`)] : [];
  return stack(state(tone, sentence), ...times, ...(advised && fix !== null ? [quiet(fix)] : []));
}

/** What there is to do about it, if anything. */
export const adviceRows = ({ fix }: Sentence): Row[] => (fix === null ? [] : [{ label: 'What to do', value: text(fix) }]);

/** Whom or what an entry is about: of what belongs to a person, the person. */
function aboutOf({ actor, target }: ActivityEntry): Party {
  const belongs = ['session', 'authenticator', 'identity'].includes(target.type) || target.id === null;
  return belongs && (actor.type === 'user' || actor.type === 'client') ? actor : target;
}

const clientOf = ({ detail }: ActivityEntry): Party => ({
  type: 'client',
  id: (detail['client_id'] as string | undefined) ?? null,
  display: null,
});

/** Of a page about one party, the other one: the application of a sign-in, else who it was, or what it was done to. */
export function otherParty(entry: ActivityEntry, subject: string): Party {
  const client = clientOf(entry);
  if (client.id !== null && client.id !== subject) return client;
  const others = [aboutOf(entry), entry.actor, entry.target].filter(({ id, type }) => id !== null && id !== subject && type !== 'session');
  return others[0] ?? { type: 'none', id: null, display: null };
}

/** A party by its name, as a link where the viewer may follow it. */
export function partyValue(party: Party, names: Names): Value {
  const name = names.of(party);
  if (name === null) return nothing;
  const path = names.path(party);
  return stack(path === null ? text(name) : link(name, path), quiet(nounOf(party.type)));
}

/** Where it came from: the device in words, and the address. */
export function from({ user_agent, ip_address }: Pick<ActivityEntry, 'user_agent' | 'ip_address'>): Value {
  const device = deviceWords(user_agent);
  if (device === null) return code(ip_address);
  return ip_address === null ? text(device) : stack(text(device), quiet(ip_address));
}

/** Somebody or something on the page of an entry: the name of then, the id, and the record where there is one that the viewer may open. */
function partyFacts({ req: { call } }: ViewContext, party: Party, names: Names): Value {
  const { type, id, display } = party;
  const path = call.registry.byType.get(type)?.path;
  const name = display ?? names.of(party) ?? (type === 'system' ? 'The service' : type === 'anonymous' ? terms.somebody : null);
  if (name === null) return nothing;
  // A consent has no page but that of its user.
  const open = id !== null && path !== undefined && type !== 'consent' && may(call, path, 'read') ? recordPath(path, id) : null;
  // What has no name, such as a session, is called what it is.
  const [label, nouns] = name === id ? [inWords(nounOf(type)), []] : [name, [quiet(nounOf(type))]];
  return stack(open === null ? text(label) : link(label, open), ...nouns, ...(id === null ? [] : [code(id, true)]));
}

export const partyRows = (view: ViewContext, { actor, target }: ActivityEntry, names: Names): Row[] => [
  { label: terms.actor, value: partyFacts(view, actor, names) },
  { label: terms.target, value: partyFacts(view, target, names) },
];

/** A value on the page of an entry: whom it names by name and id, anything else as it stands. */
export function shownValue(name: string, value: unknown, names: Names): Value {
  if (value === null || value === undefined) return quiet('nothing');
  const party = partyIn(name, value);
  const known = party && names.of(party);
  if (party === null || known === value) return code(typeof value === 'object' ? JSON.stringify(value) : words(value));
  return stack(link(known ?? '', names.path(party) ?? ''), code(value, true));
}

/** The trace of a request, which there is when something of an authorization was refused. */
export const traceOf = ({ req: { call } }: ViewContext, request_id: string | null): Value =>
  request_id !== null && may(call, 'request_traces', 'read')
    ? link(request_id, `/dashboard/request_traces?${new URLSearchParams({ request_id }).toString()}`)
    : code(request_id, true);

/** Where an entry came from, on its own page. */
export const originRows = (view: ViewContext, { count, ip_address, user_agent, request_id }: ActivityEntry): Row[] => [
  { label: 'Occurrences within the minute', value: number(count) },
  { label: terms.ip_address, value: stack(code(ip_address), quiet(user_agent ?? '')) },
  { label: terms.request_id, value: traceOf(view, request_id) },
];

const about = (id: string) => `${id} about`;

/** What the columns show beside the records: the sentence by its id, whom it is about by {@link about}. */
const extrasOf =
  (entryOf: (record: ResourceObject) => ActivityEntry) =>
  async ({ req }: ViewContext, records: readonly ResourceObject[]): Promise<ReadonlyMap<string, Value>> => {
    const entries = records.map((record) => [record.id, entryOf(record)] as const);
    const names = await namesOf(
      req.call,
      entries.map(([, entry]) => entry),
    );
    return new Map(
      entries.flatMap(([id, entry]): [string, Value][] => [
        [id, happened(entry, names)],
        [about(id), partyValue(aboutOf(entry), names)],
      ]),
    );
  };

const columnsOf = (entryOf: (record: ResourceObject) => ActivityEntry): readonly ColumnSpec[] => [
  { label: terms.event, value: ({ id }, _view, { extras }) => extras?.get(id) ?? nothing },
  { label: 'About', value: ({ id }, _view, { extras }) => extras?.get(about(id)) ?? nothing },
  { label: 'From', value: (record) => from(entryOf(record)) },
  { label: terms.time, sort: 'occurred_at', value: (record, { now }) => time(record.attributes['occurred_at'], now) },
];

export const logColumns = { columns: columnsOf(entryOfLog), extras: extrasOf(entryOfLog) };
export const eventColumns = { columns: columnsOf(entryOfEvent), extras: extrasOf(entryOfEvent) };

/** At most so many of a kind stand for a name that somebody types. */
const most = 5;
/** Those that act, and that most entries are about. */
const partyPaths = ['users', 'clients', 'connections', 'webhooks', 'organizations', 'roles'];

/** Whom or what a name, an address or an id may mean: of those kinds alone that the viewer may read. */
export async function partiesFor({ req: { call } }: ViewContext, search: string): Promise<readonly Choice[]> {
  const readable = partyPaths.filter((path) => may(call, path, 'read'));
  const lists = await Promise.all(readable.map((path) => listOf(call, path, { filters: { search }, size: most })));
  return lists.flatMap(({ records }) =>
    records.map(({ id, type, attributes: a }) => {
      const person = [a['first_name'], a['last_name']].filter(Boolean).join(' ');
      return { value: id, label: `${person || words(a['display_name'] ?? a['name'] ?? a['email'] ?? id)} (${nounOf(type)})` };
    }),
  );
}
