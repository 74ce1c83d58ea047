import { createRequire } from 'node:module';
import { ConfigError, type Config } from '../../config.js';
import type { Logger } from '../log/logger.js';
import type { Metrics } from '../metrics/metrics.js';
import { createDebugTracer } from './debug-lines.js';
import { errorTypeOf } from './error-type.js';
import type { Outcome } from './export.js';
import { spans } from './tracer.js';

/** The optional dependencies that make and send spans. */
const packages = ['api', 'core', 'exporter-trace-otlp-proto', 'resources', 'sdk-trace-base', 'semantic-conventions'].map(
  (name) => `@opentelemetry/${name}`,
);

/** How long a process that ends waits for its collector to take the last spans, in milliseconds. */
const farewellMs = 2_000;

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

/** Resolves with the work, or when the time is up; what fails has been counted. */
async function atMost(ms: number, work: Promise<void>): Promise<void> {
  let timer: NodeJS.Timeout | undefined;
  const timeUp = new Promise<void>((resolve) => {
    timer = setTimeout(resolve, ms);
  });
  await Promise.race([work.catch(() => undefined), timeUp]);
  clearTimeout(timer);
}

/**
 * From now on this process makes spans and sends them, if OTEL_EXPORTER_OTLP_ENDPOINT names a collector; else nothing of OpenTelemetry is loaded, and spans are
 * lines of the log where that shows `debug`.
 * @returns what ends it: sends what waits, for two seconds at most
 */
export async function startSpans(
  config: Pick<Config, 'collector'>,
  release: string,
  parts: { readonly logger: Logger; readonly metrics: Metrics },
): Promise<{ stop(): Promise<void> }> {
  const { collector } = config;
  const { logger } = parts;
  if (collector === null && logger.level !== 'debug' && logger.level !== 'trace') return { stop: async () => undefined };
  const { tracer, shutdown } =
    collector === null
      ? { tracer: createDebugTracer(logger), shutdown: async () => undefined }
      : (await import('./open-telemetry.js')).openCollector(collector, release, createOutcomeNotes(parts));
  spans.tracer = tracer;
  return {
    async stop() {
      if (spans.tracer === tracer) spans.tracer = null;
      await atMost(farewellMs, shutdown());
    },
  };
}
