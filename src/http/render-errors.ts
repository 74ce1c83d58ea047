import type { ErrorRequestHandler, Request, Response } from 'express';
import { bearerChallenge, managementMetadataUrl } from '../domain/api-resources/metadata.js';
import { DatabaseFailure } from '../db/connection/failures.js';
import { ApiError, type ApiErrorObject } from '../errors.js';
import { isApiErrorCode, type ApiErrorCode } from '../lib/error-codes.js';
import { errorDescription } from '../lib/error-description.js';
import { wantsJson } from './request/form.js';
import { traceRefusal } from './auth/trace.js';
import { basePage } from './pages/pages.js';
import { renderScim } from './render-scim-error.js';
import { renderedErrorOf, type RenderedError } from './rendered-error.js';
import type { Web } from './web.js';
import type { MessageKey } from '../lib/languages/messages.js';
import { named } from '../lib/named.js';
import { wordsIn, wordsOf } from './pages/words.js';

/** Which dialect an address speaks. */
type Surface = 'oauth' | 'api' | 'scim' | 'page';

const oauthJson =
  /^\/(oauth\/(token|jwks|introspect|revoke|revocations|userinfo|register|par|device_authorization|backchannel_authentication|resources)|ssf\/|\.well-known\/|healthz$|readyz$|metrics$)/;

function surfaceOf(path: string): Surface {
  if (path === '/api' || path.startsWith('/api/')) return 'api';
  if (path.startsWith('/scim/')) return 'scim';
  return oauthJson.test(path) ? 'oauth' : 'page';
}

/** One JSON:API error object; `id` is the request id (specification 11.1.1). */
const apiErrorDocument = (req: Pick<Request, 'request_id'>, errors: readonly ApiErrorObject[]): string =>
  JSON.stringify({
    jsonapi: { version: '1.1' },
    errors: errors.map((error) => ({ id: req.request_id, ...error, status: String(error.status) })),
  });

const titles: Record<number, string> = {
  400: 'Bad request', 401: 'Unauthorized', 403: 'Forbidden', 404: 'Not found', 405: 'Method not allowed', 409: 'Conflict', 413: 'Payload too large',
  415: 'Unsupported media type', 421: 'Misdirected request', 429: 'Too many requests', 500: 'Internal server error', 503: 'Service unavailable',
}; // prettier-ignore

/** The code of a refusal that other surfaces know too. */
const apiCodeOf = ({ code, status }: RenderedError): ApiErrorCode =>
  isApiErrorCode(code) ? code : status >= 500 ? 'server_error' : 'invalid_request';

/** Tells a client that was refused where it finds out how to get a token (RFC 9728 5.1). */
function nameMetadata({ ctx }: Request, res: Response): void {
  const challenge = res.getHeader('WWW-Authenticate');
  if (!ctx || challenge === undefined) return;
  const bearer = bearerChallenge(managementMetadataUrl(ctx.environment));
  res.setHeader('WWW-Authenticate', [challenge].flat().map((one) => String(one).replace(/^Bearer /, `${bearer}, `))); // prettier-ignore
}

function renderApi(req: Request, res: Response, error: unknown, refusal: RenderedError): void {
  const errors: readonly ApiErrorObject[] =
    error instanceof ApiError
      ? error.errors
      : [{ status: refusal.status, code: apiCodeOf(refusal), title: titles[refusal.status] ?? 'Error', detail: refusal.text }];
  const statuses = new Set(errors.map((one) => one.status));
  const own = error instanceof ApiError ? error.status : null;
  const status = own ?? (statuses.size === 1 ? (errors[0]?.status ?? 500) : 400);
  if (error instanceof ApiError) res.set({ ...error.headers });
  nameMetadata(req, res);
  res.status(status).setHeader('Content-Type', 'application/vnd.api+json');
  res.setHeader('Cache-Control', 'no-store');
  res.end(req.method === 'HEAD' ? undefined : apiErrorDocument(req, errors));
}

function renderJson(req: Request, res: Response, refusal: RenderedError): void {
  res.status(refusal.status).set('Cache-Control', 'no-store');
  const body = { error: refusal.code, error_description: errorDescription(refusal.text), ...refusal.extra };
  res.json(surfaceOf(req.path) === 'page' ? { ...body, request_id: req.request_id } : body);
}

/** What to do about a status; else to go back to the application. */
const nextSteps: Readonly<Record<number, MessageKey>> = {
  403: 'error_page.next_403',
  404: 'error_page.next_404',
  405: 'error_page.next_405',
  // The text itself says how long to wait.
  429: 'error_page.again',
  500: 'error_page.next_500',
  503: 'error_page.next_503',
};

const pageTitles: Readonly<Record<string, MessageKey>> = named({
  not_found: 'error_page.title_not_found',
  no_management_permission: 'error_page.title_no_dashboard',
});

/** A refusal that has a text in English alone is shown in English as a whole, rather than in two languages. */
function renderAsPage(web: Web, req: Request, res: Response, refusal: RenderedError): void {
  const environment = req.ctx?.environment ?? { name: 'Sign-in', kind: 'production' as const, support_email: null, branding: null };
  const { status, code, localized = null, next = null } = refusal;
  const { language, t, say } = localized === null ? wordsIn('en') : wordsOf(req);
  const title = pageTitles[code] ?? 'error_page.title';
  web.renderPage(
    res,
    'error',
    {
      ...basePage(environment, { title: t(title), request_id: req.request_id }),
      status,
      code,
      text: localized === null ? refusal.text.charAt(0).toUpperCase() + refusal.text.slice(1) : say(localized),
      next_step: t(next ? 'error_page.again' : (nextSteps[status] ?? 'error_page.next')),
      next: next && { href: next.href, label: t(next.label) },
      details: refusal.details ?? [],
    },
    { status, language },
  );
}

/** The one place where refusals and failures become answers, each in its surface's dialect (specification 11.1). */
export function renderErrors(web: Web): ErrorRequestHandler {
  return (error: unknown, req, res, next) => {
    // Answered when its time was up (request/deadline.ts): what its handler still throws has nobody to hear it.
    if (res.writableEnded) return;
    if (res.headersSent) return next(error);
    traceRefusal(req, error);
    const refusal = renderedErrorOf(error);
    req.error_code = refusal.code;
    // The caller hung up, whereupon nothing more is begun for it (request/deadline.ts): no failure, and nobody to answer.
    if (refusal.status === 503 && res.destroyed) return;
    if (refusal.status >= 500) {
      // A failure of the database says what has happened, and has its own cause beside it.
      const cause = error instanceof DatabaseFailure ? error : ((error as { cause?: unknown }).cause ?? error);
      web.deps.logger.error(
        {
          event: refusal.status === 503 ? 'request.unavailable' : 'request.failed',
          request_id: req.request_id,
          ...(req.trace_id !== undefined && { trace_id: req.trace_id }),
          path: req.path,
          err: cause,
        },
        refusal.status === 503 ? 'a request could not be served now' : 'a request failed',
      );
    }
    res.set(refusal.headers);
    if (error instanceof ApiError || surfaceOf(req.path) === 'api') return renderApi(req, res, error, refusal);
    if (surfaceOf(req.path) === 'scim') return renderScim(req, res, error, refusal);
    if (surfaceOf(req.path) === 'oauth' || wantsJson(req)) return renderJson(req, res, refusal);
    renderAsPage(web, req, res, refusal);
  };
}
