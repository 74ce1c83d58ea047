import { Agent, request } from 'undici';
import type { Outcome } from './history.js';

/** An answer, or its absence: status 0. */
export type Answer = {
  readonly status: number;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  readonly text: string;
  /** The body when it is a JSON object, else empty. */
  // oxlint-disable-next-line typescript/no-explicit-any -- documents are looked into freely
  readonly body: Record<string, any>;
};

export type Request = {
  readonly method?: 'GET' | 'POST' | 'PATCH' | 'DELETE';
  readonly path: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly form?: Readonly<Record<string, string>>;
  readonly json?: unknown;
};

/** Longer than any suspension but the few long ones. */
const timeoutMs = 10_000;
const none: Answer = { status: 0, headers: {}, text: '', body: {} };

/** Sends requests to replicas under the host name that all of them share, as a balancer in front would. Nothing is ever sent twice. */
export function createSender(host: string) {
  const agent = new Agent({ connect: { timeout: 2000 }, keepAliveTimeout: 4000, pipelining: 1 });
  return {
    close: () => agent.destroy(),
    async send(origin: string, { method, path, headers, form, json }: Request): Promise<Answer> {
      const type = form ? 'application/x-www-form-urlencoded' : 'application/json';
      const body = form ? new URLSearchParams(form).toString() : json === undefined ? null : JSON.stringify(json);
      try {
        const answer = await request(origin + path, {
          method: method ?? (body === null ? 'GET' : 'POST'),
          headers: { host, ...(body === null ? {} : { 'content-type': type }), ...headers },
          body,
          dispatcher: agent,
          signal: AbortSignal.timeout(timeoutMs),
        });
        const text = await answer.body.text();
        return { status: answer.statusCode, headers: answer.headers, text, body: objectOf(text) };
      } catch {
        return none;
      }
    },
  };
}

function objectOf(text: string): Answer['body'] {
  try {
    return text.startsWith('{') ? (JSON.parse(text) as Answer['body']) : {};
  } catch {
    return {};
  }
}

/** What an answer says of a request: 2xx and 3xx that it was done, 4xx that it was not; all others leave it open. */
export function outcomeOf({ status }: Pick<Answer, 'status'>): Outcome {
  if (status >= 200 && status < 400) return 'ok';
  return status >= 400 && status < 500 && status !== 408 ? 'refused' : 'unknown';
}

/** As {@link outcomeOf} for a request that asks whether something is in force: a limit says nothing about it. */
export const standingOf = (answer: Pick<Answer, 'status'>): Outcome => (answer.status === 429 ? 'unknown' : outcomeOf(answer));
