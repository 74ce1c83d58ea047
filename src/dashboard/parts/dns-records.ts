import type { ResourceObject } from '../../management/documents.js';
import type { Part } from './page-parts.js';
import { pageTable } from './page-tables.js';
import { code, text } from './values.js';
import { terms } from './words.js';

type DnsRecord = { record_kind: string; name: string; value: string };

/** The TXT records that prove a domain, to be copied. */
export function dnsRecords(record: ResourceObject): Part {
  const found = record.attributes['verification_records'] as DnsRecord[];
  return pageTable({
    id: 'records',
    caption: 'DNS records to set',
    columns: [terms.type, terms.name, terms.value],
    rows: found.map((one) => ({ cells: [text(one.record_kind), code(one.name, true), code(one.value, true)] })),
    nothing: ['Nothing to set', 'The domain is verified.'],
  });
}
