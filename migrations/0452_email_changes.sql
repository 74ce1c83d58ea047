-- A passcode can prove the address that somebody is about to have instead of their own.
-- phase: expand
-- locks: passcodes access exclusive, reads its rows
alter table passcodes drop constraint passcodes_purpose_check,
  add constraint passcodes_purpose_check check (purpose in ('registration', 'password_reset', 'sign_in', 'second_step', 'email_change'));
