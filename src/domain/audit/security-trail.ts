import { countAuditLog, countAuditLogs, insertAuditLog, type AuditLogRow, type CountedAuditLogRow } from '../../db/tables/audit_logs.js';
import type { Knex } from 'knex';
import { createScope } from '../../db/scope.js';
import { digest } from '../../lib/digest.js';
import { uuidv7, uuidv7Of } from '../../lib/random.js';
import { startFlushing, type Loop } from '../../platform/loop.js';
import { afterCommit, type Context, type Deps } from '../context.js';
import { noOrigin, type Origin } from '../origin.js';
import { environmentsOfFailedLogins, writeWithEvents } from './failed-logins.js';
import { minuteOf } from '../notes/security-events.js';
import type { SecurityEventReason } from '../../lib/security-event.js';
import { securityEvents, type SecurityEventName } from '../../lib/security-events.js';

/** Actor, target, source and reason of a security event. Must not contain a secret, code, token, or an address without account. */
export type SecurityEventDetails = {
  /** Who did it; absent when nobody has proven to be anybody. */
  readonly actor?: Pick<AuditLogRow, 'actor_kind' | 'actor_id'> & { readonly display: string | null };
  readonly target: { readonly target_type: string; readonly target_id: string | null; readonly display?: string | null };
  readonly origin: Origin;
  /** Why it was refused: a fixed word of the code, never text of the request. */
  readonly reason?: SecurityEventReason | null;
  readonly detail?: Readonly<Record<string, unknown>>;
};

/** Actor and target of a user who acts on their own account. */
export const userParty = ({ id, email }: { readonly id: string; readonly email: string | null }) => ({
  actor: { actor_kind: 'user' as const, actor_id: id, display: email },
  target: { target_type: 'user', target_id: id, display: email },
});

export const serviceActor = { actor_kind: 'system', actor_id: null, display: 'The service' } as const;

/** What recording takes, in a context of any kind; the environment need not be at hand whole. */
type Recording = Pick<Deps, 'clock' | 'logger' | 'metrics'> & { readonly environment: { readonly id: string } };

/** A UUID derived from the minute and the values: the same in every process, so that repetitions share a row. */
export const idOfMinute = (at: Date, ...alike: readonly (string | null | undefined)[]): string =>
  uuidv7Of(minuteOf(at), digest(JSON.stringify(alike)));

/** The row of an event, for the statement that appends it itself; {@link logSecurityEvent} comes after. */
export function securityEventRow(
  { clock, environment }: Recording,
  event: SecurityEventName,
  details: SecurityEventDetails,
): CountedAuditLogRow {
  const { actor, target, origin, reason = null } = details;
  const detail = { ...(origin.on_way_to && { client_id: origin.on_way_to }), ...details.detail };
  const occurred_at = clock.now();
  const { outcome } = securityEvents[event];
  const alike = [environment.id, event, reason, actor?.actor_id, target.target_type, target.target_id, origin.ip_address];
  return {
    environment_id: environment.id,
    id:
      outcome === 'success' && securityEvents[event].recorded === 'transaction'
        ? uuidv7(occurred_at.getTime())
        : idOfMinute(occurred_at, ...alike),
    occurred_at,
    action: event,
    outcome,
    reason,
    actor_kind: actor?.actor_kind ?? 'anonymous',
    actor_id: actor?.actor_id ?? null,
    actor_display: actor?.display ?? null,
    actor_permissions: [],
    target_type: target.target_type,
    target_id: target.target_id,
    target_display: target.display ?? null,
    changes: Object.fromEntries(Object.entries(detail).map(([name, value]) => [name, [null, value]])),
    ip_address: origin.ip_address,
    user_agent: origin.user_agent?.slice(0, 512) ?? null,
    request_id: origin.request_id,
    count: 1,
    security_event: true,
    event,
  };
}

/** The row that all further events of a kind share in a minute beyond the limit: without actor, target and address. */
function manyOf(row: CountedAuditLogRow): CountedAuditLogRow {
  const nobody = { actor_kind: 'anonymous', actor_id: null, actor_display: null, target_id: null, target_display: null } as const;
  const nowhere = { ip_address: null, user_agent: null, request_id: null };
  const id = idOfMinute(row.occurred_at, row.environment_id, row.action, 'many');
  return { ...row, ...nobody, ...nowhere, id, reason: 'too_many_to_list', changes: {} };
}

/** Writes the log line of a security event and counts it in the metrics. */
export function logSecurityEvent(
  { logger, metrics, environment }: Omit<Recording, 'clock'>,
  event: SecurityEventName,
  details: SecurityEventDetails,
): void {
  const { actor, target, origin, reason = null, detail } = details;
  const { severity, outcome } = securityEvents[event];
  metrics.securityEvents.inc({ event });
  const line = {
    event,
    severity,
    outcome,
    reason,
    environment_id: environment.id,
    actor_kind: actor?.actor_kind ?? 'anonymous',
    actor_id: actor?.actor_id ?? null,
    target_type: target.target_type,
    target_id: target.target_id,
    ip_address: origin.ip_address,
    request_id: origin.request_id,
    user_agent: origin.user_agent?.slice(0, 512) ?? null,
    ...(detail && { detail }),
  };
  const msg = event.replaceAll(/[._]/g, ' ');
  if (severity === 'info') logger.info(line, msg);
  else logger.warn(line, msg);
}

/**
 * Records an event with the change that it belongs to: call it in the transaction of the change. A refusal is recorded in a transaction of its
 * own, where repetitions within a minute share a row.
 */
export async function recordSecurityEvent(tx: Context, event: SecurityEventName, details: SecurityEventDetails): Promise<void> {
  const row = securityEventRow(tx, event, details);
  if (row.outcome === 'success') await insertAuditLog(tx.scope, { ...row, idempotency_key_digest: null });
  else await countAuditLog(tx.scope, row);
  afterCommit(tx, () => logSecurityEvent(tx, event, details));
}

/**
 * Records what the service itself does to a record, in a transaction that belongs to no request.
 * @returns what writes the line of the log, once that is committed
 */
export async function recordOwnDeed(
  deps: Omit<Recording, 'environment'>,
  { knex, environment_id }: { readonly knex: Knex; readonly environment_id: string },
  event: SecurityEventName,
  about: Pick<SecurityEventDetails, 'target' | 'detail'>,
): Promise<() => void> {
  const recording = { clock: deps.clock, logger: deps.logger, metrics: deps.metrics, environment: { id: environment_id } };
  const details = { ...about, actor: serviceActor, origin: noOrigin };
  await insertAuditLog(createScope(knex, environment_id), { ...securityEventRow(recording, event, details), idempotency_key_digest: null });
  return () => logSecurityEvent(recording, event, details);
}

/**
 * Records an event that anybody can cause without limit: the log has a line each, the audit log a row for all of one kind, address and target
 * within a minute, written within about a second and outside of the request. A process that is killed takes the last second's with it.
 */
export function noteSecurityEvent(ctx: Recording & Pick<Deps, 'notes'>, event: SecurityEventName, details: SecurityEventDetails): void {
  logSecurityEvent(ctx, event, details);
  const row = securityEventRow(ctx, event, details);
  ctx.notes.securityTrail.add(row, () => manyOf(row));
}

/** Writes the collected rows, after those that are being written. When the database is unavailable they are kept for the next call, as far as there is room. */
export const flushSecurityTrail = (deps: Deps): Promise<void> => deps.notes.securityTrail.inTurn(() => writeTrail(deps));

async function writeTrail(deps: Deps): Promise<void> {
  const { db, clock, logger, metrics, notes } = deps;
  const { rows, dropped } = notes.securityTrail.take(clock.now());
  if (dropped > 0) metrics.securityEventsDropped.inc(dropped);
  if (dropped > 0) logger.warn({ event: 'security_trail.full', dropped }, 'security events were dropped for want of room');
  let left: readonly CountedAuditLogRow[] = rows;
  try {
    for (const ctx of await environmentsOfFailedLogins(deps, rows)) {
      const isOwn = ({ environment_id }: CountedAuditLogRow) => environment_id === ctx.environment.id;
      await writeWithEvents(ctx, left.filter(isOwn)); // prettier-ignore
      left = left.filter((row) => !isOwn(row));
    }
    await countAuditLogs(db.knex, left);
  } catch (error) {
    notes.securityTrail.putBack(left);
    throw error;
  }
}

/** Logs how many rows are lost when the process ends without a database; their log lines remain. */
function tellLost({ logger, clock, notes: { securityTrail } }: Deps, error: unknown): void {
  const { rows, dropped } = securityTrail.take(clock.now());
  const happenings = rows.reduce((sum, { count }) => sum + count, dropped);
  logger.error(
    { event: 'security_trail.lost', err: error, rows: rows.length, happenings },
    'security events were not written before the end',
  );
}

const pauseMs = 1_000;

/** Writes every second, and a last time when it stops. */
export function startSecurityTrail(deps: Deps): Loop {
  const lost = (error: unknown) => tellLost(deps, error);
  return startFlushing({ name: 'security_trail', pauseMs, logger: deps.logger, flush: () => flushSecurityTrail(deps), lost });
}
