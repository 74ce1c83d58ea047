import { AsyncLocalStorage } from 'node:async_hooks';
import { randomBytes } from 'node:crypto';
import type { Logger } from '../log/logger.js';
import { errorTypeOf } from './error-type.js';
import type { OpenSpan, Tracer } from './tracer.js';

type Active = { readonly trace_id: string; answered: boolean };

/** A tracer that writes a line of the log for each span of a request or of work of the background, with its duration: what `LOG_LEVEL=debug` shows. */
export function createDebugTracer(logger: Pick<Logger, 'debug'>): Tracer {
  const active = new AsyncLocalStorage<Active>();

  /** A span of the present work, if there is some. */
  function below(kind: string, name: string): OpenSpan | null {
    const trace_id = active.getStore()?.trace_id;
    if (trace_id === undefined) return null;
    const began = performance.now();
    return {
      end(error, status) {
        const ms = Math.round((performance.now() - began) * 100) / 100;
        const outcome = { ...(error !== undefined && { error: errorTypeOf(error) }), ...(status !== undefined && { status }) };
        logger.debug({ event: 'debug.span', kind, name, ms, ...outcome, trace_id }, `${name} took ${ms} ms`);
      },
    };
  }
  const newWork = (): Active => ({ trace_id: randomBytes(16).toString('hex'), answered: false });

  return {
    request() {
      const mine = newWork();
      return {
        trace_id: mine.trace_id,
        run: (work) => active.run(mine, work),
        end: () => {
          mine.answered = true;
        },
      };
    },
    background: (name, work) =>
      active.run(newWork(), async () => {
        const span = below('background', name);
        return work().finally(() => span?.end());
      }),
    statement: (name) => below('statement', name),
    outbound: (method, origin) => below('outbound', `${method} ${new URL(origin).host}`),
    mail: (host) => below('mail', `SMTP ${host}`),
    internal: (name) => below('internal', name),
    traceId: () => {
      const work = active.getStore();
      return work === undefined || work.answered ? null : work.trace_id;
    },
    close: async () => undefined,
  };
}
