-- Business customers. An organization is a customer of whoever runs the environment: people are its members, by themselves or through its provider or directory,
-- and its roles count for tokens that are issued for it.
-- phase: expand
-- locks: clients share row exclusive; environments share row exclusive; roles access exclusive, reads its rows; users share row exclusive
alter table roles add column kind text not null default 'environment' check (kind in ('environment', 'organization'));

create table organizations (
  environment_id uuid not null references environments (id) on delete cascade,
  id uuid not null,
  -- A slug: what applications and people write.
  name text not null,
  display_name text not null,
  external_id text,
  status text not null default 'enabled' check (status in ('enabled', 'disabled')),
  -- Who becomes a member by signing in: nobody, who comes through a connection of it, or also whoever has a verified address of its domains.
  auto_membership text not null default 'connection' check (auto_membership in ('none', 'connection', 'domain')),
  -- Who has to sign in through a connection of it.
  require_sso text not null default 'nobody' check (require_sso in ('nobody', 'domains', 'everyone')),
  -- As of a client (07_clients.sql): logo_url, dark_logo_url, primary_color and the like.
  branding jsonb not null default '{}',
  required_acr text check (required_acr in ('2', 'phr')),
  max_authentication_age integer,
  metadata jsonb not null default '{}',
  version integer not null default 1,
  created_at timestamptz not null,
  updated_at timestamptz not null,
  primary key (environment_id, id),
  unique (environment_id, name),
  unique (environment_id, external_id)
);

-- What a new member gets who isn't told otherwise.
create table organization_default_roles (
  environment_id uuid not null,
  organization_id uuid not null,
  role_id uuid not null,
  primary key (environment_id, organization_id, role_id),
  foreign key (environment_id, organization_id) references organizations (environment_id, id) on delete cascade,
  foreign key (environment_id, role_id) references roles (environment_id, id) on delete cascade
);

create table organization_memberships (
  environment_id uuid not null,
  id uuid not null,
  organization_id uuid not null,
  user_id uuid not null,
  status text not null default 'active' check (status in ('active', 'suspended')),
  -- What made somebody a member.
  source text not null check (source in ('manual', 'invitation', 'domain', 'connection', 'directory')),
  version integer not null default 1,
  created_at timestamptz not null,
  updated_at timestamptz not null,
  primary key (environment_id, id),
  unique (environment_id, organization_id, user_id),
  foreign key (environment_id, organization_id) references organizations (environment_id, id) on delete cascade,
  foreign key (environment_id, user_id) references users (environment_id, id) on delete cascade
);

-- The roles that a member has directly; those of groups come beside (0462).
create table organization_membership_roles (
  environment_id uuid not null,
  membership_id uuid not null,
  role_id uuid not null,
  primary key (environment_id, membership_id, role_id),
  foreign key (environment_id, membership_id) references organization_memberships (environment_id, id) on delete cascade,
  foreign key (environment_id, role_id) references roles (environment_id, id) on delete cascade
);

-- Whoever was removed does not come back by signing in: an administrator, an invitation or the directory has to say so.
create table removed_members (
  environment_id uuid not null,
  organization_id uuid not null,
  user_id uuid not null,
  removed_at timestamptz not null,
  primary key (environment_id, organization_id, user_id),
  foreign key (environment_id, organization_id) references organizations (environment_id, id) on delete cascade,
  foreign key (environment_id, user_id) references users (environment_id, id) on delete cascade
);

-- The mail has the token, the row its digest. Sending it again replaces the token.
create table organization_invitations (
  environment_id uuid not null,
  id uuid not null,
  organization_id uuid not null,
  email text not null,
  email_key text not null,
  token_digest bytea not null,
  -- Where it leads afterwards.
  client_id text,
  -- Who invites: a user or a client, as the audit log names them; the name is what the mail says.
  inviter_id uuid,
  inviter_name text,
  -- When the mail was last asked for: what is between it and the end is how long the link is good, also when it is sent again.
  sent_at timestamptz not null,
  expires_at timestamptz not null,
  accepted_at timestamptz,
  revoked_at timestamptz,
  version integer not null default 1,
  created_at timestamptz not null,
  updated_at timestamptz not null,
  primary key (environment_id, id),
  foreign key (environment_id, organization_id) references organizations (environment_id, id) on delete cascade,
  foreign key (environment_id, client_id) references clients (environment_id, id) on delete set null (client_id),
  foreign key (environment_id, inviter_id) references users (environment_id, id) on delete set null (inviter_id)
);

create table organization_invitation_roles (
  environment_id uuid not null,
  invitation_id uuid not null,
  role_id uuid not null,
  primary key (environment_id, invitation_id, role_id),
  foreign key (environment_id, invitation_id) references organization_invitations (environment_id, id) on delete cascade,
  foreign key (environment_id, role_id) references roles (environment_id, id) on delete cascade
);

create index organizations_created_at on organizations (environment_id, created_at, id);
create index organizations_updated_at on organizations (environment_id, updated_at, id);
create index organizations_search on organizations using gin ((lower(' ' || display_name || ' ' || name || ' ' || coalesce(external_id, '') || ' ' || id::text)) gin_trgm_ops);
create index organization_default_roles_role on organization_default_roles (environment_id, role_id);
create index organization_memberships_user on organization_memberships (environment_id, user_id);
create index organization_memberships_created_at on organization_memberships (environment_id, created_at, id);
create index organization_memberships_updated_at on organization_memberships (environment_id, updated_at, id);
create index organization_memberships_organization on organization_memberships (environment_id, organization_id, created_at, id);
create index organization_membership_roles_role on organization_membership_roles (environment_id, role_id);
create index removed_members_user on removed_members (environment_id, user_id);
create unique index organization_invitations_token on organization_invitations (environment_id, token_digest);
create unique index organization_invitations_open on organization_invitations (environment_id, organization_id, email_key)
  where accepted_at is null and revoked_at is null;
create index organization_invitations_email on organization_invitations (environment_id, email_key);
create index organization_invitations_created_at on organization_invitations (environment_id, created_at, id);
create index organization_invitations_updated_at on organization_invitations (environment_id, updated_at, id);
create index organization_invitations_client on organization_invitations (environment_id, client_id) where client_id is not null;
create index organization_invitations_inviter on organization_invitations (environment_id, inviter_id) where inviter_id is not null;
create index organization_invitation_roles_role on organization_invitation_roles (environment_id, role_id);

create trigger organizations_changed after insert or update or delete on organizations for each row execute function note_change();
