import { attributeAliases, strategyOf, type MappableAttribute, type StrategyName } from '../domain/connections/strategies.js';
import { domainOfEmail, namesDomain, type Connection } from '../domain/connections/connections.js';
import { SamlRefusal } from '../domain/saml/saml-refusal.js';
import type { Profile } from '../domain/sign-ins/provider-decision.js';
import type { ProviderSignIn } from '../domain/sessions/sessions.js';
import { normalizeEmail } from '../lib/email-address.js';
import { ProviderFailure } from './provider-failure.js';
import { ssoRefusal } from './refusal.js';
import type { Claims } from './strategies/strategy.js';
import { named, own } from '../lib/named.js';

/** One attribute: where it was looked for, and what was found. */
export type MappedClaim = { readonly attribute: MappableAttribute; readonly claim: string; readonly value: unknown };

const maxSubjectLength = 255;

/** A member by its name, or by a path of names where there is no member of the whole name. */
function claimAt(claims: Claims, name: string): unknown {
  if (Object.hasOwn(claims, name)) return own(claims, name);
  let value: unknown = claims;
  for (const part of name.split('.')) {
    if (typeof value !== 'object') return undefined;
    value = own(value, part);
  }
  return value;
}

/** The strategy's mapping with the connection's own on top. */
function mappingOf(connection: Connection): [MappableAttribute, readonly string[]][] {
  const standard = strategyOf(connection.strategy as StrategyName).claim_mapping;
  const own = Object.fromEntries(Object.entries(connection.claim_mapping).map(([name, claim]) => [attributeAliases[name] ?? name, claim]));
  return Object.entries({ ...standard, ...own }).map(([attribute, claim]) => [attribute as MappableAttribute, [claim].flat()]);
}

/** Applies the claim mapping: the first claim that is there, for each attribute. */
export const mapClaims = (connection: Connection, claims: Claims): MappedClaim[] =>
  mappingOf(connection).map(([attribute, names]) => {
    const claim = names.find((name) => claimAt(claims, name) != null) ?? names[0] ?? attribute;
    return { attribute, claim, value: claimAt(claims, claim) };
  });

/** OIDC Core 2: a text of at most 255 characters, compared exactly. Numbers only where a provider without ID tokens counts its accounts. */
function subjectOf({ claim, value }: MappedClaim, isOidc: boolean): string {
  const subject = typeof value === 'number' && Number.isSafeInteger(value) && claim !== 'sub' && !isOidc ? String(value) : value;
  if (
    typeof subject !== 'string' ||
    subject === '' ||
    subject.length > maxSubjectLength ||
    /\p{Cc}/u.test(subject) ||
    !subject.isWellFormed()
  ) {
    throw ssoRefusal('sso_provider_error', { status: 400, cause: new ProviderFailure(`the claim ${claim} is not a usable subject`) });
  }
  return subject;
}

const webAddresses = new Set<MappableAttribute>(['picture', 'profile', 'website']);
const maxLength = (attribute: MappableAttribute) => (webAddresses.has(attribute) ? 2048 : 255);

/** A text that can be stored and shown, or null: cleaned of control characters, of a bounded length, and a web address where it must be one. */
function plainText(attribute: MappableAttribute, value: unknown): string | null {
  if (typeof value !== 'string') return null;
  const text = value
    .replaceAll(/\p{Cc}+/gu, ' ')
    .toWellFormed()
    .trim();
  if (text === '' || text.length > maxLength(attribute)) return null;
  return webAddresses.has(attribute) && !(/^https?:\/\//i.test(text) && URL.canParse(text)) ? null : text;
}

/** Given and family name from a full name, where the provider has only that. */
function splitName(name: string): { first_name: string; last_name: string | null } {
  const words = name.split(' ');
  return words.length === 1
    ? { first_name: name, last_name: null }
    : { first_name: words.slice(0, -1).join(' '), last_name: words.at(-1) ?? null };
}

/**
 * Reads the person from checked claims. Only the JSON value `true` verifies an address (ASVS 6.8.1); with `trust_email`, a provider
 * that says nothing about it is believed for the connection's own domains.
 * @throws {PageError} 400 for a subject that can't be one
 * @throws {SamlRefusal} `subject` when an assertion names none
 */
export function readProfile(connection: Connection, claims: Claims, isOidc: boolean): Profile {
  const mapped = new Map(mapClaims(connection, claims).map((one) => [one.attribute, one]));
  const sub = isOidc ? { attribute: 'sub' as const, claim: 'sub', value: claims['sub'] } : mapped.get('sub');
  // Whatever isn't a text that lasts is nobody: a transient NameID doesn't come this far.
  if (connection.strategy === 'saml' && (typeof sub?.value !== 'string' || sub.value === ''))
    throw new SamlRefusal(
      'subject',
      sub?.claim === 'name_id'
        ? 'there is no NameID, or a transient one, which is new at each sign-in'
        : `there is no attribute ${sub?.claim ?? ''}`,
    );
  const subject = subjectOf(sub ?? { attribute: 'sub', claim: 'sub', value: undefined }, isOidc);
  const written = mapped.get('email')?.value;
  const email = typeof written === 'string' ? normalizeEmail(written) : null;
  const stated = mapped.get('email_verified')?.value;
  const domain = email && domainOfEmail(email.email);
  // The verified domains of an organization are themselves the proof (specification 16.4.1).
  const isTrusted = connection.organization_id !== null || (connection.options['trust_email'] === true && stated == null);
  const trusted = isTrusted && domain !== null && namesDomain(connection.domains, domain);

  const attributes: Record<string, string> = named();
  for (const { attribute, value } of mapped.values()) {
    if (attribute === 'sub' || attribute === 'email' || attribute === 'email_verified' || attribute === 'name') continue;
    const text = plainText(attribute, value);
    if (text !== null) attributes[attribute] = text;
  }
  const name = plainText('name', mapped.get('name')?.value);
  const split = name !== null && !attributes['first_name'] && !attributes['last_name'] ? splitName(name) : {};
  return { subject, email, email_verified: stated === true || trusted, attributes: { ...attributes, ...split } };
}

/**
 * What a signed ID token or assertion says of the sign-in at the provider (RFC 8176, OIDC Core 2): short texts only, and `auth_time` when it is a time.
 * Userinfo isn't about a sign-in: of providers without ID tokens nothing is known.
 */
export function authenticationOf(claims: Claims, isSigned: boolean): ProviderSignIn {
  if (!isSigned) return { amr: [], acr: null, auth_time: null };
  const short = (value: unknown): value is string => typeof value === 'string' && /^[\x21-\x7e]{1,64}$/.test(value);
  const amr = Array.isArray(claims['amr']) ? claims['amr'].filter(short).slice(0, 10) : [];
  const { acr, auth_time, sid } = claims;
  const known = typeof auth_time === 'number' && auth_time >= 0 && auth_time <= 8.64e12;
  return {
    amr,
    acr: typeof acr === 'string' && /^[\x21-\x7e]{1,255}$/.test(acr) ? acr : null,
    auth_time: known ? new Date(auth_time * 1000) : null,
    sid: typeof sid === 'string' && sid !== '' && sid.length <= 255 ? sid : null,
  };
}
