import type { IncomingMessage, ServerResponse } from 'node:http';
import type { QueueState } from '../../platform/metrics/queue-state.js';
import { requestIdOf } from '../request/request-id.js';

/** Decides at the door whether a request is begun. */
export type Admission = {
  /** Whether the request may go on; else it has been answered with 503. */
  admits(req: IncomingMessage, res: ServerResponse): boolean;
  state(): QueueState;
};

export type AdmissionOptions = {
  /** Addresses that are always open: they cost next to nothing, and others judge by them whether the process is well. */
  readonly open: ReadonlySet<string>;
  /** Addresses that browser applications of other origins call. Every origin may read that they are refused: the refusal is about nobody. */
  readonly crossOrigin?: ReadonlySet<string>;
  /** How long a request to an address would wait for what it needs beside the processor, in milliseconds. */
  waitMs(path: string): number;
  /** Unix milliseconds, for the ids of requests that bear none. */
  now(): number;
  /** Told at most once a second how many were refused in it. */
  onRefused(count: number): void;
  /** Requests that may be in flight. Default 4096. */
  readonly maxInFlight?: number;
  /** Whose a request is; null, for nobody in particular, where that isn't known. One caller may have a quarter of what may be in flight. */
  callerOf?(req: IncomingMessage): string | null;
  /** So many in flight, or begun in one turn, are never too many, however slow the machine is; default 64. */
  readonly fewInFlight?: number;
  /** A turn of the event loop that takes longer is long, in milliseconds; default 30. */
  readonly longTurnMs?: number;
  /** While turns are long: how much of a turn is given to new requests, in milliseconds; default 12. */
  readonly shareMs?: number;
};

/** For so many milliseconds every turn must have been a long one: a burst is worked off meanwhile, a standing queue isn't. */
const jammedMs = 100;
/** For so many milliseconds nothing must have been refused before everything is let in again. */
const calmMs = 500;
/** What every turn takes, however long it is: some get through whatever else the process does. */
const leastPerTurn = 4;
/** Who would wait longer for a signature is refused. */
const maxWaitMs = 500;
/** Seconds. */
const retryAfter = '2';

const text = 'the service is busy; try again shortly';
const oauthBody = JSON.stringify({ error: 'temporarily_unavailable', error_description: text });
const apiBody = JSON.stringify({
  jsonapi: { version: '1.1' },
  errors: [{ status: '503', code: 'temporarily_unavailable', title: 'Service unavailable', detail: text }],
});
const page = `<!doctype html><html lang="en"><meta charset="utf-8"><meta name="viewport" content="width=device-width"><title>Busy</title>
<body style="font-family:system-ui;max-width:30rem;margin:4rem auto;padding:0 1rem"><h1>One moment, please</h1><p>Too many people are here at once. Wait a moment, then reload this page.</p>`;

/** A refusal as it is sent, made once. */
const refusalOf = (type: string, body: string) => {
  const headers = ['Content-Type', type, 'Content-Length', String(Buffer.byteLength(body)), 'Retry-After', retryAfter];
  return { headers: [...headers, 'Cache-Control', 'no-store', 'X-Content-Type-Options', 'nosniff'], body };
};
const refusals = {
  api: refusalOf('application/vnd.api+json', apiBody),
  page: refusalOf('text/html; charset=utf-8', page),
  oauth: refusalOf('application/json; charset=utf-8', oauthBody),
};
const readableAcrossOrigins = ['Access-Control-Allow-Origin', '*', 'Access-Control-Expose-Headers', 'Retry-After, X-Request-Id'];

/** Answers without any of the service's machinery: what can't be served must cost next to nothing. */
function refuse(
  req: IncomingMessage,
  res: ServerResponse,
  path: string,
  { crossOrigin, now }: Pick<AdmissionOptions, 'crossOrigin' | 'now'>,
): void {
  const surface = path.startsWith('/api') ? 'api' : req.headers.accept?.includes('text/html') ? 'page' : 'oauth';
  const { headers, body } = refusals[surface];
  const id = ['X-Request-Id', requestIdOf(req, now())];
  res.writeHead(503, crossOrigin?.has(path) ? headers.concat(id, readableAcrossOrigins) : headers.concat(id));
  res.end(req.method === 'HEAD' ? undefined : body);
}

/** The path of a request target, without its query. */
function pathOf({ url = '/' }: IncomingMessage): string {
  const mark = url.indexOf('?');
  return mark < 0 ? url : url.slice(0, mark);
}

/**
 * The turns of the event loop, as requests meet them: whoever comes waits for about one turn, and again for each answer that it needs. When every one has been
 * long for a while, requests come faster than they are worked off.
 */
function createTurns(longMs: number) {
  let open = false;
  let began = 0;
  /** Since when there was no short turn; null while they are short. */
  let longSince: number | null = null;
  let lastMs = 0;
  const end = () => {
    const now = performance.now();
    lastMs = now - began;
    if (lastMs < longMs) {
      longSince = null;
      open = false;
      return;
    }
    longSince ??= began;
    began = now;
    // The next turn is watched whole, from here to here, whether or not a request comes in it.
    setImmediate(end);
  };
  return {
    /** Milliseconds since the turn began, or since its first request. */
    elapsed(): number {
      const now = performance.now();
      if (!open) {
        open = true;
        began = now;
        setImmediate(end);
      }
      return now - began;
    },
    isJammed: () => longSince !== null && performance.now() - longSince > jammedMs,
    /** When the turn began, which tells it from others. */
    began: () => began,
    /** How long the last turn with requests took, in milliseconds. */
    lastMs: () => lastMs,
  };
}

/**
 * Counts what each caller has in flight: a request whose body is sent a byte at a time is in flight as well, and whoever sends enough of them would leave
 * no room for anybody else.
 */
function createShares(maxEach: number, callerOf: (req: IncomingMessage) => string | null) {
  const held = new Map<string, number>();
  return {
    isTaken(req: IncomingMessage): boolean {
      const caller = callerOf(req);
      return caller !== null && (held.get(caller) ?? 0) >= maxEach;
    },
    /** @returns whose it is, to be released */
    hold(req: IncomingMessage): string | null {
      const caller = callerOf(req);
      if (caller !== null) held.set(caller, (held.get(caller) ?? 0) + 1);
      return caller;
    },
    release(caller: string | null): void {
      if (caller === null) return;
      const left = (held.get(caller) ?? 1) - 1;
      if (left > 0) held.set(caller, left);
      else held.delete(caller);
    },
  };
}

/**
 * Admission control, by load shedding: keeps a process that gets more than it can carry working at full speed on what it can. While the turns of its event loop stay long, each gives
 * only a share of itself to new requests, and the others are refused at once for next to nothing. Nothing is refused while it keeps up.
 */
export function createAdmission(options: AdmissionOptions): Admission {
  const { open, waitMs, onRefused, maxInFlight = 4096, fewInFlight = 64, longTurnMs = 30, shareMs = 12, callerOf = () => null } = options;
  const turns = createTurns(longTurnMs);
  const shares = createShares(Math.ceil(maxInFlight / 4), callerOf);
  let inFlight = 0;
  let refused = 0;
  let untold = 0;
  let shedding = false;
  let lastRefused = 0;
  let turn = 0;
  let admitted = 0;

  /** Whether load is shed now, and this turn has taken its share of requests. */
  function isOverloaded(elapsed: number): boolean {
    if (!shedding && !turns.isJammed()) return false;
    const now = performance.now();
    if (!shedding) lastRefused = now;
    shedding = turns.isJammed() || now - lastRefused < calmMs;
    if (turn !== turns.began()) {
      turn = turns.began();
      admitted = 0;
    }
    return shedding && Math.max(inFlight, admitted) >= fewInFlight && elapsed > shareMs && admitted >= leastPerTurn;
  }

  function count(): void {
    refused += 1;
    lastRefused = performance.now();
    if (untold++ > 0) return;
    setTimeout(() => {
      onRefused(untold);
      untold = 0;
    }, 1000).unref();
  }

  return {
    admits(req, res) {
      const elapsed = turns.elapsed();
      const path = pathOf(req);
      // Not counted either: what every turn and every caller may have of the others isn't theirs, however many of them come.
      if (open.has(path)) return true;
      if (isOverloaded(elapsed) || inFlight >= maxInFlight || shares.isTaken(req) || waitMs(path) > maxWaitMs) {
        count();
        refuse(req, res, path, options);
        return false;
      }
      inFlight += 1;
      admitted += 1;
      const caller = shares.hold(req);
      res.on('close', () => {
        inFlight -= 1;
        shares.release(caller);
      });
      return true;
    },
    state: () => ({ queue: 'requests', length: inFlight, wait: turns.lastMs() / 1000, refused }),
  };
}
