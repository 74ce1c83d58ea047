import { administrationSecurityEvents } from './administration-security-events.js';
import { directorySecurityEvents } from './directory-security-events.js';
import { organizationSecurityEvents } from './organization-security-events.js';
import type { SecurityEvent } from './security-event.js';
import { signInSecurityEvents } from './sign-in-security-events.js';
import { tokenSecurityEvents } from './token-security-events.js';

/**
 * All security events: the closed list of what `event` in a log line, in `security_events` and in the log streams may say. Names are never changed. A
 * new one is an entry here and the call that records it; docs/reference/security-events.md follows (`npm run docs`).
 */
export const securityEvents = {
  ...signInSecurityEvents,
  'identity.linked': {
    class: 'account_changed',
    severity: 'warning',
    outcome: 'success',
    recorded: 'transaction',
    actor: 'the user',
    target: 'identity',
    description: 'An account at a provider now signs in somebody who had an account here already.',
  },
  'identity.link_failed': {
    class: 'account_changed',
    severity: 'info',
    outcome: 'failure',
    recorded: 'collected',
    actor: 'the user',
    target: 'connection',
    description: 'Connecting an account at a provider was refused; `reason` is the code of the page.',
  },
  'identity.unlinked': {
    class: 'account_changed',
    severity: 'info',
    outcome: 'success',
    recorded: 'transaction',
    actor: 'the user, or who acts through the Management API',
    target: 'identity',
    description: 'An account at a provider no longer signs in this user.',
  },
  'authenticator.created': {
    class: 'factor_added',
    severity: 'warning',
    outcome: 'success',
    recorded: 'transaction',
    actor: 'the user',
    target: 'authenticator',
    description: 'Somebody added a passkey or an authenticator app, or made recovery codes; `kind` says which.',
  },
  'authenticator.removed': {
    class: 'factor_removed',
    severity: 'warning',
    outcome: 'success',
    recorded: 'transaction',
    actor: 'the user, or who acts through the Management API',
    target: 'authenticator',
    description: 'A passkey, an authenticator app or recovery codes no longer sign in this user; `kind` says which.',
  },
  'authenticator.reset': {
    class: 'factor_removed',
    severity: 'warning',
    outcome: 'success',
    recorded: 'transaction',
    actor: 'who acts through the Management API or the dashboard',
    target: 'user',
    description: 'All authenticators of a user were removed, and everything that rested on them ended.',
  },
  'authenticator.imported': {
    class: 'factor_added',
    severity: 'warning',
    outcome: 'success',
    recorded: 'transaction',
    actor: 'who acts through the Management API',
    target: 'authenticator',
    description: 'An authenticator was moved in from another system; `kind` says which.',
  },
  'two_step.changed': {
    class: 'account_changed',
    severity: 'warning',
    outcome: 'success',
    recorded: 'transaction',
    actor: 'the user',
    target: 'user',
    description: 'Two-step sign-in was switched on or off; `enabled` says which.',
  },
  'consent.given': {
    class: 'access_granted',
    severity: 'info',
    outcome: 'success',
    recorded: 'transaction',
    actor: 'the user',
    target: 'client',
    description: 'Somebody allowed an application `scopes` of the `resource`.',
  },
  'consent.denied': {
    class: 'access_changed',
    severity: 'info',
    outcome: 'denied',
    recorded: 'collected',
    actor: 'the user',
    target: 'client',
    description: 'Somebody did not allow an application what it asked for.',
  },
  'consent.withdrawn': {
    class: 'access_withdrawn',
    severity: 'info',
    outcome: 'success',
    recorded: 'transaction',
    actor: 'the user, or who acts through the Management API',
    target: 'client; consent through the Management API',
    description: 'What was allowed to an application was taken back; its tokens ended.',
  },
  'device.approved': {
    class: 'logon',
    severity: 'info',
    outcome: 'success',
    recorded: 'transaction',
    actor: 'the user',
    target: 'session',
    description: 'Somebody allowed a device what it asked for (RFC 8628); `device_ip_address` is where it asked from.',
  },
  'device.denied': {
    class: 'logon',
    severity: 'warning',
    outcome: 'denied',
    recorded: 'collected',
    actor: 'the user',
    target: 'client',
    description: 'Somebody did not allow a device what it asked for.',
  },
  'device.guesses_refused': {
    class: 'finding',
    severity: 'warning',
    outcome: 'denied',
    recorded: 'collected',
    actor: 'the user',
    target: 'session',
    description: 'Ten wrong user codes in ten minutes from one session or address.',
  },
  ...administrationSecurityEvents,
  ...directorySecurityEvents,
  ...organizationSecurityEvents,
  ...tokenSecurityEvents,
  'client.removed_unused': {
    class: 'configuration_changed',
    severity: 'info',
    outcome: 'success',
    recorded: 'transaction',
    actor: 'the service',
    target: 'client',
    description: 'An unverified client was removed because nobody uses it (`unused_client_lifetime`).',
  },
  'webhook.target_blocked': {
    class: 'connection_refused',
    severity: 'warning',
    outcome: 'denied',
    recorded: 'collected',
    actor: 'the service',
    target: 'webhook',
    description: 'A delivery was not sent: its address is blocked.',
  },
  'management.denied': {
    class: 'operation_denied',
    severity: 'warning',
    outcome: 'denied',
    recorded: 'transaction',
    actor: 'who acts through the Management API or the dashboard',
    target: 'what the operation was aimed at',
    description: 'An operation was refused for want of permission; `reason` says which rule, `action` in the audit log which operation.',
  },
} as const satisfies Record<string, SecurityEvent>;

export type SecurityEventName = keyof typeof securityEvents;

/** Whether the text is the name of a security event, such as the `action` of a write that is one. */
export const isSecurityEvent = (name: string): name is SecurityEventName => Object.hasOwn(securityEvents, name);
