import { changeOf, refusalOf } from './security-event.js';

/** The security events of sign-in, passwords and recovery; part of the list of all. */
export const signInSecurityEvents = {
  'login.succeeded': {
    ...changeOf('logon', 'info', 'the user', 'session'),
    description: 'Somebody signed in: `amr`, `methods`, `connection_id`; `new_device`: whether the browser was new.',
  },
  'session.confirmed': {
    ...changeOf('authentication', 'info', 'the user', 'session'),
    description: 'Somebody proved that it is still them, or reached a higher class (`amr`).',
  },
  'login.failed': {
    ...refusalOf('logon', 'info', 'failure', 'anonymous', 'user, if there is one; at a provider sign-in the connection'),
    description: 'A sign-in, or another proof of a password, was refused (`reason`). An address without a user is not recorded.',
  },
  'administrator.new_device': {
    ...changeOf('finding', 'warning', 'the user', 'session'),
    description: 'Somebody with Management permissions signed in from a new browser.',
  },
  'account.locked': {
    ...refusalOf('account_locked', 'warning', 'failure', 'anonymous', 'user'),
    description: 'Too many wrong passwords, or second factors (`second_step`), lock the account or its second step until `locked_until`.',
  },
  'password.changed': {
    ...changeOf('password_changed', 'info', 'the user', 'user'),
    description: 'Somebody changed the own password, knowing the old one.',
  },
  'password.breached': {
    ...changeOf('finding', 'warning', 'the service', 'user'),
    description: 'A password used at a sign-in is known from a data breach; `reset_required`: it signs nobody in. Once a password.',
  },
  'passcode.budget_half_used': {
    ...refusalOf('finding', 'warning', 'failure', 'anonymous', 'environment'),
    description: 'Wrong six-digit codes have used half of the environment’s hourly budget: somebody may be guessing. Once an hour.',
  },
  'passcode.budget_used_up': {
    ...refusalOf('finding', 'critical', 'denied', 'anonymous', 'environment'),
    description: 'Wrong six-digit codes have used the environment’s hourly budget: none is taken until the hour is over.',
  },
  'recovery.requested': {
    class: 'authentication',
    severity: 'info',
    outcome: 'success',
    recorded: 'collected',
    actor: 'anonymous',
    target: 'user, if there is one',
    description: 'Somebody asked for a code to set a new password; an administrator’s is `user.password_reset_sent`.',
  },
  'recovery.failed': {
    ...refusalOf('authentication', 'info', 'failure', 'anonymous', 'none'),
    description: 'A recovery code was wrong (`invalid_code`), no longer good (`code_expired`), or not looked at (`budget_used_up`).',
  },
  'address.proven': {
    ...changeOf('account_changed', 'warning', 'the user, or who acts through the Management API or the dashboard', 'user'),
    description: 'An address was first proven. `password`, `authenticators` and `connected_accounts` say what was removed.',
  },
  'address.changed': {
    ...changeOf('account_changed', 'warning', 'the user', 'user'),
    description: 'Somebody has another address, which a code proved.',
  },
  'account.deletion_requested': {
    ...changeOf('account_changed', 'warning', 'the user', 'user'),
    description: 'Somebody asked to delete the own account (`deletion_due_at`).',
  },
  'account.deletion_cancelled': {
    ...changeOf('account_changed', 'info', 'the user, or who acts through the Management API or the dashboard', 'user'),
    description: 'A sign-in, or an administrator, kept an account that waited for its deletion.',
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
