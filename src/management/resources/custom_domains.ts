import { z } from 'zod';
import {
  changeCustomDomain,
  checkDomain,
  createCustomDomain,
  removeCustomDomain,
  verifyCustomDomain,
  type DomainCheck,
  type DomainPurposes,
} from '../../domain/configuration/custom-domains.js';
import { verificationRecords } from '../../domain/environments/domain-record.js';
import { reachOfCustomDomain } from '../../domain/reach/reach-of.js';
import { certificateProblems, type CustomDomainRow } from '../../db/tables/custom_domains.js';
import { equalTo, stamps, stampSorts, textSort, isoTime } from '../fields.js';
import { resource } from '../declaration.js';

const status = z.enum(['pending', 'verified', 'failed']);
const domain = z
  .string()
  .max(253)
  .regex(
    /^([a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?\.)+[a-z]([a-z0-9-]{0,61}[a-z0-9])$/,
    'must be a lower-case host name such as login.example.com',
  );

const primary = 'Changed by holders of every Management permission who signed in within the last ten minutes; all of them get mail.';
const passkeys =
  'Whether passkeys of the environment may be made and used there, so that `/.well-known/webauthn` lists it (WebAuthn L3 5.11). The issuer, the base URL and the host of `passkey_rp_id` accept them anyway. Whoever holds the DNS of the domain can then ask people for them.';
const earlierIssuer =
  'Until when tokens of which it is the `iss` are taken. Set when it stops being the primary domain, to when the last token expires; null = they are not taken, unless it is the issuer.';

export const custom_domains = resource<CustomDomainRow, { domain: string }, DomainPurposes>({
  type: 'custom_domain',
  path: 'custom_domains',
  description:
    'Names under which the environment answers once a TXT record proves them, which is looked up again every day. The primary one makes the issuer. Holders of every Management permission decide what a domain is for.',
  attributes: z.object({
    status,
    verification_records: z.array(z.object({ record_kind: z.string(), name: z.string(), value: z.string() })),
    verified_at: isoTime.nullable(),
    last_checked_at: isoTime.nullable(),
    failure_reason: z.string().nullable(),
    missing_since: isoTime.nullable().meta({
      description: 'Since when the record of a verified domain has been missing; after seven days it has failed. null = it is there.',
    }),
    certificate_problem: z.enum(certificateProblems).nullable().meta({
      description:
        'Why browsers refuse its certificate, as the daily check saw it; `away`: there is no TLS. null = they do not, or it was not seen.',
    }),
    certificate_expires_at: isoTime.nullable().meta({ description: 'Until when its certificate lasts; null = it was not seen.' }),
    ...stamps,
  }),
  computed: { verification_records: verificationRecords },
  reach: { of: (tx, row) => reachOfCustomDomain(tx.clock.now(), row) },
  settable: {
    domain: ['plain', domain, 'needed and fixed'],
    is_primary: ['everything', z.boolean().meta({ description: primary }), 'later'],
    accepts_passkeys: ['everything', z.boolean().meta({ description: passkeys }), 'later'],
    issuer_until: ['everything', isoTime.nullable().meta({ description: earlierIssuer }), 'later'],
  },
  filters: {
    domain: equalTo('domain', z.string().min(1).max(253), 'The exact name.'),
    status: equalTo('status', status, 'Pending, verified or failed.'),
  },
  sorts: { ...stampSorts('custom_domains'), domain: textSort('custom_domains.domain') },
  create: { run: async (tx, _actor, input) => ({ row: await createCustomDomain(tx, input) }) },
  update: { run: async (tx, actor, row, input) => ({ row: await changeCustomDomain(tx, actor, row, input) }) },
  remove: { run: (tx, _actor, row) => removeCustomDomain(tx, row) },
  actions: {
    verify: {
      method: 'PATCH',
      description:
        'Looks for the TXT record now. Not finding it is no error: the status says so. From then on people sign in at the domain, so it takes every Management permission and, of a person, a sign-in within `confirmation_lifetime`; all who hold every permission get mail.',
      audit: 'verified',
      touch: 'everything',
      prepare: (ctx, _actor, row) => checkDomain(ctx, row),
      run: async (tx, actor, row, _input, check) => ({ row: await verifyCustomDomain(tx, actor, row, check as DomainCheck) }),
    },
  },
  display: (row) => row.domain,
});
