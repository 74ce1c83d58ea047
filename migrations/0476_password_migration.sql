-- Who is asked whether the first password of people is right who came from another system without hashes; null: nobody.
-- phase: expand
-- locks: environments access exclusive
alter table environments add column password_migration_url text;
