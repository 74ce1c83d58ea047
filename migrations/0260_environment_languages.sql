-- phase: expand
-- locks: environments access exclusive
-- The language of pages for people of whom nothing says which one they speak: a BCP 47 tag.
alter table environments add column default_locale text not null default 'en';
