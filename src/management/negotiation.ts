import type { IncomingHttpHeaders } from 'node:http';
import { ApiError } from '../errors.js';
import { jsonApi, parseAccept, parseMediaType, type MediaType } from './media-type.js';
import { refuse } from './problems.js';

/** The profile of cursor paging: always in force on lists, so it needs no negotiation; others are ignored. */
export const cursorProfile = 'https://jsonapi.org/profiles/ethanresnick/cursor-pagination';

const onlyKnownParameters = (type: MediaType) => [...type.parameters.keys()].every((name) => name === 'ext' || name === 'profile');

/** No extension is supported: any URI in `ext` is one too many. */
const withoutExtensions = (type: MediaType) => (type.parameters.get('ext') ?? '').trim() === '';

/**
 * JSON:API 1.1 "Content Negotiation", for a request that bears a document.
 * @throws {ApiError} 415
 */
export function checkContentType(headers: IncomingHttpHeaders): void {
  const text = headers['content-type'];
  const unsupported = (detail: string) => refuse(415, 'unsupported_media_type', detail, { header: 'Content-Type' });
  if (text === undefined) throw unsupported(`The body needs the header Content-Type: ${jsonApi}.`);
  const type = parseMediaType(text);
  if (type?.type !== jsonApi) throw unsupported(`The body must be of the type ${jsonApi}.`);
  if (!onlyKnownParameters(type))
    throw unsupported(`${jsonApi} takes no parameter but ext and profile; leave out charset (JSON is always UTF-8).`);
  if (!withoutExtensions(type)) throw unsupported('None of the extensions named in ext is supported.');
  if (headers['content-encoding'] !== undefined && headers['content-encoding'] !== 'identity') {
    throw refuse(415, 'unsupported_content_encoding', 'The body must not be compressed.', { header: 'Content-Encoding' });
  }
}

/**
 * JSON:API 1.1 "Content Negotiation", for the answer: one instance of the media type without foreign parameters and without an
 * unsupported extension is enough; so are wildcards and no header at all.
 * @throws {ApiError} 406
 */
export function checkAccept(headers: IncomingHttpHeaders): void {
  const text = headers.accept;
  if (text === undefined || text.trim() === '') return;
  const fits = parseAccept(text).some((type) => {
    if (type.q === 0) return false;
    if (type.type === '*/*' || type.type === 'application/*') return true;
    return type.type === jsonApi && onlyKnownParameters(type) && withoutExtensions(type);
  });
  if (!fits) {
    throw new ApiError({
      status: 406,
      code: 'not_acceptable',
      title: 'Not acceptable',
      detail: `Answers are of the type ${jsonApi}, without extensions; name it in Accept without foreign parameters.`,
      source: { header: 'Accept' },
    });
  }
}
