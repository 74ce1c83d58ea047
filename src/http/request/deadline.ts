import type { NextFunction, Request, RequestHandler, Response } from 'express';
import { UnavailableError } from '../../errors.js';
import { deadlineIn } from '../../lib/deadline.js';

/** All that a request may take, from its head to its answer, in milliseconds: what is left of 10 s is for undoing a transaction and for the refusal. */
const requestMs = 9_500;
/** What somebody is told to wait whose time was up, in seconds. */
const retryAfterSeconds = 5;

type Open = { readonly res: Response; readonly next: NextFunction; readonly until: number };

/**
 * Gives every request its deadline, which ends at once when the caller hangs up before the answer. What waits spends from it; a request
 * that has no answer all the same when its time is up is refused with 503 here, whatever it waits for. An answer that has begun goes on.
 */
export function requestDeadlines(ms = requestMs): RequestHandler {
  // In the order in which their time is up, since all have the same: one timer serves them all.
  const open = new Set<Open>();
  let timer: NodeJS.Timeout | null = null;

  function refuseLate(): void {
    timer = null;
    for (const one of open) {
      const left = one.until - performance.now();
      if (left > 0) {
        timer = setTimeout(refuseLate, Math.ceil(left));
        timer.unref();
        return;
      }
      open.delete(one);
      if (one.res.headersSent) continue;
      // Its handler is still at work and may yet break off the connection, which nobody else should be using by then.
      one.res.shouldKeepAlive = false;
      one.next(new UnavailableError(retryAfterSeconds));
    }
  }

  return (req: Request, res: Response, next: NextFunction) => {
    const deadline = deadlineIn(ms);
    req.deadline = deadline;
    const one: Open = { res, next, until: performance.now() + ms };
    open.add(one);
    timer ??= setTimeout(refuseLate, ms).unref();
    res.on('close', () => {
      open.delete(one);
      if (!res.writableFinished) deadline.cancel();
    });
    next();
  };
}
