import pg from 'pg';
import { Ambiguous, Conflict, Dangling, DatabaseFailure, Duplicate, Outdated, Unavailable, Unstorable } from './failures.js';

/** The call that failed, as far as that tells what has happened. */
export type FailedCall =
  /** Opening a connection, or waiting for one. */
  | 'connect'
  /** A statement of an open transaction, and the rollback: the server undoes what nobody commits. */
  | 'in_transaction'
  /** A statement of its own, which commits itself, and the commit of a transaction. */
  | 'committing';

/** Of a write to an environment that is held (`refuse_held_writes` of migration 0524). */
const heldState = 'ENV02';
/** Conditions that pass, by SQLSTATE class (PostgreSQL, appendix A): connection exception, insufficient resources, operator intervention, system error. */
const passingClasses = new Set(['08', '53', '57', '58']);
/**
 * The same by code: read-only since it has become a standby, idle for too long in a transaction, a transaction that took too long, a lock not available, a right
 * that was withdrawn (and that the operator grants again), an environment that is held.
 */
const passing = new Set(['25006', '25P03', '25P04', '55P03', '42501', heldState]);
/** A plan that no longer fits its tables (feature not supported), a prepared statement that isn't there. */
const outdated = new Set(['0A000', '26000']);
const conflicts = new Set(['40001', '40P01']);
/** Not in the repertoire of the encoding, an untranslatable character, an invalid text representation, too long, a number or a time out of range. */
const unstorable = new Set(['22021', '22P05', '22P02', '22001', '22003', '22008']);

/** What the server has answered: whatever the call was, nothing of it has happened. */
function answered(error: pg.DatabaseError, sqlstate: string): Error {
  const { message } = error;
  if (passing.has(sqlstate) || passingClasses.has(sqlstate.slice(0, 2))) return new Unavailable(message, sqlstate, error);
  if (outdated.has(sqlstate)) return new Outdated(message, sqlstate, error);
  if (conflicts.has(sqlstate)) return new Conflict(message, sqlstate, error);
  if (sqlstate === '23505') return new Duplicate(message, sqlstate, error, error.constraint ?? null);
  if (sqlstate === '23503') return new Dangling(message, sqlstate, error);
  if (unstorable.has(sqlstate)) return new Unstorable(message, sqlstate, error);
  return error;
}

/**
 * What has happened, judged by the server's SQLSTATE and by the call that failed.
 * @param lost whether the connection is gone: without it, what is no answer of the server is a mistake made on this side
 * @returns a failure, or the error itself when it is a mistake of ours
 */
export function databaseFailureOf(error: Error, { call, lost }: { readonly call: FailedCall; readonly lost: boolean }): Error {
  if (error instanceof DatabaseFailure) return error;
  const sqlstate = error instanceof pg.DatabaseError ? (error.code ?? null) : null;
  if (call === 'connect') return new Unavailable(`no connection to the database: ${error.message}`, sqlstate, error);
  if (sqlstate !== null) return answered(error as pg.DatabaseError, sqlstate);
  if (!lost) return error;
  return call === 'in_transaction'
    ? new Unavailable('the connection was lost before the commit', null, error)
    : new Ambiguous('the connection was lost before the answer to a commit', null, error);
}

/** query_canceled (a statement time-out too), lock_not_available. */
const tooLong = new Set(['57014', '55P03']);

/** Whether the server ended the statement for the time that it took. */
export const tookTooLong = (failure: unknown): boolean => failure instanceof Unavailable && tooLong.has(failure.sqlstate ?? '');

/** Whether the server ends the session with this answer: admin_shutdown, crash_shutdown, cannot_connect_now, database_dropped, idle_session_timeout. */
export const endsSession = (failure: unknown): boolean => failure instanceof Unavailable && (failure.sqlstate ?? '').startsWith('57P');

/** Whether the same statement would meet the same answer of the server again, however often: a value that doesn't fit, a violated constraint. */
export function failsAgain(error: unknown): boolean {
  const refused =
    [Duplicate, Dangling, Unstorable].some((kind) => error instanceof kind) ||
    (error instanceof Unavailable && error.sqlstate === heldState);
  return refused || (error instanceof pg.DatabaseError && error.severity === 'ERROR');
}
