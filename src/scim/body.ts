import type { Request, Response } from 'express';
import { ScimError } from '../errors.js';
import { bodyLimits } from '../http/request/body-limits.js';
import { parseJsonObject, readBytes } from '../http/request/json-body.js';
import type { ScimValues } from './read-values.js';

/** Values of a body: ten thousand members, each with what directories write beside its id. */
const mostValues = 120_000;

/** Whether the header says JSON, or SCIM's own, in UTF-8. */
function isScim(header: string): boolean {
  const [type, ...parameters] = header.split(';').map((part) => part.trim().toLowerCase());
  return /^application\/(?:scim\+)?json$/.test(type ?? '') && parameters.every((one) => one === '' || /^charset="?utf-?8"?$/.test(one));
}

const hasBody = ({ method }: Request) => method === 'POST' || method === 'PUT' || method === 'PATCH';

/** The object that the request bears; empty for methods without a body. @throws {ScimError} 400 `invalidSyntax`, 413, 415 */
export async function readScimBody(req: Request, res: Response): Promise<ScimValues> {
  if (!hasBody(req)) return {};
  const type = req.headers['content-type'];
  if (type !== undefined && !isScim(type))
    throw new ScimError(415, null, 'The body must be application/scim+json or application/json, in UTF-8.');
  const bytes = await readBytes(req, res, bodyLimits.scim);
  const parsed = parseJsonObject(bytes, mostValues);
  if (typeof parsed !== 'string') return parsed;
  if (parsed === 'too many values') throw new ScimError(413, null, `The body holds more than ${mostValues} values.`);
  throw new ScimError(400, 'invalidSyntax', bytes.length === 0 ? 'The request needs a body.' : 'The body must be a JSON object in UTF-8.');
}
