import type { Logger } from '../log/logger.js';
import { digest } from '../../lib/digest.js';
import { jsonObject } from '../../lib/json-object.js';
import type { Clock } from '../clock.js';
import type { GuardedFetch, OutboundResponse } from './fetch.js';
import { OutboundError } from './outbound-error.js';

/** A document that describes a client, as it was read; its members are checked by whoever takes them for a client. */
export type MetadataDocument = {
  /** Its address, which is the `client_id`. */
  readonly url: string;
  /** The same object for as long as the text stays the same. */
  readonly members: Readonly<Record<string, unknown>>;
  /** Of the text. */
  readonly digest: Buffer;
  readonly etag: string | null;
  readonly read_at: Date;
  readonly fresh_until: Date;
};

/**
 * Why there is no document; `reason` is public. `ended`: its owner took it away, or it describes no client. `unreachable`: nothing is known of it right
 * now, and what was read before may serve a while. `busy`: the same, for it wasn't asked for.
 */
export type DocumentFailure = { readonly failed: 'ended' | 'unreachable' | 'busy'; readonly reason: string };

/** The documents of clients, kept per process. */
export type MetadataDocuments = {
  /** What was read last, fresh or not; null when nothing was. */
  known(url: string): MetadataDocument | null;
  /**
   * Reads it now; whoever asks for the same meanwhile gets the same answer. Failures are not remembered.
   * @param stored whether people use its client: some of the requests at once are for those alone
   */
  read(url: string, stored: boolean): Promise<MetadataDocument | DocumentFailure>;
};

const maxKnown = 1_000;
/** At once; of one host; and of clients that nobody uses yet: hosts that hang hold up no others. */
const [maxReading, maxReadingOfHost, maxReadingOfNew] = [20, 5, 15];
const timeoutMs = 5_000;
const maxBytes = 10_240;
const [shortest, usual, longest] = [60, 300, 86_400];

const ended = (reason: string): DocumentFailure => ({ failed: 'ended', reason });
const busy: DocumentFailure = { failed: 'busy', reason: 'document could not be reached now; try again' };
const unreachable = (reason: string): DocumentFailure => ({ failed: 'unreachable', reason });

/** A header that came once. */
const headerOf = ({ headers }: OutboundResponse, name: string): string | null => {
  const value = headers[name];
  return typeof value === 'string' ? value : null;
};

/** Seconds for which the document may be taken as it is (RFC 9111 5.2.2), within a minute and a day. */
function lifetimeOf(answer: OutboundResponse): number {
  const control = [answer.headers['cache-control'] ?? []].flat().join(',').toLowerCase();
  if (/(^|[,\s])no-(store|cache)\b/.test(control)) return shortest;
  const max = /(?:^|[,\s])max-age\s*=\s*"?(\d{1,10})\b/.exec(control)?.[1];
  return max === undefined ? usual : Math.min(longest, Math.max(shortest, Number(max)));
}

const jsonType = /^application\/(?:json|[\w.!#$&^-]+\+json)\s*(?:;|$)/i;

type Read = { readonly text: string } | DocumentFailure;

/** The text of a document that came with 200. */
function textOf(answer: OutboundResponse): Read {
  if (answer.truncated) return ended(`document is longer than ${maxBytes} bytes`);
  if (!jsonType.test(headerOf(answer, 'content-type') ?? '')) return ended('document is not JSON');
  try {
    return { text: new TextDecoder('utf-8', { fatal: true }).decode(answer.body) };
  } catch {
    return ended('document is not JSON');
  }
}

/** The members of a document that describes the client of that address (OAuth Client ID Metadata Document 4.1). */
function membersOf(url: string, text: string): { readonly members: MetadataDocument['members'] } | DocumentFailure {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    return ended('document is not JSON');
  }
  const members = jsonObject(value);
  if (members === null) return ended('document is not a JSON object');
  return members['client_id'] === url ? { members } : ended('client_id does not match');
}

/** What the answer of that time is, beside what was read before. */
function judged(url: string, before: MetadataDocument | null, answer: OutboundResponse, read_at: Date): MetadataDocument | DocumentFailure {
  const fresh_until = new Date(read_at.getTime() + lifetimeOf(answer) * 1000);
  if (answer.status === 304 && before) return { ...before, read_at, fresh_until };
  if (answer.status === 404 || answer.status === 410) return ended('document not found');
  if (answer.status !== 200) return unreachable(`document was answered with status ${answer.status}`);
  const read = textOf(answer);
  if ('failed' in read) return read;
  const etag = headerOf(answer, 'etag');
  const textDigest = digest(read.text);
  if (before?.digest.equals(textDigest)) return { ...before, etag, read_at, fresh_until };
  const found = membersOf(url, read.text);
  return 'failed' in found ? found : { url, members: found.members, digest: textDigest, etag, read_at, fresh_until };
}

/** Reads documents with the guarded fetch, and remembers them. */
export function createMetadataDocuments({
  fetch,
  clock,
  logger,
}: {
  readonly fetch: GuardedFetch;
  readonly clock: Clock;
  readonly logger: Logger;
}): MetadataDocuments {
  const known = new Map<string, MetadataDocument>();
  const reading = new Map<string, Promise<MetadataDocument | DocumentFailure>>();

  function remember(document: MetadataDocument): MetadataDocument {
    known.delete(document.url);
    known.set(document.url, document);
    if (known.size > maxKnown) known.delete(known.keys().next().value as string);
    return document;
  }

  async function fetched(url: string): Promise<MetadataDocument | DocumentFailure> {
    const before = known.get(url) ?? null;
    const condition = before?.etag == null ? {} : { 'if-none-match': before.etag };
    const headers = { accept: 'application/json, application/*+json;q=0.9', 'accept-encoding': 'identity', ...condition };
    try {
      const answer = await fetch.request(url, { headers, timeoutMs, maxResponseBytes: maxBytes, pool: 'client_documents' });
      const found = judged(url, before, answer, clock.now());
      if (!('failed' in found)) return remember(found);
      if (found.failed === 'ended') known.delete(url);
      logger.info(
        { event: 'client_document.refused', client_id: url, status: answer.status, reason: found.reason },
        'no metadata document',
      );
      return found;
    } catch (error) {
      if (!(error instanceof OutboundError)) throw error;
      // Which addresses are refused, and what listens where, is nothing for strangers: all failures read the same.
      logger.info(
        { event: 'client_document.unreachable', client_id: url, reason: error.reason },
        'a metadata document could not be fetched',
      );
      return unreachable('document could not be reached');
    }
  }

  return {
    known: (url) => known.get(url) ?? null,
    read(url, stored) {
      const running = reading.get(url);
      if (running) return running;
      const { host } = new URL(url);
      const ofHost = [...reading.keys()].filter((one) => new URL(one).host === host).length;
      if (ofHost >= maxReadingOfHost || reading.size >= (stored ? maxReading : maxReadingOfNew)) return Promise.resolve(busy);
      const promise = fetched(url).finally(() => reading.delete(url));
      reading.set(url, promise);
      return promise;
    },
  };
}
