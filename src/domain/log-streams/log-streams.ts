import {
  changeLogStream,
  countLogStreams,
  insertLogStream,
  removeLogStreamEntries,
  rotateLogStreamSecret,
  type LogStreamFormat,
  type LogStreamRow,
  type LogStreamSource,
} from '../../db/tables/log_streams.js';
import { uuidv7 } from '../../lib/random.js';
import type { Aad } from '../../lib/seal.js';
import type { Context } from '../context.js';
import { Refusal, unfit } from '../refusal.js';
import { mintSigningSecret, previousSecretLifetimeMs } from '../webhooks/secrets.js';

// Every operation takes the context of a transaction.

/** What can be set on a stream. `authorization` is the whole value of the header; null for none. */
export type LogStreamInput = {
  readonly name: string;
  readonly url: string;
  readonly format: LogStreamFormat;
  readonly sources: readonly LogStreamSource[];
  readonly status?: LogStreamRow['status'];
  readonly authorization?: string | null;
};

/** A stream and its secret in plain: shown this once, never again. */
export type LogStreamWithSecret = { readonly stream: LogStreamRow; readonly signing_secret: string };

/** Each happening is stored once more for each stream. */
const maxStreams = 10;

/** What the secrets of a stream are sealed for: they don't open for another one. */
export const logStreamAad = (id: string): Aad => `log_streams/${id}`;

const sealed = (tx: Context, id: string, authorization: string | null | undefined): Partial<LogStreamRow> =>
  authorization === undefined
    ? {}
    : { authorization_sealed: authorization === null ? null : tx.crypto.sealer.seal(authorization, logStreamAad(id)) };

/** Makes a stream, with a secret of its own unless one is given: what is recorded from now on is sent. @throws {Refusal} 409 `too_many` */
export async function createLogStream(tx: Context, input: LogStreamInput, given?: string): Promise<LogStreamWithSecret> {
  if ((await countLogStreams(tx.scope)) >= maxStreams)
    throw new Refusal({ status: 409, code: 'too_many', detail: `An environment has at most ${maxStreams} log streams.` });
  const now = tx.clock.now();
  const id = uuidv7(now.getTime());
  const { signing_secret, ...secret } = mintSigningSecret(tx.crypto.sealer, logStreamAad(id), given);
  const { authorization, sources, ...rest } = input;
  const times = { created_at: now, updated_at: now };
  const stream = await insertLogStream(tx.scope, {
    id,
    destination: id,
    ...rest,
    sources: [...sources],
    ...secret,
    ...sealed(tx, id, authorization),
    ...times,
  });
  return { stream, signing_secret };
}

/** Whether an address leads to another receiver than the other: what proves us to the one is none of the other's. */
export const leadsElsewhere = (url: string, before: string): boolean =>
  !URL.canParse(url) || !URL.canParse(before) || new URL(url).origin !== new URL(before).origin;

/** Nobody reads the authorization of a stream again: sending it to a receiver of one's own would be just that. @throws {Refusal} 422 */
function refuseForeignAuthorization(before: LogStreamRow, { url, authorization }: Partial<LogStreamInput>): void {
  if (url === undefined || authorization !== undefined || before.authorization_sealed === null || !leadsElsewhere(url, before.url)) return;
  const detail = 'The URL leads to another receiver: say which authorization it gets, or null for none.';
  throw new Refusal(unfit('authorization', 'secret_required', detail));
}

/**
 * Changes what is given. Enabled again, a paused stream goes on where it stood; what waits of a source that it no longer has is dropped. After any
 * change it is tried at once; as sound counts one that is switched, or sends elsewhere or otherwise. Null when it is gone. @throws {Refusal} 422
 */
export async function updateLogStream(tx: Context, before: LogStreamRow, changes: Partial<LogStreamInput>): Promise<LogStreamRow | null> {
  refuseForeignAuthorization(before, changes);
  const { authorization, sources, ...rest } = changes;
  const dropped = sources ? before.sources.filter((source) => !sources.includes(source)) : [];
  if (dropped.length > 0) await removeLogStreamEntries(tx.scope, before.id, dropped);
  const columns = {
    ...rest,
    ...(sources && { sources: [...sources] }),
    ...sealed(tx, before.id, authorization),
    updated_at: tx.clock.now(),
  };
  const isOther = (['status', 'url', 'format'] as const).some((name) => changes[name] !== undefined && changes[name] !== before[name]);
  return changeLogStream(tx.scope, before.id, columns, isOther || authorization !== undefined);
}

/** Gives the stream a new secret, made unless it is given; for 24 hours the old one signs the Standard Webhooks header too. Null when there is no such stream. */
export async function rotateStreamSecret(tx: Context, id: string, given?: string): Promise<LogStreamWithSecret | null> {
  const at = tx.clock.now();
  const { signing_secret, ...secret } = mintSigningSecret(tx.crypto.sealer, logStreamAad(id), given);
  const previous_secret_expires_at = new Date(at.getTime() + previousSecretLifetimeMs);
  const stream = await rotateLogStreamSecret(tx.scope, id, { ...secret, at, previous_secret_expires_at });
  return stream && { stream, signing_secret };
}
