import { Counter, type Registry } from './prometheus.js';

export const traceMetrics = (registers: Registry[]) => ({
  spans: new Counter({
    name: 'otel_spans_total',
    help: 'Spans by what became of them: sent, dropped, refused.',
    labelNames: ['outcome'],
    registers,
  }),
  requestTracesDropped: new Counter({
    name: 'request_traces_dropped_total',
    help: 'Traces of refused requests that there was no room for.',
    registers,
  }),
});
