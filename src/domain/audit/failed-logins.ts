import { countAuditLogs, type CountedAuditLogRow } from '../../db/tables/audit_logs.js';
import { createContext, transaction, type Context, type Deps } from '../context.js';
import { findEnvironmentById } from '../environments/environments.js';
import { emitAll } from '../events/emit.js';

const isFailedLogin = ({ event }: CountedAuditLogRow) => event === 'login.failed';

function eventData(row: CountedAuditLogRow) {
  const { target_type, target_id, target_display, reason, ip_address, user_agent, count, occurred_at } = row;
  const isUser = target_type === 'user';
  return {
    user_id: isUser ? target_id : null,
    email: isUser ? target_display : null,
    connection_id: isUser ? null : target_id,
    reason,
    ip_address,
    user_agent,
    count,
    failed_at: occurred_at.toISOString(),
  };
}

/** The environments of refused sign-ins. */
export async function environmentsOfFailedLogins(deps: Deps, rows: readonly CountedAuditLogRow[]): Promise<Context[]> {
  const ids = new Set(rows.filter(isFailedLogin).map(({ environment_id }) => environment_id));
  const environments = await Promise.all([...ids].map((id) => findEnvironmentById(deps, id)));
  return environments.filter((one) => one !== null).map((one) => createContext(deps, one));
}

/** Writes an environment's collected rows, and `login.failed` of each that begins one: what only raises a count is told no more (attack 33.1165). */
export const writeWithEvents = (ctx: Context, rows: readonly CountedAuditLogRow[]): Promise<void> =>
  transaction(ctx, async (tx) => {
    const added = await countAuditLogs(tx.scope.knex, rows);
    await emitAll(tx, 'login.failed', rows.filter((row) => isFailedLogin(row) && added.has(row.id)).map(eventData)); // prettier-ignore
  });
