import type { NextFunction, Request, RequestHandler, Response } from 'express';
import { handlersOf, type Methods } from './routes.js';

type Route = {
  readonly path: string;
  readonly lists: ReadonlyMap<string, readonly RequestHandler[]>;
  readonly refuse: readonly RequestHandler[];
};

/** Where paths without parameters are added. */
export type RouteList = {
  /** Answers `path` (and the same with a slash behind it) by method; another method is refused with 405 and `Allow`. */
  add(path: string, methods: Methods): void;
};

/** Paths without parameters, found by one look into a map. */
export type ExactRoutes = RouteList & {
  /** The same routes for paths that need middleware before theirs, refusals too. */
  behind(...before: RequestHandler[]): RouteList;
  /** Middleware: answers the paths that were added and passes everything else on. */
  readonly handler: RequestHandler;
};

/**
 * Routes for the hot endpoints. Express's router tries one pattern after the other and wraps every middleware; on the token endpoint that cost as
 * much as rate limiting, client authentication and logging together.
 */
export function createExactRoutes(): ExactRoutes {
  const routes = new Map<string, Route>();

  const behind = (...before: RequestHandler[]): RouteList => ({
    add(path, methods) {
      const { handlers, refuse } = handlersOf(methods);
      const lists = new Map([...handlers].map(([method, list]) => [method, [...before, ...list]] as const));
      routes.set(path, { path, lists, refuse: [...before, refuse] });
    },
  });

  return {
    ...behind(),
    behind,
    handler(req, res, next) {
      const path = pathOf(req);
      const found = routes.get(path) ?? (path.endsWith('/') ? routes.get(path.slice(0, -1)) : undefined);
      if (!found) return next();
      req.route = found;
      walk(found.lists.get(req.method) ?? found.refuse, 0, req, res, next);
    },
  };
}

/** Middleware that runs others one after the other, without a layer of Express's around each. */
export function inSequence(handlers: readonly RequestHandler[]): RequestHandler {
  return (req, res, next) => walk(handlers, 0, req, res, next);
}

/** The path of the request target, also of one in absolute form (RFC 9112 3.2.2). */
function pathOf(req: Request): string {
  const { url } = req;
  if (!url.startsWith('/')) return req.path;
  const mark = url.indexOf('?');
  return mark < 0 ? url : url.slice(0, mark);
}

/** Runs the handlers one after the other, as Express does: an error, thrown or passed on, skips the rest. */
function walk(handlers: readonly RequestHandler[], at: number, req: Request, res: Response, next: NextFunction): void {
  const handler = handlers[at];
  if (!handler) return next();
  const proceed = (error?: unknown) => (error === undefined || error === null ? walk(handlers, at + 1, req, res, next) : next(error));
  try {
    const running: unknown = handler(req, res, proceed);
    if (running instanceof Promise) running.catch((error: unknown) => next(error ?? new Error('a handler failed without saying why')));
  } catch (error) {
    next(error);
  }
}
