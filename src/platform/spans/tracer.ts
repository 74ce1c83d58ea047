/** A part of the work that is being timed, for a collector of traces. It ends once. */
export type OpenSpan = {
  /**
   * @param error what it failed with, if it did: told by its class or code, never by its text, which may hold values
   * @param status of an answer over HTTP
   */
  end(error?: unknown, status?: number): void;
};

export type RequestHead = {
  readonly method: string;
  /** The header of W3C Trace Context, as it came. */
  readonly traceparent: string | undefined;
  /** Whether it was sent by a proxy of ours (`TRUST_PROXY`): then its trace goes on here. A stranger's is only linked to. */
  readonly trusted: boolean;
};

/** What is told of a request once it was answered. Nothing that somebody has typed: no address, no query, no body. */
export type AnsweredRequest = {
  /** The pattern of the path; null when there is none for it. */
  readonly route: string | null;
  /** Null when the caller had gone before there was one. */
  readonly status: number | null;
  readonly request_id: string;
  /** The client that the request has proven to be from. */
  readonly client_id: string | null;
  readonly grant_type: string | null;
  /** `error` of a refusal. */
  readonly error_code: string | null;
};

/** The span of a request, under which everything else that is done for it hangs. */
export type RequestSpan = {
  /** 32 hexadecimal digits, for the lines of the log; null when the request isn't sampled. */
  readonly trace_id: string | null;
  /** Calls `work`; what it does, and what follows from that, belongs to the request. */
  run(work: () => void): void;
  end(answer: AnsweredRequest): void;
};

/**
 * Makes spans. Those that return null make one only for what belongs to a request or to work of the background that is sampled: a loop that looks whether there
 * is something to do is nobody's trace.
 */
export type Tracer = {
  request(head: RequestHead): RequestSpan;
  /** Work that no request waits for, as a trace of its own. */
  background<T>(name: string, work: () => Promise<T>): Promise<T>;
  /** A statement of the database, by its name: never its text or its values. */
  statement(name: string): OpenSpan | null;
  /** A request to somebody else's server; of its address the host alone. */
  outbound(method: string, origin: string): OpenSpan | null;
  mail(host: string): OpenSpan | null;
  /** Work of the processor that takes its time: `password hash`, `sign RS256`. */
  internal(name: string): OpenSpan | null;
  /** The trace that the present work belongs to, while its request isn't answered. */
  traceId(): string | null;
  /** Sends what waits, for two seconds at most. */
  close(): Promise<void>;
};

/** What `asked` answers; its span ends with it. `statusOf`: the status of an answer over HTTP. */
export function timed<T>(span: OpenSpan | null, work: Promise<T>, statusOf?: (answer: T) => number): Promise<T> {
  if (span === null) return work;
  return work.then(
    (answer) => {
      span.end(undefined, statusOf?.(answer));
      return answer;
    },
    (error: unknown) => {
      span.end(error);
      throw error;
    },
  );
}

/** Work of the background, in a trace of its own when there is a tracer. */
export const inBackground = <T>(tracer: Tracer | null, name: string, work: () => Promise<T>): Promise<T> =>
  tracer?.background(name, work) ?? work();
