-- What a session rests on: [{method, authenticator_id, at}]. Empty for sessions of before, which are of the lowest class, whatever a provider said.
alter table sessions add column proofs jsonb not null default '[]';
update sessions set acr = null where acr is not null;

alter table users
  add column two_step_enabled boolean not null default false,
  -- The password came by mail, and no other factor was used since: a code to the same mailbox would be the same factor again.
  add column password_set_by_mail boolean not null default false,
  -- When the policy first asked the user for a factor; the time to enrol one runs from then.
  add column factor_required_since timestamptz;
