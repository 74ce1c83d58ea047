/** Why the database layer could not do what it was asked. Callers tell failures apart by class, never by a text; `cause` is what `pg` or Knex threw. */
export abstract class DatabaseFailure extends Error {
  constructor(
    message: string,
    /** SQLSTATE of the server, or null when it didn't answer. */
    readonly sqlstate: string | null,
    cause?: unknown,
  ) {
    super(message, { cause });
    this.name = this.constructor.name;
  }
}

/** Nothing has happened, and nothing could now: no connection, no answer to a read, a time-out, a full disk. The same call may succeed later. */
export class Unavailable extends DatabaseFailure {}

/** A prepared statement no longer fits the tables, or is gone: nothing has happened, and another connection helps. */
export class Outdated extends DatabaseFailure {}

/** The transaction lost against another one (serialization failure, deadlock): nothing has happened, and it may be tried again at once. */
export class Conflict extends DatabaseFailure {}

/** The connection was lost before the answer to a commit: what was asked for has happened or not. Only what is right either way may be repeated. */
export class Ambiguous extends DatabaseFailure {}
