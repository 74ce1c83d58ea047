import { OverloadedError } from '../domain/passwords/hashing-queue.js';
import { DatabaseFailure, Dangling, Duplicate, Unstorable } from '../db/connection/failures.js';
import {
  ApiError,
  BodyError,
  bodyMessage,
  OAuthError,
  PageError,
  RateLimitedError,
  ScimError,
  UnavailableError,
  type OnwardLink,
  type PageDetail,
} from '../errors.js';
import { message, waitMessage, type Message } from '../lib/languages/messages.js';
import { bodyTooLarge } from './request/body-limits.js';
import { MethodNotAllowedError } from './routes.js';

/** What every surface needs to know of a refusal, whatever its dialect. */
export type RenderedError = {
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

/** What is answered to whatever was thrown. */
export const renderedErrorOf = (error: unknown): RenderedError =>
  error instanceof ScimError ? ofScim(error) : (ownError(error) ?? foreignError(error));

const ofScim = ({ status, scim_type, detail, headers }: ScimError): RenderedError => ({
  status,
  code: scim_type ?? 'invalid_request',
  text: detail,
  headers: { ...headers },
  extra: {},
});

/** What is answered to an error that the service throws itself; null for others. */
function ownError(error: unknown): RenderedError | null {
  if (error instanceof OAuthError)
    return { status: error.status, code: error.error, text: error.description, headers: { ...error.headers }, extra: error.extra };
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
