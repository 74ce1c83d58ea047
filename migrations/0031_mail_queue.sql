-- A mail that would come too late (its code has expired) isn't sent. One that is `discarded` goes to nobody: it makes the
-- request of an unknown address do what that of a known one does.
alter table mails add column send_before timestamptz;
alter table mails add column discarded boolean not null default false;
create index mails_expires_at on mails (expires_at) where expires_at is not null;
