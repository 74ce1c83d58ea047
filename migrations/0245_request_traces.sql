-- phase: expand
-- locks: authorization_codes access exclusive; environments share row exclusive
-- Why requests on the way from authorization to tokens were refused, under their request ids, for a week. Several requests may bear one id: callers choose it.
create table request_traces (
  environment_id uuid not null references environments (id) on delete cascade,
  id text not null,
  occurred_at timestamptz not null,
  -- The client that was meant; it may be gone meanwhile. Null where none is known.
  client_id text,
  step text not null,
  outcome text not null check (outcome in ('narrowed', 'refused')),
  rule text not null,
  -- The error code that was answered; null for what went on.
  error text,
  steps jsonb not null,
  -- Those of all steps.
  request_ids text[] not null,
  expires_at timestamptz not null,
  primary key (environment_id, id)
);
create index request_traces_occurred_at on request_traces (environment_id, occurred_at, id);
create index request_traces_client on request_traces (environment_id, client_id, occurred_at);
create index request_traces_rule on request_traces (environment_id, rule, occurred_at);
create index request_traces_request_ids on request_traces using gin (request_ids);
create index request_traces_expires_at on request_traces (expires_at);

-- The request that issued the code: a refusal at the token endpoint is told together with it. Null for codes of earlier releases.
alter table authorization_codes add column request_id text;
