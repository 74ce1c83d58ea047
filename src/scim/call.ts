import type { Request } from 'express';
import type { Context } from '../domain/context.js';
import type { Teller } from '../domain/directories/people.js';
import { isKnown, listedTags, strongTag } from '../http/request/entity-tags.js';
import { ScimError } from '../errors.js';
import type { ScimValues } from './read-values.js';
import type { ScimQuery } from './list-query.js';

/** A request of a directory, once it is known whose it is. */
export type ScimCall = {
  readonly ctx: Context;
  readonly teller: Teller;
  /** The address of the directory's resources. */
  readonly base: string;
  readonly req: Request;
  /** The body; empty for requests without one. */
  readonly body: ScimValues;
  readonly query: ScimQuery;
};

/** An answer before it is sent. Without a body it is 204 or 304. */
export type ScimReply = { readonly status: number; readonly body: ScimValues | null; readonly headers?: Readonly<Record<string, string>> };

export type ScimOperation = (call: ScimCall) => Promise<ScimReply>;

/** Weak (RFC 7644 3.14): it tells versions apart, not bytes. */
export const weakTag = ({ version }: { readonly version: number }): string => `W/"${version}"`;

/** Refuses a change of another version than the caller has seen (RFC 7644 3.14). @throws {ScimError} 412 */
export function requireMatch({ headers }: Request, row: { readonly version: number }): void {
  const expected = headers['if-match'];
  if (expected === undefined) return;
  const tags = listedTags(expected);
  if (tags.some((tag) => tag === '*' || strongTag(tag) === strongTag(weakTag(row)))) return;
  throw new ScimError(412, null, 'The resource has changed since the version that If-Match names.');
}

/** A resource with its version, or 304 where the caller has that. */
export function resourceReply(req: Request, row: { readonly version: number }, body: ScimValues): ScimReply {
  const ETag = weakTag(row);
  return isKnown(req, ETag) ? { status: 304, body: null, headers: { ETag } } : { status: 200, body, headers: { ETag } };
}

export const emptyReply: ScimReply = { status: 204, body: null };
