import { isDeepStrictEqual } from 'node:util';
import { Refusal } from '../domain/refusal.js';
import { afterCommit } from '../domain/context.js';
import type { SecurityEventReason } from '../lib/security-event.js';
import { isSecurityEvent } from '../lib/security-events.js';
import { idOfMinute, logSecurityEvent, securityEventRow } from '../domain/audit/security-trail.js';
import { countAuditLog, insertAuditLogs } from '../db/tables/audit_logs.js';
import { ApiError } from '../errors.js';
import { uuidv7 } from '../lib/random.js';
import type { AuditEntry, Changes } from './audit-entry.js';
import type { Call } from './call.js';
import type { Resource } from './resource.js';
import { securityEventsOf } from './write-security-events.js';

export const operationNames = {
  read: () => 'read',
  create: (resource: Resource) => resource.create?.audit ?? 'created',
  update: () => 'updated',
  remove: (resource: Resource) => resource.remove?.audit ?? 'deleted',
  act: (resource: Resource, verb: string) => resource.actions?.[verb]?.audit ?? verb,
} as const;

const redacted = '[redacted]';
const quiet = new Set(['updated_at', 'created_at']);

/**
 * What changed between two states of a record. Attributes that were sent but aren't shown (passwords, provider secrets) appear
 * without their values.
 */
export function changesBetween(
  before: Readonly<Record<string, unknown>>,
  after: Readonly<Record<string, unknown>>,
  sent: Iterable<string> = [],
): Changes {
  const changes: Changes = {};
  for (const name of new Set([...Object.keys(before), ...Object.keys(after)])) {
    const [old, now] = [before[name] ?? null, after[name] ?? null];
    if (!quiet.has(name) && !isDeepStrictEqual(old, now)) changes[name] = [old, now];
  }
  for (const name of sent) if (!Object.hasOwn(after, name)) changes[name] = [redacted, redacted];
  return changes;
}

const rowOf = (call: Call, entry: AuditEntry, outcome: 'success' | 'denied', reason: string | null, occurred_at: Date) => ({
  occurred_at,
  action: `${entry.resource.type}.${entry.action}`,
  outcome,
  reason,
  actor_kind: call.actor.actor_kind,
  actor_id: call.actor.actor_id,
  actor_display: call.actor.display,
  actor_permissions: [...call.actor.permissions].sort(),
  target_type: entry.resource.type,
  target_id: entry.target_id,
  target_display: entry.target_display ?? null,
  changes: entry.changes ?? {},
  ip_address: call.ip_address,
  user_agent: call.user_agent?.slice(0, 512) ?? null,
  request_id: call.request_id,
  organization_id: entry.organization_id ?? call.actor.organization_id ?? null,
});

/** What an event's line in the log says of the call. */
const detailsOf = (
  { actor, ip_address, user_agent, request_id }: Call,
  { resource, target_id }: AuditEntry,
  reason: SecurityEventReason | null,
) => ({ actor, target: { target_type: resource.type, target_id }, origin: { ip_address, user_agent, request_id }, reason });

/** Appends the entry of a write, and the security events that it is; `call` is that of its transaction, so that both are kept or neither. */
export const recordWrite = (call: Call, entry: AuditEntry): Promise<void> => recordWrites(call, [entry]);

export async function recordWrites(call: Call, entries: readonly AuditEntry[]): Promise<void> {
  const written = entries.map((entry) => writtenOf(call, entry));
  await insertAuditLogs(
    call.ctx.scope,
    written.flatMap(({ rows }) => rows),
  );
  afterCommit(call.ctx, () => written.forEach(({ log }) => log()));
}

/** The rows of a write, and what the log says of it. */
function writtenOf(call: Call, entry: AuditEntry) {
  const occurred_at = call.ctx.clock.now();
  const row = rowOf(call, entry, 'success', null, occurred_at);
  const idempotency_key_digest = call.idempotency_key_digest ?? null;
  const event = isSecurityEvent(row.action) ? row.action : null;
  const details = detailsOf(call, entry, null);
  const target = { ...details.target, display: row.target_display };
  const events = securityEventsOf(entry).map(({ name, detail }) => ({ name, details: { ...details, target, detail } }));
  return {
    rows: [
      { ...row, event, id: uuidv7(occurred_at.getTime()), idempotency_key_digest },
      ...events.map((one) => ({ ...securityEventRow(call.ctx, one.name, one.details), idempotency_key_digest: null })),
    ],
    log() {
      if (event !== null) logSecurityEvent(call.ctx, event, details);
      for (const one of events) logSecurityEvent(call.ctx, one.name, one.details);
    },
  };
}

/** Appends the entry of a refusal; the same one again within a minute adds to its count, so that repeated refusals don't fill the log. */
async function recordRefusal(call: Call, entry: AuditEntry, reason: SecurityEventReason): Promise<void> {
  const row = rowOf(call, entry, 'denied', reason, call.ctx.clock.now());
  const alike = [row.action, reason, row.actor_kind, row.actor_id, row.target_id, row.ip_address];
  const id = idOfMinute(row.occurred_at, call.ctx.environment.id, ...alike);
  await countAuditLog(call.ctx.scope, { ...row, id, count: 1, security_event: false, event: 'management.denied' });
  logSecurityEvent(call.ctx, 'management.denied', detailsOf(call, entry, reason));
}

/** Error codes that mean missing permission, as opposed to an invalid request. */
const deniedCodes = [
  'insufficient_scope',
  'insufficient_user_authentication',
  'scope_escalation',
  'operators_only',
  'system_record',
] as const satisfies readonly SecurityEventReason[];

function deniedCode(error: unknown): SecurityEventReason | null {
  const codes =
    error instanceof ApiError ? error.errors.map((one) => one.code) : error instanceof Refusal ? error.problems.map((one) => one.code) : [];
  return codes.find((code): code is (typeof deniedCodes)[number] => (deniedCodes as readonly string[]).includes(code)) ?? null;
}

/**
 * Runs `work`; a refusal for want of permission leaves an entry of its own, after the transaction is gone. Within somebody else's transaction it is
 * theirs to note.
 */
export async function recordDenial<T>(call: Call, entry: AuditEntry, work: () => Promise<T>): Promise<T> {
  if (call.ctx.committed) return work();
  try {
    return await work();
  } catch (error) {
    const code = deniedCode(error);
    if (code !== null) await recordRefusal(call, entry, code);
    throw error;
  }
}
