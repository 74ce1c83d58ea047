import { administrationSecurityEvents } from './administration-security-events.js';
import { directorySecurityEvents } from './directory-security-events.js';
import { organizationSecurityEvents } from './organization-security-events.js';
import { changeOf, refusalOf, type SecurityEvent } from './security-event.js';
import { signInSecurityEvents } from './sign-in-security-events.js';
import { tokenSecurityEvents } from './token-security-events.js';

/**
 * All security events: the closed list of what `event` in a log line, in `security_events` and in the log streams may say. Names are never changed. A
 * new one is an entry here and the call that records it; docs/reference/security-events.md follows (`npm run docs`).
 */
export const securityEvents = {
  ...signInSecurityEvents,
  'identity.linked': {
    ...changeOf('account_changed', 'warning', 'the user', 'identity'),
    description: 'An account at a provider now signs in an existing user.',
  },
  'identity.link_failed': {
    ...refusalOf('account_changed', 'info', 'failure', 'the user', 'connection'),
    description: 'Connecting an account at a provider was refused; `reason` is the page’s code.',
  },
  'identity.unlinked': {
    ...changeOf('account_changed', 'info', 'the user, or who acts through the Management API', 'identity'),
    description: 'An account at a provider no longer signs in this user.',
  },
  'authenticator.created': {
    ...changeOf('factor_added', 'warning', 'the user', 'authenticator'),
    description: 'Somebody added a passkey, an authenticator app or recovery codes (`kind`).',
  },
  'authenticator.removed': {
    ...changeOf('factor_removed', 'warning', 'the user, or who acts through the Management API', 'authenticator'),
    description: 'A passkey, an authenticator app or recovery codes no longer sign in this user (`kind`).',
  },
  'authenticator.reset': {
    ...changeOf('factor_removed', 'warning', 'who acts through the Management API or the dashboard', 'user'),
    description: 'A user’s authenticators were all removed, and what rested on them ended.',
  },
  'authenticator.imported': {
    ...changeOf('factor_added', 'warning', 'who acts through the Management API', 'authenticator'),
    description: 'An authenticator was moved in from another system (`kind`).',
  },
  'two_step.changed': {
    ...changeOf('account_changed', 'warning', 'the user', 'user'),
    description: 'Two-step sign-in was switched on or off (`enabled`).',
  },
  'consent.given': {
    ...changeOf('access_granted', 'info', 'the user', 'client'),
    description: 'Somebody allowed an application `scopes` of the `resource`.',
  },
  'consent.denied': {
    ...refusalOf('access_changed', 'info', 'denied', 'the user', 'client'),
    description: 'Somebody did not allow an application what it asked for.',
  },
  'consent.withdrawn': {
    ...changeOf(
      'access_withdrawn',
      'info',
      'the user, or who acts through the Management API',
      'client; consent or authorization through the Management API',
    ),
    description: 'What was allowed to an application was taken back; its tokens ended.',
  },
  'authorization.blocked': {
    ...changeOf('access_withdrawn', 'warning', 'the user', 'client'),
    description: 'Somebody blocked an application for good; all that it held ended.',
  },
  'authorization.unblocked': {
    ...changeOf('access_granted', 'info', 'the user', 'client'),
    description: 'Somebody unblocked an application.',
  },
  'authorization.expired': {
    ...changeOf('access_withdrawn', 'info', 'the service', 'client'),
    description: 'What an application was allowed ended unused (`unused_authorization_lifetime`).',
  },
  'device.approved': {
    ...changeOf('logon', 'info', 'the user', 'session'),
    description: 'Somebody allowed a device what it asked for (RFC 8628), from `device_ip_address`.',
  },
  'device.denied': {
    ...refusalOf('logon', 'warning', 'denied', 'the user', 'client'),
    description: 'Somebody did not allow a device what it asked for.',
  },
  'device.guesses_refused': {
    ...refusalOf('finding', 'warning', 'denied', 'the user', 'session'),
    description: 'Ten wrong user codes in ten minutes from one session or address.',
  },
  ...administrationSecurityEvents,
  ...directorySecurityEvents,
  ...organizationSecurityEvents,
  ...tokenSecurityEvents,
  'client.removed_unused': {
    ...changeOf('configuration_changed', 'info', 'the service', 'client'),
    description: 'An unused, unverified client was removed (`unused_client_lifetime`).',
  },
  'webhook.target_blocked': {
    ...refusalOf('connection_refused', 'warning', 'denied', 'the service', 'webhook'),
    description: 'A delivery was not sent: its address is blocked.',
  },
  'management.denied': {
    class: 'operation_denied',
    severity: 'warning',
    outcome: 'denied',
    recorded: 'transaction',
    actor: 'who acts through the Management API or the dashboard',
    target: 'what the operation was aimed at',
    description: 'An operation lacked permission: `reason` is the rule, `action` in the audit log the operation.',
  },
} as const satisfies Record<string, SecurityEvent>;

export type SecurityEventName = keyof typeof securityEvents;

/** Whether the text is the name of a security event, such as the `action` of a write that is one. */
export const isSecurityEvent = (name: string): name is SecurityEventName => Object.hasOwn(securityEvents, name);
