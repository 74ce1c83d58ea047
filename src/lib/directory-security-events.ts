import { changeOf, refusalOf } from './security-event.js';

/** Security events of what organizations' directories do (SCIM); part of `securityEvents`. */
export const directorySecurityEvents = {
  'directory.user_provisioned': {
    ...changeOf('account_changed', 'info', 'the directory', 'user'),
    description: 'A directory told of a person for the first time, or let one in again.',
  },
  'directory.user_linked': {
    ...changeOf('account_changed', 'warning', 'the directory', 'user'),
    description: 'A directory told of a person who had an account here already, which follows the directory from now on.',
  },
  'directory.user_deprovisioned': {
    ...changeOf('account_changed', 'info', 'the directory', 'user'),
    description: 'A directory shut a person out, or let them go.',
  },
  'directory.group_changed': {
    ...changeOf('access_changed', 'info', 'the directory', 'organization_group'),
    description: 'A group came, went, has another name or other members; `change`, `members_added` and `members_removed` say which.',
  },
  'directory.authentication_failed': {
    ...refusalOf('logon', 'info', 'failure', 'anonymous', 'directory'),
    description: 'A request of a directory bore no token that is good for it.',
  },
} as const;
