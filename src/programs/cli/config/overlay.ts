import type { Located } from './located.js';

/** How the records of a list are told apart, and which of their members are such lists themselves. */
type Keyed = { readonly key: readonly string[]; readonly inner?: Readonly<Record<string, Keyed>> };

const collections: ReadonlyMap<string, Keyed> = new Map([
  ['api_resources', { key: ['identifier'], inner: { permissions: { key: ['name'] } } }],
  ['roles', { key: ['name'] }],
  ['organizations', { key: ['name'] }],
  ['connections', { key: ['name'], inner: { provider_grants: { key: ['client'] } } }],
  ['trusted_issuers', { key: ['issuer'] }],
  ['clients', { key: ['client_id'], inner: { grants: { key: ['api_resource', 'subject_type'] } } }],
  ['external_servers', { key: ['issuer'], inner: { grants: { key: ['client', 'role'] } } }],
  ['webhooks', { key: ['name'] }],
  ['log_streams', { key: ['name'] }],
  ['mail_templates', { key: ['name', 'locale'] }],
  ['page_texts', { key: ['key', 'locale'] }],
]);

const textOf = (value: Located | undefined, name: string): string =>
  value?.kind === 'scalar' && value.value !== null ? String(value.value) : name === 'subject_type' ? 'client' : '';

const keyOf = (record: Located, { key }: Keyed): string | null =>
  record.kind === 'map' ? JSON.stringify(key.map((name) => textOf(record.members.get(name), name))) : null;

/** A record with the members of another in the place of its own; lists of records are overlaid by key. */
function overlayRecord(base: Located, over: Located, inner: Keyed['inner']): Located {
  if (base.kind !== 'map' || over.kind !== 'map') return over;
  const members = new Map(base.members);
  for (const [name, member] of over.members) {
    const [known, keyed] = [base.members.get(name), inner && Object.hasOwn(inner, name) ? inner[name] : undefined];
    members.set(name, known && keyed ? overlayRecords(known, member, keyed) : member);
  }
  return { ...base, members };
}

function overlayRecords(base: Located, over: Located, keyed: Keyed): Located {
  if (base.kind !== 'list' || over.kind !== 'list') return over;
  const items = [...base.items];
  const positions = new Map(items.map((record, index) => [keyOf(record, keyed), index]));
  for (const record of over.items) {
    const key = keyOf(record, keyed);
    const at = key === null ? undefined : positions.get(key);
    if (at === undefined) items.push(record);
    else items[at] = overlayRecord(items[at] as Located, record, keyed.inner);
  }
  return { ...base, items };
}

/** A document with another laid over it: records go by key, attributes are replaced as a whole. */
export function overlay(base: Located, over: Located): Located {
  if (base.kind !== 'map' || over.kind !== 'map') return over;
  const members = new Map(base.members);
  for (const [name, member] of over.members) {
    const [known, keyed] = [base.members.get(name), collections.get(name)];
    if (known && name === 'environment') members.set(name, overlayRecord(known, member, {}));
    else members.set(name, known && keyed ? overlayRecords(known, member, keyed) : member);
  }
  return { ...base, members };
}
