import { Duplicate } from '../../db/connection/failures.js';
import { newStamps } from '../../db/records.js';
import { holdConnection } from '../../db/tables/connections.js';
import { findIdentity, updateIdentity } from '../../db/tables/identities.js';
import { listRoleNamesOfUser } from '../../db/tables/roles.js';
import { insertUser, updateUser, type UserChanges, type UserRow } from '../../db/tables/users.js';
import { PageError } from '../../errors.js';
import { message } from '../../lib/languages/messages.js';
import { own } from '../../lib/named.js';
import type { Connection } from '../connections/connections.js';
import { linkIdentity, linkToAccount, proveIdentity, type ProviderAccount } from '../connections/identities.js';
import { transaction, type Context } from '../context.js';
import { userData } from '../events/data.js';
import { emit } from '../events/emit.js';
import { speaksForAddress } from '../organizations/domains.js';
import type { Origin } from '../origin.js';
import { giveDefaultRoles } from '../roles/default-roles.js';
import type { ProviderLink } from '../sessions/half-sign-ins.js';
import { provenAddress } from '../users/address-proof.js';
import { decide, linksByWord, type Decision, type Profile } from './provider-decision.js';

/** The account as identities store it. */
export const accountOf = (connection: Connection, { subject, email, email_verified, attributes }: Profile): ProviderAccount => ({
  connection_id: connection.id,
  generation: connection.generation,
  subject,
  email: email?.email ?? null,
  claims: { ...attributes, ...(email && { email: email.email, email_verified }) },
});

/** What of the profile differs from the user. Another phone number is one that nobody has proven. */
function changesOf(user: UserRow, attributes: Readonly<Record<string, unknown>>): UserChanges {
  const changes: UserChanges = Object.fromEntries(Object.entries(attributes).filter(([name, value]) => own(user, name) !== value));
  return changes.phone_number !== undefined && user.phone_number_verified ? { ...changes, phone_number_verified: false } : changes;
}

/** `profile_sync` `on_login`: the provider's word for names and the like, never for the address that signs in. Emits `user.updated`. */
async function syncProfile(tx: Context, user: UserRow, attributes: Readonly<Record<string, unknown>>): Promise<UserRow> {
  const changes = changesOf(user, attributes);
  if (Object.keys(changes).length === 0) return user;
  const updated = await updateUser(tx.scope, user.id, { ...changes, updated_at: tx.clock.now() });
  if (!updated) return user;
  const previous_attributes = Object.fromEntries(Object.keys(changes).map((name) => [name, own(user, name)]));
  await emit(tx, 'user.updated', { ...userData(updated, await listRoleNamesOfUser(tx.scope, user.id)), previous_attributes });
  return updated;
}

/** Links an account at a provider; done before, it changes nothing. False where the provider's word alone is to link it, and doesn't any more. */
async function link(
  tx: Context,
  connection: Connection,
  user: UserRow,
  { account, provider, by_word }: ProviderLink,
  origin: Origin,
): Promise<boolean> {
  const claimed = { email: account.email, email_verified: account.claims['email_verified'] === true };
  if (by_word && !(await linksByWord(tx, connection, user, claimed))) return false;
  const how = { provider, origin, last_login_at: tx.clock.now() };
  const known = await findIdentity(tx.scope, account.connection_id, account.subject);
  if (!known) await linkToAccount(tx, user, account, how);
  else if (known.user_id !== user.id) throw new PageError(409, 'sso_account_exists', message('refusal.identity_taken_meanwhile'));
  else if (!known.proven) await proveIdentity(tx, known, user, account, how);
  return true;
}

/** Notes that an account which is linked was signed in with. False when it was unlinked, or its link became void, meanwhile: it stays so. */
async function noteUse(tx: Context, id: string, user_id: string, { generation, email, claims }: ProviderAccount): Promise<boolean> {
  const now = tx.clock.now();
  const used = { email, claims: { ...claims }, last_login_at: now, updated_at: now };
  return (await updateIdentity(tx.scope, { id, user_id, generation }, used)) !== null;
}

/**
 * What a login through a provider leaves of the account there, in the transaction that makes the session: it becomes the user's, or is noted as used, and the
 * profile follows where the connection says so. Returns the user after that; null, and leaves nothing, when the connection was changed, disabled or deleted
 * meanwhile, the account isn't the user's by now, or the provider's word doesn't link it any more.
 * @throws {PageError} 409 `sso_account_exists` when it was linked to somebody else meanwhile
 */
export async function settleAccount(tx: Context, user: UserRow, provider_account: ProviderLink, origin: Origin): Promise<UserRow | null> {
  const { account, identity_id, attributes } = provider_account;
  const connection = await holdConnection(tx.scope, account.connection_id);
  if (connection?.status !== 'enabled' || connection.generation !== account.generation) return null;
  const linked =
    identity_id === undefined
      ? await link(tx, connection, user, provider_account, origin)
      : await noteUse(tx, identity_id, user.id, account);
  if (!linked) return null;
  const { organization_id, profile_sync } = connection;
  if (!attributes || profile_sync !== 'on_login') return user;
  // An organization says who its own people are, and nobody else's (specification 16.4.1).
  if (organization_id !== null && !(await speaksForAddress(tx, organization_id, user.email))) return user;
  return syncProfile(tx, user, attributes);
}

/** A person whom a provider has let in. */
export type ProviderPerson = {
  readonly connection: Connection;
  readonly profile: Profile;
  /** The application on whose behalf the person signs in. */
  readonly client_id: string | null;
  readonly session_until?: Date | null;
};

/**
 * Just-in-time registration (specification 8.3.4): the user, the default roles, the identity and the event, or nothing of it. Where the provider's word
 * doesn't prove the address, it makes neither a verified address nor an administrator.
 */
async function register(tx: Context, { connection, profile, client_id }: ProviderPerson, proven: boolean) {
  if (!profile.email) throw new Error('a user needs an address');
  const user = await insertUser(tx.scope, {
    ...(connection.profile_sync === 'never' ? {} : profile.attributes),
    ...profile.email,
    email_verified: proven,
    ...newStamps(tx.clock.now()),
  });
  const roles = await giveDefaultRoles(tx, user.id, proven);
  const identity = await linkIdentity(tx, user.id, accountOf(connection, profile));
  await emit(tx, 'user.registered', { ...userData(user, roles), registration_method: 'sso', connection_id: connection.id, client_id });
  return { user, identity };
}

/** Whom the account at the provider signs in, or what is asked or refused first. */
export type FoundPerson =
  | { readonly kind: 'found'; readonly user: UserRow; readonly provider_account: ProviderLink }
  | Exclude<Decision, { kind: 'known' | 'link' | 'register' }>;

/**
 * Finds the person, or registers them: of two first logins of one person at once, the second finds the account of the first. An account whose address the
 * provider's word proves is cleared before anything else is asked: what is attached to it may be somebody else's (specification 4.5.6).
 */
export async function findPerson(ctx: Context, person: ProviderPerson, origin: Origin, attempt = 1): Promise<FoundPerson> {
  const { connection, profile, session_until = null } = person;
  const decision = await decide(ctx, connection, profile);
  const provider_account = {
    account: accountOf(connection, profile),
    provider: connection.display_name,
    by_word: decision.kind === 'link',
    ...(session_until && { session_until: session_until.toISOString() }),
  };
  if (decision.kind === 'register') {
    try {
      const { user, identity } = await transaction(ctx, (tx) => register(tx, person, decision.proven));
      return { kind: 'found', user, provider_account: { ...provider_account, identity_id: identity.id } };
    } catch (error) {
      if (!(error instanceof Duplicate) || attempt > 2) throw error;
      return findPerson(ctx, person, origin, attempt + 1);
    }
  }
  if (decision.kind !== 'known' && decision.kind !== 'link') return decision;
  const user = decision.kind === 'link' ? await provenAddress(ctx, decision.user, origin) : decision.user;
  if (!user) return { kind: 'refuse', code: 'sso_provider_error', why: 'the user has another address by now, or is gone' };
  const synced = connection.profile_sync === 'on_login' ? { attributes: profile.attributes } : {};
  const known = decision.kind === 'known' ? { identity_id: decision.identity.id } : {};
  return { kind: 'found', user, provider_account: { ...provider_account, ...known, ...synced } };
}
