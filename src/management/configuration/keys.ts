import type { KindName } from './kinds.js';

/** One name for each record of an environment. */
export const recordName = (type: KindName, key: string): string => `${type} ${key}`;

/** What a permission is called: `{identifier}#{name}`. */
export const permissionKey = (api_resource: string, name: string): string => `${api_resource}#${name}`;

/** What a type of authorization details is called: `{identifier}#{name}`. */
export const detailTypeKey = permissionKey;

/** What a domain of an organization is called: `{organization}#{domain}`. */
export const domainKey = (organization: string, domain: string): string => `${organization}#${domain}`;

/** What a grant is called: `{client_id} -> {identifier}`. */
export const grantKey = (client_id: string, api_resource: string, subject_type: string): string =>
  `${client_id} -> ${api_resource}${subject_type === 'user' ? ' (user)' : ''}`;

/** What a grant for a server outside is called: `{client_id} -> {issuer}`, and whose holders it is for. */
export const outboundKey = (client_id: string, issuer: string, role: string | null): string =>
  `${client_id} -> ${issuer}${role === null ? '' : ` (${role})`}`;

/** What a grant for tokens at a provider is called: `{client_id} -> {connection}`. */
export const providerGrantKey = (client_id: string, connection: string): string => `${client_id} -> ${connection}`;

/** What words of an environment are called, a mail template or a text of pages: the name of what they say, with their language where they have one. */
export const wordsKey = (name: string, locale: unknown): string => (typeof locale === 'string' ? `${name} (${locale})` : name);
