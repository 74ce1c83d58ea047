import { transaction, type Context } from '../domain/context.js';
import { ApiError, PageError } from '../errors.js';
import { message } from '../lib/languages/messages.js';
import { named } from '../lib/named.js';
import type { Call } from '../management/call.js';
import type { ResourceObject } from '../management/documents.js';
import { readList, readOne, type ReadRequest } from '../management/read.js';
import type { Resource } from '../management/resource.js';
import type { Write, WriteResult } from '../management/write-state.js';
import { perform } from '../management/write-steps.js';

const everything: ReadRequest = { parameters: () => named({ 'page[size]': '100', sort: 'created_at' }), sent: '' };
const plainly: ReadRequest = { parameters: () => named<string>(), sent: '' };

export function collectionOf({ registry }: Call, path: string): Resource {
  const resource = registry.byPath.get(path);
  if (!resource) throw new Error(`there are no ${path}`);
  return resource;
}

/** The organization's records of a collection, the oldest first. */
export const ownRecords = async (call: Call, path: string): Promise<readonly ResourceObject[]> =>
  (await readList(call, collectionOf(call, path), everything)).document.data;

export const ownRecord = async (call: Call, path: string, id: string): Promise<ResourceObject> =>
  (await readOne(call, collectionOf(call, path), id, plainly)).document.data;

/** What was refused of a form: the code of the error, and the attribute that it is about. */
export type Refused = { readonly code: string; readonly attribute: string | null };

const attributeOf = (pointer: string): string | null => pointer.split('/').findLast((part) => /[a-z]/.test(part)) ?? null;

/**
 * Does a write of the Management API, with its checks, reach and entry in the audit log, and what follows from it in the same transaction. What the form can mend is
 * handed back.
 * @throws {PageError} 403, 404
 */
export async function tryWrite(
  call: Call,
  path: string,
  write: Omit<Write, 'resource'>,
  follow?: (tx: Context) => Promise<unknown>,
): Promise<WriteResult | readonly Refused[]> {
  const whole = { ...write, resource: collectionOf(call, path) };
  try {
    if (!follow) return await perform(call, whole);
    return await transaction(call.ctx, async (tx) => {
      const outcome = await perform({ ...call, ctx: tx }, whole);
      await follow(tx);
      return outcome;
    });
  } catch (error) {
    if (!(error instanceof ApiError)) throw error;
    const status = error.errors[0]?.status ?? 400;
    if (status === 404) throw new PageError(404, 'not_found', message('refusal.nothing_here'));
    if (status === 403) throw new PageError(403, 'scope_escalation', message('error.access_denied'), named(), error);
    return error.errors.map(({ code, source }) => ({
      code,
      attribute: source && 'pointer' in source ? attributeOf(source.pointer) : null,
    }));
  }
}

export const isRefused = (outcome: WriteResult | readonly Refused[]): outcome is readonly Refused[] => Array.isArray(outcome);

/** The document of a new record, or of a change. */
export const sentDocument = (type: string, attributes: Readonly<Record<string, unknown>>, id?: string) => ({
  data: { type, attributes, ...(id !== undefined && { id }) },
});
