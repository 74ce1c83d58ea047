import type { ReadableSpan, SpanExporter, SpanProcessor } from '@opentelemetry/sdk-trace-base';

/** Spans that wait to be sent; what ends while so many wait is dropped. About 2 MB. */
export const maxWaitingSpans = 2048;

/** What became of spans: `sent`, `dropped` because too many waited, or `refused`: the collector was away, too slow, or said no. */
export type Outcome = { readonly outcome: 'sent' | 'dropped' | 'refused'; readonly count: number; readonly error?: unknown };

/** The library's code of an export that went well. */
const taken = 0;

/**
 * The library's batching with its room counted here, because what it drops it tells nobody.
 * @param batching makes the processor that collects spans and hands them to the exporter that it is given
 */
export function boundedExport(
  exporter: SpanExporter,
  batching: (exporter: SpanExporter) => SpanProcessor,
  onOutcome: (outcome: Outcome) => void,
): SpanProcessor {
  let waiting = 0;
  const processor = batching({
    export(batch, done) {
      waiting -= batch.length;
      exporter.export(batch, (result) => {
        const sent = (result.code as number) === taken;
        onOutcome({ outcome: sent ? 'sent' : 'refused', count: batch.length, ...(!sent && { error: result.error }) });
        done(result);
      });
    },
    shutdown: () => exporter.shutdown(),
  });
  return {
    onStart: () => undefined,
    onEnd(span: ReadableSpan) {
      if ((span.spanContext().traceFlags & 1) === 0) return;
      if (waiting >= maxWaitingSpans) return onOutcome({ outcome: 'dropped', count: 1 });
      waiting += 1;
      processor.onEnd(span);
    },
    forceFlush: () => processor.forceFlush(),
    shutdown: () => processor.shutdown(),
  };
}
