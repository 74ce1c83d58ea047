import type { Router } from 'express';
import { ownUiCors, preflight } from '../http/auth/cors.js';
import { route, type Methods } from '../http/routes.js';

/** The methods of a path whose steps a first-party client's own UI may take from its own origin (CORS); the pages are for our origin alone. */
export const stepMethods = ({ post = [], ...rest }: Methods): Methods => ({
  ...rest,
  post: [ownUiCors, ...post],
  options: [ownUiCors, preflight],
});

/** Such a path. */
export const step = (router: Router, path: string, methods: Methods): void => route(router, path, stepMethods(methods));
