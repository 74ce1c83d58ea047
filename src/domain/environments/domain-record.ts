import type { Context } from '../context.js';

/** A domain whose owner proves it by a TXT record. */
type ProvableDomain = { readonly domain: string; readonly verification_token: string };

const label = '_identity-verification';
const dayMs = 86_400_000;

/** What the owner puts into the domain's zone to prove that it is theirs. */
export function verificationRecords(row: ProvableDomain) {
  return [{ record_kind: 'TXT', name: `${label}.${row.domain}`, value: `identity-verification=${row.verification_token}` }];
}

export type RecordCheck = {
  readonly verified: boolean;
  readonly failure_reason: 'record_not_found' | 'record_mismatch' | 'dns_error' | null;
};

/** Looks for the record in the DNS. Waits for others: never inside a transaction. */
export async function findDomainRecord(ctx: Context, row: ProvableDomain): Promise<RecordCheck> {
  const [record] = verificationRecords(row);
  try {
    const texts = await ctx.net.txtLookup(record?.name ?? '');
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

/** Since when the record of a verified domain has been missing, and whether that is so many days. A look-up that failed says nothing about the record. */
export function isMissingFor(
  row: { readonly missing_since: Date | null },
  { verified, failure_reason }: RecordCheck,
  now: Date,
  days: number,
): { readonly missing_since: Date | null; readonly gone: boolean } {
  const unknown = failure_reason === 'dns_error';
  const missing_since = verified ? null : unknown ? row.missing_since : (row.missing_since ?? now);
  return { missing_since, gone: !unknown && missing_since !== null && now.getTime() - missing_since.getTime() >= days * dayMs };
}
