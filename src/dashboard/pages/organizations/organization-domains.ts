import { connectionChoices, organizationChoices } from '../../parts/forms/choices.js';
import { linkedRecord } from '../../parts/records/linked-record.js';
import { dnsRecords } from '../../parts/dns-records.js';
import type { Value } from '../../parts/page-parts.js';
import { recordPath, type Presentation } from '../../parts/records/presentation.js';
import { relatedId } from '../../parts/records/objects.js';
import type { ResourceObject } from '../../../management/documents.js';
import { quiet, state, statusStates, text, time, words } from '../../parts/values.js';
import { terms } from '../../parts/words.js';

const states = statusStates({
  pending: ['info', terms.pending],
  verified: ['good', terms.verified],
  failed: ['bad', terms.record_not_found],
});
const domainState = (record: ResourceObject): Value =>
  record.attributes['missing_since'] === null ? states(record) : state('warning', terms.dns_record_missing);

/** The organization that a record belongs to, by its name where the reader may see it. */
export const organizationOf = (record: ResourceObject, included: readonly ResourceObject[]): Value =>
  linkedRecord(record, 'organization', 'organizations', 'display_name', included, quiet('–'));

const connectionOf = (record: ResourceObject, included: readonly ResourceObject[]) =>
  linkedRecord(record, 'connection', 'connections', 'display_name', included, quiet('Any of the organization'));

/** The page of the record's organization, or a tab of it. */
export const pathOfOrganization = (tab?: string) => (record: ResourceObject) => {
  const organization = relatedId(record, 'organization');
  return organization === null ? null : [recordPath('organizations', organization), tab].filter(Boolean).join('/');
};

export const organizationDomainsPresentation: Presentation = {
  path: 'organization_domains',
  title: 'Organization domains',
  under: 'organizations',
  one: 'domain',
  lead: 'Domains that organizations have proven. People with an address there are managed by the organization.',
  empty: {
    title: 'No domains yet',
    text: 'Add the domain of the organization’s addresses, such as acme.com. A DNS record proves that it’s theirs.',
  },
  include: 'organization,connection',
  columns: [
    { label: terms.domain, sort: 'domain', value: (record) => text(record.attributes['domain']) },
    { label: terms.organization, value: (record, _view, { included }) => organizationOf(record, included) },
    { label: terms.status, value: domainState },
    { label: terms.leads_to, value: (record, _view, { included }) => connectionOf(record, included) },
    { label: terms.last_checked, value: (record, { now }) => time(record.attributes['last_checked_at'], now) },
  ],
  filters: [
    { name: 'status', label: terms.status },
    { name: 'organization', label: terms.organization, choices: organizationChoices },
  ],
  name: (record) => words(record.attributes['domain']),
  state: domainState,
  summary: (record, { now }, included) => [
    { label: terms.organization, value: organizationOf(record, included) },
    { label: terms.leads_to, value: connectionOf(record, included) },
    { label: terms.verified, value: time(record.attributes['verified_at'], now) },
    { label: terms.last_checked, value: time(record.attributes['last_checked_at'], now) },
    { label: terms.failure_reason, value: text(record.attributes['failure_reason']) },
    ...(record.attributes['missing_since'] === null
      ? []
      : [{ label: terms.dns_record_missing_since, value: time(record.attributes['missing_since'], now) }]),
    { label: terms.added, value: time(record.attributes['created_at'], now) },
  ],
  more: async (_view, record) => [dnsRecords(record)],
  fields: [
    { name: 'organization', label: terms.organization, relationship: 'one', on: 'create', choices: organizationChoices },
    {
      name: 'domain',
      label: terms.domain,
      on: 'create',
      hint: 'Lowercase, such as acme.com. Subdomains are separate domains.',
      attributes: { maxlength: 253, autocapitalize: 'none', spellcheck: 'false' },
    },
    {
      name: 'connection',
      label: terms.leads_to,
      relationship: 'one',
      optional: true,
      on: 'update',
      choices: connectionChoices,
      hint: 'The connection of the organization that people with an address there are sent to.',
    },
  ],
  create: { label: terms.add_domain, title: 'Add a domain of an organization' },
  remove: {
    label: terms.remove_domain,
    text: 'The organization no longer manages people with an address there, and its connections and directory no longer speak for them.',
    typed: (record) => words(record.attributes['domain']),
    leadsTo: pathOfOrganization('domains'),
  },
  actions: { verify: { label: terms.verify_domain, done: 'checked' } },
};
