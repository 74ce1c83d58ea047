import type { UserWithRoles } from '../db/tables/access_tokens.js';
import { named } from '../lib/named.js';

type Claim = (user: UserWithRoles) => unknown;

const text = (value: string | null) => (value === null || value.trim() === '' ? undefined : value);
const fullName = (user: UserWithRoles) => text([user.first_name, user.last_name].filter((part) => part !== null && part !== '').join(' '));
const address = (user: UserWithRoles) => {
  const parts = Object.entries(user.address ?? {}).filter(([, value]) => typeof value === 'string' && value.trim() !== '');
  return parts.length > 0 ? Object.fromEntries(parts) : undefined;
};

/** Every claim that userinfo knows, by scope (OIDC Core 5.4). Discovery's `claims_supported` and `scopes_supported` follow. */
export const claimsByScope: Readonly<Record<string, Readonly<Record<string, Claim>>>> = named({
  profile: {
    name: fullName,
    given_name: (user) => text(user.first_name),
    family_name: (user) => text(user.last_name),
    middle_name: (user) => text(user.middle_name),
    nickname: (user) => text(user.nickname),
    preferred_username: (user) => text(user.preferred_username),
    profile: (user) => text(user.profile),
    picture: (user) => text(user.picture),
    website: (user) => text(user.website),
    gender: (user) => text(user.gender),
    birthdate: (user) => text(user.birthdate),
    zoneinfo: (user) => text(user.zoneinfo),
    locale: (user) => text(user.locale),
    updated_at: (user) => Math.floor(user.updated_at.getTime() / 1000),
  },
  email: { email: (user) => text(user.email), email_verified: (user) => user.email_verified },
  address: { address },
  phone: {
    phone_number: (user) => text(user.phone_number),
    phone_number_verified: (user) => (user.phone_number === null ? undefined : user.phone_number_verified),
  },
  roles: { roles: (user) => user.role_names },
});

const everyClaim: Readonly<Record<string, Claim>> = Object.assign({}, ...Object.values(claimsByScope)) as Record<string, Claim>;

/** The names of all claims that userinfo can answer. */
export const claimNames = Object.keys(everyClaim);

/** The scopes that hold the claims; names that nobody knows are left out. */
export function scopesOfClaims(names: readonly string[]): string[] {
  return Object.keys(claimsByScope).filter((scope) => names.some((name) => Object.hasOwn(claimsByScope[scope] ?? {}, name)));
}

/** The names of the `claims` request (OIDC Core 5.5) that userinfo can answer, each with null; null when there are none. */
export function knownClaims(requested: Record<string, unknown> | null): Record<string, null> | null {
  const names = Object.keys(requested ?? {}).filter((name) => Object.hasOwn(everyClaim, name));
  return names.length === 0 ? null : Object.fromEntries(names.map((name) => [name, null]));
}

/**
 * The claims of a user that the scopes and the `claims` request (OIDC Core 5.5, its userinfo part) ask for. What a user doesn't
 * have is left out rather than sent as null.
 */
export function claimsOf(
  user: UserWithRoles,
  scopes: readonly string[],
  requested: Record<string, unknown> | null,
): Record<string, unknown> {
  const names = new Set<string>();
  for (const scope of scopes) for (const name of Object.keys(claimsByScope[scope] ?? {})) names.add(name);
  for (const name of Object.keys(requested ?? {})) if (Object.hasOwn(everyClaim, name)) names.add(name);
  const claims: Record<string, unknown> = named();
  for (const name of names) {
    const value = everyClaim[name]?.(user);
    if (value !== undefined) claims[name] = value;
  }
  return claims;
}
