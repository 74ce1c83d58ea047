import type { z } from 'zod';
import { registry } from '../../src/management/resources/index.js';
import { png } from './images.js';
import { link, type Document } from './management.js';
import { detailType } from './reach/interesting.js';
import { valuesOf } from './reach/values.js';

export type NewRecord = { readonly attributes: Document; readonly relationships?: Document };

/** Nobody listens there: what is sent is answered at once. */
const nowhere = 'http://127.0.0.1:49151/';

/** What says whose record it is, by the attribute. */
const named = (name: string, word = name.toLowerCase()): Document => ({
  name, display_name: name, slug: word, email: `${word}@example.com`, domain: `${word}.example.com`, identifier: `https://${word}.example`,
  issuer: `https://issuer.${word}.example`, url: nowhere, scopes: ['read'], events: ['role.created'], key: 'login.title', locale: 'de', text: name,
}); // prettier-ignore

/** What a creation says beside, or instead of, what its schema demands, by the collection. */
const said: Readonly<Record<string, (name: string) => Document>> = {
  clients: (name) => ({ name, application_type: 'machine' }),
  authenticators: () => ({ secret: 'JBSWY3DPEHPK3PXPJBSWY3DPEHPK3PXP' }),
  authorization_detail_types: (name) => detailType(name.toLowerCase()),
  connections: (name) => ({
    name: name.toLowerCase(), provider_client_id: 'id', provider_client_secret: 'secret', issuer: 'https://provider.example',
    allow_registration: false, account_linking: 'ask',
  }), // prettier-ignore
  environments: () => ({ kind: 'staging' }),
  external_servers: () => ({ resources: [{ identifier: 'https://mcp.example/', scopes: ['read'] }] }),
  federated_credentials: (name) => ({ claims: { sub: name.toLowerCase() } }),
  log_streams: () => ({ format: 'ecs', sources: ['security_events'], status: 'paused' }),
  logos: () => ({ image: png().toString('base64') }),
  mail_templates: () => ({ name: 'register_code', locale: 'de', subject: 'Code', text: '{{code}}' }),
  organizations: (name) => ({ name: name.toLowerCase() }),
  outbound_grants: (name) => ({ external_client_id: name.toLowerCase() }),
  setup_links: () => ({ parts: ['domains'] }),
};

/**
 * A creation of a record of the collection: what its schema demands, which every new collection has without anybody's doing, and what rules demand beside.
 * @param idOf the record that a relationship which it must have leads to, by its type
 */
export function newRecord(path: string, name: string, idOf: (type: string) => string): NewRecord {
  const resource = registry.byPath.get(path);
  if (!resource?.create) throw new Error(`nobody creates ${path}`);
  const demanded = Object.entries(resource.create.schema.shape as Record<string, z.ZodType>).filter(
    ([, schema]) => !schema.safeParse(undefined).success,
  );
  const texts = named(name);
  const valueOf = (key: string, schema: z.ZodType) => (schema.safeParse(texts[key]).success ? texts[key] : valuesOf(schema, 1)[0]);
  const attributes = Object.fromEntries(demanded.map(([key, schema]) => [key, valueOf(key, schema)]));
  const related = Object.entries(resource.relationships).flatMap(([key, one]) =>
    one.kind === 'one' && one.create === 'required' ? [[key, link(one.to, idOf(one.to))] as const] : [],
  );
  return {
    attributes: { ...attributes, ...said[path]?.(name) },
    ...(related.length > 0 && { relationships: Object.fromEntries(related) }),
  };
}
