import type { Client } from '../../domain/clients/clients.js';
import type { PageClient } from './form-page.js';
import type { ConsentPage, UnverifiedNotice } from './page-models.js';
import { strangersName } from '../../lib/plain-words.js';
import { isNativeRedirectUri } from '../../lib/redirect-uri.js';
import type { Words } from './words.js';

/** The most characters shown of an unverified client's name. */
const maxNameLength = 60;

/** What people call a client; of an unverified one, what it calls itself, as plain text. */
export const shownNameOf = ({ t }: Words, { name, verified }: Pick<Client, 'name' | 'verified'>): string =>
  verified ? name : strangersName(name, maxNameLength) || t('unverified.application');

/** A client as pages name it on which the person decides nothing about it; null where none is known. */
export const pageClient = (words: Words, client: Client | null): PageClient | null => client && { name: shownNameOf(words, client) };

/** A client as it asks for something; of an unverified one its name alone, for logo and links are its own word too. */
export function shownClient(words: Words, client: Client): ConsentPage['client'] {
  const name = shownNameOf(words, client);
  const { is_agent, logo_uri, policy_uri, tos_uri } = client;
  if (!client.verified) return { name, is_agent, logo_uri: null, policy_uri: null, tos_uri: null };
  return { name, is_agent, logo_uri, policy_uri, tos_uri };
}

/**
 * What is known of an unverified client (RFC 8252 8.6); null for others.
 * @param redirect_uri where the answer goes; null when it goes to a device
 */
export function unverifiedNotice({ t, dateWords }: Words, client: Client, redirect_uri: string | null): UnverifiedNotice | null {
  if (client.verified) return null;
  const whose =
    client.origin === 'metadata_document'
      ? t('unverified.from_host', { host: new URL(client.id).host })
      : t('unverified.registered_on', { date: dateWords(client.created_at.toISOString()) });
  return { whose, local: redirect_uri !== null && isNativeRedirectUri(redirect_uri) };
}
