import type { TraceStep } from '../../domain/request-traces/waiting-traces.js';
import { own } from '../../lib/named.js';
import { refusalRules, type ScopeRuling } from '../../lib/refusal-rules.js';
import type { ResourceObject } from '../../management/documents.js';
import type { Part, Row, Value } from '../page-parts.js';
import { recordPath, type Presentation, type ViewContext } from '../presentation.js';
import { includedRecord, may, relatedId } from '../resource-objects.js';
import { code, lines, link, quiet, stack, state, tags, text, time, words } from '../values.js';
import { nouns, sentences, terms } from '../words.js';

const stepLabels: Readonly<Record<TraceStep['step'], string>> = {
  pushed_authorization_request: terms.pushed_authorization_request,
  authorize: terms.authorization_request,
  consent: terms.consent_page,
  device_authorization: terms.device_authorization_request,
  token: terms.token_request,
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
      ? state('warning', terms.partly_granted)
      : state('good', terms.accepted);

/** The client by its name; by what was received where none is known. */
function clientValue(record: ResourceObject, { req }: ViewContext, included: readonly ResourceObject[]): Value {
  const id = relatedId(record, 'client');
  const received = detailOf(record).client_id;
  if (id === null) return received === undefined ? quiet(terms.not_named) : stack(code(received), quiet(terms.not_registered));
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
    ...row(terms.requested_redirect_uri, redirect_uri === undefined ? null : code(redirect_uri, true)),
    ...row(terms.registered_redirect_uris, registered === undefined ? null : registered.length > 0 ? lines(registered) : none),
    ...row(terms.redirect_uri_at_authorization, redirect_uri === undefined || issued === undefined ? null : code(issued)),
    ...row(terms.grant_type, grant_type === undefined ? null : code(grant_type)),
    ...row(terms.requested_resource, resource === undefined ? null : code(resource)),
    ...row(terms.requested_scopes, scope === undefined ? null : scope.length > 0 ? tags(scope) : none),
    ...row(terms.error_returned, description === undefined ? null : text(description)),
  ];
}

function scopesPart(record: ResourceObject): Part[] {
  const { scopes } = detailOf(record);
  if (scopes === undefined || scopes.length === 0) return [];
  const rows = scopes.map(({ name, rule }) => ({
    path: null,
    cells: [
      code(name),
      rule === 'granted' ? state('good', terms.granted) : state('bad', refusalRules[rule].title),
      text(rule === 'granted' ? '' : `${refusalRules[rule].found} ${refusalRules[rule].fix}`),
    ],
  }));
  const columns = [{ label: terms.scope }, { label: terms.result }, { label: terms.reason_and_remedy }];
  const empty = { title: terms.no_scopes, text: '', button: null };
  return [{ kind: 'table', id: 'scopes', caption: terms.scopes, heading: true, columns, rows, empty, pager: null }];
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
  const columns = [terms.step, terms.outcome, terms.reason, terms.request_id, terms.time].map((label) => ({ label }));
  const empty = { title: terms.no_steps, text: '', button: null };
  return { kind: 'table', id: 'steps', caption: terms.from_authorization_to_tokens, heading: true, columns, rows, empty, pager: null };
}

const ruleChoices = async () => Object.entries(refusalRules).map(([value, { title }]) => ({ value, label: title }));
const stepChoices = async () => Object.entries(stepLabels).map(([value, label]) => ({ value, label }));

/** Why requests were refused. */
export const request_traces: Presentation = {
  path: 'request_traces',
  title: terms.request_traces,
  navigation: {
    group: 'Events',
    icon: ['M9 14.5a5.5 5.5 0 1 0 0-11 5.5 5.5 0 0 0 0 11zM13 13l4 4', 'M7.25 7.25l3.5 3.5M10.75 7.25l-3.5 3.5'],
  },
  one: nouns.request_trace,
  lead: sentences.request_traces_lead,
  empty: {
    title: terms.no_such_request,
    text: sentences.nothing_was_refused_here_under,
  },
  columns: [
    { label: terms.reason, value: (record) => text(ruleOf(record).title) },
    { label: terms.outcome, value: (record) => outcomeState(record.attributes['outcome']) },
    { label: terms.client, value: (record, look, { included }) => clientValue(record, look, included) },
    { label: terms.step, value: (record) => text(stepLabel(record.attributes['step'])) },
    { label: terms.request_id, value: (record) => code(record.id) },
    { label: terms.time, sort: 'occurred_at', value: (record, { now }) => time(record.attributes['occurred_at'], now) },
  ],
  include: 'client',
  recordInclude: 'client',
  filters: [
    { name: 'request_id', label: terms.request_id, kind: 'search' },
    { name: 'rule', label: terms.reason, choices: ruleChoices },
    { name: 'step', label: terms.step, choices: stepChoices },
    { name: 'client', label: terms.client_id, kind: 'text' },
    { name: 'since', label: terms.period, kind: 'period', filter: 'occurred_at' },
  ],
  name: (record) => ruleOf(record).title,
  state: (record) => outcomeState(record.attributes['outcome']),
  summary: (record, look, included) => [
    { label: terms.what_happened, value: text(ruleOf(record).found) },
    { label: terms.remedy, value: text(ruleOf(record).fix) },
    { label: terms.client, value: clientValue(record, look, included) },
    ...comparison(record),
    ...row(terms.error_returned, record.attributes['error'] === null ? null : code(record.attributes['error'])),
    { label: terms.request_id, value: code(record.id, true) },
    { label: terms.time, value: time(record.attributes['occurred_at'], look.now) },
  ],
  more: async (look, record) => [...scopesPart(record), stepsPart(record, look)],
  links(record, { req }) {
    const id = relatedId(record, 'client');
    if (id === null || !may(req.call, 'clients', 'read')) return { links: [], posts: [] };
    const about = record.attributes['rule'] === 'redirect_uri_mismatch' && may(req.call, 'clients', 'write');
    const client = recordPath('clients', id);
    return {
      links: [about ? { label: terms.edit_client, path: `${client}/edit` } : { label: terms.view_client, path: client }],
      posts: [],
    };
  },
};
