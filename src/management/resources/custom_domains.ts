import { z } from 'zod';
import {
  checkDomain,
  createCustomDomain,
  noteDomainCheck,
  removeCustomDomain,
  setPrimaryDomain,
  verificationRecords,
  type DomainCheck,
} from '../../domain/environments/custom-domains.js';
import { reachOfCustomDomain } from '../../domain/reach/reach-of.js';
import type { CustomDomainRow } from '../../db/tables/custom_domains.js';
import { equalTo, stamps, stampSorts, textSort, isoTime } from '../fields.js';
import { resource } from '../resource.js';
import { environmentLink } from './environment-link.js';

const status = z.enum(['pending', 'verified', 'failed']);
const domain = z
  .string()
  .max(253)
  .regex(
    /^([a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?\.)+[a-z]([a-z0-9-]{0,61}[a-z0-9])$/,
    'must be a lower-case host name such as login.example.com',
  );

/** Names under which an environment answers. */
export const custom_domains = resource<CustomDomainRow, { domain: string }, { is_primary?: boolean }>({
  type: 'custom_domain',
  path: 'custom_domains',
  title: 'Custom domains',
  description:
    'Names under which the environment answers once a TXT record proves them, which is looked up again every day. The primary one makes the issuer.',
  source: { table: 'custom_domains', key: 'id', keyType: 'uuid' },
  attributes: z.object({
    domain: z.string(),
    status,
    is_primary: z.boolean().meta({
      description: 'Changed by holders of every Management permission who signed in within the last ten minutes; all of them get mail.',
    }),
    verification_records: z.array(z.object({ record_kind: z.string(), name: z.string(), value: z.string() })),
    verified_at: isoTime.nullable(),
    last_checked_at: isoTime.nullable(),
    failure_reason: z.string().nullable(),
    missing_since: isoTime
      .nullable()
      .meta({ description: 'Since when the record of a verified domain has been missing; after seven days it has failed.' }),
    ...stamps,
  }),
  computed: { verification_records: verificationRecords },
  reach: { of: (_tx, row) => reachOfCustomDomain(row), attributes: { domain: 'plain', is_primary: 'reach' } },
  relationships: { environment: environmentLink },
  filters: {
    domain: equalTo('domain', z.string().max(253), 'The exact name.'),
    status: equalTo('status', status, 'Pending, verified or failed.'),
  },
  sorts: { ...stampSorts('custom_domains'), domain: textSort('custom_domains.domain') },
  create: { schema: z.strictObject({ domain }), run: async (tx, _actor, input) => ({ row: await createCustomDomain(tx, input) }) },
  update: {
    schema: z.strictObject({ is_primary: z.boolean().optional() }),
    run: async (tx, actor, row, input) => ({
      row: input.is_primary === undefined ? row : await setPrimaryDomain(tx, actor, row, input.is_primary),
    }),
  },
  remove: { run: (tx, actor, row) => removeCustomDomain(tx, actor, row) },
  actions: {
    verify: {
      method: 'PATCH',
      description: 'Looks for the TXT record now. Not finding it is no error: the status says so.',
      audit: 'verified',
      touch: 'plain',
      prepare: (ctx, _actor, row) => checkDomain(ctx, row),
      run: async (tx, _actor, row, _input, check) => ({ row: await noteDomainCheck(tx, row, check as DomainCheck) }),
    },
  },
  display: (row) => row.domain,
});
