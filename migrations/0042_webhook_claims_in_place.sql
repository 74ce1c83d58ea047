-- A claim changes no indexed column. With room for the new version on the row's own page it touches no index either; at 85 % six
-- claims of seven found no room (rows are about a kilobyte) and wrote an entry into each index.
alter table webhook_deliveries set (fillfactor = 50);
