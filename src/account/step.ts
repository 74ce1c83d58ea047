import type { Router } from 'express';
import { ownUiCors, preflight } from '../http/auth/cors.js';
import { route, type Methods } from '../http/routes.js';

/** A path whose steps a first-party client's own UI may take from its own origin (CORS); the pages are for our origin alone. */
export function step(router: Router, path: string, { post = [], ...rest }: Methods): void {
  route(router, path, { ...rest, post: [ownUiCors, ...post], options: [ownUiCors, preflight] });
}
