import type { KindName } from './kinds.js';

/** One name for each record of an environment. */
export const nameOf = (type: KindName, key: string): string => `${type} ${key}`;

/** What a permission is called: `{identifier}#{name}`. */
export const permissionKey = (api_resource: string, name: string): string => `${api_resource}#${name}`;

/** What a grant is called: `{client_id} -> {identifier}`. */
export const grantKey = (client_id: string, api_resource: string, subject_type: string): string =>
  `${client_id} -> ${api_resource}${subject_type === 'user' ? ' (user)' : ''}`;

/** What a mail template is called: the name of its mail, with its language where it has one. */
export const mailTemplateKey = (name: string, locale: unknown): string => (typeof locale === 'string' ? `${name} (${locale})` : name);
