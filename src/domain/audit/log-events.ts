/**
 * The lines of the log, beside security events, that have an `event`: what an operator looks for, or an alert waits for, by a name that is never
 * changed. Security events are in `security-events.ts`; there is no third list, and a test sees to it. A new one is a line here.
 */
export const logEvents = {
  'breached_passwords.checked_again': 'The `source` (`service`, `file`) answers again after `breached_passwords.unchecked`.',
  'breached_passwords.unchecked':
    'New passwords are taken without asking the `source` (`service`, `file`) whether they are known from data breaches, because of `reason`. Once an outage.',
  'clock.differs':
    'This machine’s clock differs from the database’s, which is used from now on; `offset_ms` is by how much it is corrected.',
  'exposure.listens_beyond_loopback': 'At the start: `HOST` lets other machines connect, while `BASE_URL` names this one.',
  'exposure.mailbox': 'At the start: `DEV_MAILBOX=on` shows every mail to whoever reaches the port.',
  'exposure.public_development': 'At the start: environments of kind `development` are reached under a public `BASE_URL`.',
  'exposure.trust_proxy': 'At the start: `TRUST_PROXY=on` believes every `X-Forwarded-For`.',
  'readiness.secret_key': '`/readyz` answers 503: no key in `SECRET_KEY` or `SECRET_KEY_PREVIOUS` opens the primary signing key.',
  'secret_key.in_use': 'At the start: the key that seals, and those that open, by their ids.',
  'secret_key.missing': 'Values can not be opened: the key of `key_id` is in neither variable.',
  'secret_key.resealed': 'How many values were sealed anew with `SECRET_KEY`, and how many are left.',
  'secret_key.resealing': 'Values are being sealed anew with `SECRET_KEY`.',
  'secret_key.unused':
    'Nothing is sealed any more with the key of `key_id`; `may_go_at` says when it may be taken out of `SECRET_KEY_PREVIOUS`.',
  'secret_key.waiting': 'Nothing is sealed anew yet: other processes could not open it.',
} as const satisfies Record<string, string>;

export type LogEvent = keyof typeof logEvents;
