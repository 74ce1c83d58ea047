import type { Request, Response } from 'express';
import express from 'express';
import { bodyLimits } from '../http/request/body-limits.js';
import { refuse } from './problems.js';
import { memo } from '../lib/memo.js';

/** Reads a body up to the limit; there are as many as different limits. */
const readerFor = memo((limit: number) => express.raw({ type: () => true, limit, inflate: false }));

const utf8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });
const maxDepth = 32;

/** The most values that a document has, names of members included: many values take longer to read than long texts. */
const mostValues = 20_000;

const [quote, backslash, ...betweenValues] = Buffer.from('"\\,:[{');

/** Whether the bytes hold more values than a document may have, told before anything is made of them. */
function holdsTooMany(bytes: Buffer): boolean {
  let count = 0;
  let inText = false;
  for (let at = 0; at < bytes.length; at += 1) {
    const byte = bytes[at];
    if (byte === quote) inText = !inText;
    else if (inText && byte === backslash) at += 1;
    else if (!inText && betweenValues.includes(byte as number) && ++count > mostValues) return true;
  }
  return false;
}

/** Whether everything in the value can be stored as text: no NUL, no lone surrogate, no number beyond what JSON can say, no member `__proto__`, bounded depth. */
function isStorable(value: unknown, depth = 0): boolean {
  if (typeof value === 'string') return !value.includes('\0') && value.isWellFormed();
  if (typeof value === 'number') return Number.isFinite(value);
  if (typeof value !== 'object' || value === null) return true;
  if (depth >= maxDepth) return false;
  if (Array.isArray(value)) return value.every((item) => isStorable(item, depth + 1));
  return Object.entries(value).every(([key, item]) => key !== '__proto__' && isStorable(key) && isStorable(item, depth + 1));
}

/** The bytes of the body. @throws what body-parser throws: 413 beyond the limit, 400 for a wrong length */
export async function readBody(req: Request, res: Response, limit: number = bodyLimits.document): Promise<Buffer> {
  const read = readerFor(limit);
  await new Promise<void>((resolve, reject) => read(req, res, (error?: unknown) => (error ? reject(error as Error) : resolve())));
  return Buffer.isBuffer(req.body) ? req.body : Buffer.alloc(0);
}

/** The JSON object that the bytes say. @throws {ApiError} 400, 413 */
export function parseDocument(bytes: Buffer): Record<string, unknown> {
  const malformed = (detail: string) => refuse(400, 'malformed_document', detail, { pointer: '' });
  if (holdsTooMany(bytes))
    throw refuse(413, 'payload_too_large', `The document holds more than ${mostValues} values: send fewer records at once.`, {
      pointer: '',
    });
  let value: unknown;
  try {
    value = JSON.parse(utf8.decode(bytes));
  } catch {
    throw malformed(bytes.length === 0 ? 'The request needs a body.' : 'The body is not valid JSON in UTF-8.');
  }
  if (typeof value !== 'object' || value === null || Array.isArray(value)) throw malformed('The body must be a JSON object.');
  if (!isStorable(value))
    throw malformed('The body holds text or numbers that can not be stored, a member __proto__, or is nested too deeply.');
  return value as Record<string, unknown>;
}
