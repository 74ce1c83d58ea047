import express, { type RequestHandler } from 'express';
import { tellNonce } from '../http/auth/dpop.js';
import { limitByAddress } from '../http/limits/rate-limits.js';
import { route } from '../http/routes.js';
import type { Web } from '../http/web.js';
import { answer, type SsfCall, type SsfReply, type SsfScope } from './call.js';
import { ssfPaths } from './configuration.js';
import { pollStream } from './poll.js';
import {
  addSubject,
  createStream,
  deleteStream,
  readStatus,
  readStreams,
  removeSubject,
  verifyStream,
  writeStatus,
  writeStream,
} from './streams.js';

/** The transmitter of signals (SSF 1.0): where clients keep their streams and poll them. */
export function ssfRouter(web: Web): RequestHandler {
  const router = express.Router({ caseSensitive: true });
  const limited = limitByAddress(web, {
    name: 'ssf',
    limit: web.deps.config.rateLimits.api,
    key: (req, address) => `${req.ctx.environment.id} ${address}`,
  });
  const does = (scope: SsfScope, operation: (call: SsfCall) => Promise<SsfReply>) => [tellNonce, limited, answer(web, scope, operation)];
  route(router, ssfPaths.streams, {
    post: does('ssf.manage', createStream),
    get: does('ssf.read', readStreams),
    patch: does('ssf.manage', writeStream(false)),
    put: does('ssf.manage', writeStream(true)),
    delete: does('ssf.manage', deleteStream),
  });
  route(router, ssfPaths.status, { get: does('ssf.read', readStatus), post: does('ssf.manage', writeStatus) });
  route(router, ssfPaths.addSubject, { post: does('ssf.manage', addSubject) });
  route(router, ssfPaths.removeSubject, { post: does('ssf.manage', removeSubject) });
  route(router, ssfPaths.verify, { post: does('ssf.manage', verifyStream) });
  route(router, `${ssfPaths.poll}/:stream_id`, { post: does('ssf.read', pollStream) });
  return router;
}
