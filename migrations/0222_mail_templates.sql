-- phase: expand
-- The words of mails where an environment has its own: one template for each mail and language, and one for all other languages (`locale` null).
-- locks: environments share row exclusive
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
create unique index mail_templates_key on mail_templates (environment_id, name, locale) nulls not distinct;
