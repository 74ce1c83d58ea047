-- phase: expand
-- locks: audit_logs access exclusive, reads its rows
-- What a row of the audit log is as a security event (src/lib/security-events.ts); null where it is none. Rows of the release before have a null too: there
-- security_event says that the action is the name.
alter table audit_logs add column event text;

-- The list of security events, by time and by name. The first also answers what audit_logs_security_event did.
create index audit_logs_security_events on audit_logs (environment_id, occurred_at, id) where security_event or event is not null;
create index audit_logs_event on audit_logs (environment_id, (coalesce(event, action)), occurred_at, id) where security_event or event is not null;
drop index audit_logs_security_event;
