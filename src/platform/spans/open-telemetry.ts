// The only file that loads OpenTelemetry; only `start.ts` imports it, and only when there is a collector.
import { AsyncLocalStorage } from 'node:async_hooks';
import {
  ROOT_CONTEXT,
  SpanKind,
  SpanStatusCode,
  trace,
  TraceFlags,
  type Attributes,
  type Context,
  type Span,
  type SpanContext,
  type SpanOptions,
  type Tracer as Recorder,
} from '@opentelemetry/api';
import { parseKeyPairsIntoRecord, parseTraceParent } from '@opentelemetry/core';
import { OTLPTraceExporter } from '@opentelemetry/exporter-trace-otlp-proto';
import { defaultResource, detectResources, envDetector, resourceFromAttributes } from '@opentelemetry/resources';
import { BasicTracerProvider, BatchSpanProcessor } from '@opentelemetry/sdk-trace-base';
import {
  ATTR_DB_QUERY_SUMMARY,
  ATTR_DB_SYSTEM_NAME,
  ATTR_ERROR_TYPE,
  ATTR_HTTP_REQUEST_METHOD,
  ATTR_HTTP_RESPONSE_STATUS_CODE,
  ATTR_HTTP_ROUTE,
  ATTR_NETWORK_PROTOCOL_NAME,
  ATTR_SERVER_ADDRESS,
  ATTR_SERVER_PORT,
  ATTR_SERVICE_NAME,
  ATTR_SERVICE_VERSION,
  DB_SYSTEM_NAME_VALUE_POSTGRESQL,
} from '@opentelemetry/semantic-conventions';
import type { Collector } from './collector.js';
import { errorTypeOf } from './error-type.js';
import { boundedExport, maxWaitingSpans, type Outcome } from './export.js';
import type { AnsweredRequest, OpenSpan, RequestHead, RequestSpan, Tracer } from './tracer.js';

const ours = 'identity-provider';

/** How long a process that ends waits for its collector to take the last spans, in milliseconds. */
const farewellMs = 2_000;

/** Resolves with the work, or when the time is up; what fails has been counted. */
async function atMost(ms: number, work: Promise<void>): Promise<void> {
  let timer: NodeJS.Timeout | undefined;
  const timeUp = new Promise<void>((resolve) => {
    timer = setTimeout(resolve, ms);
  });
  await Promise.race([work.catch(() => undefined), timeUp]);
  clearTimeout(timer);
}

/** What the present work belongs to. */
type Active = { readonly span: Span; readonly context: Context; readonly trace_id: string; answered: boolean };

/** Methods that every tool knows; another one is somebody's invention, and has no place in a name. */
const knownMethods = new Set(['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS', 'TRACE', 'CONNECT']);

const isSampled = (span: Span) => (span.spanContext().traceFlags & TraceFlags.SAMPLED) !== 0;

/** The caller's span, if its header names one (W3C Trace Context 3.2); anything else than that is as good as no header. */
function callerOf(traceparent: string | undefined): SpanContext | null {
  const named = traceparent === undefined ? null : parseTraceParent(traceparent);
  return named && { traceId: named.traceId, spanId: named.spanId, traceFlags: named.traceFlags & TraceFlags.SAMPLED, isRemote: true };
}

function fail(span: Span, type: string): void {
  span.setAttribute(ATTR_ERROR_TYPE, type);
  span.setStatus({ code: SpanStatusCode.ERROR });
}

const open = (span: Span): OpenSpan => ({
  end(error, status) {
    if (status !== undefined) span.setAttribute(ATTR_HTTP_RESPONSE_STATUS_CODE, status);
    if (error !== undefined) fail(span, errorTypeOf(error));
    else if (status !== undefined && status >= 400) fail(span, String(status));
    span.end();
  },
});

/** Attributes without those that are null. */
const present = (attributes: Record<string, string | number | null>): Attributes =>
  Object.fromEntries(Object.entries(attributes).filter((entry): entry is [string, string | number] => entry[1] !== null));

function tell(span: Span, method: string, answer: AnsweredRequest): void {
  const { route, status, request_id, client_id, grant_type, error_code } = answer;
  if (route !== null) span.updateName(`${method} ${route}`);
  span.setAttributes(
    present({
      [ATTR_HTTP_ROUTE]: route,
      [ATTR_HTTP_RESPONSE_STATUS_CODE]: status,
      'idp.request_id': request_id,
      'idp.client_id': client_id,
      'idp.grant_type': grant_type,
      'idp.error_code': error_code,
    }),
  );
  if (status === null) fail(span, 'aborted');
  else if (status >= 500) fail(span, String(status));
  span.end();
}

type Making = { readonly recorder: Recorder; readonly active: AsyncLocalStorage<Active> };

const enter = (span: Span): Active => ({
  span,
  context: trace.setSpan(ROOT_CONTEXT, span),
  trace_id: span.spanContext().traceId,
  answered: false,
});

function requestSpan({ recorder, active }: Making, { method, traceparent, trusted }: RequestHead): RequestSpan {
  const known = knownMethods.has(method);
  const caller = callerOf(traceparent);
  const options: SpanOptions = { kind: SpanKind.SERVER, attributes: { [ATTR_HTTP_REQUEST_METHOD]: known ? method : '_OTHER' } };
  if (caller && !trusted) options.links = [{ context: caller }];
  const parent = caller && trusted ? trace.setSpanContext(ROOT_CONTEXT, caller) : ROOT_CONTEXT;
  const span = recorder.startSpan(known ? method : 'HTTP', options, parent);
  if (!isSampled(span)) return { trace_id: null, run: (work) => work(), end: () => span.end() };
  const mine = enter(span);
  return {
    trace_id: mine.trace_id,
    run: (work) => active.run(mine, work),
    end(answer) {
      mine.answered = true;
      tell(span, known ? method : 'HTTP', answer);
    },
  };
}

async function backgroundSpan<T>({ recorder, active }: Making, name: string, work: () => Promise<T>): Promise<T> {
  const span = recorder.startSpan(name, { kind: SpanKind.INTERNAL, root: true }, ROOT_CONTEXT);
  if (!isSampled(span)) return active.exit(work);
  const mine = enter(span);
  try {
    return await active.run(mine, work);
  } catch (error) {
    fail(span, errorTypeOf(error));
    throw error;
  } finally {
    mine.answered = true;
    span.end();
  }
}

function createTracer(recorder: Recorder, close: Tracer['close']): Tracer {
  const active = new AsyncLocalStorage<Active>();
  const making = { recorder, active };

  /** A span below the present one, if there is one. */
  function below(name: string, kind: SpanKind, attributes: Attributes): OpenSpan | null {
    const parent = active.getStore();
    return parent === undefined ? null : open(recorder.startSpan(name, { kind, attributes }, parent.context));
  }

  return {
    request: (head) => requestSpan(making, head),
    background: (name, work) => backgroundSpan(making, name, work),
    statement: (name) =>
      below(name, SpanKind.CLIENT, { [ATTR_DB_SYSTEM_NAME]: DB_SYSTEM_NAME_VALUE_POSTGRESQL, [ATTR_DB_QUERY_SUMMARY]: name }),
    outbound(method, origin) {
      const { hostname, port, protocol } = new URL(origin);
      const attributes = { [ATTR_SERVER_ADDRESS]: hostname, [ATTR_SERVER_PORT]: Number(port) || (protocol === 'http:' ? 80 : 443) };
      return below(method, SpanKind.CLIENT, { [ATTR_HTTP_REQUEST_METHOD]: method, ...attributes });
    },
    mail: (host) => below('SMTP', SpanKind.CLIENT, { [ATTR_NETWORK_PROTOCOL_NAME]: 'smtp', [ATTR_SERVER_ADDRESS]: host }),
    internal: (name) => below(name, SpanKind.INTERNAL, {}),
    traceId() {
      const store = active.getStore();
      return store === undefined || store.answered ? null : store.trace_id;
    },
    close,
  };
}

/** A tracer that sends its spans to the collector. */
export function openCollector({ url, headers }: Collector, release: string, onOutcome: (outcome: Outcome) => void): Tracer {
  const exporter = new OTLPTraceExporter({ url, headers: parseKeyPairsIntoRecord(headers ?? undefined) });
  const own = resourceFromAttributes({ [ATTR_SERVICE_NAME]: ours, [ATTR_SERVICE_VERSION]: release });
  const provider = new BasicTracerProvider({
    // OTEL_RESOURCE_ATTRIBUTES and OTEL_SERVICE_NAME win.
    resource: defaultResource()
      .merge(own)
      .merge(detectResources({ detectors: [envDetector] })),
    spanProcessors: [boundedExport(exporter, (counted) => new BatchSpanProcessor(counted, { maxQueueSize: maxWaitingSpans }), onOutcome)],
  });
  return createTracer(provider.getTracer(ours, release), () => atMost(farewellMs, provider.shutdown()));
}
