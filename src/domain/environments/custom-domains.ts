import {
  clearPrimaryDomain,
  deleteCustomDomain,
  insertCustomDomain,
  noteDomainLookup,
  updateCustomDomain,
  type CustomDomainRow,
} from '../../db/tables/custom_domains.js';
import { listHoldersOfAll } from '../../db/tables/reach.js';
import { randomToken, uuidv7 } from '../../lib/random.js';
import type { Actor } from '../actor.js';
import type { Context } from '../context.js';
import { emit } from '../events/emit.js';
import { queueMail } from '../mail/mail.js';
import { managementPermissions } from '../api-resources/management-permissions.js';
import { requireRecentSignIn } from '../sessions/recent-sign-in.js';
import { invalidTransition, Refusal, refuseDuplicates } from '../refusal.js';

const duplicates = {
  custom_domains_environment_domain: { attribute: 'domain', detail: 'This environment has the domain already.' },
  // Only the proven owner of the domain is told this.
  custom_domains_verified_domain: {
    attribute: 'domain',
    detail: 'The domain is verified in another environment of this service. Remove it there first.',
  },
};
const dayMs = 86_400_000;
/** Days for which the DNS record of a verified domain may be missing, so that a broken zone doesn't end sign-ins at once. */
export const missingDays = 7;
const label = '_identity-verification';

/** What the owner puts into the domain's zone to prove that it is theirs. */
export function verificationRecords(row: Pick<CustomDomainRow, 'domain' | 'verification_token'>) {
  return [{ record_kind: 'TXT', name: `${label}.${row.domain}`, value: `identity-verification=${row.verification_token}` }];
}

/**
 * Adds a domain, to be verified; emits `custom_domain.created`. Other environments may have it too: whoever proves it first gets it, and
 * nobody learns by asking who waits for what. @throws {Refusal} 409 when this environment has it, 422
 */
export async function createCustomDomain(tx: Context, input: { domain: string }): Promise<CustomDomainRow> {
  const own = new URL(tx.config.baseUrl).hostname;
  if (input.domain === own || input.domain.endsWith(`.${own}`)) {
    throw new Refusal({ status: 422, code: 'own_domain', detail: 'This is an address of the service itself.', attribute: 'domain' });
  }
  const now = tx.clock.now();
  const columns = { ...input, id: uuidv7(now.getTime()), verification_token: randomToken(''), created_at: now, updated_at: now };
  const row = await refuseDuplicates(duplicates, () => insertCustomDomain(tx.scope, columns));
  const { id, domain, status, is_primary } = row;
  await emit(tx, 'custom_domain.created', {
    id,
    domain,
    status,
    is_primary,
    verification_records: verificationRecords(row),
    created_at: now.toISOString(),
  });
  return row;
}

/** The result of a DNS look-up for a domain. */
export type DomainCheck = {
  readonly verified: boolean;
  readonly failure_reason: 'record_not_found' | 'record_mismatch' | 'dns_error' | null;
};

/** Looks for the record. Waits for name servers: never inside a transaction. */
export async function checkDomain(ctx: Context, row: CustomDomainRow): Promise<DomainCheck> {
  const [record] = verificationRecords(row);
  try {
    const texts = await ctx.txtLookup(record?.name ?? '');
    if (texts.includes(record?.value ?? '')) return { verified: true, failure_reason: null };
    return { verified: false, failure_reason: texts.length === 0 ? 'record_not_found' : 'record_mismatch' };
  } catch (error) {
    ctx.logger.warn(
      { event: 'custom_domain.lookup_failed', err: error, domain: row.domain },
      'the TXT record of a custom domain could not be looked up',
    );
    return { verified: false, failure_reason: 'dns_error' };
  }
}

/**
 * Notes what a check found. A verified domain stays so while its record is missing for less than {@link missingDays} days, then it has
 * failed and is the primary one no more: links must not lead to a name that may be somebody else's by now. A look-up that
 * failed says nothing about the record. @throws {Refusal} 409 when another environment has proven the domain
 */
export async function noteDomainCheck(tx: Context, row: CustomDomainRow, check: DomainCheck): Promise<CustomDomainRow> {
  const now = tx.clock.now();
  const { verified, failure_reason } = check;
  const looked = { failure_reason, last_checked_at: now };
  if (row.status === 'verified') {
    const missing_since = verified ? null : failure_reason === 'dns_error' ? row.missing_since : (row.missing_since ?? now);
    const gone = failure_reason !== 'dns_error' && missing_since !== null && now.getTime() - missing_since.getTime() >= missingDays * dayMs;
    if (!gone) return (await noteDomainLookup(tx.scope, row.id, { ...looked, missing_since })) ?? row;
  }
  const changes: Partial<CustomDomainRow> = verified ? { status: 'verified', verified_at: now } : { status: 'failed', is_primary: false };
  const changed = await refuseDuplicates(duplicates, () =>
    updateCustomDomain(tx.scope, row.id, { ...changes, ...looked, missing_since: null, updated_at: now }),
  );
  return changed ?? row;
}

const toldAtMost = 200;

/** Notifies all administrators by mail of the new primary domain, and of who set it. */
async function tellAdministrators(tx: Context, actor: Actor, domain: string | null): Promise<void> {
  const { base_url } = tx.environment;
  const model = {
    address: domain ?? new URL(base_url).host,
    by: actor.display,
    domains_url: `${base_url}/dashboard/custom_domains`,
  };
  const origin = { ip_address: null, user_agent: null };
  for (const { email: to, locale } of await listHoldersOfAll(tx.scope, managementPermissions, toldAtMost))
    await queueMail(tx, { template: 'primary_domain', to, locale, model, origin });
}

/**
 * Makes a domain the primary one, which the issuer and the links in all mails are made of, or no longer so. Tokens of the issuer until now stay
 * valid until they expire. All administrators get mail.
 * @throws {Refusal} 401 `insufficient_user_authentication`, 409 while it isn't verified
 */
export async function setPrimaryDomain(tx: Context, actor: Actor, row: CustomDomainRow, is_primary: boolean): Promise<CustomDomainRow> {
  if (is_primary === row.is_primary) return row;
  if (row.status !== 'verified') throw invalidTransition('Only a verified domain can be the primary one.');
  await requireRecentSignIn(tx, actor);
  const now = tx.clock.now();
  if (is_primary) await clearPrimaryDomain(tx.scope, now);
  const changed = (await updateCustomDomain(tx.scope, row.id, { is_primary, updated_at: now })) ?? row;
  await tellAdministrators(tx, actor, is_primary ? row.domain : null);
  return changed;
}

/**
 * Removes a domain; emits `custom_domain.deleted`. If it was the primary one, the issuer is the base URL again, and all administrators get mail.
 * @throws {Refusal} 401 `insufficient_user_authentication` for the primary one
 */
export async function removeCustomDomain(tx: Context, actor: Actor, row: CustomDomainRow): Promise<void> {
  if (row.is_primary) {
    await requireRecentSignIn(tx, actor);
    await tellAdministrators(tx, actor, null);
  }
  await deleteCustomDomain(tx.scope, row.id);
  const { id, domain, status, is_primary } = row;
  await emit(tx, 'custom_domain.deleted', { id, domain, status, is_primary, deleted_at: tx.clock.now().toISOString() });
}
