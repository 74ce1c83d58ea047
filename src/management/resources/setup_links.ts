import { z } from 'zod';
import { setupParts, type SetupLinkRow } from '../../db/tables/setup_links.js';
import type { OrganizationRow } from '../../db/tables/organizations.js';
import { reachOfSetupLink } from '../../domain/reach/reach-of-organizations.js';
import {
  createSetupLink, revokeSetupLink, setupLinkLifetime, setupLinkStatus, setupLinkStatuses, type SetupLinkInput, type SetupLinkStatus,
} from '../../domain/setup-links/setup-links.js'; // prettier-ignore
import { equalTo, isoTime, linkLifetime, stamps, statusByTime, uniqueTexts, uuid } from '../fields.js';
import { resource } from '../declaration.js';
import { toOne } from '../links.js';

/** SQL by status; `?` is the time. The same as `setupLinkStatus`. */
const status = statusByTime<SetupLinkStatus>({
  pending: 'revoked_at is null and finished_at is null and started_at is null and expires_at > ?',
  started: 'revoked_at is null and finished_at is null and started_at is not null and expires_at > ?',
  finished: 'revoked_at is null and finished_at is not null and ?::timestamptz is not null',
  expired: 'revoked_at is null and finished_at is null and expires_at <= ?',
  revoked: 'revoked_at is not null and ?::timestamptz is not null',
});

const sections = uniqueTexts(z.enum(setupParts), setupParts.length).min(1).meta({
  description:
    'What whoever has the link sets up: `domains` (verify them), `connection` (make, test and enable one), `directory` (its SCIM token).',
});

export const setup_links = resource<SetupLinkRow, SetupLinkInput>({
  type: 'setup_link',
  path: 'setup_links',
  description:
    'Links by which administrators of a customer set up domains, connection and directory of their organization by themselves, without an account: pages that whoever has the link opens, in one browser alone.',
  attributes: z.object({
    status: z.enum(setupLinkStatuses),
    expires_at: isoTime,
    started_at: isoTime.nullable(),
    finished_at: isoTime.nullable(),
    ...stamps,
  }),
  computed: { parts: (row) => row.sections, status: (row, ctx) => setupLinkStatus(row, ctx.clock.now()) },
  organization: { column: 'organization_id' },
  reach: { of: reachOfSetupLink },
  settable: { parts: ['control', sections, 'needed and fixed'], expires_in: ['plain', linkLifetime(setupLinkLifetime), 'fixed'] },
  hidden: ['expires_in'],
  relationships: {
    organization: toOne('organization', 'Whose set-up it is.', { create: 'required' }),
    connection: toOne('connection', 'The connection that was made with it; null = none.'),
  },
  filters: { organization: equalTo('organization_id', uuid, 'Of one of these organizations (ids).'), status },
  create: {
    once: z.object({ url: z.string().meta({ description: 'The link. Shown by this answer only.' }) }),
    async run(tx, actor, input, related) {
      const { link, url } = await createSetupLink(tx, actor, input, related['organization'] as unknown as OrganizationRow);
      return { row: link, once: { url } };
    },
  },
  actions: {
    revoke: {
      method: 'PATCH',
      description: 'The link is worth nothing from then on. What was set up with it stays.',
      audit: 'revoked',
      touch: 'plain',
      run: async (tx, _actor, row) => ({ row: await revokeSetupLink(tx, row) }),
    },
  },
});
