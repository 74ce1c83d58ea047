import { newStamps } from '../../db/records.js';
import {
  clearPrimaryDomain,
  deleteCustomDomain,
  insertCustomDomain,
  noteDomainLookup,
  updateCustomDomain,
  type CustomDomainRow,
  type SeenCertificate,
} from '../../db/tables/custom_domains.js';
import { OutboundError } from '../../platform/fetch/outbound-error.js';
import { lockRpId, longestTokenLifetime, storeBaseUrlIssuerUntil } from '../../db/tables/environments.js';
import { listHoldersOfAll } from '../../db/tables/reach.js';
import { randomToken } from '../../lib/random.js';
import type { Actor } from '../actor.js';
import type { Context } from '../context.js';
import { emit } from '../events/emit.js';
import { queueMail } from '../mail/mail.js';
import { findDomainRecord, isMissingFor, verificationRecords, type RecordCheck } from '../environments/domain-record.js';
import { managementPermissions } from '../reach/management-permissions.js';
import { requireRecentSignIn } from '../sessions/recent-sign-in.js';
import { invalidTransition, Refusal, refuseDuplicates, unfit } from '../refusal.js';

const duplicates = {
  custom_domains_environment_domain: { attribute: 'domain', detail: 'This environment has the domain already.' },
  // Only the proven owner of the domain is told this.
  custom_domains_verified_domain: {
    attribute: 'domain',
    detail: 'The domain is verified in another environment of this service. Remove it there first.',
  },
};
/** Days for which the DNS record of a verified domain may be missing, so that a broken zone doesn't end sign-ins at once. */
export const missingDays = 7;
/**
 * Adds a domain, to be verified; emits `custom_domain.created`. Other environments may have it too: whoever proves it first gets it, and
 * nobody learns by asking who waits for what. @throws {Refusal} 409 when this environment has it, 422
 */
export async function createCustomDomain(tx: Context, input: { domain: string }): Promise<CustomDomainRow> {
  const own = new URL(tx.config.baseUrl).hostname;
  if (input.domain === own || input.domain.endsWith(`.${own}`)) {
    throw new Refusal(unfit('domain', 'own_domain', 'This is an address of the service itself.'));
  }
  const now = tx.clock.now();
  const columns = { ...input, verification_token: randomToken(''), ...newStamps(now) };
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

export type DomainCheck = RecordCheck & {
  /** Absent: it was not seen. */
  readonly certificate?: SeenCertificate;
};

/** What a domain shows on port 443, where the service is reached by https; null where it can't be asked. */
async function seeCertificate({ config, net }: Context, domain: string): Promise<SeenCertificate | null> {
  if (!config.baseUrl.startsWith('https:')) return null;
  try {
    const { problem, valid_to } = await net.certificate(domain);
    return { certificate_problem: problem, certificate_expires_at: valid_to };
  } catch (error) {
    // Where the name leads nobody says: to an address inside, or nowhere.
    return { certificate_problem: error instanceof OutboundError ? null : 'away', certificate_expires_at: null };
  }
}

/** Looks for the record, and at the certificate of a domain that has it. Waits for others: never inside a transaction. */
export async function checkDomain(ctx: Context, row: CustomDomainRow): Promise<DomainCheck> {
  const found = await findDomainRecord(ctx, row);
  const certificate = found.verified ? await seeCertificate(ctx, row.domain) : null;
  return { ...found, ...(certificate && { certificate }) };
}

/** When the last token expires that is issued by the present issuer; until then its `iss` is taken once there is another. */
const issuerEnd = async ({ clock, scope }: Context): Promise<Date> =>
  new Date(clock.now().getTime() + (await longestTokenLifetime(scope)) * 1000);

/** What a domain has when it stops being the issuer and the base URL is that again. */
async function endedIssuer(tx: Context): Promise<Pick<CustomDomainRow, 'is_primary' | 'issuer_until'>> {
  await storeBaseUrlIssuerUntil(tx.scope, null);
  return { is_primary: false, issuer_until: await issuerEnd(tx) };
}

/** What a domain has when it becomes the issuer: tokens of the one until now are taken until the last of them expires. */
async function begunIssuer(tx: Context): Promise<Pick<CustomDomainRow, 'is_primary' | 'issuer_until'>> {
  const issuer_until = await issuerEnd(tx);
  if (!(await clearPrimaryDomain(tx.scope, { at: tx.clock.now(), issuer_until }))) await storeBaseUrlIssuerUntil(tx.scope, issuer_until);
  return { is_primary: true, issuer_until: null };
}

/**
 * Notes what a check found. A verified domain stays so while its record is missing for less than {@link missingDays} days, then it has
 * failed and is the primary one no more: links must not lead to a name that may be somebody else's by now. A look-up that
 * failed says nothing about the record. @throws {Refusal} 409 when another environment has proven the domain
 */
export async function noteDomainCheck(tx: Context, row: CustomDomainRow, check: DomainCheck): Promise<CustomDomainRow> {
  const now = tx.clock.now();
  const { verified, failure_reason } = check;
  const looked = { failure_reason, last_checked_at: now, ...check.certificate };
  if (row.status === 'verified') {
    const { missing_since, gone } = isMissingFor(row, check, now, missingDays);
    if (!gone) return (await noteDomainLookup(tx.scope, row.id, { ...looked, missing_since })) ?? row;
  }
  const changes: Partial<CustomDomainRow> = verified
    ? { status: 'verified', verified_at: now }
    : { status: 'failed', accepts_passkeys: false, ...(row.is_primary ? await endedIssuer(tx) : {}) };
  const changed = await refuseDuplicates(duplicates, () =>
    updateCustomDomain(tx.scope, row.id, { ...changes, ...looked, missing_since: null, updated_at: now }),
  );
  return changed ?? row;
}

const maxNotified = 200;

/** Notifies by mail whoever holds everything of the address that the environment has from now on, and of who brought that about. */
async function tellAdministrators(
  tx: Context,
  actor: Actor,
  template: 'primary_domain' | 'domain_verified',
  domain: string | null,
): Promise<void> {
  const { base_url } = tx.environment;
  const model = { address: domain ?? new URL(base_url).host, by: actor.display, domains_url: `${base_url}/dashboard/custom_domains` };
  const origin = { ip_address: null, user_agent: null };
  for (const { email: to, locale } of await listHoldersOfAll(tx.scope, managementPermissions, maxNotified))
    await queueMail(tx, { template, to, locale, model, origin });
}

/**
 * Notes what a check found that somebody asked for. One that makes the domain answer takes a recent sign-in, and all administrators get mail.
 * @throws {Refusal} 401 `insufficient_user_authentication`, 409 when another environment has proven the domain
 */
export async function verifyCustomDomain(tx: Context, actor: Actor, row: CustomDomainRow, check: DomainCheck): Promise<CustomDomainRow> {
  if (row.status !== 'verified') await requireRecentSignIn(tx, actor);
  const after = await noteDomainCheck(tx, row, check);
  if (row.status !== 'verified' && after.status === 'verified') await tellAdministrators(tx, actor, 'domain_verified', row.domain);
  return after;
}

/**
 * Makes a domain the primary one, which the issuer and the links in all mails are made of, or no longer so. Tokens of the issuer until now are
 * taken until the last of them expires. All administrators get mail.
 */
async function setPrimaryDomain(tx: Context, actor: Actor, row: CustomDomainRow, is_primary: boolean): Promise<CustomDomainRow> {
  const changes = is_primary ? await begunIssuer(tx) : await endedIssuer(tx);
  const changed = (await updateCustomDomain(tx.scope, row.id, { ...changes, updated_at: tx.clock.now() })) ?? row;
  await tellAdministrators(tx, actor, 'primary_domain', is_primary ? row.domain : null);
  return changed;
}

/** What a domain is for beside answering. */
export type DomainPurposes = { is_primary?: boolean; accepts_passkeys?: boolean; issuer_until?: string | null };

/**
 * Changes what a domain is for.
 * @throws {Refusal} 401 `insufficient_user_authentication`, 409 while it isn't verified
 */
export async function changeCustomDomain(
  tx: Context,
  actor: Actor,
  row: CustomDomainRow,
  { is_primary = row.is_primary, accepts_passkeys = row.accepts_passkeys, issuer_until }: DomainPurposes,
): Promise<CustomDomainRow> {
  let changed = row;
  if (is_primary !== row.is_primary || accepts_passkeys !== row.accepts_passkeys) {
    if (row.status !== 'verified') throw invalidTransition('Only a verified domain can be the primary one, or accept passkeys.');
    await requireRecentSignIn(tx, actor);
  }
  if (is_primary !== row.is_primary) changed = await setPrimaryDomain(tx, actor, row, is_primary);
  const changes = {
    ...(accepts_passkeys === row.accepts_passkeys ? {} : { accepts_passkeys }),
    ...(issuer_until === undefined ? {} : { issuer_until: issuer_until === null ? null : new Date(issuer_until) }),
  };
  if (Object.keys(changes).length === 0) return changed;
  return (await updateCustomDomain(tx.scope, row.id, { ...changes, updated_at: tx.clock.now() })) ?? changed;
}

/** What must be done before the domain can go; null: nothing. */
async function inUse(tx: Context, { domain, is_primary, accepts_passkeys }: CustomDomainRow): Promise<string | null> {
  if (is_primary) return 'It is the primary domain: make another one primary first, or set its is_primary to false.';
  const rp_id = await lockRpId(tx.scope);
  if (rp_id === domain)
    return `Passkeys belong to ${domain}, and work nowhere without it: set passkey_rp_id of the environment to another host first.`;
  if (rp_id !== null && accepts_passkeys && domain.endsWith(`.${rp_id}`))
    return `Passkeys of ${rp_id} are used at it: set its accepts_passkeys to false first.`;
  return null;
}

/**
 * Removes a domain; emits `custom_domain.deleted`. Tokens of which it is the `iss` are no longer taken.
 * @throws {Refusal} 409 `domain_in_use` for the primary one, and for that of the passkeys
 */
export async function removeCustomDomain(tx: Context, row: CustomDomainRow): Promise<void> {
  const detail = await inUse(tx, row);
  if (detail !== null) throw new Refusal({ status: 409, code: 'domain_in_use', detail });
  await deleteCustomDomain(tx.scope, row.id);
  const { id, domain, status, is_primary } = row;
  await emit(tx, 'custom_domain.deleted', { id, domain, status, is_primary, deleted_at: tx.clock.now().toISOString() });
}
