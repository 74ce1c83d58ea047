import type { IncomingHttpHeaders } from 'node:http';
import { ApiError } from '../errors.js';
import { refuse } from './problems.js';

/** A media type with its parameters; names in lower case, values as sent. `q` of an Accept header is not among them. */
type MediaType = { readonly type: string; readonly parameters: ReadonlyMap<string, string>; readonly q: number };

export const jsonApi = 'application/vnd.api+json';

const typeSyntax = /^[!#$%&'*+.^_`|~0-9a-z-]+\/[!#$%&'*+.^_`|~0-9a-z-]+/;
const parameterSyntax = /^[ \t]*;[ \t]*(?:([!#$%&'*+.^_`|~0-9A-Za-z-]+)=(?:"((?:[^"\\]|\\.)*)"|([!#$%&'*+.^_`|~0-9A-Za-z-]+)))?/;

/** Splits a header at top-level commas: those inside quoted strings stay. */
const splitList = (text: string): string[] =>
  (text.match(/(?:[^,"]|"(?:[^"\\]|\\.)*"?)+/g) ?? []).map((part) => part.trim()).filter((part) => part !== '');

/** One media type (RFC 9110 8.3.1), or null when it can't be read. */
function parseMediaType(text: string): MediaType | null {
  const type = typeSyntax.exec(text.trim().toLowerCase())?.[0];
  if (type === undefined) return null;
  let rest = text.trim().slice(type.length);
  const parameters = new Map<string, string>();
  let q = 1;
  while (rest.trim() !== '') {
    const found = parameterSyntax.exec(rest);
    if (!found) return null;
    const name = found[1]?.toLowerCase();
    const value = found[2]?.replaceAll(/\\(.)/g, '$1') ?? found[3] ?? '';
    if (name === 'q') q = Number.isFinite(Number(value)) ? Number(value) : 0;
    else if (name !== undefined) parameters.set(name, value);
    rest = rest.slice(found[0].length);
  }
  return { type, parameters, q };
}

/** The media types of an Accept header; what can't be read is left out. */
const parseAccept = (text: string): MediaType[] =>
  splitList(text)
    .map(parseMediaType)
    .filter((type) => type !== null);

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

/** Whether the answer is to be a stream of events: that has to be asked for by name. */
export const acceptsEvents = ({ accept = '' }: IncomingHttpHeaders): boolean =>
  parseAccept(accept).some(({ type, q }) => type === 'text/event-stream' && q > 0);
