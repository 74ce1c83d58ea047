import { narrowDetails, parseDetails, readDetail, type Detail } from '../../lib/authorization-details.js';
import { OAuthError } from '../../errors.js';
import type { TokenContent } from './token-look-up.js';
import type { Target } from './target.js';
import type { ApiResource, Client } from '../clients/clients.js';

type DetailsClient = Pick<Client, 'authorization_details_types'>;

/** The objects that a client asks for (RFC 9396 5): each of a type of the resource that the client may ask for; or, as a text, what is wrong with them. */
export function readDetails(client: DetailsClient, resource: ApiResource | null, text: string): readonly Detail[] | string {
  const parsed = parseDetails(text);
  return typeof parsed === 'string' ? `authorization_details ${parsed}` : judgeDetails(client, resource, parsed);
}

/** The same of objects that were read before, as types are by now. */
export function judgeDetails(client: DetailsClient, resource: ApiResource | null, objects: readonly Detail[]): readonly Detail[] | string {
  if (!resource) return 'authorization_details are for one API: resource is required';
  const details: Detail[] = [];
  for (const [index, object] of objects.entries()) {
    const type = client.authorization_details_types.includes(object.type) ? resource.detail_types.get(object.type) : undefined;
    if (!type) return `authorization_details ${index}: the type is unknown at the resource, or not the client's to ask for`;
    const detail = readDetail(type, object);
    if (typeof detail === 'string') return `authorization_details ${index}: ${detail}`;
    details.push(detail);
  }
  return details;
}

/** The same where a client asks without a browser, for itself or of somebody elsewhere. @throws {OAuthError} `invalid_authorization_details` */
export function requireDetails(client: DetailsClient, resource: ApiResource | null, text: string | undefined): readonly Detail[] | null {
  if (text === undefined) return null;
  const details = readDetails(client, resource, text);
  if (typeof details === 'string') throw OAuthError.invalid_authorization_details(details).by('details_not_taken');
  return details;
}

/**
 * What is left of allowed details: of types that there still are, and that the client may still ask for. One that was made later is another type than the
 * one that was allowed. Null where none were asked for.
 */
export function effectiveDetails(
  client: DetailsClient,
  resource: ApiResource | null,
  details: readonly Detail[] | null,
  granted_at: number,
): readonly Detail[] | null {
  if (details === null) return null;
  return details.filter(({ type }) => {
    const known = resource?.detail_types.get(type);
    return known !== undefined && known.created_at.getTime() <= granted_at && client.authorization_details_types.includes(type);
  });
}

/** What is left of the details of a code or a refresh token. */
export const detailsOf = (
  client: DetailsClient,
  target: Target | null,
  { authorization_details }: { readonly authorization_details: readonly Detail[] | null },
): readonly Detail[] | null => effectiveDetails(client, target && target.resource, authorization_details, target?.granted_at ?? Infinity);

/** What a token request that names details gets of those that were allowed (RFC 9396 6); null: more than that. */
export function narrowedDetails(text: string, allowed: readonly Detail[] | null): readonly Detail[] | null {
  const requested = parseDetails(text);
  return typeof requested === 'string' || allowed === null ? null : narrowDetails(requested, allowed);
}

/**
 * The details that an exchanged token may have at most: those of the subject's at the same API resource, for types are of one. One that comes back to a
 * resource which has types gets none: what it had there nobody knows any more.
 */
export function exchangedDetails(
  client: DetailsClient,
  resource: ApiResource,
  token: Pick<TokenContent, 'audience' | 'authorization_details' | 'issued_at'>,
  earlier: ReadonlyMap<string, string>,
): readonly Detail[] | null {
  if (token.audience === resource.identifier)
    return effectiveDetails(client, resource, token.authorization_details, token.issued_at.getTime());
  return earlier.has(resource.identifier) && resource.detail_types.size > 0 ? [] : null;
}

/** @throws {OAuthError} `invalid_authorization_details` */
export function requireNarrowed(text: string | undefined, allowed: readonly Detail[] | null): readonly Detail[] | null {
  if (text === undefined) return allowed;
  const narrowed = narrowedDetails(text, allowed);
  if (!narrowed) throw beyondAllowed();
  return narrowed;
}

const beyondAllowed = () =>
  OAuthError.invalid_authorization_details('authorization_details are malformed, or go beyond what was allowed').by('beyond_authorization');
