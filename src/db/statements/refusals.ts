import { DatabaseError } from 'pg';

/** query_canceled, which a time-out of the server is too; lock_not_available. */
const slow = new Set(['57014', '55P03']);

/** SQLSTATE of an answer of the server, or null for an error that isn't one. */
const sqlstateOf = (error: unknown): string | null => (error instanceof DatabaseError ? (error.code ?? '') : null);

/** Whether the server ended the statement for the time that it took. */
export const tookTooLong = (error: unknown): boolean => slow.has(sqlstateOf(error) ?? '');

/** Whether the server ends the session with this answer (admin_shutdown, crash_shutdown, cannot_connect_now, database_dropped, idle_session_timeout). */
export const endsSession = (error: unknown): boolean => (sqlstateOf(error) ?? '').startsWith('57P');
