import { createRequire } from 'node:module';
import { ConfigError, type Config } from '../../config.js';
import type { Logger } from '../log/logger.js';
import type { Metrics } from '../metrics/metrics.js';
import { createDebugTracer } from './debug-lines.js';
import { errorTypeOf } from './error-type.js';
import type { Outcome } from './export.js';
import type { Tracer } from './tracer.js';

/** The optional dependencies that make and send spans. */
const packages = ['api', 'core', 'exporter-trace-otlp-proto', 'resources', 'sdk-trace-base', 'semantic-conventions'].map(
  (name) => `@opentelemetry/${name}`,
);

const isInstalled = (name: string): boolean => {
  try {
    return createRequire(import.meta.url).resolve(name) !== '';
  } catch {
    return false;
  }
};

/** @throws {ConfigError} when a collector is named and the packages that send to one aren't installed */
export function requireSpanPackages({ collector }: Pick<Config, 'collector'>): void {
  const absent = collector === null ? [] : packages.filter((name) => !isInstalled(name));
  if (absent.length === 0) return;
  throw new ConfigError([
    `OTEL_EXPORTER_OTLP_ENDPOINT needs optional dependencies that aren't installed (${absent.join(', ')}): run npm ci without --omit=optional, or unset it`,
  ]);
}

/** Counts what becomes of spans, and tells when the collector takes none, once an outage, and when it does again. */
function createOutcomeNotes({ logger, metrics }: { readonly logger: Logger; readonly metrics: Metrics }) {
  let away = false;
  return ({ outcome, count, error }: Outcome): void => {
    metrics.spans.inc({ outcome }, count);
    if (outcome === 'refused' && !away) {
      away = true;
      logger.warn({ event: 'spans.refused', reason: errorTypeOf(error) }, 'the collector of traces takes no spans; they are dropped');
    } else if (outcome === 'sent' && away) {
      away = false;
      logger.info({ event: 'spans.taken' }, 'the collector of traces takes spans again');
    }
  };
}

/**
 * What makes the spans of this process, and from now on puts the trace into the lines of the log. It sends them if OTEL_EXPORTER_OTLP_ENDPOINT names a collector;
 * else nothing of OpenTelemetry is loaded, and spans are lines of the log where that shows `debug`, or null: none are made.
 */
export async function openTracer(
  { collector }: Pick<Config, 'collector'>,
  release: string,
  deps: { readonly logger: Logger; readonly metrics: Metrics },
): Promise<Tracer | null> {
  const { logger } = deps;
  if (collector === null && logger.level !== 'debug' && logger.level !== 'trace') return null;
  const tracer =
    collector === null
      ? createDebugTracer(logger)
      : (await import('./open-telemetry.js')).openCollector(collector, release, createOutcomeNotes(deps));
  logger.traceWith?.(tracer);
  return tracer;
}
