-- The audit log also holds what is done without a permission: sign-ins, refused ones, consent, recovery, codes used twice (src/domain/audit/security-events.ts).
-- Rows that are there satisfy the new checks as they did the old ones: they aren't read again.
alter table audit_logs drop constraint audit_logs_outcome_check;
alter table audit_logs add constraint audit_logs_outcome_check check (outcome in ('success', 'denied', 'failure')) not valid;
alter table audit_logs drop constraint audit_logs_actor_kind_check;
alter table audit_logs add constraint audit_logs_actor_kind_check check (actor_kind in ('user', 'client', 'system', 'anonymous')) not valid;

-- How often it happened in this minute: repeated failures of one kind, from one address, at one target share a row.
alter table audit_logs add column count integer not null default 1;

-- Security events are frequent and kept for a shorter time than changes.
alter table audit_logs add column security_event boolean not null default false;
create index audit_logs_security_event on audit_logs (environment_id, occurred_at, id) where security_event;
create index audit_logs_change on audit_logs (environment_id, occurred_at, id) where not security_event;
create index audit_logs_security_expiry on audit_logs (occurred_at) where security_event;
