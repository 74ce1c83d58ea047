import { changeOf, refusalOf } from './security-event.js';

/** The security events of sign-in, passwords and recovery; part of the list of all. */
export const signInSecurityEvents = {
  'login.succeeded': {
    ...changeOf('logon', 'info', 'the user', 'session'),
    description:
      'Somebody signed in; `amr` and `methods` say how, `connection_id` through which connection, `new_device` whether this browser was new.',
  },
  'session.confirmed': {
    ...changeOf('authentication', 'info', 'the user', 'session'),
    description: 'Somebody signed in proved that it is still them, or reached a higher class; `amr` says how.',
  },
  'login.failed': {
    ...refusalOf('logon', 'info', 'failure', 'anonymous', 'user, if there is one; at a provider sign-in the connection'),
    description: 'A sign-in, or another proof of a password, was refused; `reason` says why. An address without a user is not recorded.',
  },
  'administrator.new_device': {
    ...changeOf('finding', 'warning', 'the user', 'session'),
    description: 'Somebody who holds Management permissions signed in from a browser that was new.',
  },
  'account.locked': {
    ...refusalOf('account_locked', 'warning', 'failure', 'anonymous', 'user'),
    description:
      'Too many wrong passwords, or second factors (`second_step`): the account, or its second step, is locked until `locked_until`.',
  },
  'password.changed': {
    ...changeOf('password_changed', 'info', 'the user', 'user'),
    description: 'Somebody changed the own password, knowing the old one.',
  },
  'password.breached': {
    ...changeOf('finding', 'warning', 'the service', 'user'),
    description:
      'The password that somebody signed in with is known from a data breach; `reset_required`: it signs nobody in any more. Once a password.',
  },
  'passcode.budget_half_used': {
    ...refusalOf('finding', 'warning', 'failure', 'anonymous', 'environment'),
    description: 'Wrong six-digit codes have used half of the hourly budget of the environment: somebody may be guessing. Once an hour.',
  },
  'passcode.budget_used_up': {
    ...refusalOf('finding', 'critical', 'denied', 'anonymous', 'environment'),
    description: 'Wrong six-digit codes have used the hourly budget of the environment: none is taken until the hour is over.',
  },
  'recovery.requested': {
    class: 'authentication',
    severity: 'info',
    outcome: 'success',
    recorded: 'collected',
    actor: 'anonymous',
    target: 'user, if there is one',
    description: 'Somebody asked for a code to set a new password. Administrators who send one leave `user.password_reset_sent` instead.',
  },
  'recovery.failed': {
    ...refusalOf('authentication', 'info', 'failure', 'anonymous', 'none'),
    description: 'A recovery code was wrong (`invalid_code`), no longer good (`code_expired`), or not looked at (`budget_used_up`).',
  },
  'address.proven': {
    ...changeOf('account_changed', 'warning', 'the user, or who acts through the Management API or the dashboard', 'user'),
    description:
      'An address was proven for the first time. `password`, `authenticators` and `connected_accounts` say what was removed from the account.',
  },
  'address.changed': {
    ...changeOf('account_changed', 'warning', 'the user', 'user'),
    description: 'Somebody has another address, which a code proved.',
  },
  'account.deletion_requested': {
    ...changeOf('account_changed', 'warning', 'the user', 'user'),
    description: 'Somebody asked to delete the own account; `deletion_due_at` says when it will be.',
  },
  'account.deletion_cancelled': {
    ...changeOf('account_changed', 'info', 'the user, or who acts through the Management API or the dashboard', 'user'),
    description: 'Somebody signed in to an account that waited for its deletion, or an administrator canceled the deletion: it is kept.',
  },
  'account.deleted': {
    ...changeOf('account_deleted', 'warning', 'the service', 'user'),
    description: 'The service deleted an account, as its user had asked.',
  },
  'recovery.completed': {
    ...changeOf('password_reset', 'warning', 'the user', 'user'),
    description: 'A new password was set by a recovery code or link; all sessions ended.',
  },
} as const;
