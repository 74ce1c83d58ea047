import { z } from 'zod';
import type { ClientRow } from '../../db/tables/clients.js';
import type { InvitationRow } from '../../db/tables/organization_invitations.js';
import type { OrganizationRow } from '../../db/tables/organizations.js';
import type { RoleRow } from '../../db/tables/roles.js';
import { matches } from '../../db/lists/conditions.js';
import { normalizeEmail } from '../../lib/email-address.js';
import { countMail } from '../../domain/mail/mail-budget.js';
import {
  createInvitation, invitationLifetime, invitationProblems, invitationStatus, invitationStatuses, resendInvitation, revokeInvitation,
  type InvitationInput, type InvitationStatus,
} from '../../domain/organizations/invitations.js'; // prettier-ignore
import { reachOfInvitation } from '../../domain/reach/reach-of-organizations.js';
import { equalTo, indexed, isoTime, linkLifetime, stamps, stampSorts, statusByTime, uuid } from '../fields.js';
import { resource } from '../declaration.js';
import { toOne } from '../links.js';
import type { Filter } from '../resource.js';

/** SQL by status; `?` is the time. The same as `invitationStatus`. */
const status = statusByTime<InvitationStatus>({
  pending: 'accepted_at is null and revoked_at is null and expires_at > ?',
  accepted: 'accepted_at is not null and ?::timestamptz is not null',
  expired: 'accepted_at is null and (revoked_at >= expires_at or revoked_at is null and expires_at <= ?)',
  revoked: 'accepted_at is null and revoked_at < expires_at and ?::timestamptz is not null',
});

const email: Filter = {
  description: 'To one of these addresses, in any case.',
  schema: z.string().min(1).max(254).transform((text) => normalizeEmail(text)?.email_key ?? text.toLowerCase()), // prettier-ignore
  byIndex: true,
  condition: (_ctx, values) => matches('email_key = any (?)', [[...values]]),
};

const countTo = async (ctx: Parameters<typeof countMail>[0], address: string): Promise<void> =>
  countMail(ctx, 'organization_invitation', normalizeEmail(address)?.email_key ?? '');

export const organization_invitations = resource<InvitationRow, InvitationInput>({
  type: 'organization_invitation',
  path: 'organization_invitations',
  description: 'Invitations of addresses into an organization, each a mail with a link that is good once.',
  attributes: z.object({ status: z.enum(invitationStatuses), sent_at: isoTime, expires_at: isoTime, ...stamps }),
  computed: { status: (row, ctx) => invitationStatus(row, ctx.clock.now()) },
  organization: { column: 'organization_id' },
  reach: { of: reachOfInvitation },
  settable: {
    email: ['control', z.string().min(3).max(254), 'needed and fixed'],
    expires_in: ['plain', linkLifetime(invitationLifetime), 'fixed'],
  },
  hidden: ['expires_in'],
  relationships: {
    organization: toOne('organization', 'Into which.', { create: 'required' }),
    roles: {
      kind: 'many',
      to: 'role',
      by: { table: 'organization_invitation_roles', near: 'invitation_id', far: 'role_id' },
      description: 'What whoever accepts gets, of the kind `organization`; without any named, `default_roles` as they are then.',
      include: true,
      write: true,
    },
    client: toOne(
      'client',
      'Where it leads once it is accepted: to `initiate_login_uri`, else to `client_uri`; without either to the account page. With a token for an organization: the client of the token.',
      { create: 'optional' },
    ),
    inviter: toOne('user', 'Who invites; null for a client.', { column: 'inviter_id' }),
  },
  filters: { organization: equalTo('organization_id', uuid, 'Into one of these organizations (ids).'), email, status },
  sorts: indexed(stampSorts('organization_invitations')),
  create: {
    problems: (_ctx, input) => invitationProblems(input),
    prepare: (ctx, _actor, input) => countTo(ctx, input.email),
    async run(tx, actor, input, related) {
      const organization = related['organization'] as unknown as OrganizationRow;
      const roles = (related['roles'] ?? []) as unknown as readonly RoleRow[];
      const client = (related['client'] ?? null) as unknown as ClientRow | null;
      return { row: await createInvitation(tx, actor, input, { organization, roles, client }) };
    },
  },
  actions: {
    resend: {
      method: 'POST',
      description:
        'Sends it again, also after its time, with a new link that is good for as long as the first; the earlier link is worth nothing.',
      audit: 'resent',
      // It goes to the same address, for the same roles.
      touch: 'plain',
      prepare: (ctx, _actor, row) => countTo(ctx, row.email),
      run: async (tx, actor, row) => ({ row: await resendInvitation(tx, actor, row) }),
    },
    revoke: {
      method: 'PATCH',
      description: 'Its link is worth nothing from then on.',
      audit: 'revoked',
      touch: 'plain',
      run: async (tx, actor, row) => ({ row: await revokeInvitation(tx, actor, row) }),
    },
  },
  display: (row) => row.email,
});
