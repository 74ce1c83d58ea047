/**
 * Why the database layer could not do what it was asked. Callers tell failures apart by class, never by a text; `cause` is what `pg` or Knex threw.
 * What is none of these (a column that there isn't, a violated check) is a mistake of ours, and stays what `pg` threw.
 */
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

/** There is such a row already: a unique index refused the write, and nothing has happened. */
export class Duplicate extends DatabaseFailure {
  constructor(
    message: string,
    sqlstate: string | null,
    cause: unknown,
    /** The name of the index. */
    readonly constraint: string | null,
  ) {
    super(message, sqlstate, cause);
  }
}

/** The row that a foreign key names is not there, or is still named by others: nothing has happened. */
export class Dangling extends DatabaseFailure {}

/** A value that PostgreSQL can't hold, such as a NUL, a lone surrogate, or a number that is too large: nothing has happened. */
export class Unstorable extends DatabaseFailure {}
