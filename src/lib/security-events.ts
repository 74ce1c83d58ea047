import { administrationSecurityEvents } from './administration-security-events.js';
import { tokenSecurityEvents } from './token-security-events.js';

/** What is worth knowing of one kind of security event. */
export type SecurityEvent = {
  /** `critical`: somebody should look at once; log lines of `info` are informational, others warnings. */
  readonly severity: 'info' | 'warning' | 'critical';
  readonly outcome: 'success' | 'denied' | 'failure';
  /**
   * `transaction`: the row is written with the change, both or neither. `collected`: anybody can cause it as often as they like, so rows are
   * gathered in memory, written every second, and shared by what repeats within a minute.
   */
  readonly kept: 'transaction' | 'collected';
  /** Who did it, in the row's `actor`. */
  readonly actor: string;
  /** What it happened to, in the row's `targets`. */
  readonly target: string;
  readonly description: string;
};

/**
 * All security events: the closed list of what `event` in a log line, in `security_events` and in the log streams may say. Names are never changed. A
 * new one is an entry here and the call that records it; docs/security-events.md follows (`npm run docs`).
 */
export const securityEvents = {
  'login.succeeded': {
    severity: 'info',
    outcome: 'success',
    kept: 'transaction',
    actor: 'the user',
    target: 'session',
    description: 'Somebody signed in, by password, provider or registration; `amr` says how, `new_device` whether this browser was new.',
  },
  'login.failed': {
    severity: 'info',
    outcome: 'failure',
    kept: 'collected',
    actor: 'anonymous',
    target: 'user, if there is one; at a provider sign-in the connection',
    description:
      'A sign-in, or another proof of a password, was refused; `reason` says why. Without a user the address typed in is recorded nowhere.',
  },
  'administrator.new_device': {
    severity: 'warning',
    outcome: 'success',
    kept: 'transaction',
    actor: 'the user',
    target: 'session',
    description: 'Somebody who holds Management permissions signed in from a browser that was new.',
  },
  'account.locked': {
    severity: 'warning',
    outcome: 'failure',
    kept: 'collected',
    actor: 'anonymous',
    target: 'user',
    description: 'So many wrong passwords in a row that the account is locked for `lockout_lifetime` seconds.',
  },
  'password.changed': {
    severity: 'info',
    outcome: 'success',
    kept: 'transaction',
    actor: 'the user',
    target: 'user',
    description: 'Somebody changed the own password, knowing the old one.',
  },
  'passcode.budget_half_used': {
    severity: 'warning',
    outcome: 'failure',
    kept: 'collected',
    actor: 'anonymous',
    target: 'environment',
    description:
      'Wrong six-digit codes, of whatever registrations and recoveries, have used half of the hourly budget of the environment: somebody may be guessing. Once an hour.',
  },
  'passcode.budget_used_up': {
    severity: 'critical',
    outcome: 'denied',
    kept: 'collected',
    actor: 'anonymous',
    target: 'environment',
    description:
      'Wrong six-digit codes have used the hourly budget of the environment: none is taken until the hour is over. New codes are longer and need no budget.',
  },
  'recovery.requested': {
    severity: 'info',
    outcome: 'success',
    kept: 'collected',
    actor: 'anonymous',
    target: 'user, if there is one',
    description: 'Somebody asked for a code to set a new password. Administrators who send one leave `user.password_reset_sent` instead.',
  },
  'recovery.failed': {
    severity: 'info',
    outcome: 'failure',
    kept: 'collected',
    actor: 'anonymous',
    target: 'none',
    description:
      'A recovery code was wrong (`invalid_code`), no longer good (`code_expired`), or not looked at (`budget_used_up`: too many wrong ones came in the environment).',
  },
  'recovery.completed': {
    severity: 'warning',
    outcome: 'success',
    kept: 'transaction',
    actor: 'the user',
    target: 'user',
    description: 'A new password was set by a recovery code or link; all sessions ended.',
  },
  'identity.linked': {
    severity: 'warning',
    outcome: 'success',
    kept: 'transaction',
    actor: 'the user',
    target: 'identity',
    description: 'An account at a provider now signs in somebody who had an account here already.',
  },
  'identity.link_failed': {
    severity: 'info',
    outcome: 'failure',
    kept: 'collected',
    actor: 'the user',
    target: 'connection',
    description: 'Connecting an account at a provider was refused; `reason` is the code of the page.',
  },
  'identity.unlinked': {
    severity: 'info',
    outcome: 'success',
    kept: 'transaction',
    actor: 'the user, or who acts through the Management API',
    target: 'identity',
    description: 'An account at a provider no longer signs in this user.',
  },
  'authenticator.created': {
    severity: 'warning',
    outcome: 'success',
    kept: 'transaction',
    actor: 'the user',
    target: 'authenticator',
    description: 'Somebody added a passkey or an authenticator app, or made recovery codes; `kind` says which.',
  },
  'authenticator.removed': {
    severity: 'warning',
    outcome: 'success',
    kept: 'transaction',
    actor: 'the user, or who acts through the Management API',
    target: 'authenticator',
    description: 'A passkey, an authenticator app or recovery codes no longer sign in this user; `kind` says which.',
  },
  'authenticator.reset': {
    severity: 'warning',
    outcome: 'success',
    kept: 'transaction',
    actor: 'who acts through the Management API or the dashboard',
    target: 'user',
    description: 'All authenticators of somebody who lost them were removed, and everything that rested on them ended.',
  },
  'authenticator.imported': {
    severity: 'warning',
    outcome: 'success',
    kept: 'transaction',
    actor: 'who acts through the Management API',
    target: 'authenticator',
    description: 'An authenticator was moved in from another system; `kind` says which.',
  },
  'two_step.changed': {
    severity: 'warning',
    outcome: 'success',
    kept: 'transaction',
    actor: 'the user',
    target: 'user',
    description: 'Two-step sign-in was switched on or off; `enabled` says which.',
  },
  'consent.given': {
    severity: 'info',
    outcome: 'success',
    kept: 'transaction',
    actor: 'the user',
    target: 'client',
    description: 'Somebody allowed an application what it asked for: `scopes`, and the `resource` that they belong to.',
  },
  'consent.denied': {
    severity: 'info',
    outcome: 'denied',
    kept: 'collected',
    actor: 'the user',
    target: 'client',
    description: 'Somebody did not allow an application what it asked for.',
  },
  'consent.withdrawn': {
    severity: 'info',
    outcome: 'success',
    kept: 'transaction',
    actor: 'the user, or who acts through the Management API',
    target: 'client; consent through the Management API',
    description: 'What was allowed to an application was taken back, and everything that it held ended.',
  },
  'device.approved': {
    severity: 'info',
    outcome: 'success',
    kept: 'transaction',
    actor: 'the user',
    target: 'session',
    description:
      "Somebody allowed a device without a browser what it asked for (RFC 8628); the session is the device's own, `device_ip_address` where it asked from.",
  },
  'device.denied': {
    severity: 'warning',
    outcome: 'denied',
    kept: 'collected',
    actor: 'the user',
    target: 'client',
    description: 'Somebody did not allow a device what it asked for: perhaps the code came from somebody else.',
  },
  'device.guesses_refused': {
    severity: 'warning',
    outcome: 'denied',
    kept: 'collected',
    actor: 'the user',
    target: 'session',
    description: 'Ten wrong user codes of devices in ten minutes from one session or address: no more are taken for a while.',
  },
  ...administrationSecurityEvents,
  ...tokenSecurityEvents,
  'webhook.target_blocked': {
    severity: 'warning',
    outcome: 'denied',
    kept: 'collected',
    actor: 'the service',
    target: 'webhook',
    description: 'A delivery was not sent: the address of the receiver is one that outbound requests may not reach.',
  },
  'management.denied': {
    severity: 'warning',
    outcome: 'denied',
    kept: 'transaction',
    actor: 'who acts through the Management API or the dashboard',
    target: 'what the operation was aimed at',
    description:
      'An operation was refused for want of permission; `reason` says which rule (`scope_escalation`: it would have raised what somebody may do). In the audit log `action` is the operation that was tried.',
  },
} as const satisfies Record<string, SecurityEvent>;

export type SecurityEventName = keyof typeof securityEvents;

/** Whether the text is the name of a security event, such as the `action` of a write that is one. */
export const isSecurityEvent = (name: string): name is SecurityEventName => Object.hasOwn(securityEvents, name);
