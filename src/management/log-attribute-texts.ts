/** What the attributes of what is recorded mean, and of where it is sent; part of all texts. */
// prettier-ignore
export const logAttributeTexts = {
  audit_log: {
    occurred_at: 'When.',
    action: 'What was done, such as `webhook.secret_rotated`, or the name of a security event.',
    outcome: 'Whether it was done.',
    reason: 'Why it was not; null = it was.',
    actor: 'Who did it; null for a member = not known.',
    targets: 'What it was done to.',
    ip_address: 'The address that it was asked from; null = from nobody outside.',
    user_agent: 'The `User-Agent` that it was asked with; null = there was none.',
    request_id: 'The request that did it; null = none did.',
  },
  log_stream: {
    name: 'What administrators call it.',
    format: 'How a record is written: as this API has it, in ECS 8 or in OCSF 1.',
    status: '`paused`: by somebody, or after 72 hours of failures; what there is to send waits, and is sent when it is enabled again.',
    has_authorization: 'Whether an `Authorization` header is sent along.',
    secret_rotated_at: 'When the secret was replaced; null = never.',
    lag_seconds: 'How long the oldest that waits has waited.',
    last_sent_at: 'When the receiver last took something; null = never.',
    last_error: 'Why the last try failed; null = it did not.',
    last_response_status: 'What the receiver last answered; null = nothing.',
    failing_since: 'Since when every try has failed; null = the last one did not.',
    failed_attempt_count: 'How many tries in a row have failed.',
  },
  security_event: {
    occurred_at: 'When; the first time of what is counted.',
    outcome: 'Whether it was done.',
    actor: 'Who did it; null for a member = not known.',
    ip_address: 'The address that it came from; null = from nobody outside, or from many.',
    user_agent: 'The `User-Agent` that it came with; null = there was none.',
    request_id: 'The request that did it; null = none did.',
  },
} as const satisfies Readonly<Record<string, Readonly<Record<string, string>>>>;
