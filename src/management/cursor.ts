import type { Context } from '../domain/context.js';
import type { ListPosition } from '../db/lists/list.js';
import { equalDigests } from '../lib/digest.js';
import type { DigestUse } from '../lib/seal.js';

const tagLength = 12;

const useOf = (ctx: Context, list: string, sort: string): DigestUse => `cursor ${ctx.environment.id} ${list} ${sort}`;

/** A position as opaque text that only this service can make. */
export function encodeCursor(ctx: Context, list: string, sort: string, position: ListPosition): string {
  const body = Buffer.from(JSON.stringify([...position.values, position.id]));
  const tag = ctx.crypto.sealer.digest(useOf(ctx, list, sort), body.toString()).subarray(0, tagLength);
  return Buffer.concat([tag, body]).toString('base64url');
}

/** The position of a cursor of this environment, list and order; null for everything else. */
export function decodeCursor(ctx: Context, list: string, sort: string, cursor: string): ListPosition | null {
  if (cursor.length > 4096 || !/^[\w-]+$/.test(cursor)) return null;
  const bytes = Buffer.from(cursor, 'base64url');
  const body = bytes.subarray(tagLength).toString();
  if (bytes.length <= tagLength) return null;
  const tags = ctx.crypto.sealer.digests(useOf(ctx, list, sort), body);
  if (!tags.some((tag) => equalDigests(tag.subarray(0, tagLength), bytes.subarray(0, tagLength)))) return null;
  const values = JSON.parse(body) as string[];
  return { values: values.slice(0, -1), id: values.at(-1) as string };
}
