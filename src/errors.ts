import type { ApiErrorCode } from './lib/error-codes.js';
import type { OAuthErrorCode } from './lib/oauth-error-codes.js';
import { inEnglish } from './lib/languages/english.js';
import { message, type Message, type MessageKey } from './lib/languages/messages.js';
import { errorDescription } from './lib/error-description.js';
import { named } from './lib/named.js';
import type { RefusalDetail, RefusalRule } from './lib/refusal-rules.js';

/** A refusal that says by which rule it came about, for whoever looks for its cause: nothing of that is answered. */
export abstract class RuledError extends Error {
  /** Null: what the error code says is all. */
  rule: RefusalRule | null = null;
  detail: RefusalDetail = {};

  abstract get answer(): { readonly status: number; readonly code: string; readonly text: string };

  by(rule: RefusalRule | null, detail: RefusalDetail = {}): this {
    this.rule = rule;
    this.detail = detail;
    return this;
  }
}

/** A refusal of an OAuth endpoint (RFC 6749 5.2, RFC 6750 3): rendered as JSON. `description` is public, `cause` is for the log. */
export class OAuthError extends RuledError {
  constructor(
    readonly status: number,
    readonly error: OAuthErrorCode,
    readonly description: string,
    readonly headers: Readonly<Record<string, string>> = named(),
    cause?: unknown,
  ) {
    super(`${error}: ${description}`, { cause });
    this.name = 'OAuthError';
  }

  /** Members of the answer beside `error` and its description. */
  extra: Readonly<Record<string, unknown>> = named();

  get answer() {
    return { status: this.status, code: this.error, text: this.description };
  }

  with(extra: Readonly<Record<string, unknown>>): this {
    this.extra = extra;
    return this;
  }

  static invalid_request(description: string) {
    return new OAuthError(400, 'invalid_request', description);
  }
  static invalid_grant(description: string) {
    return new OAuthError(400, 'invalid_grant', description);
  }
  static invalid_scope(description: string) {
    return new OAuthError(400, 'invalid_scope', description);
  }
  static invalid_target(description: string) {
    return new OAuthError(400, 'invalid_target', description);
  }
  /** RFC 9396 5. */
  static invalid_authorization_details(description: string) {
    return new OAuthError(400, 'invalid_authorization_details', description);
  }
  static unauthorized_client(description: string) {
    return new OAuthError(400, 'unauthorized_client', description);
  }
  static unsupported_grant_type(description: string) {
    return new OAuthError(400, 'unsupported_grant_type', description);
  }
  /** RFC 9470 3, at the token endpoint: what the sign-in behind a grant would have to be. */
  static insufficient_user_authentication(description: string, { acr, max_age }: { acr: string | null; max_age: number | null }) {
    const extra = { ...(acr === null ? {} : { acr_values: acr }), ...(max_age === null ? {} : { max_age }) };
    return new OAuthError(400, 'insufficient_user_authentication', description).with(extra).by('sign_in_class_not_met');
  }
  /** RFC 6749 5.2: 401 and the scheme that the client may use. */
  static invalid_client(description = 'client authentication failed') {
    return new OAuthError(401, 'invalid_client', description, { 'WWW-Authenticate': 'Basic realm="oauth", charset="UTF-8"' });
  }
  /** RFC 6750 3.1. */
  static invalid_token(description = 'the access token is missing, expired or revoked') {
    return new OAuthError(401, 'invalid_token', description, {
      'WWW-Authenticate': `Bearer realm="oauth", error="invalid_token", error_description="${errorDescription(description)}"`,
    });
  }
  /** RFC 6750 3.1: `scope` names what would have been enough. */
  static insufficient_scope(scope: string) {
    return new OAuthError(403, 'insufficient_scope', `the access token lacks the scope ${scope}`, {
      'WWW-Authenticate': `Bearer realm="oauth", error="insufficient_scope", scope="${scope}"`,
    });
  }
}

/** A link on a page to what the person can do next. */
export type PageLink = { readonly href: string; readonly label: string };

/** The same of a refusal, which is put in words when it is shown. */
export type OnwardLink = { readonly href: string; readonly label: MessageKey };

/** What an error page lists below its text, for whoever develops the application: a name and its values. */
export type PageDetail = { readonly name: string; readonly values: readonly string[] };

/** A refusal shown as a page, or as `{error, error_description, fields}` to a JSON client of the same endpoint. */
export class PageError extends RuledError {
  /** What happened and what to do, in English: for JSON and the log. */
  readonly text: string;
  /** The same for a page, in the language of whoever sees it; null: there is the English alone. */
  readonly localized: Message | null;

  constructor(
    readonly status: number,
    readonly code: string,
    text: string | Message,
    readonly extra: Readonly<Record<string, unknown>> = named(),
    cause?: unknown,
    /** A link to what the person can do next; null for none. */
    readonly next: OnwardLink | null = null,
    readonly details: readonly PageDetail[] = [],
  ) {
    const english = typeof text === 'string' ? text : inEnglish(text);
    super(`${code}: ${english}`, { cause });
    this.name = 'PageError';
    this.text = english;
    this.localized = typeof text === 'string' ? null : text;
  }

  get answer() {
    return { status: this.status, code: this.code, text: this.text };
  }
}

/** One error object of a JSON:API document (JSON:API 1.1, "Error Objects"). */
export type ApiErrorObject = {
  /** Rendered as a string, as JSON:API wants it. */
  readonly status: number;
  readonly code: ApiErrorCode;
  readonly title: string;
  readonly detail: string;
  readonly source?: { readonly pointer: string } | { readonly parameter: string } | { readonly header: string };
  /** `type` identifies the kind of problem beyond its code. */
  readonly links?: { readonly type: string };
  readonly meta?: Readonly<Record<string, unknown>>;
};

export class ApiError extends Error {
  readonly errors: readonly ApiErrorObject[];
  constructor(
    errors: ApiErrorObject | readonly ApiErrorObject[],
    readonly headers: Readonly<Record<string, string>> = named(),
    /** Of the answer; null: that of its errors, and 400 when they have several. */
    readonly status: number | null = null,
  ) {
    const list = Array.isArray(errors) ? (errors as readonly ApiErrorObject[]) : [errors as ApiErrorObject];
    super(list.map((error) => `${error.code}: ${error.detail}`).join('; '));
    this.name = 'ApiError';
    this.errors = list;
  }
}

/** Too many requests; `retry_after` in whole seconds. Every surface renders it in its own dialect with 429. */
export class RateLimitedError extends Error {
  constructor(
    readonly retry_after: number,
    /** What raises the limit, for whoever may do that, or what to do meanwhile. */
    readonly remedy: string | null = null,
  ) {
    super('too many requests');
    this.name = 'RateLimitedError';
  }
}

/** Temporarily unavailable (database, overload): rendered as 503 with `Retry-After`, `retry_after` in seconds. */
export class UnavailableError extends Error {
  constructor(
    readonly retry_after: number,
    cause?: unknown,
  ) {
    super('temporarily unavailable', { cause });
    this.name = 'UnavailableError';
  }
}

/** What a page says of a body that was refused with the status. */
export const bodyMessage = (status: number): Message => message(status === 413 ? 'refusal.body_too_large' : 'refusal.body_unreadable');

/** A body that can't be read: too large, not the announced length, not valid text. `status` is 400, 413 or 415. */
export class BodyError extends Error {
  constructor(
    readonly status: 400 | 413 | 415,
    text: string,
    /** What a page says of it, in the language of whoever sees it. */
    readonly localized: Message = bodyMessage(status),
  ) {
    super(text);
    this.name = 'BodyError';
  }
}

/** Which rule of SCIM a request breaks (RFC 7644 3.12, table 9). */
export type ScimType =
  'invalidFilter' | 'tooMany' | 'uniqueness' | 'mutability' | 'invalidSyntax' | 'invalidPath' | 'noTarget' | 'invalidValue';

/** A refusal of a SCIM endpoint (RFC 7644 3.12). `detail` is public. */
export class ScimError extends Error {
  constructor(
    readonly status: number,
    readonly scim_type: ScimType | null,
    readonly detail: string,
    readonly headers: Readonly<Record<string, string>> = named(),
  ) {
    super(`${scim_type ?? status}: ${detail}`);
    this.name = 'ScimError';
  }
}
