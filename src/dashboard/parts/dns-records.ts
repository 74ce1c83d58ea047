import type { ResourceObject } from '../../management/documents.js';
import type { Part } from './page-parts.js';
import { code, text } from './values.js';
import { terms } from './words.js';

type DnsRecord = { record_kind: string; name: string; value: string };

/** The TXT records that prove a domain, to be copied. */
export function dnsRecords(record: ResourceObject): Part {
  const found = record.attributes['verification_records'] as DnsRecord[];
  const rows = found.map((one) => ({ path: null, cells: [text(one.record_kind), code(one.name, true), code(one.value, true)] }));
  const empty = { title: 'Nothing to set', text: 'The domain is verified.', button: null };
  return {
    kind: 'table',
    id: 'records',
    caption: 'DNS records to set',
    heading: true,
    columns: [{ label: terms.type }, { label: terms.name }, { label: terms.value }],
    rows,
    empty,
    pager: null,
  };
}
