-- What people allowed a client at APIs is what it reaches without their being asked again (specification 13.2.25): few consents are of more than signing in.
-- phase: expand
-- locks: consents share, reads its rows
create index consents_elsewhere on consents (environment_id, client_id) where resources <> '{}';
