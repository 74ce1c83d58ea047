import { run, type Scope } from '../scope.js';

/** Notes that somebody signed in to the client in the session, where that is still there. */
export async function noteClientOfSession(
  scope: Scope,
  { session_id, client_id, now }: { readonly session_id: string; readonly client_id: string; readonly now: Date },
): Promise<void> {
  const text = `
    insert into session_clients (environment_id, session_id, client_id, created_at)
    select s.environment_id, s.id, c.id, $4 from sessions s join clients c on c.environment_id = s.environment_id and c.id = $3
    where s.environment_id = $1 and s.id = $2
    on conflict do nothing`;
  await run(scope, { name: 'session_clients.note', text }, [session_id, client_id, now]);
}
