import type { Presentation, ViewContext } from '../presentation.js';
import { environmentKindChoices } from '../choices.js';
import type { Part, Row, Value } from '../page-parts.js';
import type { ResourceObject } from '../../management/documents.js';
import { subscriptionCounts, subscribers } from './subscriptions.js';
import { code, duration, inWords, json, nothing, quiet, stack, state, text, time, yesNo, words, statusStates } from '../values.js';
import { hints, nouns, sentences, terms } from '../words.js';

const domainStates = statusStates({
  pending: ['info', terms.pending],
  verified: ['good', terms.verified],
  failed: ['bad', terms.not_found],
});
const domainState = (record: ResourceObject): Value =>
  record.attributes['missing_since'] !== null ? state('warning', terms.dns_record_missing) : domainStates(record);

const originOf = (record: ResourceObject) => `https://${words(record.attributes['domain'])}`;
const isPast = (iso: unknown, now: Date) => typeof iso !== 'string' || new Date(iso) <= now;

/** What the domain is for: "Sign-in pages, earlier issuer"; nothing while it waits. */
function purposes(record: ResourceObject, { req, now }: ViewContext): Value {
  const { attributes: a } = record;
  const { passkey_origins } = req.ctx.environment;
  const found = [
    ...(a['status'] === 'verified' ? [terms.sign_in_pages] : []),
    ...(a['is_primary'] === true ? [terms.issuer] : isPast(a['issuer_until'], now) ? [] : [terms.earlier_issuer]),
    ...(a['status'] === 'verified' && (a['accepts_passkeys'] === true || passkey_origins.includes(originOf(record)))
      ? [terms.passkeys]
      : []),
  ];
  return text(inWords(found.join(', ').toLowerCase()));
}

type DnsRecord = { record_kind: string; name: string; value: string };

function dnsRecords(record: ResourceObject): Part {
  const found = record.attributes['verification_records'] as DnsRecord[];
  const rows = found.map((one) => ({ path: null, cells: [text(one.record_kind), code(one.name, true), code(one.value, true)] }));
  const empty = { title: terms.nothing_to_set, text: sentences.the_domain_is_verified, button: null };
  return {
    kind: 'table',
    id: 'records',
    caption: terms.dns_records_to_set,
    heading: true,
    columns: [{ label: terms.type }, { label: terms.name }, { label: terms.value }],
    rows,
    empty,
    pager: null,
  };
}

function domainSummary(record: ResourceObject, look: ViewContext): Row[] {
  const { attributes: a, id } = record;
  const { now } = look;
  return [
    { label: terms.used_for, value: purposes(record, look) },
    { label: terms.primary, value: yesNo(a['is_primary']) },
    ...(isPast(a['issuer_until'], now) ? [] : [{ label: terms.tokens_accepted_until, value: time(a['issuer_until'], now) }]),
    { label: terms.verified, value: time(a['verified_at'], now) },
    { label: terms.last_checked, value: time(a['last_checked_at'], now) },
    { label: terms.failure_reason, value: text(a['failure_reason']) },
    ...(a['missing_since'] === null ? [] : [{ label: terms.dns_record_missing_since, value: time(a['missing_since'], now) }]),
    { label: terms.added, value: time(a['created_at'], now) },
    { label: terms.id, value: code(id, true) },
  ];
}

/** Names under which the environment answers. */
export const custom_domains: Presentation = {
  path: 'custom_domains',
  title: terms.custom_domains,
  navigation: {
    group: 'Environment',
    icon: [
      'M10 17.25a7.25 7.25 0 1 0 0-14.5 7.25 7.25 0 0 0 0 14.5z',
      'M2.75 10h14.5M10 2.75c2.2 2 3.25 4.4 3.25 7.25S12.2 15.25 10 17.25c-2.2-2-3.25-4.4-3.25-7.25S7.8 4.75 10 2.75z',
    ],
  },
  one: nouns.custom_domain,
  lead: sentences.environment_lead,
  empty: {
    title: terms.no_custom_domains_yet,
    text: sentences.with_one_people_sign_in,
  },
  columns: [
    { label: terms.domain, sort: 'domain', value: (record) => text(record.attributes['domain']) },
    { label: terms.status, value: domainState },
    { label: terms.used_for, value: (record, look) => purposes(record, look) },
    { label: terms.last_checked, value: (record, { now }) => time(record.attributes['last_checked_at'], now) },
  ],
  filters: [{ name: 'status', label: terms.status }],
  name: (record) => words(record.attributes['domain']),
  state: domainState,
  summary: domainSummary,
  more: async (_look, record) => [dnsRecords(record)],
  fields: [
    {
      name: 'domain',
      label: terms.domain,
      on: 'create',
      hint: hints.domain,
      attributes: { maxlength: 253, autocapitalize: 'none', spellcheck: 'false' },
    },
    {
      name: 'is_primary',
      label: terms.primary,
      hint: hints.is_primary,
      on: 'update',
    },
    { name: 'accepts_passkeys', label: terms.passkeys, hint: hints.accepts_passkeys, on: 'update' },
    { name: 'issuer_until', label: terms.tokens_accepted_until_utc, hint: hints.issuer_until, on: 'update' },
  ],
  edit: { guarded: true },
  create: { label: terms.add_domain, title: terms.add_a_custom_domain },
  remove: {
    label: terms.remove_domain,
    text: sentences.the_environment_no_longer_answers,
    typed: (record) => words(record.attributes['domain']),
  },
  actions: {
    verify: { label: terms.verify_domain, confirm: [sentences.once_verified_people_sign_in_there], guarded: true, done: 'checked' },
  },
};

const environmentKind = (record: ResourceObject): Value => text(inWords(words(record.attributes['kind'])));

/** Environments. */
export const environments: Presentation = {
  path: 'environments',
  title: terms.environments,
  navigation: {
    group: 'Environment',
    icon: ['m10 3 7.25 3.75L10 10.5 2.75 6.75z', 'm2.75 10.25 7.25 3.75 7.25-3.75M2.75 13.5 10 17.25l7.25-3.75'],
  },
  one: nouns.environment,
  lead: sentences.separate_worlds_of_users_clients,
  empty: { title: terms.no_environments, text: sentences.there_is_always_at_least },
  columns: [
    { label: terms.name, sort: 'name', value: ({ attributes: a }) => stack(text(a['name']), quiet(words(a['slug']))) },
    { label: terms.environment_type, value: environmentKind },
    { label: terms.dashboard, value: (record) => ({ kind: 'web', text: `${words(record.attributes['base_url'])}/dashboard` }) },
    { label: terms.created, sort: 'created_at', value: (record, { now }) => time(record.attributes['created_at'], now) },
  ],
  filters: [{ name: 'kind', label: terms.environment_type }],
  name: (record) => words(record.attributes['name']),
  summary: ({ attributes: a, id }, { now }) => [
    { label: terms.environment_type, value: environmentKind({ attributes: a } as ResourceObject) },
    { label: terms.slug, value: code(a['slug']) },
    { label: terms.issuer, value: code(a['issuer'], true) },
    ...(a['issuer'] === a['base_url'] || isPast(a['base_url_issuer_until'], now)
      ? []
      : [{ label: terms.earlier_issuer, value: stack(code(a['base_url'], true), time(a['base_url_issuer_until'], now)) }]),
    { label: terms.dashboard, value: { kind: 'web', text: `${words(a['base_url'])}/dashboard` } },
    { label: terms.session_lifetime, value: duration(a['session_lifetime']) },
    { label: terms.self_service_registration, value: text(a['registration_enabled'] === true ? terms.open : terms.closed) },
    { label: terms.created, value: time(a['created_at'], now) },
    { label: terms.id, value: code(id, true) },
  ],
  fields: [
    { name: 'name', label: terms.name, attributes: { maxlength: 100 } },
    {
      name: 'slug',
      label: terms.slug,
      on: 'create',
      hint: hints.slug,
      attributes: { maxlength: 63, autocapitalize: 'none', spellcheck: 'false' },
    },
    { name: 'kind', label: terms.environment_type, choices: environmentKindChoices },
  ],
  create: {
    label: terms.create_environment,
    title: terms.create_an_environment,
    lead: sentences.it_gets_a_client_that,
    guarded: true,
  },
  remove: {
    label: terms.delete_environment,
    text: sentences.everything_in_it_goes_users,
    when: (record) => record.attributes['is_default'] !== true,
    typed: (record) => words(record.attributes['slug']),
  },
  secrets: {
    create: {
      title: terms.save_the_management_client,
      label: terms.client_secret,
      text: sentences.with_it_and_the_client,
    },
  },
};

/** The catalogue of events. */
export const event_types: Presentation = {
  path: 'event_types',
  title: terms.event_types,
  navigation: { group: 'Events', icon: ['M4 5h.1M4 10h.1M4 15h.1M7.5 5h9M7.5 10h9M7.5 15h9'] },
  one: nouns.event_type,
  lead: sentences.what_webhooks_can_subscribe_to,
  empty: { title: terms.no_event_types, text: sentences.there_is_nothing_to_subscribe },
  columns: [
    { label: terms.event, value: (record) => code(record.attributes['name']) },
    { label: terms.description, value: (record) => text(record.attributes['description']) },
    { label: terms.group, value: (record) => quiet(words(record.attributes['group']).replaceAll('_', ' ')) },
    { label: terms.subscribed_webhooks, numeric: true, value: (record, _look, { beside }) => beside?.get(record.id) ?? nothing },
  ],
  beside: subscriptionCounts,
  more: async (look, record) => subscribers(look, words(record.attributes['name'])),
  filters: [],
  name: (record) => words(record.attributes['name']),
  summary: ({ attributes: a }) => [
    { label: terms.description, value: text(a['description']) },
    { label: terms.group, value: text(words(a['group']).replaceAll('_', ' ')) },
    { label: terms.json_schema_of_data, value: json(a['payload_schema']) },
  ],
};
