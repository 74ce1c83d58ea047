import type { UserWithRoles } from '../../db/tables/user_claims.js';
import { named } from '../../lib/named.js';
import { namesakes } from '../../lib/profile-columns.js';

type Claim = (user: UserWithRoles) => unknown;

/** The text, or undefined where there is nothing in it: such a claim is left out. */
export const textClaimOf = (value: string | null): string | undefined => (value === null || value.trim() === '' ? undefined : value);
const fullName = (user: UserWithRoles) =>
  textClaimOf([user.first_name, user.last_name].filter((part) => part !== null && part !== '').join(' '));
/** The `address` claim (OIDC Core 5.1.1), without members that are empty. */
export const addressClaimOf = (user: UserWithRoles): Record<string, string> | undefined => {
  const members = Object.entries(user.address ?? {}).filter(([, value]) => typeof value === 'string' && value.trim() !== '');
  return members.length > 0 ? Object.fromEntries(members) : undefined;
};

/**
 * The user as claims tell of them: where the environment says so (`preferred_username_from_email`), whoever has no `preferred_username` is called by the
 * address, for applications that can't do without one.
 */
export const asClaimed = <User extends Pick<UserWithRoles, 'preferred_username' | 'email'>>(
  { preferred_username_from_email }: { readonly preferred_username_from_email: boolean },
  user: User,
): User =>
  preferred_username_from_email && textClaimOf(user.preferred_username) === undefined ? { ...user, preferred_username: user.email } : user;

/** What a user is called and how to be met: claims whose names are those of the user's attributes (OIDC Core 5.1). */
export const namesakeClaims: Readonly<Record<string, Claim>> = Object.fromEntries(
  namesakes.map((name): [string, Claim] => [name, (user) => textClaimOf(user[name])]),
);

/** Every claim that userinfo knows, by scope (OIDC Core 5.4). Discovery's `claims_supported` and `scopes_supported` follow. */
const claimsByScope: Readonly<Record<string, Readonly<Record<string, Claim>>>> = named({
  profile: {
    name: fullName,
    given_name: (user) => textClaimOf(user.first_name),
    family_name: (user) => textClaimOf(user.last_name),
    ...namesakeClaims,
    updated_at: (user) => Math.floor(user.updated_at.getTime() / 1000),
  },
  email: { email: (user) => textClaimOf(user.email), email_verified: (user) => user.email_verified },
  address: { address: addressClaimOf },
  phone: {
    phone_number: (user) => textClaimOf(user.phone_number),
    phone_number_verified: (user) => (user.phone_number === null ? undefined : user.phone_number_verified),
  },
  roles: { roles: (user) => user.role_names },
});

/** The same as pairs, made once. */
const pairsByScope: Readonly<Record<string, readonly (readonly [string, Claim])[]>> = named(
  Object.fromEntries(Object.entries(claimsByScope).map(([scope, claims]) => [scope, Object.entries(claims)])),
);

const everyClaim: Readonly<Record<string, Claim>> = Object.assign({}, ...Object.values(claimsByScope)) as Record<string, Claim>;

export const claimNames = Object.keys(everyClaim);

/** The scopes that hold the claims; names that nobody knows are left out. */
export const scopesOfClaims = (names: readonly string[]): string[] =>
  Object.keys(claimsByScope).filter((scope) => names.some((name) => Object.hasOwn(claimsByScope[scope] ?? {}, name)));

/** What of a part of the `claims` request (OIDC Core 5.5) is worth keeping: the names that are known here. How they were asked for changes nothing. */
export const knownClaims = (requested: Record<string, unknown> | null): string[] =>
  Object.keys(requested ?? {}).filter((name) => Object.hasOwn(everyClaim, name));

/**
 * The claims of a user that the scopes, and by their names the `claims` request (OIDC Core 5.5), ask for. What a user doesn't have is left
 * out rather than sent as null.
 */
export function claimsOf(user: UserWithRoles, scopes: readonly string[], requested: readonly string[]): Record<string, unknown> {
  const claims: Record<string, unknown> = named();
  const tell = (name: string, claim: Claim) => {
    const value = claims[name] === undefined ? claim(user) : undefined;
    if (value !== undefined) claims[name] = value;
  };
  for (const scope of scopes) for (const [name, claim] of pairsByScope[scope] ?? []) tell(name, claim);
  for (const name of requested) if (Object.hasOwn(everyClaim, name)) tell(name, everyClaim[name] as Claim);
  return claims;
}
