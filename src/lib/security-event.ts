import type { EventClass } from './event-classes.js';

export type SecurityEvent = {
  /** `critical`: somebody should look at once; log lines of `info` are informational, others warnings. */
  readonly severity: 'info' | 'warning' | 'critical';
  readonly outcome: 'success' | 'denied' | 'failure';
  /** What other systems' schemas call this kind of event. */
  readonly class: EventClass;
  /**
   * `transaction`: the row is written with the change, both or neither. `collected`: anybody can cause it as often as they like, so rows are
   * gathered in memory, written every second, and shared by what repeats within a minute.
   */
  readonly recorded: 'transaction' | 'collected';
  /** Who did it, in the row's `actor`. */
  readonly actor: string;
  /** What it happened to, in the row's `targets`. */
  readonly target: string;
  readonly description: string;
};

/** What most are of: a change that succeeded, written in its transaction. */
export const changeOf = (eventClass: EventClass, severity: SecurityEvent['severity'], actor: string, target: string) =>
  ({ class: eventClass, severity, outcome: 'success', recorded: 'transaction', actor, target }) as const;

/** What was refused, or failed, and anybody can cause. */
export const refusalOf = (
  eventClass: EventClass,
  severity: SecurityEvent['severity'],
  outcome: 'failure' | 'denied',
  actor: string,
  target: string,
) => ({ class: eventClass, severity, outcome, recorded: 'collected', actor, target }) as const;

/** Why something was refused: `reason` of security events and of denied operations. */
export const securityEventReasons = [
  // A proof of a sign-in, or a code.
  'invalid_credentials', 'invalid_code', 'second_step', 'passkey_unknown', 'passkey_refused', 'passkey_counter', 'code_expired', 'budget_used_up',
  // Who signs in, or the way that was taken.
  'account_blocked', 'password_breached', 'account_locked', 'account_changed', 'sign_in_expired', 'connection_required',
  // A sign-in at a provider, by the code of its page.
  'sso_state_mismatch', 'sso_access_denied', 'sso_email_missing', 'sso_email_unverified', 'sso_account_exists', 'sso_domain_not_allowed', 'sso_provider_error',
  'registration_disabled', 'not_found', 'saml_invalid', 'saml_expired', 'saml_replayed', 'saml_unsolicited', 'saml_wrong_audience', 'saml_no_identity',
  // An identity assertion of an issuer outside.
  'assertion_invalid', 'assertion_expired', 'assertion_issuer', 'assertion_not_for_us', 'assertion_not_for_client', 'assertion_key', 'assertion_scope',
  'assertion_nobody', 'assertion_sign_in',
  // One that a client asked for, for a server outside.
  'assertion_not_granted', 'assertion_subject',
  // A signal of a provider.
  'signal_invalid', 'signal_not_for_us', 'signal_expired', 'signal_replayed',
  // A client that did not prove who it is.
  'not_proven', 'unknown_client', 'no_credentials',
  // An operation of the Management API.
  'insufficient_scope', 'insufficient_user_authentication', 'scope_escalation', 'operators_only', 'system_record',
  // A delivery; a change by the service's own configuration; more events than are listed one by one.
  'blocked_address', 'configuration', 'too_many_to_list',
] as const; // prettier-ignore

export type SecurityEventReason = (typeof securityEventReasons)[number];
