import type { NextFunction, Request, RequestHandler, Response } from 'express';
import { UnavailableError } from '../../errors.js';
import { deadlineIn } from '../../lib/deadline.js';

/** All that a request may take, from its head to its answer, in milliseconds: what is left of 10 s is for undoing a transaction and for the refusal. */
const requestMs = 9_500;
/** What somebody is told to wait whose time was up, in seconds. */
const retryAfterSeconds = 5;

/** An answer that has begun goes on. */
function refuseLate(res: Response, next: NextFunction): void {
  if (res.headersSent) return;
  // Its handler is still at work and may yet break off the connection, which nobody else should be using by then.
  res.shouldKeepAlive = false;
  next(new UnavailableError(retryAfterSeconds));
}

/**
 * Gives every request its deadline, which ends at once when the caller hangs up before the answer. What waits spends from it; a request
 * that has no answer all the same when its time is up is refused with 503 here, whatever it waits for.
 *
 * A timer for each: Node keeps those of one length in a list that lets go of what is taken out. A `Set` of open requests would cost more: the tables that V8
 * outgrows keep what was in them, requests with all that they hold, until the next collection of the old generation.
 */
export function requestDeadlines(ms = requestMs): RequestHandler {
  return (req: Request, res: Response, next: NextFunction) => {
    const deadline = deadlineIn(ms);
    req.deadline = deadline;
    const timer = setTimeout(refuseLate, ms, res, next).unref();
    res.on('close', () => {
      clearTimeout(timer);
      if (!res.writableFinished) deadline.cancel();
    });
    next();
  };
}
