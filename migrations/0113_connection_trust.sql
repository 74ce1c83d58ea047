-- What a provider's word is worth. `generation` counts the changes of whatever decides who somebody is who comes through the connection;
-- a linked account counts for the generation in which its person proved the local account. The count only rises, whoever writes the row:
-- moving a connection there and back leaves its links void.
alter table connections add column generation integer not null default 1;
alter table connections add column required boolean not null default false;
-- Connections of today were set up by people who could do all this: they keep what they have.
alter table connections add column trusted boolean not null default true;
alter table connections alter column trusted set default false;
alter table connections alter column account_linking set default 'ask';
alter table connections add constraint connections_required_domains check (not required or cardinality(domains) > 0);

alter table identities add column generation integer not null default 1;

create function raise_connection_generation() returns trigger language plpgsql as $$
begin
  if (old.strategy, old.issuer, old.authorization_endpoint, old.token_endpoint, old.userinfo_endpoint, old.jwks_uri,
      old.provider_client_id, old.claim_mapping)
     is distinct from
     (new.strategy, new.issuer, new.authorization_endpoint, new.token_endpoint, new.userinfo_endpoint, new.jwks_uri,
      new.provider_client_id, new.claim_mapping) then
    new.generation := old.generation + 1;
  else
    new.generation := old.generation;
  end if;
  return new;
end $$;
create trigger connections_generation before update on connections for each row execute function raise_connection_generation();

-- The one definition of a link that signs somebody in: proven in the connection's present generation.
create function is_proven(identity identities) returns boolean language sql stable as $$
  select exists (
    select from connections c
    where c.environment_id = identity.environment_id and c.id = identity.connection_id and c.generation = identity.generation
  )
$$;
