import type { AuditLogRow } from '../db/tables/audit_logs.js';
import type { Resource } from './resource.js';

/** Per attribute the old and the new value. */
export type Changes = AuditLogRow['changes'];

/** What a write was aimed at, and what became of it. */
export type AuditEntry = {
  readonly action: string;
  /** The resource, or the group of an endpoint. */
  readonly resource: Pick<Resource, 'type'> & Partial<Pick<Resource, 'reach' | 'relationships'>>;
  readonly target_id: string | null;
  readonly target_display?: string | null;
  /** Whose record it is. */
  readonly organization_id?: string | null;
  readonly changes?: Changes;
};
