import { run, type Scope } from '../scope.js';
import { signInsSql } from './connections.js';
import type { CustomDomainRow } from './custom_domains.js';
import type { LogStreamRow } from './log_streams.js';
import type { WebhookRow } from './webhooks.js';

/** How many records of a kind are listed, and how many deliveries of each webhook are counted: more are “50+”. */
const most = 20;
export const maxTroubledCounted = 50;

/** A webhook that fails, was given up, or has something that did not arrive. Counts go up to one beyond {@link maxTroubledCounted}. */
export type TroubledWebhook = Pick<
  WebhookRow,
  'id' | 'name' | 'status' | 'disabled_reason' | 'failing_since' | 'failed_attempt_count' | 'last_response_status' | 'last_failure_reason'
> & {
  /** Deliveries that failed and wait for another attempt. */
  readonly retrying: number;
  /** Events since the given time that failed for good and were not sent again. */
  readonly lost: number;
};

/** The webhooks of the environment that need somebody, those that fail first. Disabled by a person, one needs nobody. */
export async function listTroubledWebhooks(scope: Scope, since: Date): Promise<TroubledWebhook[]> {
  // What is due in the future has been tried before; what is due may have been, and waits for its turn. Each webhook costs three reads of an index, of so many entries at most.
  const text = `select w.*, waiting.retrying, failed.lost
      from (select id, name, status, disabled_reason, failing_since, failed_attempt_count, last_response_status, last_failure_reason
            from webhooks where environment_id = $1 and (status = 'enabled' or disabled_reason is not null)
              and (disabled_reason is not null or failed_attempt_count > 0 or last_delivery_at >= $2)
            order by failed_attempt_count = 0 and disabled_reason is null, last_delivery_at desc limit ${most}) w
      cross join lateral (
        select count(*)::int as retrying
        from ((select from webhook_queue q where q.environment_id = $1 and q.webhook_id = w.id and q.next_attempt_at > now()
               limit ${maxTroubledCounted + 1})
              union all
              (select from (select delivery_id from webhook_queue q where q.environment_id = $1 and q.webhook_id = w.id
                              and q.next_attempt_at <= now() order by q.next_attempt_at limit ${maxTroubledCounted + 1}) q
               join webhook_deliveries d on d.environment_id = $1 and d.id = q.delivery_id and d.status = 'retrying')
              limit ${maxTroubledCounted + 1}) q) waiting
      cross join lateral (
        select count(distinct d.event_id)::int as lost
        from (select delivery_id from troubled_deliveries t where t.environment_id = $1 and t.webhook_id = w.id and t.created_at >= $2
              order by t.created_at desc limit ${maxTroubledCounted + 1}) t
        join webhook_deliveries d on d.environment_id = $1 and d.id = t.delivery_id
        where d.status = 'failed' and not exists (
          select from webhook_deliveries o
          where o.environment_id = $1 and o.event_id = d.event_id and o.webhook_id = d.webhook_id and o.status <> 'failed')) failed
      where w.failed_attempt_count > 0 or w.disabled_reason is not null or waiting.retrying > 0 or failed.lost > 0
      order by w.failed_attempt_count = 0 and w.disabled_reason is null, w.failing_since, w.name`;
  return run<TroubledWebhook>(scope, { name: 'attention.webhooks', text }, [since]);
}

export type TroubledLogStream = Pick<LogStreamRow, 'id' | 'name' | 'status' | 'failing_since' | 'last_error' | 'last_response_status'> & {
  readonly failed_attempt_count: number;
};

/** The log streams of the environment whose last tries failed, the longest failing first. */
export async function listTroubledLogStreams(scope: Scope): Promise<TroubledLogStream[]> {
  const text = `select id, name, status, failing_since, last_error, last_response_status, attempt_count as failed_attempt_count
      from log_streams where environment_id = $1 and failing_since is not null order by failing_since, name limit ${most}`;
  return run<TroubledLogStream>(scope, { name: 'attention.log_streams', text }, []);
}

/** How mail leaves: what waits for another attempt, and what became of the latest mails since a time. Counts go up to one beyond {@link maxTroubledCounted}. */
export type MailCondition = {
  readonly retrying: number;
  /** Since when the oldest that waits has waited. */
  readonly waiting_since: Date | null;
  readonly attempts: number;
  /** Of what waits, else of what was given up last. */
  readonly last_error: string | null;
  readonly failed: number;
  readonly failed_since: Date | null;
  readonly last_sent_at: Date | null;
};

/** The mail of the environment, by its latest mails since a time. @throws what the database throws */
export async function findMailCondition(scope: Scope, since: Date): Promise<MailCondition> {
  // What is due in the future has been tried before.
  const text = `with waiting as materialized (
        select created_at, next_attempt_at, attempt_count, last_error from mails
        where environment_id = $1 and next_attempt_at > now() and attempt_count > 0
        order by next_attempt_at desc limit ${maxTroubledCounted + 1}),
      latest as materialized (
        select status, created_at, sent_at, last_error, discarded from mails where environment_id = $1 and created_at >= $2
        order by created_at desc, id desc limit ${maxTroubledCounted})
      select (select count(*)::int from waiting) as retrying, (select min(created_at) from waiting) as waiting_since,
        (select coalesce(max(attempt_count), 0)::int from waiting) as attempts,
        coalesce((select last_error from waiting order by next_attempt_at desc limit 1),
          (select last_error from latest where status = 'failed' order by created_at desc limit 1)) as last_error,
        (select count(*)::int from latest where status = 'failed') as failed,
        (select min(created_at) from latest where status = 'failed') as failed_since,
        (select max(sent_at) from latest where status = 'sent' and not discarded) as last_sent_at`;
  const [row] = await run<MailCondition>(scope, { name: 'attention.mail', text }, [since]);
  if (!row) throw new Error('mail has no row');
  return row;
}

/** The enabled connections of the environment with failed sign-ins, none of which succeeded since yesterday (UTC). */
export async function listTroubledConnections(scope: Scope): Promise<{ id: string; name: string; failed: number; since: Date }[]> {
  const text = `select c.id, c.display_name as name, d.failed, d.since::timestamp at time zone 'utc' as since
      from connections c cross join lateral ${signInsSql('c')} d
      where c.environment_id = $1 and c.status = 'enabled' and d.failed > 0 and d.succeeded = 0 order by c.display_name limit ${most}`;
  return run(scope, { name: 'attention.connections', text }, []);
}

export type TroubledDomain = Pick<CustomDomainRow, 'id' | 'status' | 'missing_since' | 'certificate_problem' | 'certificate_expires_at'> & {
  readonly name: string;
};

/** The custom domains of the environment whose DNS record is gone, or whose certificate is refused or ends before the given time. */
export async function listTroubledDomains(scope: Scope, before: Date): Promise<TroubledDomain[]> {
  const text = `select id, domain as name, status, missing_since, certificate_problem, certificate_expires_at from custom_domains
      where environment_id = $1 and verified_at is not null
        and (status = 'failed' or missing_since is not null or certificate_problem is not null or certificate_expires_at < $2)
      order by domain limit ${most}`;
  return run<TroubledDomain>(scope, { name: 'attention.custom_domains', text }, [before]);
}
