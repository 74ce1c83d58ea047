import { createHmac } from 'node:crypto';
import type { ClientRow } from '../../db/tables/clients.js';
import type { Environment } from '../environment.js';

/** SAML Core 8.3. */
export const nameIdFormats: Readonly<Record<ClientRow['saml_name_id'], string>> = {
  persistent: 'urn:oasis:names:tc:SAML:2.0:nameid-format:persistent',
  email: 'urn:oasis:names:tc:SAML:1.1:nameid-format:emailAddress',
};

/** What is known of somebody to one application alone: it can't be told from what another one knows (SAML Core 8.3.7). */
export const pairwise = (
  { pairwise_salt }: Pick<Environment, 'pairwise_salt'>,
  purpose: 'person' | 'session',
  client_id: string,
  id: string,
): string => createHmac('sha256', pairwise_salt).update(`${purpose} ${id} ${client_id}`).digest('base64url');

/** The NameID of a person at an application; null where it is an address that nobody has proven. */
export const nameIdAt = (
  environment: Pick<Environment, 'pairwise_salt'>,
  client: Pick<ClientRow, 'id' | 'saml_name_id'>,
  user: { readonly id: string; readonly verified_email: string | null },
): string | null => (client.saml_name_id === 'email' ? user.verified_email : pairwise(environment, 'person', client.id, user.id));
