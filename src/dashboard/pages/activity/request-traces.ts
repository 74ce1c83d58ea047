import type { TraceStep } from '../../../domain/notes/request-traces.js';
import { own } from '../../../lib/named.js';
import { refusalRules, type ScopeRuling } from '../../../lib/refusal-rules.js';
import type { ResourceObject } from '../../../management/documents.js';
import type { Part, Row, Value } from '../../parts/page-parts.js';
import { pageTable } from '../../parts/page-tables.js';
import { recordPath, type Presentation, type ViewContext } from '../../parts/records/presentation.js';
import { includedRecord, may, relatedId } from '../../parts/records/objects.js';
import { code, lines, link, quiet, stack, state, tags, text, time, words } from '../../parts/values.js';
import { terms } from '../../parts/words.js';

const stepLabels: Readonly<Record<TraceStep['step'], string>> = {
  pushed_authorization_request: 'Pushed authorization request',
  authorize: 'Authorization request',
  provider: 'Return from a provider',
  consent: 'Consent page',
  device_authorization: 'Device authorization request',
  backchannel_authentication: 'Backchannel authentication request',
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
    ? state('bad', terms.refused)
    : outcome === 'narrowed'
      ? state('warning', 'Partly granted')
      : state('good', 'Accepted');

/** The client by its name; by what was received where none is known. */
function clientValue(record: ResourceObject, { req }: ViewContext, included: readonly ResourceObject[]): Value {
  const id = relatedId(record, 'client');
  const received = detailOf(record).client_id;
  if (id === null) return received === undefined ? quiet('Not named') : stack(code(received), quiet('not registered'));
  const client = includedRecord(record, 'client', included);
  if (!client) return may(req.call, 'clients', 'read') ? stack(code(id), quiet(terms.gone)) : code(id);
  return link(words(client.attributes['name']), recordPath('clients', id));
}

const row = (label: string, value: Value | null): Row[] => (value === null ? [] : [{ label, value }]);

/** What was received beside what it was compared with. */
function comparison(record: ResourceObject): Row[] {
  const { redirect_uri, registered_redirect_uris: registered, resource, grant_type, scope, description } = detailOf(record);
  const issued = stepsOf(record).find(({ outcome }) => outcome === 'accepted')?.detail['redirect_uri'];
  const none = quiet(terms.none_in_sentence);
  return [
    ...row('Requested redirect URI', redirect_uri === undefined ? null : code(redirect_uri, true)),
    ...row('Registered redirect URIs', registered === undefined ? null : registered.length > 0 ? lines(registered) : none),
    ...row('Redirect URI at authorization', redirect_uri === undefined || issued === undefined ? null : code(issued)),
    ...row(terms.grant_type, grant_type === undefined ? null : code(grant_type)),
    ...row('Requested resource', resource === undefined ? null : code(resource)),
    ...row(terms.requested_scopes, scope === undefined ? null : scope.length > 0 ? tags(scope) : none),
    ...row('Error returned', description === undefined ? null : text(description)),
  ];
}

function scopesPart(record: ResourceObject): Part[] {
  const { scopes } = detailOf(record);
  if (scopes === undefined || scopes.length === 0) return [];
  const rows = scopes.map(({ name, rule }) => ({
    cells: [
      code(name),
      rule === 'granted' ? state('good', 'Granted') : state('bad', refusalRules[rule].title),
      text(rule === 'granted' ? '' : `${refusalRules[rule].found} ${refusalRules[rule].fix}`),
    ],
  }));
  const columns = [terms.scope, 'Result', 'Reason and remedy'];
  return [pageTable({ id: 'scopes', caption: terms.scopes, columns, rows, nothing: [terms.no_scopes, ''] })];
}

function stepsPart(record: ResourceObject, { now }: ViewContext): Part {
  const rows = stepsOf(record).map((one) => ({
    cells: [
      text(stepLabel(one.step)),
      outcomeState(one.outcome),
      one.rule === null ? quiet('–') : text(refusalRules[one.rule].title),
      code(one.request_id),
      time(one.at, now),
    ],
  }));
  const columns = ['Step', terms.outcome, terms.reason, terms.request_id, terms.time];
  return pageTable({ id: 'steps', caption: 'From authorization to tokens', columns, rows, nothing: ['No steps', ''] });
}

const ruleChoices = async () => Object.entries(refusalRules).map(([value, { title }]) => ({ value, label: title }));
const stepChoices = async () => Object.entries(stepLabels).map(([value, label]) => ({ value, label }));

export const requestTracesPresentation: Presentation = {
  path: 'request_traces',
  title: 'Request traces',
  under: 'security_events',
  one: 'request trace',
  lead: 'Why requests between sign-in and tokens were refused, or granted less than requested. Find the request ID on every error page and in the X-Request-Id header of every response. Kept for 7 days.',
  empty: {
    title: 'No such request',
    text: 'No request with this ID was refused in the last 7 days. A trace appears within a second or two; successful requests leave none.',
  },
  columns: [
    { label: terms.reason, value: (record) => text(ruleOf(record).title) },
    { label: terms.outcome, value: (record) => outcomeState(record.attributes['outcome']) },
    { label: terms.client, value: (record, view, { included }) => clientValue(record, view, included) },
    { label: 'Step', value: (record) => text(stepLabel(record.attributes['step'])) },
    { label: terms.request_id, value: (record) => code(record.id) },
    { label: terms.time, sort: 'occurred_at', value: (record, { now }) => time(record.attributes['occurred_at'], now) },
  ],
  include: 'client',
  filters: [
    { name: 'request_id', label: terms.request_id, kind: 'search' },
    { name: 'rule', label: terms.reason, choices: ruleChoices },
    { name: 'step', label: 'Step', choices: stepChoices },
    { name: 'client', label: terms.client_id, kind: 'text' },
    { name: 'since', label: terms.period, kind: 'period', filter: 'occurred_at' },
  ],
  name: (record) => ruleOf(record).title,
  state: (record) => outcomeState(record.attributes['outcome']),
  showsId: false,
  summary: (record, view, included) => [
    { label: 'What happened', value: text(ruleOf(record).found) },
    { label: terms.remedy, value: text(ruleOf(record).fix) },
    { label: terms.client, value: clientValue(record, view, included) },
    ...comparison(record),
    ...row('Error returned', record.attributes['error'] === null ? null : code(record.attributes['error'])),
    { label: terms.request_id, value: code(record.id, true) },
    { label: terms.time, value: time(record.attributes['occurred_at'], view.now) },
  ],
  more: async (view, record) => [...scopesPart(record), stepsPart(record, view)],
  links(record, { req }) {
    const id = relatedId(record, 'client');
    if (id === null || !may(req.call, 'clients', 'read')) return { links: [], posts: [] };
    const about = record.attributes['rule'] === 'redirect_uri_mismatch' && may(req.call, 'clients', 'write');
    const client = recordPath('clients', id);
    return { links: [about ? { label: 'Edit client', path: `${client}/edit` } : { label: 'View client', path: client }], posts: [] };
  },
};
