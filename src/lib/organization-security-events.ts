import { changeOf } from './security-event.js';

/** Security events of organizations: who comes into one, and what they may do there; part of `securityEvents`. */
export const organizationSecurityEvents = {
  'organization_member.added': {
    ...changeOf(
      'access_granted',
      'warning',
      'who acts through the Management API or the dashboard; the directory; the service for invitations and sign-ins',
      'user',
    ),
    description: 'Somebody became a member of `organization_id`, by `source`, with `roles`.',
  },
  'organization_member.changed': {
    ...changeOf(
      'access_changed',
      'warning',
      'who acts through the Management API or the dashboard; the directory; the service for invitations',
      'user',
    ),
    description: 'A member was suspended or let in again (`status`), or has other roles: `roles_added`, `roles_removed`.',
  },
  'organization_member.removed': {
    ...changeOf('access_withdrawn', 'warning', 'the user, the directory, or who acts through the Management API or the dashboard', 'user'),
    description: 'Somebody is no member of `organization_id` any more.',
  },
  'invitation.sent': {
    ...changeOf('access_granted', 'info', 'who acts through the Management API or the dashboard', 'organization_invitation'),
    description: 'An address was invited, or invited again, to `organization_id`, with `roles`.',
  },
  'invitation.accepted': {
    ...changeOf('access_granted', 'info', 'the user', 'organization_invitation'),
    description: 'The invited person joined `organization_id`.',
  },
  'invitation.revoked': {
    ...changeOf('access_withdrawn', 'info', 'who acts through the Management API or the dashboard', 'organization_invitation'),
    description: 'An invitation’s link has ended.',
  },
} as const;
