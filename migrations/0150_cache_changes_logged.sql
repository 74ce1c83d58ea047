-- What was committed just before a crash of the database is told to nobody by NOTIFY, and processes that outlive the crash still hold it in memory: the row
-- must be there for them afterwards, and on a standby that takes over. There are few such rows: one for each change of what is remembered.
alter table cache_changes set logged;
