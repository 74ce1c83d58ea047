import { run, type Scope } from '../scope.js';

/** How many of a webhook's deliveries are counted, and of how many the attempts are looked at: the latest, so that no page reads a day of a busy one. */
export const [maxDeliveriesCounted, mostTimed] = [10_000, 1_000];

/** Counts of the latest deliveries of a webhook by outcome. `p95_ms`: 95 % of their attempts took at most this; null without attempts. */
export type DeliveryFigures = {
  readonly succeeded: number;
  readonly failed: number;
  readonly pending: number;
  readonly retrying: number;
  /** How many attempts that were, of which as many succeeded as deliveries did. */
  readonly attempts: number;
  readonly p95_ms: number | null;
};

/** The figures of one webhook since a time, over its latest {@link maxDeliveriesCounted} deliveries. */
export async function findDeliveryFigures(scope: Scope, webhook_id: string, since: Date): Promise<DeliveryFigures> {
  const text = `with latest as materialized (
        select id, status, attempt_count from webhook_deliveries
        where environment_id = $1 and webhook_id = $2 and created_at >= $3
        order by created_at desc, id desc limit ${maxDeliveriesCounted})
      select count(*) filter (where status = 'succeeded')::int as succeeded, count(*) filter (where status = 'failed')::int as failed,
        count(*) filter (where status = 'pending')::int as pending, count(*) filter (where status = 'retrying')::int as retrying,
        coalesce(sum(attempt_count), 0)::int as attempts,
        (select percentile_disc(0.95) within group (order by a.duration_ms)
         from (select id from latest limit ${mostTimed}) timed
         cross join lateral (select duration_ms from webhook_delivery_attempts a
                             where a.environment_id = $1 and a.delivery_id = timed.id) a) as p95_ms
      from latest`;
  const [row] = await run<DeliveryFigures>(scope, { name: 'delivery_figures.find', text }, [webhook_id, since]);
  return row ?? { succeeded: 0, failed: 0, pending: 0, retrying: 0, attempts: 0, p95_ms: null };
}

/** How many of a webhook's latest deliveries succeeded, failed, and wait for another attempt. */
export type SuccessRate = Pick<DeliveryFigures, 'succeeded' | 'failed' | 'retrying' | 'attempts'> & { readonly webhook_id: string };

/** How the latest 200 deliveries of each webhook ended since a time; those without any are left out. */
export async function listSuccessRates(scope: Scope, webhook_ids: readonly string[], since: Date): Promise<SuccessRate[]> {
  const text = `select w.id as webhook_id, count(*) filter (where d.status = 'succeeded')::int as succeeded,
        count(*) filter (where d.status = 'failed')::int as failed, count(*) filter (where d.status = 'retrying')::int as retrying,
        coalesce(sum(d.attempt_count), 0)::int as attempts
      from unnest($2::uuid[]) as w (id)
      cross join lateral (select status, attempt_count from webhook_deliveries
                          where environment_id = $1 and webhook_id = w.id and created_at >= $3
                          order by created_at desc, id desc limit 200) d
      group by w.id`;
  return run<SuccessRate>(scope, { name: 'delivery_figures.success_rates', text }, [[...webhook_ids], since]);
}

/** How long the last attempt of each delivery took, in milliseconds; those without any are left out. */
export async function listLastDurations(
  scope: Scope,
  delivery_ids: readonly string[],
): Promise<{ delivery_id: string; duration_ms: number }[]> {
  const text = `select distinct on (delivery_id) delivery_id, duration_ms from webhook_delivery_attempts
      where environment_id = $1 and delivery_id = any ($2::uuid[])
      order by delivery_id, attempt_number desc`;
  return run<{ delivery_id: string; duration_ms: number }>(scope, { name: 'delivery_figures.last_durations', text }, [[...delivery_ids]]);
}
