import type { Dispatcher } from 'undici';
import { asOutboundError, OutboundError } from './outbound-error.js';
import { ofEach } from '../../lib/memo.js';

/** What bounds reading a response; see `OutboundRequest`. */
export type ResponseLimits = {
  readonly timeoutMs: number;
  readonly maxResponseBytes: number;
  readonly bodyTimeoutMs: number | undefined;
  readonly signal: AbortSignal | undefined;
};

/** A response as far as it was read. */
export type ReceivedResponse = {
  readonly status: number;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  readonly body: Buffer;
  readonly truncated: boolean;
};

type Headers = ReceivedResponse['headers'];

/** What the signal stops: one listener per signal, however many requests it may end. */
const stopsOf = ofEach((signal: AbortSignal) => {
  const stops = new Set<() => void>();
  signal.addEventListener('abort', () => stops.forEach((one) => one()), { once: true });
  return stops;
});

/** Calls `stop` when the signal is aborted. @returns a function that takes `stop` off again */
function whenAborted(signal: AbortSignal, stop: () => void): () => void {
  const stops = stopsOf(signal);
  stops.add(stop);
  return () => stops.delete(stop);
}

const emptyBuffer = Buffer.alloc(0);

/**
 * Collects the response to one request, as a handler of undici's dispatcher: `undici.request` with its streams and signals costs more than the
 * request itself. `response` settles once, after `timeoutMs` at the latest, also while undici still waits for a connection; such a request is
 * never sent.
 */
export class ResponseHandler implements Dispatcher.DispatchHandler {
  /** Rejects with an {@link OutboundError}, or with the signal's reason. */
  readonly response: Promise<ReceivedResponse>;
  readonly #limits: ResponseLimits;
  readonly #timer: NodeJS.Timeout;
  readonly #forget: (() => void) | null;
  #settle!: { resolve: (response: ReceivedResponse) => void; reject: (reason: unknown) => void };
  #controller: Dispatcher.DispatchController | null = null;
  #bodyTimer: NodeJS.Timeout | null = null;
  #over = false;
  #status = 0;
  #headers: Headers = {};
  #chunks: Buffer[] = [];
  #size = 0;

  constructor(limits: ResponseLimits) {
    const { timeoutMs, signal } = limits;
    this.#limits = limits;
    this.response = new Promise((resolve, reject) => (this.#settle = { resolve, reject }));
    this.#timer = setTimeout(() => this.#timeUp(timeoutMs, 'the request'), timeoutMs);
    this.#forget = signal ? whenAborted(signal, () => this.#fail(signal.reason)) : null;
    if (signal?.aborted) this.#fail(signal.reason);
  }

  onRequestStart(controller: Dispatcher.DispatchController): void {
    this.#controller = controller;
    if (this.#over) controller.abort(new OutboundError('timeout', 'time is up'));
  }

  onResponseStart(_controller: Dispatcher.DispatchController, status: number, headers: Headers): void {
    // 100 Continue and 103 Early Hints come before the response (RFC 9110 15.2).
    if (status < 200) return;
    this.#status = status;
    this.#headers = headers;
    const { bodyTimeoutMs } = this.#limits;
    if (bodyTimeoutMs !== undefined) this.#bodyTimer = setTimeout(() => this.#timeUp(bodyTimeoutMs, 'the body'), bodyTimeoutMs);
  }

  onResponseData(_controller: Dispatcher.DispatchController, chunk: Buffer): void {
    this.#chunks.push(chunk);
    this.#size += chunk.length;
    if (this.#size > this.#limits.maxResponseBytes) this.#succeed(true);
  }

  onResponseEnd(): void {
    this.#succeed(false);
  }

  onResponseError(_controller: Dispatcher.DispatchController, error: Error): void {
    this.#fail(asOutboundError(error));
  }

  /** With `bodyTimeoutMs` a late body is cut off and the request succeeds; everything else that is late fails. */
  #timeUp(ms: number, what: string): void {
    if (this.#status !== 0 && this.#limits.bodyTimeoutMs !== undefined) this.#succeed(true);
    else this.#fail(new OutboundError('timeout', `${what} took longer than ${ms} ms`));
  }

  #succeed(truncated: boolean): void {
    if (!this.#end()) return;
    const { maxResponseBytes } = this.#limits;
    const [first = emptyBuffer] = this.#chunks;
    const whole = this.#chunks.length > 1 ? Buffer.concat(this.#chunks) : first;
    const body = whole.length > maxResponseBytes ? whole.subarray(0, maxResponseBytes) : whole;
    this.#settle.resolve({ status: this.#status, headers: this.#headers, body, truncated });
    // What is still to come would keep the connection busy.
    if (truncated) this.#controller?.abort(new OutboundError('too_large', 'the rest of the body is not read'));
  }

  #fail(reason: unknown): void {
    if (!this.#end()) return;
    this.#settle.reject(reason);
    this.#controller?.abort(reason instanceof Error ? reason : new OutboundError('timeout', 'the request was ended'));
  }

  /** Stops the timers. @returns false when the request has ended before */
  #end(): boolean {
    if (this.#over) return false;
    this.#over = true;
    clearTimeout(this.#timer);
    if (this.#bodyTimer) clearTimeout(this.#bodyTimer);
    this.#forget?.();
    return true;
  }
}
