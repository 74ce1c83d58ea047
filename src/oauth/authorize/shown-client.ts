import type { Client } from '../../domain/clients/clients.js';
import type { ConsentPage, UnverifiedNotice } from '../../http/pages/page-models.js';
import { strangersName } from '../../lib/plain-words.js';
import { isNativeRedirectUri } from '../../lib/redirect-uri.js';

const day = new Intl.DateTimeFormat('en-GB', { dateStyle: 'long', timeZone: 'UTC' });

/** So many characters of a name that nobody vouches for are shown. */
const maxNameLength = 60;

/** What people call a client; of one that nobody vouches for, what it calls itself, as plain text. */
export const shownNameOf = ({ name, verified }: Client): string =>
  verified ? name : strangersName(name, maxNameLength) || 'An application';

/** A client as pages show it; of one that nobody vouches for its name alone, for logo and links are its own word too. */
export function shownClient(client: Client): ConsentPage['client'] {
  const name = shownNameOf(client);
  if (!client.verified) return { name, logo_uri: null, policy_uri: null, tos_uri: null };
  const { logo_uri, policy_uri, tos_uri } = client;
  return { name, logo_uri, policy_uri, tos_uri };
}

/**
 * What is known of a client that nobody vouches for (RFC 8252 8.6); null for others.
 * @param redirect_uri where the answer goes; null when it goes to a device
 */
export function unverifiedNotice(client: Client, redirect_uri: string | null): UnverifiedNotice | null {
  if (client.verified) return null;
  const whose =
    client.origin === 'metadata_document'
      ? `It comes from ${new URL(client.id).host}.`
      : `It registered itself on ${day.format(client.created_at)}.`;
  return { whose, local: redirect_uri !== null && isNativeRedirectUri(redirect_uri) };
}
