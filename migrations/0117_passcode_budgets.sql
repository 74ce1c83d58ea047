-- Wrong six-digit codes of an environment in the present hour, whoever enters them for whatever address: a million codes can't be tried
-- by asking for one code after the other. A guess is counted before it is looked at, and given back when it was right.
create table passcode_budgets (
  environment_id uuid primary key references environments (id) on delete cascade,
  window_started_at timestamptz not null,
  guess_count integer not null,
  -- When operators were told that half of it is used; once a window.
  half_noted_at timestamptz
);
