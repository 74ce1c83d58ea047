-- How often something happened on a day (UTC): what the plots of the dashboard are drawn from. Processes count in memory and add up here.
create table daily_stats (
  environment_id uuid not null references environments (id) on delete cascade,
  day date not null,
  name text not null,
  label text not null,
  count bigint not null,
  primary key (environment_id, day, name, label)
);
