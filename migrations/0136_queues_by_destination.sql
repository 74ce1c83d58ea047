-- Mail waits by environment, logout tokens by client: the queue claims for each destination by itself, so that a backlog of one doesn't push
-- the others out, and finds those that wait by jumping from one to the next.
create index mails_by_destination on mails (environment_id, next_attempt_at, id) where next_attempt_at is not null;
create index backchannel_logouts_by_destination on backchannel_logouts (environment_id, client_id, next_attempt_at, id)
  where next_attempt_at is not null;
