import type { Response } from 'express';
import { readFeed, type EventRow, type FeedPage, type FeedPosition } from '../db/tables/events.js';
import type { Actor } from '../domain/actor.js';
import type { Context } from '../domain/context.js';
import { findServedEnvironment } from '../domain/environments/environments.js';
import type { EventStream, Round } from '../domain/notes/event-streams.js';
import { ApiError, OAuthError, PageError } from '../errors.js';
import { feedCursor, followedTypes, nextPage, type Followed } from './feed.js';
import { problem } from './problems.js';

export type StreamReader = { readonly ctx: Context; readonly actor: Actor };

type Opening = {
  readonly reader: StreamReader;
  readonly subject: string;
  readonly followed: Followed;
  /** The reader anew, by the same credentials, which name them among others. @throws what their refusal throws */
  readonly again: { readonly key: string; read(): Promise<StreamReader> };
  /** An event as it is sent: its lines but for `id`. */
  lines(event: EventRow): string;
};

/** Events that are read at once. */
const size = 100;
/** Less than the 15 s that a reader is promised, by what lies between two rounds. */
const commentMs = 14_000;
/** What a reader may leave unread, and for how long, before it is cut off; a quarter of it, for as long as it likes, until it has caught up. */
const maxUnreadBytes = 1_048_576;
const slowMs = 2_000;
const retryMs = 1_000;

const isRefusal = (error: unknown): boolean => error instanceof ApiError || error instanceof OAuthError || error instanceof PageError;

const tooMany = () =>
  new ApiError(problem(429, 'rate_limited', 'Ten streams of this subject are open here already.'), { 'Retry-After': '5' });

/**
 * Answers with a stream of events (WHATWG HTML, "Server-sent events"), which the loop of the process goes on with.
 * @throws {ApiError} 410, 429
 */
export async function openEventStream(res: Response, { reader, subject, followed, again, lines }: Opening): Promise<void> {
  const { ctx } = reader;
  const { clock, streams } = ctx;
  let position: FeedPosition = followed.position;
  let commentedAt: number | null = null;
  /** Until it has caught up, a reader gets the next page when it has taken the one before. */
  let isLive = false;

  /** Since when it has left as much unread as it may. */
  let fullSince: number | null = null;

  const isFull = () => res.writableLength > (isLive ? maxUnreadBytes : maxUnreadBytes / 4);

  /** Sends as much of a page as the reader may leave unread; `id` alone moves one on over what isn't for it. @returns whether there is more by now */
  const send = ({ events, position: end, more }: FeedPage): boolean => {
    const sent = events.findIndex((event) => {
      res.write(`id: ${feedCursor(ctx, event.position as number)}\n${lines(event)}\n\n`);
      return isFull();
    });
    const last = sent < 0 ? undefined : events[sent];
    const after = last?.position ?? end;
    position = { after };
    isLive ||= !more && !last;
    if (commentedAt !== null && clock.elapsed() - commentedAt < commentMs) return more || last !== undefined;
    res.write(`:\nid: ${feedCursor(ctx, after)}\n\n`);
    commentedAt = clock.elapsed();
    return more || last !== undefined;
  };

  const advance = async (round: Round): Promise<boolean> => {
    try {
      if (!(await findServedEnvironment(ctx, ctx.environment.id))) return (res.end(), false);
      const now = await round(again.key, () => again.read());
      if (isFull()) {
        fullSince ??= clock.elapsed();
        if (isLive && clock.elapsed() - fullSince >= slowMs) res.destroy();
        return false;
      }
      fullSince = null;
      const request = { position, event_types: followedTypes(now.actor, followed), size };
      const page = await round(JSON.stringify([ctx.environment.id, request]), () => readFeed(now.ctx.scope, request));
      if (res.closed) return false;
      if (!page.expired) return send(page);
    } catch (error) {
      if (!isRefusal(error)) throw error;
    }
    res.end();
    return false;
  };

  const first = await nextPage(reader, followed, size);
  const stream: EventStream = { subject: `${ctx.environment.id} ${subject}`, advance, end: () => void res.end() };
  if (!streams.add(stream)) throw tooMany();
  res.on('close', () => streams.remove(stream));
  // Set bare, so that Express adds no charset: the format has one.
  const headers = { 'Content-Type': 'text/event-stream', 'Cache-Control': 'no-store', Vary: 'Accept', 'X-Accel-Buffering': 'no' };
  for (const [name, value] of Object.entries(headers)) res.setHeader(name, value);
  res.write(`retry: ${retryMs}\n`);
  send(first);
}
