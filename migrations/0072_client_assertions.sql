-- Client assertions that were used (RFC 7523 3, jti): each is good for one request, and forgotten once it has expired.
create table client_assertions (
  environment_id uuid not null,
  client_id text not null,
  jti_digest bytea not null,
  expires_at timestamptz not null,
  primary key (environment_id, client_id, jti_digest),
  foreign key (environment_id, client_id) references clients (environment_id, id) on delete cascade
);
create index client_assertions_expires_at on client_assertions (expires_at);
