import { flushRequestTraces } from '../../src/domain/request-traces/request-traces.js';
import type { Api, ApiAnswer } from './management.js';
import type { TestService } from './service.js';

/** The answer about the trace of a request: the service may be writing it at this moment by itself. */
export async function findTrace(service: Pick<TestService, 'deps'>, api: Api, request_id: string | null): Promise<ApiAnswer> {
  for (let tries = 0; ; tries++) {
    await flushRequestTraces(service.deps);
    const found = await api.get(`/request_traces/${request_id}`);
    if (found.status !== 404 || tries >= 100) return found;
  }
}
