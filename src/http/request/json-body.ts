import type { Request, Response } from 'express';
import express from 'express';
import { isStorable } from '../../lib/json-object.js';
import { memo } from '../../lib/memo.js';

/** Reads a body up to the limit; there are as many as different limits. */
const readerFor = memo((limit: number) => express.raw({ type: () => true, limit, inflate: false }));

const utf8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });
const maxDepth = 32;

const [quote, backslash, ...betweenValues] = Buffer.from('"\\,:[{');

/** Whether the bytes hold more values than that, names of members included, told before anything is made of them: many values take longer to read than long texts. */
function holdsTooMany(bytes: Buffer, mostValues: number): boolean {
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

/** The bytes of the body. @throws what body-parser throws: 413 beyond the limit, 400 for a wrong length */
export async function readBytes(req: Request, res: Response, limit: number): Promise<Buffer> {
  const read = readerFor(limit);
  await new Promise<void>((resolve, reject) => read(req, res, (error?: unknown) => (error ? reject(error as Error) : resolve())));
  return Buffer.isBuffer(req.body) ? req.body : Buffer.alloc(0);
}

/** Why bytes are no JSON object that can be kept. */
export type JsonProblem = 'too many values' | 'no JSON' | 'no object' | 'not storable';

/** The JSON object that the bytes say, of at most that many values; else what is wrong with it. */
export function parseJsonObject(bytes: Buffer, mostValues: number): Record<string, unknown> | JsonProblem {
  if (holdsTooMany(bytes, mostValues)) return 'too many values';
  let value: unknown;
  try {
    value = JSON.parse(utf8.decode(bytes));
  } catch {
    return 'no JSON';
  }
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return 'no object';
  return isStorable(value, maxDepth) ? (value as Record<string, unknown>) : 'not storable';
}
