import type { NextFunction, Request, Response } from 'express';
import { remembered } from '../../domain/context.js';
import type { BrandedClient } from '../../domain/environments/branding.js';
import { PageError } from '../../errors.js';
import { listOwnOrigins } from '../../db/tables/clients.js';
import { basePage, type BasePage } from '../pages/pages.js';
import { isRequestOrigin } from '../request/asked-origin.js';
import { browserSecret, browserSecretOf } from './browser-secret.js';
import { message } from '../../lib/languages/messages.js';

const field = '_csrf';
const shape = /^[\w-]{43}$/;

/** A token belongs to one browser (its csrf cookie) and to one session; another browser's or session's is worthless. */
const boundTo = (req: Request, secret: string) => `${secret} ${req.session?.id ?? ''}`;

/** The token for a form on this page; gives the browser its csrf cookie when it has none. Needs `browserSession` before. */
export const csrfToken = (req: Request, res: Response): string =>
  req.ctx.crypto.sealer.digest('csrf', boundTo(req, browserSecret(req, res))).toString('base64url');

/** What all pages share, of a page that posts: with its token, and as the client's branding says if one is named. */
export const formPage = (req: Request, res: Response, title: string, client: BrandedClient | null = null): BasePage =>
  basePage(req.ctx.environment, { title, request_id: req.request_id, csrf_token: csrfToken(req, res), client });

/**
 * Whether `Origin` names the host that was asked and its scheme, or `Sec-Fetch-Site` says `same-origin`; null without either header (not a browser). Our pages
 * set `Referrer-Policy: no-referrer`, which makes browsers send `Origin: null` with their own forms: then `Sec-Fetch-Site` decides.
 */
function sameOrigin(req: Request): boolean | null {
  const { origin } = req.headers;
  const site = req.headers['sec-fetch-site'];
  if (origin !== undefined && origin !== 'null') return isRequestOrigin(req, origin);
  if (typeof site === 'string') return site === 'same-origin' || (site === 'none' && origin === undefined);
  return origin === undefined ? null : false;
}

/** Whether the request's `Origin` is registered by a first-party client (see `ownUiCors`). */
async function isAllowedOrigin(req: Request): Promise<boolean> {
  const { ctx } = req;
  const origins = await remembered(ctx, 'clients', ' own origins', ({ scope }) => listOwnOrigins(scope));
  return req.headers.origin !== undefined && (origins ?? []).includes(req.headers.origin);
}

const refusal = () => new PageError(403, 'csrf_failed', message('refusal.csrf'));

/**
 * Refuses a state change that another site may have caused: a form needs its token and must come from our own page, a JSON body
 * (which no form can send) our own or a first-party client's allowed origin. Needs `browserSession` and a parsed body before.
 * @throws {PageError} 403 `csrf_failed`
 */
export async function csrf(req: Request, _res: Response, next: NextFunction): Promise<void> {
  const own = sameOrigin(req);
  if (req.is('application/json') === 'application/json') {
    if (own === false && !(await isAllowedOrigin(req))) throw refusal();
    return next();
  }
  if (own === false) throw refusal();
  const secret = browserSecretOf(req);
  const presented = req.form.get(field);
  if (secret === null || presented === undefined || !shape.test(presented)) throw refusal();
  if (!req.ctx.crypto.sealer.isDigest('csrf', boundTo(req, secret), Buffer.from(presented, 'base64url'))) throw refusal();
  next();
}
