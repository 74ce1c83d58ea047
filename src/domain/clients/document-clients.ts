import { findClient, insertClientIfMissing, updateClient, type ClientRow } from '../../db/tables/clients.js';
import { endDocument, noteDocumentRead, verifyListedHosts } from '../../db/tables/document_clients.js';
import { digest } from '../../lib/digest.js';
import { documentIdProblem } from '../../lib/document-client-id.js';
import { afterCommit, transaction, type Context } from '../context.js';
import { ownOrigins, type Environment } from '../environment.js';
import { emitClientRegistered } from '../events/clients.js';
import { isListed, listedHosts } from './admission.js';
import type { MetadataDocument } from '../../platform/fetch/metadata-documents.js';
import { chosenIdProblems } from './names.js';
import { noOrigin } from '../origin.js';
import { refuseIfAny } from '../refusal.js';
import { emitUpdated } from './registration.js';
import { recordOwnChange } from './trail.js';

/** What is wrong with the address of a client's metadata document, which is its `client_id`; null when nothing is. */
export const documentAddressProblem = ({ config, environment }: Pick<Context, 'config' | 'environment'>, url: string): string | null =>
  documentIdProblem(url, { allowLoopback: config.allowPrivateNetwork, ownOrigins: ownOrigins(environment) });

/** Where the host is, or for a private-use scheme the scheme. */
function hostOf(uri: string): string {
  const { protocol, host, hostname } = new URL(uri);
  return protocol === 'https:' ? host : protocol === 'http:' ? hostname : protocol;
}

/**
 * What of a client a person has allowed: its name, where it sends people, and how it proves itself. When one of them changes the person is asked anew. Null
 * for clients that don't come from a document.
 */
export function clientDigest({ origin, name, redirect_uris, token_endpoint_auth_method }: ClientRow): Buffer | null {
  if (origin !== 'metadata_document') return null;
  const hosts = [...new Set(redirect_uris.map((uri) => hostOf(uri)))].toSorted();
  return digest(JSON.stringify([name, hosts, token_endpoint_auth_method]));
}

/** The columns that tell which reading of the document the others are from. */
export const readingOf = (document: MetadataDocument) => ({
  document_digest: document.digest,
  document_read_at: document.read_at,
  document_fresh_until: document.fresh_until,
  document_ended_at: null,
});

/** Whether the client is known by its document alone, and has no row yet. */
export const isUnstored = (client: ClientRow): boolean => client.version === 0;

/**
 * Gives a client that is known by its document alone its row; with the first consent, so that strangers fill nothing. Emits `client.registered`. Call it in a
 * transaction. @throws {Refusal} 422 when its id was taken from it meanwhile
 */
export async function storeDocumentClient(tx: Context, client: ClientRow): Promise<void> {
  const now = tx.clock.now();
  refuseIfAny(await chosenIdProblems(tx, client.id));
  const stored = await insertClientIfMissing(tx.scope, { ...client, version: 1, created_at: now, updated_at: now });
  if (stored) await emitClientRegistered(tx, stored);
}

/** What the document says that people, or whoever verified the client, know it by. */
const facesOf = ({ name, logo_uri, redirect_uris }: Pick<ClientRow, 'name' | 'logo_uri' | 'redirect_uris'>): string =>
  JSON.stringify([name, logo_uri, [...new Set(redirect_uris.map((uri) => hostOf(uri)))].toSorted()]);

/** Whoever verified the client did for what they saw: under another name or logo, or where it sends people elsewhere, it is somebody else until they do again. */
function verified({ environment }: Context, before: ClientRow, columns: Partial<ClientRow>): Partial<ClientRow> {
  if (!before.verified || before.verified_by_host || facesOf({ ...before, ...columns }) === facesOf(before)) return {};
  const listed = isListed(environment, before.id);
  return { verified: listed, verified_by_host: listed };
}

/** Makes the row say what the document says, unless another process has read it later; it may be verified no longer then. Emits `client.updated`. @returns the row as it is then */
export const mirrorDocument = async (
  ctx: Context,
  client: ClientRow,
  document: MetadataDocument,
  columns: Partial<ClientRow>,
): Promise<ClientRow | null> =>
  transaction(ctx, async (tx) => {
    const before = await findClient(tx.scope, client.id, { lock: true });
    if (!before || (before.document_read_at ?? 0) >= document.read_at) return before;
    const changes = { ...columns, ...verified(tx, before, columns), ...readingOf(document) };
    const after = await updateClient(tx.scope, client.id, { ...changes, updated_at: tx.clock.now() });
    if (after) {
      await emitUpdated(tx, before, after);
      await recordOwnChange(tx, before, after, Object.keys(columns), noOrigin);
    }
    if (after && before.verified && !after.verified)
      afterCommit(tx, () =>
        ctx.logger.warn(
          { event: 'client_document.unverified', environment_id: ctx.environment.id, client_id: client.id },
          'a client is verified no longer: its document gives it another name, logo or redirect host',
        ),
      );
    return after;
  });

/** Notes that the document was read again and is the same. */
export async function keepDocument(ctx: Context, client: ClientRow, { read_at, fresh_until }: MetadataDocument): Promise<void> {
  await noteDocumentRead(ctx.scope, client.id, { read_at, fresh_until });
}

/** Ends a client whose document is gone or describes it no longer: all that it holds is worth nothing until there is one again. */
export async function endDocumentClient(ctx: Context, client: ClientRow, reason: string): Promise<void> {
  if (client.document_ended_at !== null) return;
  await transaction(ctx, async (tx) => {
    if (!(await endDocument(tx.scope, client.id, tx.clock.now()))) return;
    const { environment, logger } = tx;
    afterCommit(tx, () =>
      logger.warn(
        { event: 'client_document.ended', environment_id: environment.id, client_id: client.id, reason },
        'a metadata document describes its client no longer',
      ),
    );
  });
}

/** Verifies the clients of the hosts that are listed now, and no longer those of hosts that were. Call it in a transaction. */
export async function judgeListedHosts(tx: Context, environment: Environment): Promise<void> {
  await verifyListedHosts(tx.scope, listedHosts(environment), tx.clock.now());
}
