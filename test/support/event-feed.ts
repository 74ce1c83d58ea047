import { request as send } from 'undici';
import { transaction, type Context } from '../../src/domain/context.js';
import { emit } from '../../src/domain/events/emit.js';
import type { Api, Document } from './management.js';
import { roleData } from './webhooks.js';

/** Stores `role.created` about a role of the name, in a transaction of its own. */
export const emitRole = (ctx: Context, name: string): Promise<void> => transaction(ctx, (tx) => emit(tx, 'role.created', roleData(name)));

export const namesOf = (events: readonly Document[]): string[] => events.map((one) => one['attributes'].payload.data.name as string);

/** `page[after]` of `links.next`. */
export const nextOf = (document: Document): string =>
  new URL(document['links'].next as string, 'http://service.test').searchParams.get('page[after]') as string;

export const pageOf = async (api: Api, after: string, query = ''): Promise<Document> => {
  const answer = await api.get(`/events?${new URLSearchParams({ 'page[after]': after })}${query}`);
  if (answer.status !== 200) throw new Error(answer.text);
  return answer.body;
};

export const now = async (api: Api): Promise<string> => nextOf(await pageOf(api, 'now'));

export async function follow(api: Api, from: string, count: number, query = ''): Promise<{ events: Document[]; cursor: string }> {
  const events: Document[] = [];
  let cursor = from;
  while (events.length < count) {
    const page = await pageOf(api, cursor, query);
    events.push(...(page['data'] as Document[]));
    cursor = nextOf(page);
  }
  return { events, cursor };
}

export type StreamedEvent = { id: string; event: string; data: string };

/** An open stream: what has come so far, and whether it has ended. */
export type Stream = {
  readonly status: number;
  readonly headers: Record<string, unknown>;
  readonly text: () => string;
  readonly events: () => StreamedEvent[];
  readonly ended: Promise<void>;
  close(): void;
};

/** The events in the text of a stream (WHATWG HTML, "Interpreting an event stream"): those with data. */
export function eventsIn(text: string): StreamedEvent[] {
  const blocks = text.split('\n\n').slice(0, -1);
  return blocks.flatMap((block) => {
    const fields = Object.fromEntries(
      block.split('\n').map((line) => [line.slice(0, line.indexOf(':')), line.slice(line.indexOf(':') + 2)]),
    );
    return fields['data'] === undefined ? [] : [{ id: fields['id'] ?? '', event: fields['event'] ?? '', data: fields['data'] }];
  });
}

export async function openStream(address: string, headers: Record<string, string>): Promise<Stream> {
  const controller = new AbortController();
  const response = await send(address, { headers: { accept: 'text/event-stream', ...headers }, signal: controller.signal, bodyTimeout: 0 });
  let text = '';
  const ended = (async () => {
    try {
      for await (const chunk of response.body) text += String(chunk);
    } catch {
      // Cut off, by either side.
    }
  })();
  return {
    status: response.statusCode,
    headers: response.headers,
    text: () => text,
    events: () => eventsIn(text),
    ended,
    close: () => controller.abort(),
  };
}

export const streamOf = (api: Api, query = '', headers: Record<string, string> = {}): Promise<Stream> =>
  openStream(`${api.origin}/api/events${query}`, { authorization: `Bearer ${api.token}`, ...headers });
