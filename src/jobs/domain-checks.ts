import { tryAdvisoryLock } from '../db/connection/advisory-lock.js';
import { insertAuditLog } from '../db/tables/audit_logs.js';
import { listDomainsToCheck, lockCustomDomain, type CustomDomainRow } from '../db/tables/custom_domains.js';
import { listOrganizationDomainsToCheck, lockOrganizationDomain } from '../db/tables/organization_domains.js';
import { uuidv7 } from '../lib/random.js';
import { startLoop, type Loop } from '../platform/loop.js';
import { administratorAddresses } from '../domain/users/administrators.js';
import { recordSecurityEvent, serviceActor } from '../domain/audit/security-trail.js';
import { noOrigin } from '../domain/origin.js';
import { createContext, transaction, type Context, type Deps } from '../domain/context.js';
import { checkDomain, missingDays, noteDomainCheck, type DomainCheck } from '../domain/configuration/custom-domains.js';
import { findServedEnvironment } from '../domain/environments/environments.js';
import { findDomainRecord } from '../domain/environments/domain-record.js';
import { organizationAdministrators } from '../domain/organizations/memberships.js';
import { missingDaysOfOrganization, noteOrganizationDomainCheck, type OrganizationDomain } from '../domain/organizations/domains.js';
import { queueMail } from '../domain/mail/mail.js';
import { forEachRecord } from './each-record.js';

const dayMs = 86_400_000;
const pauseMs = 600_000;
const batch = 100;

/** Appends the audit entry of a domain that the service set to failed by itself. */
async function recordFailure(tx: Context, before: CustomDomainRow, after: CustomDomainRow): Promise<void> {
  const occurred_at = tx.clock.now();
  await insertAuditLog(tx.scope, {
    id: uuidv7(occurred_at.getTime()),
    occurred_at,
    action: 'custom_domain.failed',
    outcome: 'success',
    reason: after.failure_reason,
    actor_kind: 'system',
    actor_id: null,
    actor_display: null,
    actor_permissions: [],
    target_type: 'custom_domain',
    target_id: after.id,
    target_display: after.domain,
    changes: { status: [before.status, after.status], is_primary: [before.is_primary, after.is_primary] },
    ip_address: null,
    user_agent: null,
    request_id: null,
    idempotency_key_digest: null,
  });
}

/** Mails the administrators that the DNS record is missing, or that the domain has failed, with a link to the domain's page. */
async function tellAdministrators(tx: Context, row: CustomDomainRow): Promise<void> {
  const domain_url = `${tx.environment.base_url}/dashboard/custom_domains/${row.id}`;
  const model = { domain_url, failed: row.status === 'failed', time_left: (missingDays * dayMs) / 1000 };
  const origin = { ip_address: null, user_agent: null };
  for (const { email: to, locale } of await administratorAddresses(tx))
    await queueMail(tx, { template: 'domain_record_missing', to, locale, model, origin });
}

async function noteAndTell(tx: Context, id: string, check: DomainCheck): Promise<void> {
  const before = await lockCustomDomain(tx.scope, id);
  if (before?.status !== 'verified') return;
  const after = await noteDomainCheck(tx, before, check);
  const { id: environment_id } = tx.environment;
  const logged = { environment_id, domain: after.domain, is_primary: before.is_primary, failure_reason: after.failure_reason };
  if (after.status === 'failed') {
    tx.logger.error({ event: 'custom_domain.failed', ...logged }, 'a custom domain is no longer proven');
    await recordFailure(tx, before, after);
    const target = { target_type: 'custom_domain', target_id: after.id, display: after.domain };
    const detail = { action: 'custom_domain.failed', settings: ['status'] };
    await recordSecurityEvent(tx, 'security_setting.changed', { actor: serviceActor, target, origin: noOrigin, detail });
  } else if (after.missing_since !== null)
    tx.logger.warn(
      { event: 'custom_domain.record_missing', ...logged, missing_since: after.missing_since },
      'the TXT record of a custom domain is missing',
    );
  if (after.status === 'failed' || (before.missing_since === null && after.missing_since !== null)) await tellAdministrators(tx, after);
}

/** @returns false in an environment that isn't served here */
async function checkCustomDomain(deps: Deps, due: CustomDomainRow): Promise<boolean> {
  const environment = await findServedEnvironment(deps, due.environment_id);
  if (!environment) return false;
  const ctx = createContext(deps, environment);
  const check = await checkDomain(ctx, due);
  await transaction(ctx, (tx) => noteAndTell(tx, due.id, check));
  return true;
}

/** Mails the environment's administrators, and those of the organization, that the record is missing or that the domain has failed. */
async function tellOfOrganizationDomain(tx: Context, row: OrganizationDomain): Promise<void> {
  const domain_url = `${tx.environment.base_url}/dashboard/organization_domains/${row.id}`;
  const model = { domain_url, failed: row.status === 'failed', time_left: (missingDaysOfOrganization * dayMs) / 1000 };
  const origin = { ip_address: null, user_agent: null };
  const addresses = [...(await administratorAddresses(tx)), ...(await organizationAdministrators(tx, row.organization_id))];
  for (const { email: to, locale } of new Map(addresses.map((one) => [one.email, one])).values())
    await queueMail(tx, { template: 'domain_record_missing', to, locale, model, origin });
}

/** @returns false in an environment that isn't served here */
async function checkOrganizationDomain(deps: Deps, due: OrganizationDomain): Promise<boolean> {
  const environment = await findServedEnvironment(deps, due.environment_id);
  if (!environment) return false;
  const ctx = createContext(deps, environment);
  const check = await findDomainRecord(ctx, due);
  await transaction(ctx, async (tx) => {
    const before = await lockOrganizationDomain(tx.scope, due.id);
    if (before?.status !== 'verified') return;
    const after = await noteOrganizationDomainCheck(tx, before, check);
    if (after.status === 'failed') {
      const target = { target_type: 'organization_domain', target_id: after.id, display: after.domain };
      const detail = { action: 'organization_domain.failed', settings: ['status'] };
      await recordSecurityEvent(tx, 'security_setting.changed', { actor: serviceActor, target, origin: noOrigin, detail });
    }
    if (after.status === 'failed' || (before.missing_since === null && after.missing_since !== null))
      await tellOfOrganizationDomain(tx, after);
  });
  return true;
}

/**
 * One pass over the verified domains that were last looked up a day ago or more; an advisory lock lets one replica do it at a time.
 * @returns how many were looked up
 */
export async function domainCheckPass(deps: Deps, signal?: AbortSignal): Promise<number> {
  let checked = 0;
  await tryAdvisoryLock(deps.db.knex, 'custom_domains', async () => {
    const before = new Date(deps.clock.now().getTime() - dayMs);
    const checks = [
      ...(await listDomainsToCheck(deps.db.knex, before, batch)).map((row) => () => checkCustomDomain(deps, row)),
      ...(await listOrganizationDomainsToCheck(deps.db.knex, before, batch)).map((row) => () => checkOrganizationDomain(deps, row)),
    ];
    const work = async (check: () => Promise<boolean>) => {
      if (await check()) checked += 1;
    };
    await forEachRecord(checks, work, signal);
  });
  return checked;
}

export function startDomainChecks(deps: Deps): Loop {
  const pass = async (signal: AbortSignal) => ((await domainCheckPass(deps, signal)) >= batch ? 'more' : 'done');
  return startLoop({ name: 'domain_checks', pauseMs, logger: deps.logger, pass });
}
