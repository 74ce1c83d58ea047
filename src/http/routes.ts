import type { IRouter, RequestHandler } from 'express';
import { BodyError } from '../errors.js';
import { message } from '../lib/languages/messages.js';

/** A method that the path doesn't have (RFC 9110 15.5.6). */
export class MethodNotAllowedError extends BodyError {
  constructor(readonly allow: string) {
    super(400, 'method not allowed', message('refusal.method_not_allowed'));
    this.name = 'MethodNotAllowedError';
  }
}

/** What a path answers, by method. `head` marks `get` as safe to run for HEAD, which is refused otherwise. */
export type Methods = {
  readonly get?: RequestHandler[];
  readonly head?: boolean;
  readonly post?: RequestHandler[];
  readonly put?: RequestHandler[];
  readonly patch?: RequestHandler[];
  readonly delete?: RequestHandler[];
  readonly options?: RequestHandler[];
};

/** The handlers of each method of a path, and the handler that refuses every other method with 405 and `Allow`. */
export function handlersOf({ get, head, post, put, patch, delete: remove, options }: Methods) {
  const listed = { GET: get, HEAD: head ? get : undefined, POST: post, PUT: put, PATCH: patch, DELETE: remove, OPTIONS: options };
  const handlers = new Map(Object.entries(listed).filter((entry): entry is [string, RequestHandler[]] => entry[1] !== undefined));
  const allow = [...handlers.keys()].join(', ');
  const refuse: RequestHandler = (_req, _res, next) => next(new MethodNotAllowedError(allow));
  return { handlers, refuse };
}

/** Mounts the handlers of one path by method and refuses all other methods. */
export function route(router: IRouter, path: string, methods: Methods): void {
  const { handlers, refuse } = handlersOf(methods);
  const mounted = router.route(path);
  if (!handlers.has('HEAD')) mounted.head(refuse);
  for (const [method, list] of handlers) mounted[method.toLowerCase() as 'get'](...list);
  mounted.all(refuse);
}
