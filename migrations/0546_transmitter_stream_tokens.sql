-- When the access token with which a stream is kept ends, where the service gets it by client credentials.
-- phase: expand
-- locks: transmitter_streams access exclusive
alter table transmitter_streams
  -- Null: the token was set, and is good until it is another one.
  add column token_expires_at timestamptz;
