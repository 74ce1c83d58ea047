import { insert, type Scope } from '../scope.js';

/** A row of `audit_logs`. */
export type AuditLogRow = {
  environment_id: string;
  id: string;
  occurred_at: Date;
  action: string;
  outcome: 'success' | 'denied';
  reason: string | null;
  actor_kind: 'user' | 'client' | 'system';
  actor_id: string | null;
  actor_display: string | null;
  actor_permissions: string[];
  target_type: string;
  target_id: string | null;
  target_display: string | null;
  changes: Record<string, [unknown, unknown]>;
  ip_address: string | null;
  user_agent: string | null;
  request_id: string | null;
  idempotency_key_digest: Buffer | null;
};

/** Appends an entry; there is no way to change or remove one but its age. */
export async function insertAuditLog(scope: Scope, row: Omit<AuditLogRow, 'environment_id'>): Promise<void> {
  await insert<AuditLogRow>(scope, 'audit_logs', { ...row, changes: JSON.stringify(row.changes) as never });
}
