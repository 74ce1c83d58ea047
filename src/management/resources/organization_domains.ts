import { z } from 'zod';
import {
  addOrganizationDomain,
  changeOrganizationDomain,
  noteOrganizationDomainCheck,
  removeOrganizationDomain,
} from '../../domain/organizations/domains.js';
import { findDomainRecord, verificationRecords, type RecordCheck } from '../../domain/environments/domain-record.js';
import { reachOfOrganization, switchedWithOrganization } from '../../domain/reach/reach-of-organizations.js';
import { noReach } from '../../domain/reach/reach.js';
import type { ConnectionRow } from '../../db/tables/connections.js';
import type { OrganizationDomainRow } from '../../db/tables/organization_domains.js';
import type { OrganizationRow } from '../../db/tables/organizations.js';
import { equalTo, isoTime, stamps, stampSorts, textSort, uuid } from '../fields.js';
import { resource } from '../declaration.js';
import { toOne } from '../links.js';

const status = z.enum(['pending', 'verified', 'failed']);
const domain = z.string().min(1).max(253).meta({
  description:
    'A lower-case name that belongs to one company: no public suffix, mail provider, address of this service or IP address. Subdomains are domains of their own.',
});

export const organization_domains = resource<OrganizationDomainRow, { domain: string }>({
  type: 'organization_domain',
  path: 'organization_domains',
  description:
    'Domains that organizations prove by a TXT record, which is looked up again every day. An organization’s connections and directory speak for addresses of its verified domains alone.',
  attributes: z.object({
    status,
    verification_records: z.array(z.object({ record_kind: z.string(), name: z.string(), value: z.string() })),
    verified_at: isoTime.nullable(),
    last_checked_at: isoTime.nullable(),
    failure_reason: z.string().nullable(),
    missing_since: isoTime.nullable().meta({
      description: 'Since when the record of a verified domain has been missing; after two weeks it has failed. null = it is there.',
    }),
    ...stamps,
  }),
  computed: { verification_records: verificationRecords },
  organization: { column: 'organization_id', most: 50 },
  reach: {
    of: (tx, row) => reachOfOrganization(tx, row.organization_id),
    removed: async (tx, row) => (row.status === 'verified' ? switchedWithOrganization(tx, { id: row.organization_id }) : noReach),
  },
  settable: { domain: ['plain', domain, 'needed and fixed'] },
  relationships: {
    organization: toOne('organization', 'Whose domain.', { create: 'required' }),
    connection: toOne(
      'connection',
      'The connection of the organization that people with an address there are led to; null = any of its connections.',
      { create: 'optional', later: 'control' },
    ),
  },
  filters: {
    organization: equalTo('organization_id', uuid, 'Of one of these organizations (ids).'),
    domain: equalTo('domain', z.string().min(1).max(253), 'The exact name.'),
    status: equalTo('status', status, 'Pending, verified or failed.'),
  },
  sorts: { ...stampSorts('organization_domains'), domain: textSort('organization_domains.domain') },
  create: {
    async run(tx, _actor, input, related) {
      const organization = related['organization'] as unknown as OrganizationRow;
      return {
        row: await addOrganizationDomain(tx, input, organization, (related['connection'] ?? null) as unknown as ConnectionRow | null),
      };
    },
  },
  update: {
    async run(tx, _actor, row, _input, related) {
      const connection = related['connection'] as unknown as ConnectionRow | null | undefined;
      return { row: connection === undefined ? row : await changeOrganizationDomain(tx, row, connection) };
    },
  },
  remove: { run: (tx, _actor, row) => removeOrganizationDomain(tx, row) },
  actions: {
    verify: {
      method: 'PATCH',
      description: 'Looks for the TXT record now. Not finding it is no error: the domain waits on.',
      audit: 'verified',
      // The record in the domain's zone is the proof.
      touch: 'plain',
      prepare: (ctx, _actor, row) => findDomainRecord(ctx, row),
      run: async (tx, _actor, row, _input, check) => ({ row: await noteOrganizationDomainCheck(tx, row, check as RecordCheck) }),
    },
  },
  display: (row) => row.domain,
});
