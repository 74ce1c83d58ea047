import { changeOf, refusalOf } from './security-event.js';

/** Security events of what organizations' directories do (SCIM); part of `securityEvents`. */
export const directorySecurityEvents = {
  'directory.user_provisioned': {
    ...changeOf('account_changed', 'info', 'the directory', 'user'),
    description: 'A directory brought a new person, or let one in again.',
  },
  'directory.user_linked': {
    ...changeOf('account_changed', 'warning', 'the directory', 'user'),
    description: 'A directory took over a person’s existing account.',
  },
  'directory.user_deprovisioned': {
    ...changeOf('account_changed', 'info', 'the directory', 'user'),
    description: 'A directory shut a person out, or let them go.',
  },
  'directory.group_changed': {
    ...changeOf('access_changed', 'info', 'the directory', 'organization_group'),
    description: 'A group came, went, or has another name or members: `change`, `members_added`, `members_removed`.',
  },
  'directory.authentication_failed': {
    ...refusalOf('logon', 'info', 'failure', 'anonymous', 'directory'),
    description: 'A directory’s request bore no good token.',
  },
} as const;
