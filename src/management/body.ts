import type { Request, Response } from 'express';
import { bodyLimits } from '../http/request/body-limits.js';
import { parseJsonObject, readBytes } from '../http/request/json-body.js';
import { refuse } from './problems.js';

const mostValues = 20_000;

/** The bytes of the body. @throws what body-parser throws: 413 beyond the limit, 400 for a wrong length */
export const readBody = (req: Request, res: Response, limit: number = bodyLimits.document): Promise<Buffer> => readBytes(req, res, limit);

/** The JSON object that the bytes say. @throws {ApiError} 400, 413 */
export function parseDocument(bytes: Buffer): Record<string, unknown> {
  const parsed = parseJsonObject(bytes, mostValues);
  if (typeof parsed !== 'string') return parsed;
  const malformed = (detail: string) => refuse(400, 'malformed_document', detail, { pointer: '' });
  switch (parsed) {
    case 'too many values':
      throw refuse(413, 'payload_too_large', `The document holds more than ${mostValues} values: send fewer records at once.`, {
        pointer: '',
      });
    case 'no JSON':
      throw malformed(bytes.length === 0 ? 'The request needs a body.' : 'The body is not valid JSON in UTF-8.');
    case 'no object':
      throw malformed('The body must be a JSON object.');
    case 'not storable':
      throw malformed('The body holds text or numbers that can not be stored, a member __proto__, or is nested too deeply.');
  }
}
