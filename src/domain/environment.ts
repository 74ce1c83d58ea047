import type { Clock } from '../platform/clock.js';
import type { EnvironmentRow } from '../db/tables/environments.js';
import type { OwnTexts } from '../lib/languages/messages.js';

/** An environment as the service works with it: its row and what follows from BASE_URL and its domains. */
export type Environment = EnvironmentRow & {
  /** `iss` of everything it issues: the primary custom domain, else `base_url`. Never taken from a request (specification 3.2.2). */
  readonly issuer: string;
  /** Where it is reached without a custom domain. */
  readonly base_url: string;
  /** The names that it answers at, as origins: the base URL and every verified domain. A domain is listed here and nowhere else unless somebody chose more for it. */
  readonly origins: readonly string[];
  /** What was the issuer before the primary domain changed, and until when tokens of that `iss` are taken. */
  readonly earlier_issuers: readonly { readonly issuer: string; readonly until: Date }[];
  /** Where its passkeys may be made and used (WebAuthn L3 5.11): the issuer, the base URL, the host of the RP id, and domains that were chosen for it. */
  readonly passkey_origins: readonly string[];
  /** `aud` of tokens for its Management API. */
  readonly management_audience: string;
  /** What its account pages say in the place of built-in texts; null: nothing. */
  readonly page_texts: OwnTexts | null;
  /** The types of authorization details that discovery names (RFC 9396 10). */
  readonly authorization_details_types: readonly string[];
};

/** Every `iss` that tokens of the environment may bear at this time: the issuer, and earlier ones until their date. */
export function acceptedIssuers({ environment, clock }: { readonly environment: Environment; readonly clock: Clock }): readonly string[] {
  const { issuer, earlier_issuers } = environment;
  if (earlier_issuers.length === 0) return [issuer];
  const now = clock.now();
  return [issuer, ...earlier_issuers.filter(({ until }) => until > now).map((earlier) => earlier.issuer)];
}

/** Every origin that stands for the environment itself, so that nothing else may be named by it. */
export const ownOrigins = ({ origins, issuer, earlier_issuers }: Environment): string[] => [
  ...new Set([issuer, ...origins, ...earlier_issuers.map((earlier) => earlier.issuer)]),
];

/** Paths that are this service's own at each of its addresses. */
const ownPath = /^\/?$|^\/(api|oauth|\.well-known)(\/|$)/i;

/**
 * Whether the URI is the issuer or an endpoint of the environment, which tokens of its own have as `aud`: userinfo, the token endpoint for assertions, the
 * Management API. Compared as clients may write it: host in any case, with or without a slash at the end.
 */
export function isOwnAddress(environment: Environment, uri: string): boolean {
  if (!URL.canParse(uri)) return false;
  const { origin, pathname } = new URL(uri);
  return ownOrigins(environment).includes(origin) && ownPath.test(pathname);
}

/** The origin of a host that the environment answers at; null for every other host. */
export function originOfHost({ origins }: Pick<Environment, 'origins'>, host: string | undefined): string | null {
  const name = `//${(host ?? '').toLowerCase()}`;
  return origins.find((origin) => origin.slice(origin.indexOf(':') + 1) === name) ?? null;
}
