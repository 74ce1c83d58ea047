-- Tables that grow with people and traffic are vacuumed and analyzed after a twentieth of their rows has changed, where PostgreSQL waits for a fifth: of ten million
-- tokens those are two million dead ones, and statistics that are a million sign-ins old. Nobody has to set or run anything by hand.
do $$
declare
  name text;
begin
  foreach name in array array[
    'access_tokens', 'audit_logs', 'authenticators', 'authorization_codes', 'backchannel_logouts', 'browser_lockouts', 'client_assertions',
    'consents', 'device_codes', 'devices', 'dpop_proofs', 'events', 'idempotency_keys', 'identities', 'mails', 'passcodes', 'pushed_requests',
    'refresh_tokens', 'registration_tokens', 'request_traces', 'revocations', 'session_clients', 'sessions', 'sign_ins', 'spent_challenges',
    'sso_flows', 'troubled_deliveries', 'user_code_guesses', 'user_roles', 'users', 'webhook_delivery_attempts', 'workload_refusals']
  loop
    execute format(
      'alter table %I set (autovacuum_vacuum_scale_factor = 0.05, autovacuum_vacuum_insert_scale_factor = 0.05, autovacuum_analyze_scale_factor = 0.05)', name);
  end loop;
end $$;

-- These two are vacuumed earlier than that already.
alter table webhook_deliveries set (autovacuum_vacuum_insert_scale_factor = 0.05, autovacuum_analyze_scale_factor = 0.05);
alter table log_stream_entries set (autovacuum_vacuum_insert_scale_factor = 0.05, autovacuum_analyze_scale_factor = 0.05);
