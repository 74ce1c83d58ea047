import type { Request } from 'express';
import { clientOf, type Client } from '../../domain/clients/clients.js';
import { isAdmitted } from '../../domain/clients/admission.js';
import { documentAddressProblem, endDocumentClient, keepDocument, mirrorDocument } from '../../domain/clients/document-clients.js';
import { clientIdProblem } from '../../domain/clients/names.js';
import type { DocumentFailure, MetadataDocument } from '../../platform/fetch/metadata-documents.js';
import type { Context } from '../../domain/context.js';
import { OAuthError, RateLimitedError, UnavailableError } from '../../errors.js';
import { addressWindows } from '../../http/limits/rate-limits.js';
import type { Web } from '../../http/web.js';
import { isDocumentId } from '../../lib/document-client-id.js';
import { documentColumns, documentRow } from './document-row.js';

/** What is looked at of a request. */
export type ClientRequest = Pick<Request, 'ctx' | 'request_id' | 'ip'>;

export type Limiting = Pick<Web, 'limiter'>;

const perMinute = (limit: number) => ({ limit, windowSeconds: 60 });
const newPerAddress = perMinute(10);
const fetchesPerHost = perMinute(30);
const rereadsPerDocument = perMinute(10);
/** How long a document that can't be fetched is used after it has expired. */
const graceMs = 3_600_000;

/** The refusal of a client that has no good document; `reason` is public. */
export class UnidentifiedClient extends OAuthError {
  constructor(readonly reason: string) {
    super(401, 'invalid_client', `the client can not be identified: ${reason}`);
  }
}

const refused = (reason: string) => new UnidentifiedClient(reason);

/** Seconds: documents take no longer. */
const busySeconds = 5;

/** What is said where there is no document: that it wasn't asked for says nothing of the client. */
const failed = ({ failed: how, reason }: DocumentFailure) => (how === 'busy' ? new UnavailableError(busySeconds) : refused(reason));

/** Whether the host of the document may be asked once more. */
const mayFetch = async ({ limiter }: Limiting, url: string): Promise<{ allowed: boolean; reset_seconds: number }> =>
  limiter.take(JSON.stringify(['client_document_host', new URL(url).host]), fetchesPerHost);

/**
 * Whether the document of a client that people use may be read anew. It is counted by itself: else whoever has strangers' documents fetched from the same
 * host shuts out those who come back.
 */
const mayReread = async ({ limiter }: Limiting, url: string): Promise<boolean> =>
  (await limiter.take(JSON.stringify(['client_document_reread', url]), rereadsPerDocument)).allowed;

/** Counts an address that nobody has asked for lately, so that nobody has this service ask all the world. @throws {RateLimitedError} */
async function countNew({ limiter }: Limiting, { ip }: ClientRequest): Promise<void> {
  for (const { key, limit } of addressWindows(ip, newPerAddress)) {
    const { allowed, reset_seconds } = await limiter.take(JSON.stringify(['client_document_new', key]), limit);
    if (!allowed) throw new RateLimitedError(reset_seconds);
  }
}

const serves = (fresh_until: Date | null, now: Date) => fresh_until !== null && fresh_until > now;
const servesUnreachable = (fresh_until: Date | null, now: Date) => fresh_until !== null && fresh_until.getTime() + graceMs > now.getTime();

/** A client that has no row: its document is all that is known of it. @throws {OAuthError | RateLimitedError} */
async function newClient(web: Limiting, req: ClientRequest, url: string): Promise<Client> {
  const { ctx } = req;
  const now = ctx.clock.now();
  const known = ctx.net.metadataDocuments.known(url);
  let document: MetadataDocument | DocumentFailure | null = known && serves(known.fresh_until, now) ? known : null;
  if (document === null) {
    if (known === null) await countNew(web, req);
    const { allowed, reset_seconds } = await mayFetch(web, url);
    if (!allowed) throw new RateLimitedError(reset_seconds);
    document = await ctx.net.metadataDocuments.read(url, false);
    if ('failed' in document && document.failed !== 'ended' && known && servesUnreachable(known.fresh_until, now)) document = known;
  }
  if ('failed' in document) throw failed(document);
  const described = documentColumns(ctx, document);
  if ('reason' in described) throw refused(described.reason);
  return documentRow(ctx, document, described.columns);
}

/** The row as the document has it; a document that describes no client any more ends it. @throws {OAuthError} */
async function renewed(ctx: Context, stored: Client, document: MetadataDocument): Promise<Client> {
  const same = stored.document_ended_at === null && stored.document_digest?.equals(document.digest) === true;
  const described = documentColumns(ctx, document);
  if ('reason' in described) {
    await endDocumentClient(ctx, stored, described.reason);
    throw refused(described.reason);
  }
  if (same) {
    await keepDocument(ctx, stored, document);
    return stored;
  }
  const mirrored = await mirrorDocument(ctx, stored, document, described.columns);
  if (mirrored === null || mirrored.document_ended_at !== null) throw refused('document has changed; try again');
  return mirrored;
}

/** A client that has a row, which is read anew when its time is over. @throws {OAuthError} */
async function storedClient(web: Limiting, { ctx }: ClientRequest, stored: Client): Promise<Client> {
  const now = ctx.clock.now();
  const known = ctx.net.metadataDocuments.known(stored.id);
  // Whoever has read it last is right: another process for the row, or this one, for another environment too.
  const later = known && stored.document_read_at && known.read_at > stored.document_read_at ? known : null;
  const isEnded = stored.document_ended_at !== null;
  if (later ? serves(later.fresh_until, now) : !isEnded && serves(stored.document_fresh_until, now)) {
    return later && (isEnded || stored.document_digest?.equals(later.digest) !== true) ? renewed(ctx, stored, later) : stored;
  }
  const document: MetadataDocument | DocumentFailure = (await mayReread(web, stored.id))
    ? await ctx.net.metadataDocuments.read(stored.id, true)
    : { failed: 'unreachable', reason: 'document could not be reached now; try again' };
  if (!('failed' in document)) return renewed(ctx, stored, document);
  if (document.failed === 'ended') await endDocumentClient(ctx, stored, document.reason);
  else if (!isEnded && servesUnreachable((later ?? { fresh_until: stored.document_fresh_until }).fresh_until, now)) return stored;
  throw failed(document);
}

/**
 * The client of an authorization request: the stored one, or where none is stored and the environment lets such in, the one that the document at that
 * address describes (OAuth Client ID Metadata Document). Null for one that is unknown or disabled.
 * @throws {OAuthError} 401 with the reason, when there is no good document; {RateLimitedError} when too many were asked for
 */
export async function identifyClient(web: Limiting, req: ClientRequest, client_id: string): Promise<Client | null> {
  const { ctx } = req;
  const { environment } = ctx;
  const stored = await clientOf(ctx, client_id);
  if (stored?.status === 'disabled') return null;
  if (stored && stored.origin !== 'metadata_document') return stored;
  if (!stored) {
    if (environment.client_id_metadata_documents === 'off' || !isDocumentId(client_id)) return null;
    const problem = documentAddressProblem(ctx, client_id);
    if (problem !== null) throw refused(`client_id ${problem}`);
  }
  const requireAdmitted = (verified: boolean) => {
    if (!verified && !isAdmitted(environment, client_id)) throw refused('applications of its host are not let in');
  };
  requireAdmitted(stored?.verified === true);
  if (!stored) {
    const problem = await clientIdProblem(ctx, client_id);
    if (problem !== null) throw refused(`client_id ${problem}`);
    return newClient(web, req, client_id);
  }
  const client = await storedClient(web, req, stored);
  // Its document may just have made somebody else of it.
  requireAdmitted(client.verified);
  return client;
}
