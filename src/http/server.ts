import { createServer as createHttpServer, IncomingMessage, ServerResponse, type Server } from 'node:http';
import express, { type Express } from 'express';

/**
 * The HTTP server. Its request and response objects are made with Express's prototypes from the start, so that the
 * `Object.setPrototypeOf` that Express does on every request finds nothing to change: on Node 20 that call alone costs more than
 * the rest of a short request. Time-outs close slow senders.
 */
export function createServer(app: Express): Server {
  class Request extends IncomingMessage {}
  Object.setPrototypeOf(Request.prototype, express.request);
  Object.defineProperty(Request.prototype, 'app', { value: app, configurable: true, enumerable: true, writable: true });
  // Without a proxy the caller is whoever is connected; Express would read and parse headers to find the same.
  if (app.get('trust proxy') === false) {
    Object.defineProperty(Request.prototype, 'ip', {
      get(this: IncomingMessage) {
        return this.socket.remoteAddress;
      },
      configurable: true,
    });
  }
  class Response extends ServerResponse {}
  Object.setPrototypeOf(Response.prototype, express.response);
  Object.defineProperty(Response.prototype, 'app', { value: app, configurable: true, enumerable: true, writable: true });
  app.request = Request.prototype as unknown as Express['request'];
  app.response = Response.prototype as unknown as Express['response'];
  return createHttpServer(
    {
      IncomingMessage: Request,
      ServerResponse: Response as unknown as typeof ServerResponse,
      headersTimeout: 15_000,
      requestTimeout: 30_000,
      keepAliveTimeout: 65_000,
      connectionsCheckingInterval: 5_000,
      maxHeaderSize: 32_768,
    },
    app,
  );
}
