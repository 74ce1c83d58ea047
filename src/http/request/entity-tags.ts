import type { IncomingMessage } from 'node:http';
import { hasHeader } from './headers.js';

/** The entity tags that a condition lists, or `*` alone (RFC 9110 13.1.1, 8.8.3); what is neither is passed over. */
export const listedTags = (header: string): readonly string[] => (header.trim() === '*' ? ['*'] : (header.match(/(?:W\/)?"[^"]*"/g) ?? []));

/** The tag without its mark of weakness, which a proxy that compresses adds. */
export const strongTag = (tag: string): string => tag.replace(/^W\//, '');

/** Whether the caller has the very answer that `etag` names, and is told so with 304 (RFC 9110 13.1.2). */
export function isKnown(req: IncomingMessage, etag: string): boolean {
  if (!hasHeader(req, 'if-none-match')) return false;
  return listedTags(req.headers['if-none-match'] ?? '').some((tag) => tag === '*' || strongTag(tag) === strongTag(etag));
}
