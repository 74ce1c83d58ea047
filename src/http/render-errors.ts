import type { ErrorRequestHandler, Request, Response } from 'express';
import { bearerChallenge, managementMetadataUrl } from '../domain/api-resources/metadata.js';
import { OverloadedError } from '../domain/passwords/hashing-queue.js';
import { Dangling, DatabaseFailure, Duplicate, Unstorable } from '../db/connection/failures.js';
import {
  ApiError,
  BodyError,
  bodyMessage,
  OAuthError,
  PageError,
  RateLimitedError,
  UnavailableError,
  type ApiErrorObject,
  type PageDetail,
  type OnwardLink,
} from '../errors.js';
import { isApiErrorCode, type ApiErrorCode } from '../lib/error-codes.js';
import { bodyTooLarge } from './request/body-limits.js';
import { wantsJson } from './request/form.js';
import { traceRefusal } from './auth/trace.js';
import { MethodNotAllowedError } from './routes.js';
import { basePage } from './pages/pages.js';
import type { Web } from './web.js';
import { message, waitMessage, type Message, type MessageKey } from '../lib/languages/messages.js';
import { wordsIn, wordsOf } from './pages/words.js';

/** What every surface needs to know of a refusal, whatever its dialect. */
type RenderedError = {
  status: number;
  code: string;
  /** Public text. */
  text: string;
  headers: Record<string, string>;
  extra: Readonly<Record<string, unknown>>;
  /** The text in the person's language; absent: there is the English alone. */
  localized?: Message | null;
  next?: OnwardLink | null;
  details?: readonly PageDetail[];
};

const retryHeaders = (seconds: number) => ({ 'Retry-After': String(seconds) });
const plain = { headers: {}, extra: {} } as const;

const renderedErrorOf = (error: unknown): RenderedError => ownError(error) ?? foreignError(error);

/** What is answered to an error that the service throws itself; null for others. */
function ownError(error: unknown): RenderedError | null {
  if (error instanceof OAuthError)
    return { status: error.status, code: error.error, text: error.description, headers: { ...error.headers }, extra: {} };
  if (error instanceof PageError)
    return {
      status: error.status,
      code: error.code,
      text: error.text,
      localized: error.localized,
      headers: {},
      extra: error.extra,
      next: error.next,
      details: error.details,
    };
  if (error instanceof ApiError) {
    const [first] = error.errors;
    return { status: first?.status ?? 500, code: first?.code ?? 'server_error', text: first?.detail ?? '', ...plain };
  }
  if (error instanceof MethodNotAllowedError) {
    const { allow, localized } = error;
    return {
      status: 405,
      code: 'method_not_allowed',
      text: `this address takes ${allow}`,
      localized,
      headers: { Allow: allow },
      extra: {},
    };
  }
  if (error instanceof BodyError) {
    const { status, localized } = error;
    return { status, code: status === 413 ? 'payload_too_large' : 'invalid_request', text: error.message, localized, ...plain };
  }
  if (error instanceof RateLimitedError) {
    return {
      status: 429,
      code: 'rate_limited',
      text: [`too many requests; try again in ${error.retry_after} s`, error.remedy].filter(Boolean).join('; '),
      localized: error.remedy ? null : waitMessage('requests', error.retry_after),
      headers: retryHeaders(error.retry_after),
      extra: {},
    };
  }
  if (error instanceof UnavailableError || error instanceof OverloadedError) {
    return {
      status: 503,
      code: 'temporarily_unavailable',
      text: 'the service is busy; try again shortly',
      localized: message('refusal.busy'),
      headers: retryHeaders(error.retry_after),
      extra: {},
    };
  }
  return null;
}

/**
 * What is answered to a failure of the database, and to an error of Node or Express: 503 for what may work later, 400 for what the caller sent (what
 * somebody sends is never a failure of ours), else 500.
 */
function foreignError(error: unknown): RenderedError {
  if (error instanceof Unstorable) {
    const unstorable = { text: 'a value holds text that can not be stored', localized: bodyMessage(400) };
    return { status: 400, code: 'invalid_request', ...unstorable, ...plain };
  }
  if (error instanceof DatabaseFailure && !(error instanceof Duplicate || error instanceof Dangling)) {
    return {
      status: 503,
      code: 'temporarily_unavailable',
      text: 'the database can not be reached; try again shortly',
      localized: message('refusal.unreachable'),
      headers: retryHeaders(5),
      extra: {},
    };
  }
  const { status, type, limit } = error as { status?: unknown; type?: unknown; limit?: unknown };
  if (typeof type === 'string' && typeof status === 'number' && status >= 400 && status < 500) {
    const texts: Record<number, string> = { 413: bodyTooLarge(Number(limit)), 415: 'the body must not be compressed, and be UTF-8' };
    const code = status === 413 ? 'payload_too_large' : 'invalid_request';
    return { status, code, text: texts[status] ?? 'the body can not be read', localized: bodyMessage(status), ...plain };
  }
  if (error instanceof URIError) {
    const localized = message('refusal.address_unreadable');
    return { status: 400, code: 'invalid_request', text: 'the address can not be decoded', localized, ...plain };
  }
  const text = 'something went wrong; the log has the cause under this request id';
  return { status: 500, code: 'server_error', text, localized: message('refusal.something_failed'), ...plain };
}

/** Which dialect an address speaks. */
type Surface = 'oauth' | 'api' | 'page';

const oauthJson =
  /^\/(oauth\/(token|introspect|revoke|userinfo|register|par|device_authorization|resources)|\.well-known\/|healthz$|readyz$|metrics$)/;

function surfaceOf(path: string): Surface {
  if (path === '/api' || path.startsWith('/api/')) return 'api';
  return oauthJson.test(path) ? 'oauth' : 'page';
}

/** One JSON:API error object; `id` is the request id (specification 11.1.1). */
function apiErrorDocument(req: Pick<Request, 'request_id'>, errors: readonly ApiErrorObject[]): string {
  return JSON.stringify({
    jsonapi: { version: '1.1' },
    errors: errors.map((error) => ({ id: req.request_id, ...error, status: String(error.status) })),
  });
}

const titles: Record<number, string> = {
  400: 'Bad request', 401: 'Unauthorized', 403: 'Forbidden', 404: 'Not found', 405: 'Method not allowed', 409: 'Conflict', 413: 'Payload too large',
  415: 'Unsupported media type', 429: 'Too many requests', 500: 'Internal server error', 503: 'Service unavailable',
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

/** RFC 6749 5.2 allows visible ASCII without `"` and `\` in a description. */
const ascii = (text: string) => text.replaceAll(/["\\’]/g, "'").replaceAll(/[^\x20-\x7e]/g, '?');

function renderJson(req: Request, res: Response, refusal: RenderedError): void {
  res.status(refusal.status).set('Cache-Control', 'no-store');
  const body = { error: refusal.code, error_description: ascii(refusal.text), ...refusal.extra };
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

/** A refusal that has a text in English alone is shown in English as a whole, rather than in two languages. */
function renderAsPage(web: Web, req: Request, res: Response, refusal: RenderedError): void {
  const environment = req.ctx?.environment ?? { name: 'Sign-in', kind: 'production' as const, support_email: null, branding: null };
  const { status, code, localized = null, next = null } = refusal;
  const { language, t, say } = localized === null ? wordsIn('en') : wordsOf(req);
  const title = code === 'not_found' ? 'error_page.title_not_found' : 'error_page.title';
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
    if (surfaceOf(req.path) === 'oauth' || wantsJson(req)) return renderJson(req, res, refusal);
    renderAsPage(web, req, res, refusal);
  };
}
