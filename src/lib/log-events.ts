import type { SecurityEventName } from './security-events.js';

/**
 * What `event` may say in a line of the log, beside the names of security events (`security-events.ts`): the closed list of what an operator looks
 * for, or an alert waits for. Names are never changed; `msg` is for people and may be. A new one is a line here; docs/reference/log-lines.md follows.
 */
export const logEvents = {
  'api_resource.displaced': 'BASE_URL made an API resource’s identifier that of the Management API; it was given another one.',
  'audit_logs.export_failed': 'An export of the audit log broke off.',
  'authorization.redirect_uri_mismatch':
    'The address that came and those that the client has registered, without values of a query and without what looks like a secret.',
  'backchannel_logout.delivered': 'A client took a logout token (Back-Channel Logout 1.0).',
  'backchannel_logout.failed': 'A client did not take a logout token; `next_attempt_at` is null when it was the last attempt.',
  'backchannel_logout.lease_lost': 'Another process has taken the logout over, and records its own outcome.',
  'backchannel_logout.unsent': 'A logout token could not be made or sent, for a reason of our own.',
  'breached_passwords.checked_again': 'The `source` (`service`, `file`) answers again after `breached_passwords.unchecked`.',
  'breached_passwords.unchecked':
    'New passwords are taken without asking the `source` (`service`, `file`) whether they are known from data breaches, because of `reason`. Once an outage.',
  'cache.unsynced':
    'Changes by other processes could not be read; until they can, nothing is answered from the cache for longer than a second.',
  'client.deregistered': 'A client removed its own registration (RFC 7592).',
  'client.registered': 'A client registered itself (RFC 7591).',
  'client.update_refused':
    'A registered client was not changed by itself (RFC 7592): it has reach (`permissions`) that only the Management API may handle.',
  'client.registrations_full': 'A client was not registered: `limit` clients have come by themselves (`self_registered_client_limit`).',
  'client_document.unverified':
    'A client that was verified by hand is verified no longer: its metadata document gives it another name, logo or redirect host.',
  'client_document.ended': 'A client’s metadata document is gone or describes it no longer, because of `reason`: its tokens end.',
  'client_document.refused': 'An address was claimed to be a client’s metadata document and isn’t one, because of `reason`.',
  'client_document.unreachable': 'A client’s metadata document could not be fetched, because of `reason`.',
  'client_keys.unreachable': 'A client’s `jwks_uri` can not be reached, because of `reason`.',
  'client_keys.unusable': 'The answer of a client’s `jwks_uri` is no key set that can be used.',
  'client_use.lost': 'A process that ended without a database took along when clients were last used.',
  'clock.differs':
    'This machine’s clock differs from the database’s, which is used from now on; `offset_ms` is by how much it is corrected.',
  'clock.unsynced': 'At the start the database’s time could not be asked; it is asked again every minute.',
  'custom_domain.failed': 'A custom domain’s record was missing for seven days: the environment no longer answers there.',
  'custom_domain.lookup_failed': 'A look-up failed for another reason than a missing record; it counts for nothing.',
  'custom_domain.record_missing': 'A custom domain’s record is missing since `missing_since`; told every day.',
  'daily_stats.lost': 'A process that ended without a database took its figures for the dashboard’s charts along.',
  'database.deprecated': 'The database library calls `method` deprecated.',
  'database.migrated': 'A migration was applied.',
  'database.migration_awaited': 'Another process migrates; this one waits.',
  'database.pool': 'A message of the pool of database connections, in `message`.',
  'database.statement_isolated': 'A short `statement` is slow or waits for a lock, and runs apart from the others.',
  'database.statement_rejoined': 'A `statement` that was isolated is quick again.',
  'debug.rule':
    'With `LOG_LEVEL=debug`: a request was refused, or given less than it asked for, by `rule`, at `step`; `detail` is what was compared.',
  'debug.span':
    'With `LOG_LEVEL=debug` and no collector of traces: part of a request or of background work, its `kind` (`statement`, `internal`, `outbound`, `mail`, `background`), `name` and `ms`.',
  'embedded_postgres.claim_lost': 'Another service has taken DATA_DIR; this one ends.',
  'embedded_postgres.cluster_outside_closed_checkout':
    'The system user of PostgreSQL can’t enter the checkout, so the cluster is kept at `cluster`.',
  'embedded_postgres.ended_unexpectedly': 'The embedded PostgreSQL ended by itself; it is started again.',
  'embedded_postgres.left_over_replaced': 'A PostgreSQL of an earlier process that had ended was stopped.',
  'embedded_postgres.not_started': 'The embedded PostgreSQL could not be started again; that is tried again.',
  'embedded_postgres.started': 'The embedded PostgreSQL has started.',
  'embedded_postgres.started_again': 'The embedded PostgreSQL runs again after it had ended.',
  'exposure.listens_beyond_loopback': 'At the start: `HOST` lets other machines connect, while `BASE_URL` names this one.',
  'exposure.mailbox': 'At the start: `DEV_MAILBOX=on` shows every mail to whoever reaches the port.',
  'exposure.public_development': 'At the start: environments of kind `development` are reached under a public `BASE_URL`.',
  'exposure.trust_proxy': 'At the start: `TRUST_PROXY=on` believes every `X-Forwarded-For`.',
  'http.not_accepted': 'The system did not let the process take a connection, say for want of file descriptors.',
  'http.request': 'A request was answered; `aborted` when its client had gone before the answer was complete.',
  'introspection.inactive': 'Why (`reason`) a token was `{"active":false}`, which the answer itself must not tell (RFC 7662 2.2).',
  'issuer_keys.unusable': 'The keys of a trusted issuer can not be fetched or used, because of `reason`.',
  'listener.lost': 'The connection that hears of changes by other processes was lost; it is made anew, and caches are cleared.',
  'listener.unreachable': 'The connection that hears of changes by other processes can not be made yet.',
  'log_stream.failed': 'A log stream was not taken by its receiver, because of `reason`; it is tried again in `retry_seconds`.',
  'log_stream.lease_lost': 'Another process has taken the log stream over; what was sent may be sent again.',
  'log_stream.paused': 'A log stream has failed for 72 hours and is paused; enabled again it goes on where it stood.',
  'log_stream.recovered': 'A log stream is taken again after `failures`.',
  'log_stream.unsendable': 'Lines could not be sent for a reason of our own, such as a secret that does not open.',
  'loop.failed': 'One pass of the named `loop` failed; it is tried again after its pause.',
  'mail.captured': 'Without SMTP_URL on this machine a mail is only shown at `/dev/mailbox`.',
  'mail.delayed': 'The mail server did not take a mail; it is tried again in `retry_seconds`.',
  'mail.failed': 'A mail was given up: it can’t be sent, or not in time.',
  'mail.lease_lost': 'Another process has taken the mail over, and records its own outcome.',
  'mail.not_sent': 'A mail was not sent, because SMTP_URL is not set.',
  'mail.sent': 'The mail server took a mail.',
  'mail.template_unusable': 'A mail template of the environment does not fit its mail; the mail went out in the built-in text.',
  'page_text.unusable': 'A page text of the environment does not fit its page, which shows the built-in one.',
  'outbox.not_recorded': 'Results of the named `queue` could not be written; that is tried again until their lease ends.',
  'outbox.not_released': 'Claims of the named `queue` could not be given back; their lease ends by itself.',
  'outbox.slow_claim': 'Claiming from the named `queue` took longer than 50 ms.',
  'rate_limits.store': 'The shared store of rate limits (`RATE_LIMIT_STORE`) can not be asked, or answers again.',
  'readiness.database': '`/readyz` answers 503: the database does not answer.',
  'readiness.secret_key': '`/readyz` answers 503: no key in `SECRET_KEY` or `SECRET_KEY_PREVIOUS` opens the primary signing key.',
  'replica.unused': 'Look-ups go to the primary: the read replica is away or behind.',
  'replica.used': 'Look-ups go to the read replica.',
  'request.failed': 'A request met an unknown failure (500); `err` is the cause.',
  'request.unavailable': 'A request could not be served now (503), say because the database is away; `err` is the cause.',
  'request_traces.full': 'So many traces of refused requests (`dropped`) were dropped for want of room.',
  'request_traces.lost': 'A process that ended without a database took the traces of the last second along.',
  'requests.refused': 'So many requests (`count`) were answered with 503 since the last line because too many were waiting.',
  'secret_key.in_use': 'At the start: the key that seals, and those that open, by their ids.',
  'secret_key.missing': 'Values can not be opened: the key of `key_id` is in neither variable.',
  'secret_key.resealed': 'How many values were sealed anew with `SECRET_KEY`, and how many are left.',
  'secret_key.resealing': 'Values are being sealed anew with `SECRET_KEY`.',
  'secret_key.unused':
    'Nothing is sealed any more with the key of `key_id`; `may_go_at` says when it may be taken out of `SECRET_KEY_PREVIOUS`.',
  'secret_key.waiting': 'Nothing is sealed anew yet: other processes could not open it.',
  'processes.row_left': 'At the end of a process its report for the doctor stayed; it lapses by itself.',
  'secret_keys.holder_left': 'At the end of a process its note of the keys that it holds stayed; it lapses by itself.',
  'security_trail.full':
    'So many security events (`dropped`) have a line each and no row, because 1,000 rows were waiting for the database.',
  'security_trail.lost': 'A process that ended without a database took so many security events (`happenings`) along; their lines remain.',
  'service.no_administrator': 'At the start: the one-time link that makes the first administrator.',
  'service.ready': 'The service listens; `base_url` is its address.',
  'service.stopping': 'The service stops because of `signal`: it finishes what is under way.',
  'spans.refused':
    'The collector of traces (`OTEL_EXPORTER_OTLP_ENDPOINT`) takes no spans, because of `reason`; they are dropped. Once an outage.',
  'spans.taken': 'The collector of traces takes spans again after `spans.refused`.',
  'sso.refused': 'What went wrong at a provider (`detail`) beside the code that the person saw (`outcome`).',
  'statistics.renewed': 'Tables that had grown were analyzed, so that the planner knows them.',
  'stop.failed': 'Stopping failed; the process ends with 1.',
  'webhook.disabled': 'The service disabled a webhook, because of `reason`.',
  'webhook.lease_lost': 'Another process has taken the delivery over, and records its own outcome.',
  'webhook.undeliverable': 'A delivery failed for a reason of our own, such as a secret that does not open.',
  'worker.died': 'A worker (`WEB_CONCURRENCY`) ended by itself; another starts after `pause_ms`.',
} as const satisfies Record<string, string>;

/** The name of a line that is no security event. */
export type LogEvent = keyof typeof logEvents;

/** Every name that `event` may have in the log. */
export type LineEvent = LogEvent | SecurityEventName;
