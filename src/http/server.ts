import { createServer as createHttpServer, IncomingMessage, ServerResponse, type Server } from 'node:http';
import type { Socket } from 'node:net';
import express, { type Express, type Request, type Response } from 'express';
import type { Admission } from './limits/admission.js';

/** How long a caller may take to send a request, in milliseconds; Node answers 408 up to a second later, before the request's deadline. */
const senderMs = 8_000;

type Constructor = (this: object, ...args: unknown[]) => void;

/**
 * A constructor of the same objects as `base`, with `methods` (which inherit from `base.prototype`) as their prototype. A function, not a class: the
 * derived constructor of a class makes every request a third dearer on Node 20.
 */
function derive<Base extends typeof IncomingMessage | typeof ServerResponse>(base: Base, methods: object, app: Express): Base {
  const construct = base as unknown as Constructor;
  const Derived = function (this: object, ...args: unknown[]) {
    construct.apply(this, args);
  };
  Object.setPrototypeOf(Derived, base);
  Object.setPrototypeOf(Derived.prototype, methods);
  (Derived.prototype as { app: Express }).app = app;
  return Derived as unknown as Base;
}

/** In the place of Express's own, which negotiates and writes a page that no browser shows. */
function redirect(this: Response, status: number, address: string): void {
  this.status(status).location(address).end();
}

/** Requests that a caller may send before it has read the answers to those before. Browsers and HTTP libraries send none. */
const maxPipelined = 32;

type Handler = (req: IncomingMessage, res: ServerResponse) => void;

/**
 * Hangs up on a caller that sends ever more requests without reading an answer. Node takes up all that fit into one read from the socket, a thousand
 * short ones, and keeps their answers: 14 MB for each connection of somebody who doesn't read.
 */
function limitPipelining(handle: Handler): Handler {
  const waiting = new WeakMap<Socket, number>();
  const mayWait = (socket: Socket, res: ServerResponse): boolean => {
    if (socket.destroyed) return false;
    const count = (waiting.get(socket) ?? 0) + 1;
    waiting.set(socket, count);
    res.once('close', () => waiting.set(socket, (waiting.get(socket) ?? 1) - 1));
    if (count > maxPipelined) socket.destroy();
    return count <= maxPipelined;
  };
  return (req, res) => {
    // An answer gets its socket when those before it have been sent.
    if (res.socket !== null || mayWait(req.socket, res)) handle(req, res);
  };
}

/** Answers a request for which nothing has to be waited or looked up; false, with nothing done, for one that the app must answer. */
export type AnswerAhead = (req: Request, res: Response) => boolean;

/**
 * The HTTP server. Its request and response objects are made with Express's prototypes from the start, so that the
 * `Object.setPrototypeOf` that Express does on every request finds nothing to change: on Node 20 that call alone costs more than
 * the rest of a short request. Time-outs close slow senders and those that read nothing of their answer. What `admission` refuses never
 * reaches the app, and neither does what `answerAhead` answers.
 */
export function createServer(app: Express, admission?: Admission, answerAhead?: AnswerAhead): Server {
  const AppRequest = derive(IncomingMessage, express.request, app);
  const AppResponse = derive(ServerResponse, express.response, app);
  Object.assign(AppResponse.prototype, { redirect });
  // Without a proxy the caller is whoever is connected; Express would read and parse headers to find the same.
  if (app.get('trust proxy') === false) {
    Object.defineProperty(AppRequest.prototype, 'ip', {
      get(this: IncomingMessage) {
        return this.socket.remoteAddress;
      },
      configurable: true,
    });
  }
  app.request = AppRequest.prototype as unknown as Express['request'];
  app.response = AppResponse.prototype as unknown as Express['response'];
  const server = createHttpServer(
    {
      IncomingMessage: AppRequest,
      ServerResponse: AppResponse,
      headersTimeout: senderMs,
      requestTimeout: senderMs,
      keepAliveTimeout: 65_000,
      connectionsCheckingInterval: 1_000,
      maxHeaderSize: 32_768,
    },
    limitPipelining((req, res) => {
      if (admission && !admission.admits(req, res)) return;
      if (!answerAhead?.(req as Request, res as Response)) app(req, res);
    }),
  );
  // Of a connection with a request on which nothing moves: longer than any handler is silent (a request's deadline), so the caller isn't reading. One
  // that waits for its next request has the time above.
  server.timeout = 20_000;
  // `maxHeaderSize` bounds them. By number Node drops the last ones silently, a second `Host` too.
  server.maxHeadersCount = 0;
  return server;
}
