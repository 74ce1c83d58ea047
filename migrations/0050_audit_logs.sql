-- What was done through the Management API and the dashboard, and what was refused for want of permission. Append-only.
create table audit_logs (
  environment_id uuid not null references environments (id) on delete cascade,
  id uuid not null,
  occurred_at timestamptz not null,
  action text not null,
  outcome text not null check (outcome in ('success', 'denied')),
  reason text,
  actor_kind text not null check (actor_kind in ('user', 'client', 'system')),
  actor_id text,
  actor_display text,
  actor_permissions text[] not null default '{}',
  target_type text not null,
  target_id text,
  target_display text,
  -- {field: [old, new]}; secrets are "[redacted]".
  changes jsonb not null default '{}',
  ip_address text,
  user_agent text,
  request_id text,
  idempotency_key_digest bytea,
  primary key (environment_id, id)
);
create index audit_logs_occurred_at on audit_logs (environment_id, occurred_at, id);
create index audit_logs_actor on audit_logs (environment_id, actor_id, occurred_at, id);
create index audit_logs_target on audit_logs (environment_id, target_id, occurred_at, id);
create index audit_logs_action on audit_logs (environment_id, action, occurred_at, id);
create index audit_logs_expiry on audit_logs (occurred_at);

-- The replies of writes that bore an Idempotency-Key, sealed because they may hold a secret that is shown once.
create table idempotency_keys (
  environment_id uuid not null references environments (id) on delete cascade,
  digest bytea not null,
  fingerprint bytea not null,
  reply_sealed bytea not null,
  created_at timestamptz not null,
  primary key (environment_id, digest)
);
create index idempotency_keys_created_at on idempotency_keys (created_at);
