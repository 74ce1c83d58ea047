import { readFeed, type FeedPage, type FeedPosition } from '../db/tables/events.js';
import { readableEventTypes } from '../domain/reach/reach-of.js';
import type { Actor } from '../domain/actor.js';
import type { Context } from '../domain/context.js';
import type { Call } from './call.js';
import { decodeCursor, encodeCursor } from './cursor.js';
import { badParameter, refuse } from './problems.js';

/** What a reader of the feed asks for. `named`: the event types of the filter; null: all that it may read. */
export type Followed = { readonly position: FeedPosition; readonly named: readonly string[] | null };

const list = 'events';
const order = 'feed';

export const feedCursor = (ctx: Context, position: number): string =>
  encodeCursor(ctx, list, order, { values: [String(position)], id: '' });

/** Where a cursor, `oldest` or `now` stands. @throws {ApiError} 400 */
export function feedPosition(
  ctx: Context,
  text: string,
  source: { readonly parameter: string } | { readonly header: string },
): FeedPosition {
  if (text === 'oldest' || text === 'now') return text;
  const [after] = decodeCursor(ctx, list, order, text)?.values ?? [];
  if (after !== undefined) return { after: Number(after) };
  const detail =
    'This is no cursor of this feed; take it from links.next or from the id of an event of a stream, or begin at oldest or now.';
  throw 'parameter' in source ? badParameter(source.parameter, 'invalid_cursor', detail) : refuse(400, 'invalid_cursor', detail, source);
}

/** The event types that the reader gets now: of those that it named, what it may still read. */
export function followedTypes(actor: Pick<Actor, 'permissions'>, { named }: Pick<Followed, 'named'>): readonly string[] {
  const readable = readableEventTypes(actor);
  return named === null ? readable : readable.filter((type) => named.includes(type));
}

/** The next page. @throws {ApiError} 410 when events after the place have gone */
export async function nextPage({ ctx, actor }: Pick<Call, 'ctx' | 'actor'>, followed: Followed, size: number): Promise<FeedPage> {
  const page = await readFeed(ctx.scope, { position: followed.position, event_types: followedTypes(actor, followed), size });
  if (page.expired)
    throw refuse(410, 'cursor_expired', `Events after this cursor are gone: they are kept for ${ctx.config.eventDays} days.`);
  return page;
}
