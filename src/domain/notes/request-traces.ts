import type { RefusalRule } from '../../lib/refusal-rules.js';
import type { Logger } from '../../platform/log/logger.js';

/** Where on the way from authorization to tokens a request is. */
export const traceSteps = [
  'pushed_authorization_request',
  'authorize',
  'provider',
  'consent',
  'device_authorization',
  'backchannel_authentication',
  'token',
] as const;
export type TraceStepName = (typeof traceSteps)[number];

/** `narrowed`: it went on, with less of the scope than was asked for. */
export const traceOutcomes = ['accepted', 'narrowed', 'refused'] as const;
export type TraceOutcome = (typeof traceOutcomes)[number];

/** One request on the way, as a trace tells of it. */
export type TraceStep = {
  /** ISO 8601. */
  readonly at: string;
  readonly step: TraceStepName;
  readonly outcome: TraceOutcome;
  /** Null for what was accepted. */
  readonly rule: RefusalRule | null;
  /** Never a code, token, verifier or password. */
  readonly detail: Readonly<Record<string, unknown>>;
  /** Null for a code that an earlier release issued. */
  readonly request_id: string | null;
};

/** A request that was refused, until it is written. */
export type WaitingTrace = {
  readonly environment_id: string;
  readonly request_id: string;
  readonly occurred_at: Date;
  readonly error: string | null;
  /** The client that is known to be meant; null where there is but a claim. */
  readonly client_id: string | null;
  readonly claimed_client_id: string | null;
  readonly step: TraceStep & { readonly rule: RefusalRule };
  /** Of the code that came with the request, to find its row by, and whose it is; it isn't kept. */
  readonly code: { readonly digest: Buffer; readonly of: 'authorization' | 'device' } | null;
};

/** Traces between two writes. */
export type WaitingTraces = {
  /** Never fails and never waits: what there is no room for is dropped, and counted. */
  add(trace: WaitingTrace): void;
  /** Those since the last call, and how many were dropped. */
  take(): { traces: WaitingTrace[]; dropped: number };
  /** Those that were taken and couldn't be written, as far as there is room. */
  putBack(traces: readonly WaitingTrace[]): void;
};

/** Traces that wait to be written at most, all environments together. */
const maxWaiting = 1_000;
/** Traces of a process in a minute: of an environment, and of them by one rule for one client. What strangers can cause without end must end. */
const perMinute = { environment: 600, alike: 60 } as const;
const minuteMs = 60_000;

/** @param logger is told of each decision, for `LOG_LEVEL=debug` */
export function createWaitingTraces(logger: Pick<Logger, 'debug'>): WaitingTraces {
  let waiting: WaitingTrace[] = [];
  let dropped = 0;
  let minute = 0;
  let counts = new Map<string, number>();

  function isUnderLimit(key: string, limit: number): boolean {
    const count = counts.get(key) ?? 0;
    if (count < limit) counts.set(key, count + 1);
    return count < limit;
  }

  return {
    add(trace) {
      const now = Math.floor(trace.occurred_at.getTime() / minuteMs);
      if (now !== minute) [minute, counts] = [now, new Map()];
      const { environment_id, step } = trace;
      const { step: at_step, outcome, rule, detail } = step;
      const { request_id, client_id, error } = trace;
      logger.debug(
        { event: 'debug.rule', step: at_step, outcome, rule, error, detail, request_id, client_id },
        `${at_step} ${outcome}: ${rule}`,
      );
      // Claims share what one client has: anybody can make up many.
      const alike = `${environment_id} ${step.step} ${step.rule} ${trace.client_id ?? ''}`;
      const accepted =
        waiting.length < maxWaiting && isUnderLimit(alike, perMinute.alike) && isUnderLimit(environment_id, perMinute.environment);
      if (accepted) waiting.push(trace);
      else dropped += 1;
    },
    take() {
      const taken = { traces: waiting, dropped };
      [waiting, dropped] = [[], 0];
      return taken;
    },
    putBack(traces) {
      const capacity = Math.max(0, maxWaiting - waiting.length);
      waiting = [...traces.slice(0, capacity), ...waiting];
      dropped += Math.max(0, traces.length - capacity);
    },
  };
}
