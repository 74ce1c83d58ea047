import type { ManagementClient } from './management-client.js';
import { ManagementError, type ApiError } from './management-error.js';
import { cursorOf } from './records.js';
import { pause } from './retrying-fetch.js';

export type FeedOptions = {
  /** The cursor after which to begin, `oldest` or `now`; the oldest event that there is unless given. */
  readonly after?: string | undefined;
  /** Filters by name: `{ event_type: 'user.created' }`. */
  readonly filter?: Readonly<Record<string, string>>;
  /** How long to wait where there is nothing new; 5,000 ms unless given. */
  readonly pollMs?: number;
  readonly signal?: AbortSignal;
};

/** Events in their order, and the cursor to keep once they are dealt with: it goes on after them. */
export type FeedPage<Event> = { readonly events: readonly Event[]; readonly cursor: string };

type FeedDocument<Event> = {
  readonly data: readonly Event[];
  readonly links: { readonly next: string };
  readonly meta: { readonly more: boolean };
  readonly errors?: readonly ApiError[];
};

/** An event as `GET /api/events` has it. */
export type FeedEvent = { readonly type: string; readonly id: string; readonly attributes: Readonly<Record<string, unknown>> };

/** The events feed, for good: it ends with the signal. @throws {ManagementError}, and the signal's reason */
export async function* feed<Event = FeedEvent>(
  { url, send }: ManagementClient,
  { after, filter = {}, pollMs = 5_000, signal }: FeedOptions = {},
): AsyncGenerator<FeedPage<Event>, never, undefined> {
  const filters = Object.entries(filter).map(([name, value]): [string, string] => [`filter[${name}]`, value]);
  for (let cursor = after; ;) {
    const query = new URLSearchParams([...filters, ['page[size]', '100'], ...(cursor === undefined ? [] : [['page[after]', cursor]])] as [string, string][]); // prettier-ignore
    const headers = { accept: 'application/vnd.api+json' };
    const response = await send(new Request(`${url}/api/events?${query}`, { headers, ...(signal ? { signal } : {}) }));
    // A proxy in between answers in no JSON.
    const document = (await response.json().catch(() => null)) as FeedDocument<Event> | null;
    if (!response.ok || document === null) throw new ManagementError(response.status, document?.errors ?? []);
    const { data, links, meta } = document;
    cursor = cursorOf(links.next) ?? cursor;
    if (data.length > 0) yield { events: data, cursor: cursor ?? '' };
    if (!meta.more) await pause(pollMs, signal ?? null);
  }
}
