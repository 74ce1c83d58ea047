-- Whether a new password that is known from a data breach is refused.
alter table environments add column breached_passwords text not null default 'refuse' check (breached_passwords in ('refuse', 'off'));
