-- Streams that the service keeps at the transmitters of providers, for the signals of connections (Shared Signals Framework 1.0 8.1.1).
-- phase: expand
-- locks: environments share row exclusive
create table transmitter_streams (
  environment_id uuid not null references environments (id) on delete cascade,
  -- No foreign key: the stream of a connection that has gone is deleted at its transmitter first.
  connection_id uuid not null,
  stream_id text not null,
  -- Whose it is, and where its tokens are taken here: with another issuer, address or token it is made anew.
  issuer text not null,
  receiver_url text not null,
  -- `aud` of its tokens, as the transmitter told.
  audience text[] not null,
  -- Where it is polled; null for one that is pushed.
  poll_url text,
  configuration_endpoint text not null,
  -- What it was made with, and is deleted with: sealed for `connections/<connection id>`.
  signals_token_sealed bytea not null,
  -- What the verification event has to say, and when it was asked for.
  state text,
  requested_at timestamptz,
  verified_at timestamptz,
  -- Since when it should be gone.
  unwanted_at timestamptz,
  created_at timestamptz not null,
  primary key (environment_id, connection_id)
);
