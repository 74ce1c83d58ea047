import { run, type Scope } from '../scope.js';

/** An account at a connection, or one of its sessions there, or both. */
export type ProviderSubject = { readonly connection_id: string; readonly subject: string | null; readonly sid: string | null };

const most = 1000;

const matching = (subject: string, sid: string) =>
  `($3::text is null or ${subject} = $3) and ($4::text is null or ${sid} = $4) and signed_in_at <= $5`;

/**
 * The sessions that began through the account by then, the latest first, at most a thousand: also those that have ended or gone, as long as something granted
 * in them may be alive.
 */
export async function listSessionsThrough(
  scope: Scope,
  { connection_id, subject, sid }: ProviderSubject,
  before: Date,
): Promise<{ id: string; user_id: string }[]> {
  const text = `
    select id, user_id from (
      select id, user_id, signed_in_at from sessions
        where environment_id = $1 and provider_connection_id = $2::uuid and ${matching('provider_subject', 'provider_sid')}
      union all
      select session_id, user_id, signed_in_at from provider_sessions
        where environment_id = $1 and connection_id = $2::uuid and ${matching('subject', 'sid')}
    ) found where $3::text is not null or $4::text is not null
    order by signed_in_at desc limit ${most}`;
  return run(scope, { name: 'provider_sessions.through', text }, [connection_id, subject, sid, before]);
}
