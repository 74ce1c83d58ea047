import { STATUS_CODES } from 'node:http';
import type { z } from 'zod';
import { Dangling, Duplicate } from '../db/connection/failures.js';
import type { Environment } from '../domain/environment.js';
import { Refusal, type Problem } from '../domain/refusal.js';
import { managementClass } from '../domain/sessions/management-requirement.js';
import { ApiError, type ApiErrorObject } from '../errors.js';
import { isApiErrorCode, type ApiErrorCode } from '../lib/error-codes.js';
import { named, own } from '../lib/named.js';

type Source = { readonly pointer: string } | { readonly parameter: string } | { readonly header: string };

/** The title of a code: always the same one (JSON:API 1.1, "Error Objects"). */
const titleOf = (code: string) => (code.charAt(0).toUpperCase() + code.slice(1)).replaceAll('_', ' ');

/** The most errors that one answer has; no more are made. */
export const maxErrors = 20;

export const problem = (
  status: number,
  code: ApiErrorCode,
  detail: string,
  source?: Source,
  meta?: Readonly<Record<string, unknown>>,
): ApiErrorObject => ({ status, code, title: titleOf(code), detail, ...(source ? { source } : {}), ...(meta ? { meta } : {}) });

export const refuse = (
  status: number,
  code: ApiErrorCode,
  detail: string,
  source?: Source,
  meta?: Readonly<Record<string, unknown>>,
): ApiError => new ApiError(problem(status, code, detail, source, meta));

/** 400 for a query parameter. */
export const badParameter = (parameter: string, code: ApiErrorCode, detail: string, meta?: Readonly<Record<string, unknown>>) =>
  refuse(400, code, detail, { parameter }, meta);

/** 404 in the one wording for "isn't there" and "isn't yours". */
export const notFound = (what = 'There is no such resource.') => refuse(404, 'not_found', what);

/** 403 for a missing permission, with the challenge of RFC 6750 3.1. */
export function insufficientScope(required: readonly string[], parameter?: string): ApiError {
  const scope = required.join(' ');
  return new ApiError(
    problem(
      403,
      'insufficient_scope',
      `This needs the permission ${required.join(' and ')}.`,
      parameter === undefined ? undefined : { parameter },
      { required },
    ),
    { 'WWW-Authenticate': `Bearer realm="api", error="insufficient_scope", scope="${scope}"` },
  );
}

/** The challenge of RFC 9470 3: what a sign-in has to be for the request to be repeated. */
const stepUpChallenge = ({ acr, max_age }: { readonly acr: string | null; readonly max_age: number }): Record<string, string> => ({
  'WWW-Authenticate': `Bearer realm="api", error="insufficient_user_authentication", ${acr === null ? '' : `acr_values="${acr}", `}max_age="${max_age}"`,
});

/** 401 for a person whose sign-in is below what writes take here, or too old for it. */
export function insufficientAuthentication(environment: Environment): ApiError {
  const acr = managementClass(environment);
  const max_age = environment.confirmation_lifetime;
  const detail = `This takes a sign-in of the class ${acr} within the last ${max_age} seconds: sign in again with acr_values=${acr} and max_age=${max_age}.`;
  const meta = { acr_values: acr, max_age };
  return new ApiError(problem(401, 'insufficient_user_authentication', detail, undefined, meta), stepUpChallenge({ acr, max_age }));
}

/** The class that a refusal asks for; null for any. */
const acrOf = ({ meta }: Pick<Problem, 'meta'>): string | null => (typeof meta?.['acr_values'] === 'string' ? meta['acr_values'] : null);

const escape = (part: string | number) => String(part).replaceAll('~', '~0').replaceAll('/', '~1');

/** A JSON Pointer (RFC 6901). */
export const pointerTo = (...segments: readonly (string | number)[]): { pointer: string } => ({
  pointer: segments.map((part) => `/${escape(part)}`).join(''),
});

const has = (value: unknown, key: string | number): boolean =>
  typeof value === 'object' && value !== null && (Array.isArray(value) ? Number(key) < value.length : Object.hasOwn(value, key));

/** The longest part of a path that exists in the value, and the first member that doesn't (JSON:API: the pointer must resolve). */
function resolvable(value: unknown, path: readonly (string | number)[]): { path: (string | number)[]; missing: string | number | null } {
  let current = value;
  const found: (string | number)[] = [];
  for (const part of path) {
    if (!has(current, part)) return { path: found, missing: part };
    found.push(part);
    current = Array.isArray(current) ? (current as unknown[])[Number(part)] : own(current as object, String(part));
  }
  return { path: found, missing: null };
}

const zodCodes: Record<string, ApiErrorCode> = named({
  invalid_type: 'invalid_type',
  too_big: 'too_long',
  too_small: 'too_short',
  invalid_format: 'invalid_format',
  invalid_value: 'invalid_value',
  invalid_union: 'invalid_value',
  not_multiple_of: 'invalid_value',
});

/** Where values are in a document, and what an unknown one is called there. */
type PointerBase = {
  readonly path: readonly string[];
  readonly unknownCode: ApiErrorCode;
  readonly unknownText: string;
  /** What somebody probably meant who wrote the unknown name at the path; null when nothing comes near. */
  readonly nearest?: (path: readonly (string | number)[], name: string) => string | null;
};

const inAttributes: PointerBase = {
  path: ['data', 'attributes'],
  unknownCode: 'unknown_attribute',
  unknownText: 'is not an attribute that can be set here.',
};
const inMeta: PointerBase = { path: ['meta'], unknownCode: 'unknown_member', unknownText: 'is not a member that this action knows.' };

/** An issue of a schema as errors, with pointers below the place of the value. */
export function fromIssue(issue: z.core.$ZodIssue, value: unknown, base: PointerBase): ApiErrorObject[] {
  const { path: root, unknownCode, unknownText } = base;
  const path = issue.path.filter((part) => typeof part !== 'symbol') as (string | number)[];
  if (issue.code === 'unrecognized_keys') {
    return issue.keys.slice(0, maxErrors).map((key) => {
      const nearest = base.nearest?.(path, key) ?? null;
      const hint = nearest === null ? '' : ` Did you mean "${nearest}"?`;
      const meta = nearest === null ? undefined : { nearest };
      return problem(422, unknownCode, `"${key.slice(0, 100)}" ${unknownText}${hint}`, pointerTo(...root, ...path, key), meta);
    });
  }
  const position = resolvable(value, path);
  if (position.missing !== null) {
    return [
      problem(422, 'required', `"${position.missing}" is required.`, pointerTo(...root, ...position.path), {
        field: String(position.missing),
      }),
    ];
  }
  const custom = issue.code === 'custom' ? (issue.params as { code?: unknown } | undefined)?.code : undefined;
  const code = isApiErrorCode(custom) ? custom : (zodCodes[issue.code] ?? 'invalid_value');
  return [problem(422, code, issue.message, pointerTo(...root, ...position.path))];
}

/** Issues as errors, of which no more are made than are told. */
function fromIssues(issues: readonly z.core.$ZodIssue[], value: unknown, base: PointerBase): ApiErrorObject[] {
  const errors: ApiErrorObject[] = [];
  for (const issue of issues.slice(0, maxErrors)) errors.push(...fromIssue(issue, value, base));
  return errors.slice(0, maxErrors);
}

/** All validation failures of the attributes at once, up to twenty. */
export function invalidAttributes(issues: readonly z.core.$ZodIssue[], attributes: unknown): ApiError {
  const errors = fromIssues(issues, attributes, inAttributes);
  // Without an `attributes` member the pointers end above it.
  if (attributes !== undefined) return new ApiError(errors);
  return new ApiError(errors.map((error) => ({ ...error, source: { pointer: '/data' } })));
}

/** The same of the top-level `meta`. */
export const invalidMeta = (issues: readonly z.core.$ZodIssue[], meta: unknown): ApiError => new ApiError(fromIssues(issues, meta, inMeta));

/** The error of refusals by the domain, with pointers into the request's document. */
export function fromProblems(problems: readonly Problem[], document: unknown): ApiError {
  const errors = problems.slice(0, maxErrors).map(({ status, code, detail, attribute, relationship, meta }) => {
    const path =
      attribute !== undefined
        ? ['data', 'attributes', ...(typeof attribute === 'string' ? [attribute] : attribute)]
        : relationship !== undefined
          ? ['data', 'relationships', relationship]
          : null;
    if (path === null || document === undefined) return problem(status, code, detail, undefined, meta);
    const position = resolvable(document, path);
    const last = path.at(-1);
    // A member of a list that the request doesn't hold: the list is named.
    const field = position.missing === null ? {} : { field: String(typeof last === 'number' ? position.missing : last) };
    const allMeta = { ...field, ...meta };
    return problem(status, code, detail, pointerTo(...position.path), Object.keys(allMeta).length > 0 ? allMeta : undefined);
  });
  const required = problems.flatMap(({ code, meta }) =>
    code === 'scope_escalation' ? ((meta?.['required'] as string[] | undefined) ?? []) : [],
  );
  const stale = problems.find(({ code }) => code === 'insufficient_user_authentication');
  if (stale) {
    return new ApiError(errors, stepUpChallenge({ acr: acrOf(stale), max_age: Number(stale.meta?.['max_age'] ?? 0) }));
  }
  const challenge =
    required.length > 0 ? { 'WWW-Authenticate': `Bearer realm="api", error="insufficient_scope", scope="${required.join(' ')}"` } : {};
  return new ApiError(errors, challenge);
}

/** Runs `work` and translates refusals of the domain and the database into errors of this API, with pointers into the document. @throws {ApiError} */
export async function translated<T>(document: Readonly<Record<string, unknown>> | undefined, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    if (error instanceof Refusal) throw fromProblems(error.problems, document);
    if (error instanceof Duplicate) throw refuse(409, 'already_exists', 'There is such a record already.');
    if (error instanceof Dangling) throw refuse(409, 'conflict', 'A related resource went away meanwhile.');
    throw error;
  }
}

export const reasonOf = (status: number): string => STATUS_CODES[status] ?? 'Error';
