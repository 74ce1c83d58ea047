import type { IncomingHttpHeaders } from 'node:http';
import type { Request, Response } from 'express';
import type { FilePart } from '../domain/moving/user-imports.js';
import { readBody } from './body.js';
import { refuse } from './problems.js';

/** The type and coding of a part of a file. @throws {ApiError} 415 */
export function checkPartType(headers: IncomingHttpHeaders, mediaType: string): void {
  const [type = ''] = (headers['content-type'] ?? '').split(';');
  if (type.trim().toLowerCase() !== mediaType)
    throw refuse(415, 'unsupported_media_type', `The body must be of the type ${mediaType}.`, { header: 'Content-Type' });
  if (!['identity', 'gzip'].includes(headers['content-encoding'] ?? 'identity'))
    throw refuse(415, 'unsupported_content_encoding', 'The body must be plain or gzip.', { header: 'Content-Encoding' });
}

/** Where the bytes belong in their file: those of `Content-Range` (RFC 9110 14.4), or the whole. @throws {ApiError} 400 */
function rangeOf(header: string | undefined, length: number): Pick<FilePart, 'start' | 'total'> {
  if (header === undefined) return { start: 0, total: length };
  const [, first, last, total] = /^bytes (\d{1,10})-(\d{1,10})\/(\d{1,10}|\*)$/.exec(header) ?? [];
  const [start, end, whole] = [Number(first), Number(last), total === '*' ? null : Number(total)];
  if (end - start + 1 !== length || (whole !== null && end >= whole))
    throw refuse(400, 'invalid_range', 'Content-Range must say which bytes these are: bytes FIRST-LAST/LENGTH.', {
      header: 'Content-Range',
    });
  return { start, total: whole };
}

/** A part of a file, as it was sent. @throws {ApiError} 400 */
export async function readPart(req: Request, res: Response, maxBytes: number): Promise<FilePart> {
  const is_compressed = req.headers['content-encoding'] === 'gzip';
  // It is kept as it comes; whoever reads bodies here takes none that are coded.
  delete req.headers['content-encoding'];
  const data = await readBody(req, res, maxBytes);
  if (data.length === 0) throw refuse(400, 'malformed_document', 'The request needs a body.', { pointer: '' });
  return { data, ...rangeOf(req.headers['content-range'], data.length), is_compressed };
}
