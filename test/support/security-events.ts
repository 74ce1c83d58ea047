import { flushSecurityTrail } from '../../src/domain/audit/security-trail.js';
import type { SecurityEventName } from '../../src/lib/security-events.js';
import type { AuditLogRow } from '../../src/db/tables/audit_logs.js';
import type { TestService } from './service.js';

export type EventLine = Record<string, unknown> & { readonly event: string };

/** The lines of the log that bear an `event`, oldest first; of one event if told. */
export function eventLines(service: Pick<TestService, 'log'>, event?: SecurityEventName): EventLine[] {
  const lines = service.log.map((line) => JSON.parse(line) as EventLine).filter((line) => line.event !== undefined);
  return event === undefined ? lines : lines.filter((line) => line.event === event);
}

/** The rows of the audit log of one action, oldest first; what waited to be written is written before. */
export async function auditRows(service: Pick<TestService, 'deps'>, action: string): Promise<AuditLogRow[]> {
  await flushSecurityTrail(service.deps);
  return (await service.deps.db.knex('audit_logs').where({ action }).orderBy(['occurred_at', 'id'])) as AuditLogRow[];
}

/** The newest of them, which there must be. */
export async function lastRow(service: Pick<TestService, 'deps'>, action: string): Promise<AuditLogRow> {
  const row = (await auditRows(service, action)).at(-1);
  if (!row) throw new Error(`no ${action} in the audit log`);
  return row;
}

/** What a browser of these tests calls itself, and the headers that name its request. */
export const marks = { 'user-agent': 'Marked/1.0', 'x-request-id': 'marked-request' };

/** What the row and the line of a request with `marks` say of where it came from. */
export const origin = { ip_address: '127.0.0.1', user_agent: 'Marked/1.0', request_id: 'marked-request' };
