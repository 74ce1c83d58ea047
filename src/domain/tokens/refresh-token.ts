import { findRefreshToken, type RefreshTokenState } from '../../db/tables/refresh_tokens.js';
import { digest, equalDigests } from '../../lib/digest.js';
import { uuidv7, uuidv7Of } from '../../lib/random.js';
import type { Context } from '../context.js';

const longAgo = new Date(0);

/**
 * The id of the token's row, its generation, and a MAC of both and the environment under a key that follows from SECRET_KEY: 54 bytes. A token of an
 * earlier release is 32 bytes that say nothing, and has a row to itself.
 */
const shape = /^rt_[\w-]{72}$/;
const [idLength, macAt] = [16, 22];

/** A refresh token and what is stored of it. */
export type MintedRefreshToken = { readonly token: string; readonly id: string; readonly digest: Buffer };

const named = ({ environment }: Context, id: string, generation: number) => `${environment.id} ${id} ${generation}`;

function compose(id: string, generation: number, mac: Buffer): MintedRefreshToken {
  const bytes = Buffer.alloc(macAt + mac.length);
  bytes.write(id.replaceAll('-', ''), 'hex');
  bytes.writeUIntBE(generation, idLength, macAt - idLength);
  mac.copy(bytes, macAt);
  const token = `rt_${bytes.toString('base64url')}`;
  return { token, id, digest: digest(token) };
}

const mint = (ctx: Context, id: string, generation: number) =>
  compose(id, generation, ctx.crypto.sealer.digest('refresh token', named(ctx, id, generation)));

/** The same generation under SECRET_KEY first, then under each earlier key. */
const mintUnderEach = (ctx: Context, id: string, generation: number) =>
  ctx.crypto.sealer.digests('refresh token', named(ctx, id, generation)).map((mac) => compose(id, generation, mac)) as [MintedRefreshToken];

/** The first refresh token of a grant. */
export const mintRefreshToken = (ctx: Context): MintedRefreshToken => mint(ctx, uuidv7(ctx.clock.now().getTime()), 1);

/** What a token says of itself; null for one of an earlier release, and for anything else. */
function read(token: string) {
  if (!shape.test(token)) return null;
  const bytes = Buffer.from(token.slice(3), 'base64url');
  const hex = bytes.toString('hex', 0, idLength);
  const id = `${hex.slice(0, 8)}-${hex.slice(8, 12)}-${hex.slice(12, 16)}-${hex.slice(16, 20)}-${hex.slice(20)}`;
  return { id, generation: bytes.readUIntBE(idLength, macAt - idLength), mac: bytes.subarray(macAt) };
}

export type PresentedRefreshToken = RefreshTokenState & {
  readonly presented_generation: number;
  /** When it was rotated, or {@link longAgo}; null: it is the newest of its row. */
  readonly replaced_at: Date | null;
};

/**
 * The refresh token that was presented, newest or not; null for one that this service hasn't made. The newest one, and the one before, are known by
 * their digests whatever became of their key, those before them by their MAC.
 */
export async function findPresented(
  ctx: Context,
  presented: string,
  bounds: Parameters<typeof findRefreshToken>[2],
  claims: Parameters<typeof findRefreshToken>[3] = null,
): Promise<PresentedRefreshToken | null> {
  const written = read(presented);
  const value = digest(presented);
  const row = await findRefreshToken(ctx.scope, written ?? { digest: value }, bounds, claims);
  if (!row) return null;
  if (!written || equalDigests(row.digest, value))
    return Object.assign(row, { presented_generation: row.generation, replaced_at: row.rotated_at });
  const { id, generation, mac } = written;
  if (generation >= row.generation) return null;
  const isKnown = row.previous_digest !== null && equalDigests(row.previous_digest, value);
  if (!isKnown && !ctx.crypto.sealer.isDigest('refresh token', named(ctx, id, generation), mac)) return null;
  return Object.assign(row, {
    presented_generation: generation,
    replaced_at: row.replaced_at ?? longAgo,
    jkt: row.bound_from !== null && generation < row.bound_from ? null : row.jkt,
  });
}

/** The row of a token that what follows it is a generation of too; null: what follows has a row of its own. */
export const rowOfSuccessor = ({ id, generation, presented_generation, rotated_at }: PresentedRefreshToken): string | null =>
  rotated_at !== null && presented_generation === generation ? null : id;

/** {@link MintedRefreshToken}; the id is null where a process of an earlier release made it. */
type Successor = Omit<MintedRefreshToken, 'id'> & { readonly id: string | null };

/** What follows a token that wasn't rotated before. */
export function successorOf(ctx: Context, token: PresentedRefreshToken, presented: string): MintedRefreshToken {
  const id = rowOfSuccessor(token);
  return id === null ? firstsAfter(ctx, token, presented)[0] : mint(ctx, id, token.presented_generation + 1);
}

/**
 * What may have followed a token: first what would now, then what would have under each earlier SECRET_KEY. It follows from the token and a key that only the
 * service has, so that a retry is given the same one although nothing but digests is stored.
 */
export function successorsOf(ctx: Context, token: PresentedRefreshToken, presented: string): readonly [Successor, ...Successor[]] {
  const id = rowOfSuccessor(token);
  if (id !== null) return mintUnderEach(ctx, id, token.presented_generation + 1);
  const earlier = ctx.crypto.sealer.digests('refresh successor', presented).map((seed) => `rt_${seed.toString('base64url')}`);
  return [...firstsAfter(ctx, token, presented), ...earlier.map((one) => ({ id: null, token: one, digest: digest(one) }))];
}

/** The first tokens of the rows that may follow a token with a row to itself. */
const firstsAfter = (ctx: Context, { issued_at }: PresentedRefreshToken, presented: string) =>
  ctx.crypto.sealer
    .digests('refresh successor', presented)
    .map((seed, key) => mintUnderEach(ctx, uuidv7Of(issued_at.getTime(), seed), 1)[key]) as [MintedRefreshToken];
