-- Stored replies held what is shown once, sealed. They do no longer, and say which permissions the request took; older ones go.
delete from idempotency_keys;
