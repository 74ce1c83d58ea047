import { Router } from 'express';
import { browserSession } from '../http/auth/browser-session.js';
import { csrf } from '../http/auth/csrf.js';
import { form } from '../http/request/form.js';
import { limitByAddress } from '../http/limits/rate-limits.js';
import { route } from '../http/routes.js';
import type { Web } from '../http/web.js';
import { actOnConnection, connectionPage, saveConnection } from './connection.js';
import { directoryPage, makeToken } from './directory.js';
import { addDomain, actOnDomain, domainsPage } from './domains.js';
import { findLink, inPart } from './held.js';
import { begin, finish, firstPage } from './steps.js';

/**
 * The pages of a set-up link (specification 16.9): whoever has it sets its organization up, through the operations of the Management API with the link as
 * the actor. Counted by address, though nobody guesses 256 bits.
 */
export function setupRouter(web: Web): Router {
  const router = Router({ caseSensitive: true });
  const limit = limitByAddress(web, {
    name: 'setup',
    limit: { limit: 120, windowSeconds: 60 },
    key: (req, address) => `${req.ctx.environment.id} ${address}`,
  });
  const reading = [limit, browserSession, findLink(web)];
  const writing = [form, limit, browserSession, csrf, findLink(web)];
  const at = '/setup/:token';
  route(router, at, { get: [...reading, firstPage(web)], head: true, post: [...writing, begin(web)] });
  route(router, `${at}/finish`, { post: [...writing, inPart(null), finish(web)] });
  const domains = inPart('domains');
  route(router, `${at}/domains`, { get: [...reading, domains, domainsPage(web)], post: [...writing, domains, addDomain(web)] });
  route(router, `${at}/domains/:id/:verb`, { post: [...writing, domains, actOnDomain(web)] });
  const connection = inPart('connection');
  route(router, `${at}/connection`, {
    get: [...reading, connection, connectionPage(web)],
    post: [...writing, connection, saveConnection(web)],
  });
  route(router, `${at}/connection/:verb`, { post: [...writing, connection, actOnConnection(web)] });
  const directory = inPart('directory');
  route(router, `${at}/directory`, { get: [...reading, directory, directoryPage(web)], post: [...writing, directory, makeToken(web)] });
  return router;
}
