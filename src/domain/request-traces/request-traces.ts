import { codeLifetimeMs } from '../../db/tables/authorization_codes.js';
import { findIssuedCodes, type IssuedCode } from '../../db/tables/issued_codes.js';
import { findClientStates } from '../../db/tables/clients.js';
import { findIssuedDeviceCodes, type IssuedDeviceCode } from '../../db/tables/device_codes.js';
import { addRequestTraces, maxSteps, type RequestTraceRow } from '../../db/tables/request_traces.js';
import { startFlushing, type Loop } from '../../platform/loop.js';
import type { Deps } from '../context.js';
import { maskedName, maskedUri } from './shown-text.js';
import type { TraceStep, WaitingTrace } from '../notes/request-traces.js';

/** How long a trace is kept. */
const keptMs = 7 * 86_400_000;
const pauseMs = 1_000;

type Flushing = Pick<Deps, 'db' | 'logger' | 'metrics' | 'notes'>;

const nameOf = (environment_id: string, id: string) => `${environment_id} ${id}`;

/** What was asked for, as it may be kept. */
const requestedOf = ({ scope, resource }: Pick<IssuedCode, 'scope' | 'resource'>) => ({
  scope: scope === '' ? [] : scope.split(' ').map(maskedName),
  ...(resource === null ? {} : { resource: maskedUri(resource) }),
});

/** The authorization that a code came from, as the step before the refusal. */
function issuingStep(code: IssuedCode): TraceStep {
  const { request_id, client_id, redirect_uri, expires_at } = code;
  return {
    at: new Date(expires_at.getTime() - codeLifetimeMs).toISOString(),
    step: 'authorize',
    outcome: 'accepted',
    rule: null,
    detail: { client_id, redirect_uri: maskedUri(redirect_uri), ...requestedOf(code) },
    request_id,
  };
}

/** How a device began, and what its person answered, as the steps before the refusal. */
function deviceSteps(code: IssuedDeviceCode): TraceStep[] {
  const { request_id, client_id, created_at, answered_at, approved } = code;
  const step = code.approval_id === null ? 'device_authorization' : 'backchannel_authentication';
  const began = { at: created_at.toISOString(), step, outcome: 'accepted', rule: null, request_id } as const;
  const answer = approved ? ({ outcome: 'accepted', rule: null } as const) : ({ outcome: 'refused', rule: 'consent_denied' } as const);
  const answered = answered_at && ({ at: answered_at.toISOString(), step: 'consent', ...answer, detail: {}, request_id: null } as const);
  return [{ ...began, detail: { client_id, ...requestedOf(code) } }, ...(answered ? [answered] : [])];
}

/** What a claimed client turned out to be. */
type Known = { readonly client_id: string | null; readonly rule: TraceStep['rule'] };

function knownOf(trace: WaitingTrace, states: ReadonlyMap<string, 'enabled' | 'disabled'>): Known {
  const { environment_id, client_id, claimed_client_id: claimed, step } = trace;
  if (client_id !== null || claimed === null) return { client_id, rule: step.rule };
  const state = states.get(nameOf(environment_id, claimed));
  if (step.rule !== 'client_authentication_failed' && step.rule !== 'unknown_client')
    return { client_id: state ? claimed : null, rule: step.rule };
  if (state === undefined) return { client_id: null, rule: 'unknown_client' };
  return { client_id: claimed, rule: state === 'disabled' ? 'client_disabled' : step.rule };
}

function rowOf(trace: WaitingTrace, known: Known, before: readonly TraceStep[]): RequestTraceRow {
  const { environment_id, request_id, occurred_at, error, step } = trace;
  const refused = { ...step, rule: known.rule };
  const steps = [...before, refused];
  return {
    environment_id,
    id: request_id,
    occurred_at,
    client_id: known.client_id,
    step: step.step,
    outcome: step.outcome === 'narrowed' ? 'narrowed' : 'refused',
    rule: known.rule ?? step.rule,
    error,
    steps,
    request_ids: [...new Set(steps.flatMap((one) => one.request_id ?? []))],
    expires_at: new Date(occurred_at.getTime() + keptMs),
  };
}

/** One row for each request id. */
function merged(rows: readonly RequestTraceRow[]): RequestTraceRow[] {
  const found = new Map<string, RequestTraceRow>();
  for (const row of rows) {
    const name = nameOf(row.environment_id, row.id);
    const before = found.get(name);
    const joined = before && {
      ...row,
      client_id: row.client_id ?? before.client_id,
      steps: [...before.steps, ...row.steps].slice(0, maxSteps),
      request_ids: [...new Set([...before.request_ids, ...row.request_ids])],
    };
    found.set(name, joined ?? row);
  }
  return [...found.values()];
}

async function write({ db: { knex } }: Pick<Deps, 'db'>, traces: readonly WaitingTrace[]): Promise<void> {
  const coded = (kind: 'authorization' | 'device') =>
    traces.flatMap(({ environment_id, code }) => (code?.of === kind ? [{ environment_id, digest: code.digest }] : []));
  const claims = traces.flatMap(({ environment_id, client_id, claimed_client_id: claimed }) =>
    client_id === null && claimed !== null ? [{ environment_id, client_id: claimed }] : [],
  );
  const codeName = (environment_id: string, digest: Buffer) => nameOf(environment_id, digest.toString('hex'));
  const steps = new Map<string, TraceStep[]>();
  for (const one of await findIssuedCodes(knex, coded('authorization')))
    steps.set(codeName(one.environment_id, one.digest), [issuingStep(one)]);
  for (const one of await findIssuedDeviceCodes(knex, coded('device')))
    steps.set(codeName(one.environment_id, one.digest), deviceSteps(one));
  const states = new Map((await findClientStates(knex, claims)).map((one) => [nameOf(one.environment_id, one.id), one.status]));
  const before = ({ environment_id, code }: WaitingTrace) => (code && steps.get(codeName(environment_id, code.digest))) ?? [];
  await addRequestTraces(knex, merged(traces.map((trace) => rowOf(trace, knownOf(trace, states), before(trace)))));
}

/** Writes what was collected. When the database is unavailable it is kept for the next call, as far as there is room. */
export async function flushRequestTraces(deps: Flushing): Promise<void> {
  const { traces, dropped } = deps.notes.requestTraces.take();
  if (dropped > 0) {
    deps.metrics.requestTracesDropped.inc(dropped);
    deps.logger.warn({ event: 'request_traces.full', dropped }, 'traces of refused requests were dropped for want of room');
  }
  if (traces.length === 0) return;
  try {
    await write(deps, traces);
  } catch (error) {
    deps.notes.requestTraces.putBack(traces);
    throw error;
  }
}

/** Writes the traces every second, and a last time when it stops. */
export function startRequestTraces(deps: Deps): Loop {
  const { logger } = deps;
  const lost = (error: unknown) =>
    logger.warn({ event: 'request_traces.lost', err: error }, 'traces of refused requests were lost with the process');
  return startFlushing({ name: 'request_traces', pauseMs, logger, flush: () => flushRequestTraces(deps), lost });
}
