import type { BusboyHeaders } from '@fastify/busboy';
import type { Request, RequestHandler, Response } from 'express';
import { BodyError } from '../../errors.js';
import { parseParameters } from '../../lib/parameters.js';
import { bodyLimits, bodyTooLarge } from './body-limits.js';
import { form } from './form.js';

/** A file that came with a form: its bytes, of which there are none when it is larger than it may be. Its name and its stated type are nobody's word, and not kept. */
export type Upload = { readonly bytes: Buffer; readonly isTooLarge: boolean };

declare module 'express-serve-static-core' {
  interface Request {
    /** The file of a form that was read by `uploadForm`; null when none was chosen. */
    upload: Upload | null;
  }
}

const multipart = 'multipart/form-data';
const maxBodyBytes = bodyLimits.upload;
const maxFields = 20;
const maxFieldBytes = 8_192;

type Read = { readonly fields: URLSearchParams; readonly upload: Upload | null };

/** Reads a body of fields and one file (RFC 7578). @throws {BodyError} 400, 413 */
async function read(req: Request, maxFileBytes: number): Promise<Read> {
  const { Busboy } = await import('@fastify/busboy');
  const limits = {
    files: 1,
    fileSize: maxFileBytes,
    fields: maxFields,
    fieldSize: maxFieldBytes,
    parts: maxFields + 1,
    headerPairs: 20,
    headerSize: 4_096,
  };
  return new Promise((resolve, reject) => {
    const fields = new URLSearchParams();
    let upload: Upload | null = null;
    let seen = 0;
    const refuse = (status: 400 | 413, detail: string) => reject(new BodyError(status, detail));
    const parser = new Busboy({ headers: req.headers as BusboyHeaders, limits });
    parser.on('field', (name, value, isNameCut, isValueCut) => {
      if (isNameCut || isValueCut) refuse(413, 'a field of the form is too long');
      fields.append(name, value);
    });
    parser.on('file', (_name, stream, fileName) => {
      const chunks: Buffer[] = [];
      // Where the body ends within the file its stream fails by itself: unheard, that would end the process.
      stream.on('error', () => refuse(400, 'the body broke off'));
      stream.on('data', (chunk: Buffer) => chunks.push(chunk));
      stream.on('end', () => {
        const bytes = stream.truncated ? Buffer.alloc(0) : Buffer.concat(chunks);
        // What a browser sends where nothing was chosen.
        if (fileName || bytes.length > 0) upload = { bytes, isTooLarge: stream.truncated };
      });
    });
    for (const limit of ['partsLimit', 'filesLimit', 'fieldsLimit'] as const)
      parser.on(limit, () => refuse(413, 'the form has too many parts'));
    parser.on('error', () => refuse(400, 'the body is not a form that can be read'));
    parser.on('finish', () => resolve({ fields, upload }));
    req.on('close', () => req.complete || refuse(400, 'the body broke off'));
    req.on('data', (chunk: Buffer) => {
      seen += chunk.length;
      if (seen > maxBodyBytes) refuse(413, bodyTooLarge(maxBodyBytes));
    });
    req.pipe(parser);
  });
}

/**
 * Reads a form with a file into `req.form` and `req.upload`; a form without one is read as others are. Nothing of the file is kept beyond `maxFileBytes`.
 * @throws {BodyError} 400 for what is no such form, 413
 */
export function uploadForm(maxFileBytes: number): RequestHandler {
  return async (req: Request, res: Response, next): Promise<void> => {
    req.upload = null;
    if (!req.is(multipart)) return form(req, res, next);
    if (Number(req.headers['content-length'] ?? 0) > maxBodyBytes) throw new BodyError(413, bodyTooLarge(maxBodyBytes));
    if (req.headers['content-encoding'] !== undefined) throw new BodyError(415, 'the body must not be compressed');
    try {
      const { fields, upload } = await read(req, maxFileBytes);
      const parameters = parseParameters(fields.toString());
      if (!parameters) throw new BodyError(400, 'the form holds too many fields, or a value that is not valid text');
      req.form = parameters;
      req.upload = upload;
    } catch (error) {
      req.unpipe();
      req.resume();
      throw error instanceof BodyError ? error : new BodyError(400, 'the body is not a form that can be read');
    }
    next();
  };
}
