import type { TraceStep } from '../../domain/request-traces/waiting-traces.js';
import { own } from '../../lib/named.js';
import { refusalRules, type ScopeRuling } from '../../lib/refusal-rules.js';
import type { ResourceObject } from '../../management/documents.js';
import type { Part, Row, Value } from '../page-parts.js';
import { recordPath, type Presentation, type ViewContext } from '../presentation.js';
import { includedRecord, may, relatedId } from '../resource-objects.js';
import { code, lines, link, quiet, stack, state, tags, text, time, words } from '../values.js';

const stepLabels: Readonly<Record<TraceStep['step'], string>> = {
  pushed_authorization_request: 'Pushed authorization request',
  authorize: 'Authorization request',
  consent: 'Consent page',
  device_authorization: 'Device authorization request',
  token: 'Token request',
};

const ruleOf = (record: ResourceObject) => own(refusalRules, words(record.attributes['rule'])) ?? refusalRules.refused;
const stepsOf = (record: ResourceObject) => record.attributes['steps'] as TraceStep[];
const stepLabel = (step: unknown): string | undefined => own(stepLabels, words(step));

/** What the request said at the step that decided. */
const detailOf = (record: ResourceObject) =>
  (stepsOf(record).findLast(({ outcome }) => outcome !== 'accepted')?.detail ?? {}) as {
    readonly client_id?: string;
    readonly grant_type?: string;
    readonly resource?: string;
    readonly scope?: readonly string[];
    readonly scopes?: readonly ScopeRuling[];
    readonly redirect_uri?: string;
    readonly registered_redirect_uris?: readonly string[];
    readonly description?: string;
  };

const outcomeState = (outcome: unknown): Value =>
  outcome === 'refused'
    ? state('bad', 'Refused')
    : outcome === 'narrowed'
      ? state('warning', 'Less than asked')
      : state('good', 'Accepted');

/** The client by its name; by what was received where none is known. */
function clientValue(record: ResourceObject, { req }: ViewContext, included: readonly ResourceObject[]): Value {
  const id = relatedId(record, 'client');
  const received = detailOf(record).client_id;
  if (id === null) return received === undefined ? quiet('Not named') : stack(code(received), quiet('not registered'));
  const client = includedRecord(record, 'client', included);
  if (!client) return may(req.call, 'clients', 'read') ? stack(code(id), quiet('gone')) : code(id);
  return link(words(client.attributes['name']), recordPath('clients', id));
}

const row = (label: string, value: Value | null): Row[] => (value === null ? [] : [{ label, value }]);

/** What was received beside what it was compared with. */
function comparison(record: ResourceObject): Row[] {
  const { redirect_uri, registered_redirect_uris: registered, resource, grant_type, scope, description } = detailOf(record);
  const issued = stepsOf(record).find(({ outcome }) => outcome === 'accepted')?.detail['redirect_uri'];
  const none = quiet('none');
  return [
    ...row('Redirect URI received', redirect_uri === undefined ? null : code(redirect_uri, true)),
    ...row('Registered redirect URIs', registered === undefined ? null : registered.length > 0 ? lines(registered) : none),
    ...row('Redirect URI at authorization', redirect_uri === undefined || issued === undefined ? null : code(issued)),
    ...row('Grant type', grant_type === undefined ? null : code(grant_type)),
    ...row('API asked for', resource === undefined ? null : code(resource)),
    ...row('Scopes asked for', scope === undefined ? null : scope.length > 0 ? tags(scope) : none),
    ...row('The application was told', description === undefined ? null : text(description)),
  ];
}

function scopesPart(record: ResourceObject): Part[] {
  const { scopes } = detailOf(record);
  if (scopes === undefined || scopes.length === 0) return [];
  const rows = scopes.map(({ name, rule }) => ({
    path: null,
    cells: [
      code(name),
      rule === 'granted' ? state('good', 'Granted') : state('bad', refusalRules[rule].title),
      text(rule === 'granted' ? '' : `${refusalRules[rule].found} ${refusalRules[rule].fix}`),
    ],
  }));
  const columns = [{ label: 'Scope' }, { label: 'What became of it' }, { label: 'Why, and what to do' }];
  const empty = { title: 'No scopes', text: '', button: null };
  return [{ kind: 'table', id: 'scopes', caption: 'Scopes', heading: true, columns, rows, empty, pager: null }];
}

function stepsPart(record: ResourceObject, { now }: ViewContext): Part {
  const rows = stepsOf(record).map((one) => ({
    path: null,
    cells: [
      text(stepLabel(one.step)),
      outcomeState(one.outcome),
      one.rule === null ? quiet('–') : text(refusalRules[one.rule].title),
      code(one.request_id),
      time(one.at, now),
    ],
  }));
  const columns = ['Step', 'Outcome', 'Why', 'Request id', 'When'].map((label) => ({ label }));
  const empty = { title: 'No steps', text: '', button: null };
  return { kind: 'table', id: 'steps', caption: 'From authorization to tokens', heading: true, columns, rows, empty, pager: null };
}

const ruleChoices = async () => Object.entries(refusalRules).map(([value, { title }]) => ({ value, label: title }));
const stepChoices = async () => Object.entries(stepLabels).map(([value, label]) => ({ value, label }));

/** Why requests were refused. */
export const request_traces: Presentation = {
  path: 'request_traces',
  title: 'Request traces',
  navigation: {
    group: 'Events',
    icon: ['M9 14.5a5.5 5.5 0 1 0 0-11 5.5 5.5 0 0 0 0 11zM13 13l4 4', 'M7.25 7.25l3.5 3.5M10.75 7.25l-3.5 3.5'],
  },
  one: 'request trace',
  lead: 'Why requests were refused on the way from sign-in to tokens, or got less than they asked for. The request id stands on every error page, and in the header X-Request-Id of every answer. Kept for 7 days.',
  empty: {
    title: 'No such request',
    text: 'Nothing was refused here under this request id in the last 7 days. It appears within a second or two; what went well leaves no trace.',
  },
  columns: [
    { label: 'Why', value: (record) => text(ruleOf(record).title) },
    { label: 'Outcome', value: (record) => outcomeState(record.attributes['outcome']) },
    { label: 'Client', value: (record, look, { included }) => clientValue(record, look, included) },
    { label: 'Step', value: (record) => text(stepLabel(record.attributes['step'])) },
    { label: 'Request id', value: (record) => code(record.id) },
    { label: 'When', sort: 'occurred_at', value: (record, { now }) => time(record.attributes['occurred_at'], now) },
  ],
  include: 'client',
  recordInclude: 'client',
  filters: [
    { name: 'request_id', label: 'Request id', kind: 'search' },
    { name: 'rule', label: 'Why', choices: ruleChoices },
    { name: 'step', label: 'Step', choices: stepChoices },
    { name: 'client', label: 'Client id', kind: 'text' },
    { name: 'since', label: 'Period', kind: 'period', filter: 'occurred_at' },
  ],
  name: (record) => ruleOf(record).title,
  state: (record) => outcomeState(record.attributes['outcome']),
  summary: (record, look, included) => [
    { label: 'What happened', value: text(ruleOf(record).found) },
    { label: 'What to do', value: text(ruleOf(record).fix) },
    { label: 'Client', value: clientValue(record, look, included) },
    ...comparison(record),
    ...row('Error code answered', record.attributes['error'] === null ? null : code(record.attributes['error'])),
    { label: 'Request id', value: code(record.id, true) },
    { label: 'When', value: time(record.attributes['occurred_at'], look.now) },
  ],
  more: async (look, record) => [...scopesPart(record), stepsPart(record, look)],
  links(record, { req }) {
    const id = relatedId(record, 'client');
    if (id === null || !may(req.call, 'clients', 'read')) return { links: [], posts: [] };
    const about = record.attributes['rule'] === 'redirect_uri_mismatch' && may(req.call, 'clients', 'write');
    const client = recordPath('clients', id);
    return { links: [about ? { label: 'Edit client', path: `${client}/edit` } : { label: 'Open client', path: client }], posts: [] };
  },
};
