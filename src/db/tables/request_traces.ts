import type { Knex } from 'knex';
import { runSystem } from '../system.js';

/** A row of `request_traces`; its id is the request id. Kept for seven days. */
export type RequestTraceRow = {
  environment_id: string;
  id: string;
  occurred_at: Date;
  /** Null where none is known. */
  client_id: string | null;
  step: string;
  outcome: 'narrowed' | 'refused';
  rule: string;
  /** The error code that was answered; null for what went on. */
  error: string | null;
  steps: readonly Readonly<Record<string, unknown>>[];
  /** Of all steps. */
  request_ids: string[];
  expires_at: Date;
};

/** More steps than one sign-in has: whoever sends one request id again and again makes no row grow without end. */
export const maxSteps = 20;

const columns = 'environment_id, id, occurred_at, client_id, step, outcome, rule, error, steps, request_ids, expires_at';

/** Stores traces of any environments, in one statement; steps of an id that is there already are added to its row. Ids must differ; those of an environment that is gone are left out. */
export async function addRequestTraces(knex: Knex, rows: readonly RequestTraceRow[]): Promise<void> {
  if (rows.length === 0) return;
  // Ordered by id, so that replicas that update the same rows lock them in the same order and don't deadlock.
  const text = `
    insert into request_traces as trace (${columns})
    select ${columns} from jsonb_populate_recordset(null::request_traces, $1::jsonb) entry
    where takes_writes(entry.environment_id)
    order by environment_id, id
    on conflict (environment_id, id) do update set
      occurred_at = excluded.occurred_at, client_id = coalesce(excluded.client_id, trace.client_id), step = excluded.step, outcome = excluded.outcome,
      rule = excluded.rule, error = excluded.error, steps = trace.steps || excluded.steps,
      request_ids = array(select distinct unnest(trace.request_ids || excluded.request_ids)), expires_at = excluded.expires_at
    where jsonb_array_length(trace.steps) + jsonb_array_length(excluded.steps) <= ${maxSteps}`;
  await runSystem(knex, { name: 'request_traces.add', text }, [JSON.stringify(rows)]);
}
