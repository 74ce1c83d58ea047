-- What the daily check of a custom domain saw of its certificate: why browsers refuse it, and until when it lasts. Both null: not seen, or not asked for.
-- phase: expand
-- locks: custom_domains access exclusive
alter table custom_domains add column certificate_problem text, add column certificate_expires_at timestamptz;
