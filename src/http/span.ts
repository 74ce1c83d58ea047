import type { NextFunction, Request, Response } from 'express';
import type { Client } from '../domain/clients/clients.js';
import type { AnsweredRequest, Tracer } from '../platform/spans/tracer.js';
import { healthPaths } from './health.js';

/** Asked every few seconds by what watches the process. */
const watched = new Set<string>(Object.values(healthPaths));

const routeOf = ({ baseUrl, route, route_pattern }: Request): string | null => {
  if (route_pattern !== undefined) return route_pattern;
  const path = (route as { path?: unknown } | undefined)?.path;
  return typeof path === 'string' ? `${baseUrl}${path}` : null;
};

/** The client that was authenticated. Node has another `client` on requests, the socket; `authenticateClient` puts ours in its place. */
function provenClient(req: Request): Client | null {
  const { client } = req as { client?: Partial<Client> };
  return typeof client?.id === 'string' && Array.isArray(client.grant_types) ? (client as Client) : null;
}

/** What is told of who asked for what. The grant type is one that the client has, or none: others are whatever somebody sent. */
function clientOfRequest(req: Request): Pick<AnsweredRequest, 'client_id' | 'grant_type'> {
  const client = provenClient(req);
  const sent = client && req.form?.get('grant_type');
  return {
    client_id: client?.id ?? req.asking_client_id ?? req.token?.client.id ?? null,
    grant_type: client && sent && client.grant_types.includes(sent) ? sent : null,
  };
}

/**
 * Middleware: makes a span of every request, under which its statements, signatures and requests to others hang. After `requestDeadlines`, whose timer serves
 * all requests and belongs to none.
 */
export const traceRequests = (tracer: Tracer) => (req: Request, res: Response, next: NextFunction) => {
  if (watched.has(req.path)) return next();
  const isTrusted = req.app.get('trust proxy fn') as (address: string, hop: number) => boolean;
  const { traceparent } = req.headers;
  const span = tracer.request({
    method: req.method,
    traceparent: typeof traceparent === 'string' ? traceparent : undefined,
    trusted: isTrusted(req.socket.remoteAddress ?? '', 0),
  });
  if (span.trace_id !== null) req.trace_id = span.trace_id;
  res.on('close', () =>
    span.end({
      route: routeOf(req),
      status: res.headersSent ? res.statusCode : null,
      request_id: req.request_id,
      ...clientOfRequest(req),
      error_code: req.error_code ?? null,
    }),
  );
  span.run(next);
};
