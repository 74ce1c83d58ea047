-- phase: expand
-- Texts of account pages where an environment has its own: one for each key of the catalogue and language.
-- locks: environments share row exclusive
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
create unique index page_texts_key on page_texts (environment_id, key, locale);
create trigger page_texts_changed after insert or update or delete on page_texts for each row execute function note_change();
