import type { KindName } from './kinds.js';

export const recordName = (type: KindName, key: string): string => `${type} ${key}`;

export const permissionKey = (api_resource: string, name: string): string => `${api_resource}#${name}`;

export const detailTypeKey = permissionKey;

export const domainKey = (organization: string, domain: string): string => `${organization}#${domain}`;

export const grantKey = (client_id: string, api_resource: string, subject_type: string): string =>
  `${client_id} -> ${api_resource}${subject_type === 'user' ? ' (user)' : ''}`;

export const outboundKey = (client_id: string, issuer: string, role: string | null): string =>
  `${client_id} -> ${issuer}${role === null ? '' : ` (${role})`}`;

export const providerGrantKey = (client_id: string, connection: string): string => `${client_id} -> ${connection}`;

/** What words of an environment are called, a mail template or a text of pages: the name of what they say, with their language where they have one. */
export const wordsKey = (name: string, locale: unknown): string => (typeof locale === 'string' ? `${name} (${locale})` : name);
