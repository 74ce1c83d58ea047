import type { IncomingMessage, ServerResponse } from 'node:http';
import { publicMaxAgeMs } from '../../domain/environments/environments.js';
import { isKnown } from './entity-tags.js';
import { digest } from '../../lib/digest.js';

/** A public JSON document as it is sent: nothing is left to do for a request. */
export type PublicDocument = {
  /** A string: Node sends it with the head at once, where bytes are written apart. */
  readonly body: string;
  readonly etag: string;
  /** Names and values in turn, as `writeHead` takes them. */
  readonly headers: readonly string[];
  /** The same for whoever has it already (RFC 9110 15.4.5). */
  readonly knownHeaders: readonly string[];
};

/** CORS for every origin, `Cache-Control: public, max-age=300`, and an entity tag that follows from the text. */
export function publicDocumentOf(text: string): PublicDocument {
  const etag = `"${digest(text).subarray(0, 16).toString('base64url')}"`;
  const knownHeaders = ['Access-Control-Allow-Origin', '*', 'Cache-Control', `public, max-age=${publicMaxAgeMs / 1000}`, 'ETag', etag];
  const headers = [...knownHeaders, 'Content-Type', 'application/json', 'Content-Length', String(Buffer.byteLength(text))];
  return { body: text, etag, headers, knownHeaders };
}

/**
 * Sends a public document, or 304 to whoever has it.
 * @param more further headers, names and values in turn
 */
export function sendDocument(req: IncomingMessage, res: ServerResponse, document: PublicDocument, more: readonly string[] = []): void {
  if (isKnown(req, document.etag)) {
    res.writeHead(304, [...more, ...document.knownHeaders]).end();
    return;
  }
  res.writeHead(200, [...more, ...document.headers]);
  res.end(document.body);
}

/**
 * How long ago what is sent was last known to be right, when that couldn't be found out now: it comes off what others may keep (RFC 9111 5.1).
 * @param age_ms 0 when it is right
 */
export const ageHeader = (age_ms: number): readonly string[] => (age_ms > 0 ? ['Age', String(Math.ceil(age_ms / 1000))] : []);
