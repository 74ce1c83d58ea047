import type { ClaimMapping, ClaimTarget, ClientRow } from '../../db/tables/clients.js';
import type { UserWithRoles } from '../../db/tables/user_claims.js';
import { jsonObject } from '../../lib/json-object.js';
import { named, own } from '../../lib/named.js';
import { type Problem, unfit } from '../refusal.js';
import { profileColumns } from '../../lib/profile-columns.js';
import { addressClaimOf, namesakeClaims, textClaimOf } from './claims.js';

/** The most claim mappings of one client or API resource. */
export const maxClaimMappings = 20;

/** What mapped claims may be long in one token, as JSON: a token travels in a header. */
const maxMappedBytes = 8192;

export type ClaimFacts = {
  /** Null for a client that acts for itself. */
  readonly user: UserWithRoles | null;
  /** What the token says in `permissions`; null without an API resource. */
  readonly permissions: readonly string[] | null;
};

/** The attributes of a user that can be mapped, under their names at the Management API. */
const attributes: Readonly<Record<string, (user: UserWithRoles) => unknown>> = named({
  id: (user) => user.id,
  email: (user) => textClaimOf(user.email),
  email_verified: (user) => user.email_verified,
  first_name: (user) => textClaimOf(user.first_name),
  last_name: (user) => textClaimOf(user.last_name),
  ...namesakeClaims,
  phone_number: (user) => textClaimOf(user.phone_number),
  phone_number_verified: (user) => (user.phone_number === null ? undefined : user.phone_number_verified),
  address: addressClaimOf,
  external_id: (user) => textClaimOf(user.external_id),
});

/** The sources that have a name of their own; beside them `metadata.<path>`. */
const claimSources: readonly string[] = [...Object.keys(attributes), 'roles', 'permissions'];

const metadataPath = /^metadata(\.[^.]{1,100}){1,8}$/;

const isClaimSource = (source: string): boolean => claimSources.includes(source) || metadataPath.test(source);

/** Claims that this service means something by itself (RFC 7519 4.1, RFC 9068 2.2, OIDC Core 2, RFC 7662 2.2, RFC 9493 4.1), in any case: whoever reads them relies on that. */
export const reservedClaims: readonly string[] = [
  'iss', 'sub', 'aud', 'exp', 'nbf', 'iat', 'jti', 'typ', 'auth_time', 'nonce', 'acr', 'amr', 'azp', 'sid', 'at_hash', 'c_hash', 's_hash', 'scope', 'scp',
  'client_id', 'permissions', 'authorization_details', 'act', 'may_act', 'cnf', 'gid', 'userinfo_claims', 'earlier_scopes', 'events', 'active', 'token_type',
  'org_id', 'org_name', 'org_display_name', 'client_profile', '_claim_names', '_claim_sources', 'sub_id', 'sub_jwk', '__proto__', 'constructor', 'prototype',
]; // prettier-ignore

/** Ways of contact and whether they were proved (OIDC Core 5.1): who reads them lets people in by them, so each tells its own attribute or nothing. */
const contactClaims: readonly string[] = ['email', 'email_verified', 'phone_number', 'phone_number_verified'];

/** Attributes that people write themselves, with the claim that is theirs (OIDC Core 5.1). */
const selfWritten: ReadonlyMap<string, string> = new Map([
  ...profileColumns.map((name): [string, string] => [name, name]),
  ['first_name', 'given_name'],
  ['last_name', 'family_name'],
  ['address', 'address'],
  // As SAML attributes name them, which have claims as their sources.
  ...['given_name', 'family_name', 'name'].map((name): [string, string] => [name, name]),
]);

/** The name as it is compared: Go's `encoding/json`, and others, take `Groups` for `groups`, and of both the one that comes last. */
const folded = (claim: string) => claim.toLowerCase();

/**
 * What is wrong with the mappings of a client or an API resource.
 * @param targets where the owner's claims can be shown at all
 */
export function claimMappingProblems(mappings: readonly ClaimMapping[], targets: readonly ClaimTarget[]): Problem[] {
  const taken = new Set<string>();
  return mappings.flatMap((mapping, index): Problem[] => {
    const at = (member: string, code: Problem['code'], detail: string): Problem[] => [
      unfit(['claim_mappings', index, member], code, detail),
    ];
    const { claim, source, value } = mapping;
    if (reservedClaims.includes(folded(claim)))
      return at('claim', 'reserved_claim', `The claim ${claim} is the protocol's own, and clients rely on it: choose another name.`);
    if (contactClaims.includes(folded(claim)) && source !== folded(claim))
      return at(
        'claim',
        'reserved_claim',
        `The claim ${claim} says how a person is met, and clients let people in by it: its source can only be ${folded(claim)}.`,
      );
    if ((source === undefined) === (value === undefined))
      return at('source', 'invalid_value', 'Exactly one of source and value says where the claim comes from.');
    if (source !== undefined && !isClaimSource(source))
      return at('source', 'invalid_value', `The source must be metadata.<path> or one of ${claimSources.join(', ')}.`);
    const misplaced = mapping.in.find((target) => !targets.includes(target));
    if (misplaced !== undefined) return at('in', 'invalid_value', `${misplaced} is not a place for these claims: ${targets.join(', ')}.`);
    const again = mapping.in.find((target) => taken.has(`${target} ${folded(claim)}`));
    for (const one of mapping.in) taken.add(`${one} ${folded(claim)}`);
    return again === undefined ? [] : at('claim', 'duplicate_value', `${claim} is mapped twice for ${again}.`);
  });
}

/** Whether any of the mappings for these places draws on a person. */
export const drawsOnUser = (mappings: readonly ClaimMapping[], targets: readonly ClaimTarget[]): boolean =>
  mappings.some(({ source, in: shown }) => source !== undefined && shown.some((target) => targets.includes(target)));

/** Whether it says of people what no administrator of people wrote: a constant, or under another name what they write of themselves. */
const attests = ({ claim, source }: Pick<ClaimMapping, 'claim' | 'source'>): boolean =>
  source === undefined || (selfWritten.has(source) && selfWritten.get(source) !== claim);

/**
 * The Management permissions behind what the mappings say: those to read what they tell of people, and those to change what people are and may do
 * where a mapping attests it, for `groups: [admin]` or `upn` from a nickname makes anybody anybody to those who go by it.
 */
export function permissionsOfMappings(mappings: readonly Pick<ClaimMapping, 'claim' | 'source'>[]): readonly string[] {
  const sources = mappings.flatMap(({ source }) => source ?? []);
  return [
    ...(sources.length > 0 ? ['users:read'] : []),
    ...(sources.includes('roles') ? ['roles:read'] : []),
    ...(sources.includes('permissions') ? ['permissions:read'] : []),
    ...(mappings.some(attests) ? ['users:write', 'roles:write'] : []),
  ];
}

/** What a SAML application is told of people, as mappings say it: its attributes, and the address where that is the NameID. */
export const samlMappings = ({ saml_attributes, saml_name_id }: Pick<ClientRow, 'saml_attributes' | 'saml_name_id'>) => [
  ...Object.entries(saml_attributes).map(([claim, source]) => ({ claim, source })),
  ...(saml_name_id === 'email' ? [{ claim: 'email', source: 'email' }] : []),
];

function inMetadata(metadata: Record<string, unknown> | null, path: string): unknown {
  let value: unknown = metadata;
  for (const name of path.split('.').slice(1)) {
    const inside = jsonObject(value);
    value = inside ? own(inside, name) : undefined;
  }
  return value;
}

function valueOf(mapping: ClaimMapping, { user, permissions }: ClaimFacts): unknown {
  const { source } = mapping;
  if (source === undefined) return mapping.value;
  if (source === 'permissions') return permissions ?? undefined;
  if (user === null) return undefined;
  if (source === 'roles') return user.role_names;
  return source.startsWith('metadata.') ? inMetadata(user.metadata, source) : attributes[source]?.(user);
}

const isAbsent = (value: unknown) => value === undefined || value === null || (typeof value === 'string' && value.trim() === '');

/**
 * The mapped claims for a place. What the person doesn't have is left out, and so is what goes beyond 8 KiB together, in the order of the
 * mappings: half a list of groups would be worse than none.
 */
export function mappedClaims(mappings: readonly ClaimMapping[], target: ClaimTarget, facts: ClaimFacts): Record<string, unknown> {
  const claims: Record<string, unknown> = named();
  /** Of each value once: twenty mappings may draw on ten thousand permissions. */
  const sizes = new Map<unknown, number>();
  let bytes = 0;
  for (const mapping of mappings) {
    if (!mapping.in.includes(target)) continue;
    const value = valueOf(mapping, facts);
    if (isAbsent(value)) continue;
    const size = sizes.get(value) ?? Buffer.byteLength(JSON.stringify(value));
    sizes.set(value, size);
    if (bytes + size > maxMappedBytes) continue;
    bytes += size;
    claims[mapping.claim] = value;
  }
  return claims;
}

type Maps = { readonly claim_mappings: readonly ClaimMapping[] };

/** The mapped claims of an access token: the API resource's, and those of the client that the resource doesn't name. */
export function accessTokenMappedClaims(client: Maps, resource: Maps | null, facts: ClaimFacts): Record<string, unknown> {
  const first = resource?.claim_mappings ?? [];
  if (first.length === 0 && client.claim_mappings.length === 0) return named();
  const taken = new Set(first.map(({ claim }) => folded(claim)));
  return mappedClaims([...first, ...client.claim_mappings.filter(({ claim }) => !taken.has(folded(claim)))], 'access_token', facts);
}
