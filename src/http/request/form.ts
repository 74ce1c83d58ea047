import { AsyncResource } from 'node:async_hooks';
import express, { type NextFunction, type Request, type Response } from 'express';
import { BodyError } from '../../errors.js';
import { isRequestOrigin } from './asked-origin.js';
import { message } from '../../lib/languages/messages.js';
import { named } from '../../lib/named.js';
import { bodyLimits } from './body-limits.js';
import { isPasswordField, noParameters, parseParameters, type Parameters } from '../../lib/parameters.js';

const formType = 'application/x-www-form-urlencoded';
const jsonType = 'application/json';

const maxBytes = bodyLimits.form;

const readForm = express.raw({ type: formType, limit: maxBytes, inflate: false });
const readJson = express.raw({ type: jsonType, limit: maxBytes, inflate: false });
const utf8 = new TextDecoder('utf-8', { fatal: true });

function decode(body: unknown): string {
  if (!Buffer.isBuffer(body)) return '';
  try {
    return utf8.decode(body);
  } catch {
    throw new BodyError(400, 'the body is not valid UTF-8');
  }
}

function parameters(body: unknown): Parameters {
  const parsed = parseParameters(decode(body));
  if (!parsed) throw new BodyError(400, 'the form holds too many fields, or a value that is not valid text');
  return parsed;
}

const plainFormType = /^application\/x-www-form-urlencoded(?:; ?charset=utf-8)?$/i;

/** A form as clients send it: of a stated length that the HTTP parser holds it to, neither compressed nor too large. */
function isPlainForm({ headers }: Request): boolean {
  const length = headers['content-length'];
  if (length === undefined || headers['content-encoding'] !== undefined || headers['transfer-encoding'] !== undefined) return false;
  return plainFormType.test(headers['content-type'] ?? '') && Number(length) <= maxBytes;
}

/**
 * Reads a plain form without body-parser, which for a short one takes longer than all that is then done with it. What follows stays in the
 * asynchronous context of the request, which the parser's events don't know.
 */
function readPlainForm(req: Request, done: (body: Buffer) => void): void {
  const chunks: Buffer[] = [];
  const resource = new AsyncResource('form');
  req.on('data', (chunk: Buffer) => chunks.push(chunk));
  req.on('end', () => resource.runInAsyncScope(done, null, chunks.length === 1 ? chunks[0] : Buffer.concat(chunks)));
}

/** The same for an endpoint that takes nothing else (RFC 6749 3.2, 4.1.3): a body of another content type is told to be one. @throws {BodyError} 400 */
export function encodedForm(req: Request, res: Response, next: NextFunction): void {
  const { 'content-type': type, 'content-length': length, 'transfer-encoding': encoding } = req.headers;
  const isEmpty = encoding === undefined && (length === undefined || length === '0');
  if (isEmpty || (type !== undefined && type.toLowerCase().startsWith(formType))) return form(req, res, next);
  const came = type === undefined ? 'has no Content-Type' : 'has another Content-Type';
  next(new BodyError(400, `the body ${came}: send the parameters as ${formType} (RFC 6749 3.2)`));
}

/** Reads a form body into `req.form`; another content type gives no fields, and too much of it 413. */
export function form(req: Request, res: Response, next: NextFunction): void {
  const use = (body: unknown) => {
    try {
      req.form = parameters(body);
    } catch (problem) {
      return next(problem);
    }
    next();
  };
  if (isPlainForm(req)) readPlainForm(req, use);
  else readForm(req, res, (error?: unknown) => (error ? next(error) : use(req.body)));
}

const readSamlForm = express.raw({ type: formType, limit: bodyLimits.saml_response, inflate: false });

/** A form with a SAML response (SAML Bindings 3.5), which may be longer than others. */
export function samlForm(req: Request, res: Response, next: NextFunction): void {
  readSamlForm(req, res, (error?: unknown) => {
    if (error) return next(error);
    try {
      req.form = parameters(req.body);
    } catch (problem) {
      return next(problem);
    }
    next();
  });
}

/** A JWK with a certificate chain in a client's `jwks` is the deepest thing that anybody sends. */
const maxDepth = 6;

const isPlain = (value: unknown, depth = 0): boolean => {
  if (typeof value === 'string') return !value.includes('\0') && value.isWellFormed();
  if (typeof value !== 'object' || value === null) return true;
  return depth < maxDepth && Object.entries(value).every(([name, member]) => isPlain(name) && isPlain(member, depth + 1));
};

/** Parses a JSON object whose texts can be stored. @throws {BodyError} */
function parseJsonObject(body: unknown): Record<string, unknown> {
  const text = decode(body);
  if (text === '') return {};
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    throw new BodyError(400, 'the body is not valid JSON');
  }
  if (typeof value !== 'object' || value === null || Array.isArray(value)) throw new BodyError(400, 'the body must be a JSON object');
  const passwordsAside = Object.fromEntries(
    Object.entries(value).map(([name, member]) => [
      name,
      isPasswordField(name) && typeof member === 'string' ? member.replaceAll('\0', '') : member,
    ]),
  );
  if (!isPlain(passwordsAside)) throw new BodyError(400, 'the body holds text that can not be stored, or is nested too deeply');
  return named(value as Record<string, unknown>);
}

/** Reads a form or a JSON object into `req.body`, a plain object either way; the account endpoints take both. */
export function formOrJson(req: Request, res: Response, next: NextFunction): void {
  const json = req.is(jsonType) === jsonType;
  (json ? readJson : readForm)(req, res, (error?: unknown) => {
    if (error) return next(error);
    try {
      req.form = json ? noParameters : parameters(req.body);
      req.body = json ? parseJsonObject(req.body) : req.form.all;
    } catch (problem) {
      return next(problem);
    }
    next();
  });
}

/** Whether the answer is to be JSON: asked for by `Accept`, or, without a preference, because JSON was sent. */
export function wantsJson(req: Request): boolean {
  const accept = req.headers.accept;
  if (accept === undefined || accept === '*/*') return req.is(jsonType) === jsonType;
  return req.accepts(['html', 'json']) === 'json';
}

/** The parameters of the query. @throws {BodyError} */
export function queryOf(req: Request): Parameters {
  const mark = req.url.indexOf('?');
  const parsed = mark < 0 ? noParameters : parseParameters(req.url.slice(mark + 1));
  if (!parsed)
    throw new BodyError(
      400,
      'the query holds too many parameters, or a value that is not valid text',
      message('refusal.address_unreadable'),
    );
  return parsed;
}

/**
 * Whether the request is a form that a browser posts from another site, and that for this reason comes without our SameSite cookie.
 * Needs `browserSession` before.
 */
export function isForeignPost(req: Request): boolean {
  const { origin } = req.headers;
  if (req.method !== 'POST' || req.session !== null) return false;
  return req.headers['sec-fetch-site'] === 'cross-site' || (origin !== undefined && !isRequestOrigin(req, origin));
}
