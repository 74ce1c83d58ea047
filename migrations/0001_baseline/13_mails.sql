-- Mails that wait, and what an environment says and shows in its own words and images.

-- Mail waits here in sealed form (it carries one-time codes) until the mail loop has sent it.
create table mails (
  environment_id uuid not null references environments (id) on delete cascade,
  id uuid not null,
  recipient text not null,
  sealed bytea not null,
  status text not null default 'pending' check (status in ('pending', 'sent', 'failed')),
  attempt_count integer not null default 0,
  next_attempt_at timestamptz,
  lease_id uuid,
  leased_until timestamptz,
  last_error text,
  expires_at timestamptz,
  sent_at timestamptz,
  -- A mail that would come too late (its code has expired) isn't sent. One that is `discarded` goes to nobody: it makes the
  -- request of an unknown address do what that of a known one does.
  send_before timestamptz,
  discarded boolean not null default false,
  created_at timestamptz not null,
  primary key (environment_id, id)
);

-- The words of mails where an environment has its own: one template for each mail and language, and one for all other languages (`locale` null).
create table mail_templates (
  environment_id uuid not null references environments (id) on delete cascade,
  id uuid not null,
  name text not null,
  locale text,
  subject text not null,
  text text not null,
  -- Null: it follows from the text.
  html text,
  version integer not null default 1,
  created_at timestamptz not null,
  updated_at timestamptz not null,
  primary key (environment_id, id)
);

-- Texts of account pages where an environment has its own: one for each key of the catalogue and language.
create table page_texts (
  environment_id uuid not null references environments (id) on delete cascade,
  id uuid not null,
  key text not null,
  locale text not null,
  text text not null,
  version integer not null default 1,
  created_at timestamptz not null,
  updated_at timestamptz not null,
  primary key (environment_id, id)
);

-- Images for branding: what was uploaded, under the digest of what is shown.
create table logos (
  environment_id uuid not null references environments (id) on delete cascade,
  -- SHA-256 of `image`, in hexadecimal.
  id text not null check (id ~ '^[0-9a-f]{64}$'),
  content_type text not null check (content_type in ('image/png', 'image/jpeg', 'image/webp')),
  size integer not null,
  image bytea not null,
  created_at timestamptz not null,
  -- When it goes; null while a branding names it.
  expires_at timestamptz,
  primary key (environment_id, id)
);
-- Images are compressed already.
alter table logos alter column image set storage external;

create index mails_due on mails (next_attempt_at, id) where next_attempt_at is not null;
create index mails_created_at on mails (environment_id, created_at desc, id desc);
create index mails_expires_at on mails (expires_at) where expires_at is not null;
-- The queue claims for each environment by itself, so that a backlog of one doesn't push the others out, and finds those that wait by jumping from one to the next.
create index mails_by_destination on mails (environment_id, next_attempt_at, id) where next_attempt_at is not null;

create unique index mail_templates_key on mail_templates (environment_id, name, locale) nulls not distinct;

create unique index page_texts_key on page_texts (environment_id, key, locale);

create index logos_created_at on logos (environment_id, created_at, id);

create trigger page_texts_changed after insert or update or delete on page_texts for each row execute function note_change();
