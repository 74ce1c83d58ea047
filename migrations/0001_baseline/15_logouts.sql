-- Logout tokens on their way to clients.

-- Logout tokens to send (OIDC Back-Channel Logout 1.0): written in the transaction that ends the session, sent by a loop.
-- No link to session or client, which may be gone when their turn comes.
create table backchannel_logouts (
  environment_id uuid not null references environments (id) on delete cascade,
  id uuid not null,
  client_id text not null,
  session_id uuid not null,
  user_id uuid not null,
  logout_uri text not null,
  issuer text not null,
  status text not null default 'pending' check (status in ('pending', 'delivered', 'failed')),
  attempt_count integer not null default 0,
  next_attempt_at timestamptz,
  lease_id uuid,
  leased_until timestamptz,
  last_response_status integer,
  last_error text,
  completed_at timestamptz,
  created_at timestamptz not null,
  primary key (environment_id, id)
);

create index backchannel_logouts_due on backchannel_logouts (next_attempt_at, id) where next_attempt_at is not null;
create index backchannel_logouts_completed_at on backchannel_logouts (completed_at) where completed_at is not null;
-- As mails_by_destination, by client.
create index backchannel_logouts_by_destination on backchannel_logouts (environment_id, client_id, next_attempt_at, id)
  where next_attempt_at is not null;
