import type { Context } from '../context.js';
import { provesAddress, speaksFor, type AssertedAddress } from '../connections/address-owner.js';
import { domainOfEmail, namesDomain, requiredConnectionFor, type Connection } from '../connections/connections.js';
import { findIdentity, type IdentityRow } from '../../db/tables/identities.js';
import { listPermissionNamesOfUser } from '../../db/tables/permissions.js';
import { findUser, findUserByEmailKey, type UserRow } from '../../db/tables/users.js';
import type { ProfileColumn } from '../../lib/profile-columns.js';
import type { EmailAddress } from '../../lib/email-address.js';

/** The columns of a user that a claim mapping may fill. */
export type ProfileAttributes = Partial<Pick<UserRow, ProfileColumn>>;

/** A person's claims from a provider, mapped to attributes of this service. */
export type Profile = {
  readonly subject: string;
  readonly email: EmailAddress | null;
  readonly email_verified: boolean;
  readonly attributes: ProfileAttributes;
};

/** Why nobody is signed in through a provider; codes of specification 8.2.3. */
export type ProviderRefusal =
  | 'sso_account_exists'
  | 'account_blocked'
  | 'registration_disabled'
  | 'sso_domain_not_allowed'
  | 'sso_provider_error'
  | 'sso_email_missing'
  | 'sso_email_unverified'
  | 'saml_replayed';

/** What a login through a provider leads to. Decided without writing, so that the connection test can use it too. */
export type Decision =
  | { readonly kind: 'known'; readonly user: UserRow; readonly identity: IdentityRow }
  | { readonly kind: 'link'; readonly user: UserRow }
  /** The link is void, since the connection has changed: the user proves the local account first. */
  | { readonly kind: 'prove_again'; readonly user: UserRow; readonly identity: IdentityRow }
  /** The user proves the local account first. */
  | { readonly kind: 'ask'; readonly user: UserRow }
  /** `proven`: the provider's word makes the new user's address a verified one. */
  | { readonly kind: 'register'; readonly proven: boolean }
  /** `why`: what decided, for the log; it holds nothing of the person. */
  | { readonly kind: 'refuse'; readonly code: ProviderRefusal; readonly why: string };

const refuse = (code: ProviderRefusal, why: string): Decision => ({ kind: 'refuse', code, why });
const elsewhere = () => refuse('sso_domain_not_allowed', 'the address signs in through another connection alone');
const blocked = () => refuse('account_blocked', 'the user is blocked');

/** Whoever may set up connections must not thereby become somebody who may do more: such accounts are linked only with their own proof. */
const administers = async (ctx: Context, user: UserRow): Promise<boolean> =>
  (await listPermissionNamesOfUser(ctx.scope, user.id, ctx.environment.management_audience)).length > 0;

/** Whether the provider's word alone links its account to the user's (specification 8.3.2, 8.3.3). A link that waits for a second step asks again. */
export async function linksByWord(ctx: Context, connection: Connection, user: UserRow, asserted: AssertedAddress): Promise<boolean> {
  // In an organization's verified domains the domain proves the account's address too (specification 16.4.1).
  const isProven = user.email_verified || connection.organization_id !== null;
  if (connection.account_linking !== 'verified_email' || !isProven) return false;
  return (await provesAddress(ctx, connection, asserted)) && !(await administers(ctx, user));
}

/** A user of this address exists: linked only when both sides have it verified, and only as the connection's mode says (specification 8.3.2). */
async function decideExisting(ctx: Context, connection: Connection, user: UserRow, asserted: AssertedAddress): Promise<Decision> {
  if (connection.account_linking === 'never')
    return refuse('sso_account_exists', 'a user has the address, and account_linking of the connection is never');
  if (user.status !== 'active') return blocked();
  if (await linksByWord(ctx, connection, user, asserted)) return { kind: 'link', user };
  // A user without a password can't prove the account here: they sign in the other way and link from the account page.
  if (user.password_hash !== null) return { kind: 'ask', user };
  return refuse('sso_account_exists', 'a user without a password has the address, whom the provider’s word does not link');
}

/** Nobody has this address: registration, as far as the environment and the connection allow it. */
async function decideNew(ctx: Context, connection: Connection, asserted: AssertedAddress, domain: string): Promise<Decision> {
  const { registration_enabled, allowed_email_domains } = ctx.environment;
  if (!registration_enabled) return refuse('registration_disabled', 'registration_enabled of the environment is off');
  if (!connection.allow_registration) return refuse('registration_disabled', 'allow_registration of the connection is off');
  if (allowed_email_domains.length > 0 && !namesDomain(allowed_email_domains, domain))
    return refuse('sso_domain_not_allowed', `allowed_email_domains of the environment does not name ${domain}`);
  return { kind: 'register', proven: await provesAddress(ctx, connection, asserted) };
}

/** Whether the address signs in through another connection alone (`required`). */
export async function requiresOtherConnection(ctx: Context, connection: Connection, email: string): Promise<boolean> {
  const required = await requiredConnectionFor(ctx, email);
  return required !== null && required.id !== connection.id;
}

/** Decides by (connection, subject) first; an address matters only for accounts seen for the first time. */
export async function decide(ctx: Context, connection: Connection, profile: Profile): Promise<Decision> {
  const identity = await findIdentity(ctx.scope, connection.id, profile.subject);
  if (identity) {
    const user = await findUser(ctx.scope, identity.user_id);
    if (!user) return refuse('sso_provider_error', 'the user was deleted meanwhile');
    if (await requiresOtherConnection(ctx, connection, user.email)) return elsewhere();
    // The generation that the provider was asked in, too: a process may learn a moment later that the connection has changed.
    if (!identity.proven || identity.generation !== connection.generation) return { kind: 'prove_again', user, identity };
    return user.status === 'active' ? { kind: 'known', user, identity } : blocked();
  }
  const domain = profile.email && domainOfEmail(profile.email.email);
  if (!profile.email || domain === null)
    return refuse('sso_email_missing', 'the claim or attribute of the address is not there, or holds none');
  // In an organization's verified domains the domain is the proof; elsewhere its connection says nothing (specification 16.4.1).
  const isStated = profile.email_verified || connection.organization_id !== null;
  if (!isStated) return refuse('sso_email_unverified', 'the provider does not say that it has verified the address (email_verified)');
  if (await requiresOtherConnection(ctx, connection, profile.email.email)) return elsewhere();
  // Asked before anybody is looked up: a provider learns nothing of addresses that it doesn't speak for, not even whether they have an account.
  if ((await speaksFor(ctx, connection, domain)) !== 'own')
    return refuse('sso_domain_not_allowed', `${domain} is none of the domains that the connection speaks for`);
  const user = await findUserByEmailKey(ctx.scope, profile.email.email_key);
  const asserted = { email: profile.email.email, email_verified: profile.email_verified };
  return user ? decideExisting(ctx, connection, user, asserted) : decideNew(ctx, connection, asserted, domain);
}
