import type { Request, Response } from 'express';
import { etagOf, type Document } from './documents.js';
import { jsonApi } from './media-type.js';
import { isKnown, listedTags, strongTag } from '../http/request/entity-tags.js';
import { named } from '../lib/named.js';

/** An answer before it is sent, so that it can be stored and sent again. `body` is empty for 204 and 304. */
export type Reply<Body extends string | Buffer = string> = {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Body;
};

/** The one place where a document becomes text, with the ETag of that text. */
export function documentReply(
  status: number,
  { document, version }: { readonly document: Partial<Document>; readonly version: number | null },
  headers: Readonly<Record<string, string>> = named(),
): Reply {
  const body = JSON.stringify(document);
  return { status, headers: { 'Content-Type': jsonApi, Vary: 'Accept', ...headers, ETag: etagOf(body, version) }, body };
}

/** 204 (JSON:API 1.1: without a body and without Content-Type). */
export const noContent: Reply = { status: 204, headers: {}, body: '' };

/** Sends the reply. Set bare, so that Express adds no charset to the media type. */
export function send(res: Response, reply: Reply<string | Buffer>): void {
  res.status(reply.status);
  for (const [name, value] of Object.entries(reply.headers)) res.setHeader(name, value);
  if (!res.hasHeader('Cache-Control')) res.setHeader('Cache-Control', 'private, no-cache');
  if (reply.body === '') return void res.end();
  res.setHeader('Content-Length', Buffer.byteLength(reply.body));
  res.end(reply.body);
}

/** 304 when the caller has this very answer (RFC 9110 13.1.2), else the reply. */
export function unlessKnown(req: Request, reply: Reply): Reply {
  const etag = reply.headers['ETag'];
  if (etag === undefined || !isKnown(req, etag)) return reply;
  // What the 200 would say about caching (RFC 9110 15.4.5).
  const caching = reply.headers['Cache-Control'];
  return { status: 304, headers: { ETag: etag, Vary: 'Accept', ...(caching === undefined ? {} : { 'Cache-Control': caching }) }, body: '' };
}

/**
 * The versions that `If-Match` accepts (RFC 9110 13.1.1), or null without the header or with `*`. The version leads our ETags; a proxy that
 * compresses marks them as weak, which is forgiven. What isn't an ETag of ours matches nothing.
 */
export function expectedVersions(req: Request): number[] | null {
  const header = req.headers['if-match'];
  if (header === undefined || header.trim() === '*') return null;
  return listedTags(header).map((tag) => Number(/^"(\d{1,9})-/.exec(strongTag(tag))?.[1] ?? -1));
}
