import type { Knex } from 'knex';
import { runSystem } from '../system.js';

/** How a loop of a process fares, in seconds: its usual pause, how long the present pass runs or, between passes, how long ago the last one ended. */
export type LoopReport = {
  readonly pause: number;
  /** Null between passes. */
  readonly running: number | null;
  /** Null during a pass. */
  readonly idle: number | null;
  /** Passes in a row that failed. */
  readonly failures: number;
};

/** One way in which requests named the address that they were sent to. */
export type ForwardedAddress = {
  /** `X-Forwarded-Host` and `X-Forwarded-Proto`; null where a request has none, or one that is no host. */
  readonly host: string | null;
  readonly proto: string | null;
  /** Whether TRUST_PROXY covers the address that they came from. */
  readonly trusted: boolean;
  /** That address. */
  readonly peer: string;
  readonly count: number;
};

/** What sampled requests of the last minutes said: how many were looked at, and the most frequent addresses that headers named. */
export type ForwardedReport = { readonly sampled: number; readonly seen: readonly ForwardedAddress[] };

/** A row of `processes`: one that is at work, or was until it was killed. */
export type ProcessRow = {
  id: string;
  host: string;
  pid: number;
  release: string;
  node: string;
  base_url: string;
  pool_max: number;
  loops: Record<string, LoopReport>;
  forwarded: ForwardedReport;
  started_at: Date;
  seen_at: Date;
};

/** Seconds after its last report from which a process counts as gone. */
const lifetimeSeconds = 90;

/** Writes what a process says of itself, and forgets those that haven't said anything for a day. */
export async function reportProcess(knex: Knex, row: Omit<ProcessRow, 'started_at' | 'seen_at'>): Promise<void> {
  const text = `with gone as (
      delete from processes where seen_at < now() - interval '1 day' and id <> $1
    )
    insert into processes (id, host, pid, release, node, base_url, pool_max, loops, forwarded)
    values ($1, $2, $3, $4, $5, $6, $7, $8::jsonb, $9::jsonb)
    on conflict (id) do update set loops = excluded.loops, forwarded = excluded.forwarded, seen_at = now()`;
  const { id, host, pid, release, node, base_url, pool_max, loops, forwarded } = row;
  const values = [id, host, pid, release, node, base_url, pool_max, JSON.stringify(loops), JSON.stringify(forwarded)];
  await runSystem(knex, { name: 'processes.report', text }, values);
}

export async function removeProcess(knex: Knex, id: string): Promise<void> {
  await runSystem(knex, { name: 'processes.remove', text: 'delete from processes where id = $1' }, [id]);
}

/** Whether a process at work does what requests leave to be done (`BACKGROUND_WORK`). */
export async function isBackgroundAtWork(knex: Knex): Promise<boolean> {
  const text = `select exists (select from processes where seen_at > now() - make_interval(secs => $1) and loops ? 'webhook') as found`;
  const [row] = await runSystem<{ found: boolean }>(knex, { name: 'processes.background', text }, [lifetimeSeconds]);
  return row?.found ?? false;
}

/** The processes at work, the oldest first. */
export const listProcesses = async (knex: Knex): Promise<ProcessRow[]> =>
  knex<ProcessRow>('processes').whereRaw('seen_at > now() - make_interval(secs => ?)', [lifetimeSeconds]).orderBy('started_at').limit(200);
