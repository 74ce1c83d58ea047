-- Rate limits count in fixed windows: one number, until expires_at. The moments and amounts are those of the release before, whose keys are others.
-- phase: expand
-- locks: rate_limits access exclusive
alter table rate_limits add column hits integer not null default 0, alter column taken_at set default '{}', alter column amounts set default '{}';
