import { newStamps } from '../../db/records.js';
import {
  insertIdentity,
  listIdentitiesOfUser,
  removeIdentity,
  updateIdentity,
  type IdentityRow,
  type IdentityWithConnection,
} from '../../db/tables/identities.js';
import { hasDiscoverablePasskey } from '../../db/tables/authenticators.js';
import { lockUser, type UserRow } from '../../db/tables/users.js';
import { transaction, type Context } from '../context.js';
import { queueMail } from '../mail/mail.js';
import type { Origin } from '../origin.js';
import { recordSecurityEvent, userParty } from '../audit/security-trail.js';

/** The accounts at providers that sign this user in, oldest first. */
export const listIdentities = async (ctx: Context, user_id: string): Promise<IdentityWithConnection[]> =>
  listIdentitiesOfUser(ctx.scope, user_id);

/** `last_way_in`: the user has no password, no other usable identity and no passkey that is found by itself, so nothing was changed. */
export type UnlinkOutcome = 'unlinked' | 'not_found' | 'last_way_in';

/** Whether the user could still sign in without this identity: by password, or through another enabled connection that counts. */
function isLastWayIn(user: Pick<UserRow, 'password_hash'>, identities: readonly IdentityWithConnection[], identity_id: string): boolean {
  if (user.password_hash !== null) return false;
  return !identities.some((other) => other.id !== identity_id && other.connection_status === 'enabled' && other.proven);
}

/**
 * Unlinks a user's account at a provider, unless it is the only way to sign in. With `origin` it is the person's own doing, and recorded here; the
 * Management API keeps its own record. The user's row is held meanwhile, so that two of them
 * unlinked at the same moment don't leave the user outside.
 */
export const unlinkIdentity = async (
  ctx: Context,
  input: { user_id: string; identity_id: string; origin?: Origin },
): Promise<UnlinkOutcome> =>
  transaction(ctx, async (tx): Promise<UnlinkOutcome> => {
    const user = await lockUser(tx.scope, input.user_id);
    const identities = user ? await listIdentitiesOfUser(tx.scope, user.id) : [];
    const identity = identities.find(({ id }) => id === input.identity_id);
    if (!user || !identity) return 'not_found';
    if (isLastWayIn(user, identities, input.identity_id) && !(await hasDiscoverablePasskey(tx.scope, user.id))) return 'last_way_in';
    if (!(await removeIdentity(tx.scope, user.id, input.identity_id))) return 'not_found';
    if (input.origin) {
      const target = { target_type: 'identity', target_id: identity.id, display: identity.email ?? identity.connection_display_name };
      const detail = { connection_id: identity.connection_id };
      await recordSecurityEvent(tx, 'identity.unlinked', { actor: userParty(user).actor, target, origin: input.origin, detail });
    }
    return 'unlinked';
  });

export type ProviderAccount = {
  readonly connection_id: string;
  /** The connection's as it was asked: what its provider says proves nothing of a later one. */
  readonly generation: number;
  readonly subject: string;
  readonly email: string | null;
  readonly claims: Readonly<Record<string, unknown>>;
};

/** Links an account at a provider to a user: that alone is no login. @throws SQLSTATE 23505 when (connection, subject) is linked already */
export const linkIdentity = async (
  tx: Context,
  user_id: string,
  account: ProviderAccount,
  last_login_at: Date | null = null,
): Promise<IdentityRow> => insertIdentity(tx.scope, { user_id, ...account, last_login_at, ...newStamps(tx.clock.now()) });

/** How an account is linked: the provider's name for the mail, and the sign-in that it is linked with, if it is one. */
type Link = { readonly provider: string; readonly origin: Origin; readonly last_login_at?: Date };

/** Links an account at a provider to an existing user and notifies them by mail. @throws as {@link linkIdentity} */
export async function linkToAccount(
  tx: Context,
  user: Pick<UserRow, 'id' | 'email' | 'locale'>,
  account: ProviderAccount,
  how: Link,
): Promise<IdentityRow> {
  const identity = await linkIdentity(tx, user.id, account, how.last_login_at);
  await announceLink(tx, identity, user, account, how);
  return identity;
}

/** Renews a void identity for the connection's present generation, after the user has proven the local account; notifies them by mail. */
export async function proveIdentity(
  tx: Context,
  identity: Pick<IdentityRow, 'id'>,
  user: Pick<UserRow, 'id' | 'email' | 'locale'>,
  account: ProviderAccount,
  how: Link,
): Promise<void> {
  const now = tx.clock.now();
  const { generation, email, claims } = account;
  await updateIdentity(
    tx.scope,
    { id: identity.id },
    { generation, email, claims, ...(how.last_login_at && { last_login_at: how.last_login_at }), updated_at: now },
  );
  await announceLink(tx, identity, user, account, how);
}

async function announceLink(
  tx: Context,
  identity: Pick<IdentityRow, 'id'>,
  user: Pick<UserRow, 'id' | 'email' | 'locale'>,
  account: ProviderAccount,
  { provider, origin }: Link,
): Promise<void> {
  const { actor } = userParty(user);
  const target = { target_type: 'identity', target_id: identity.id, display: account.email ?? provider };
  await recordSecurityEvent(tx, 'identity.linked', { actor, target, origin, detail: { connection_id: account.connection_id } });
  const model = { provider, provider_email: account.email, account_url: `${tx.environment.issuer}/account` };
  await queueMail(tx, { template: 'account_linked', to: user.email, locale: user.locale, model, origin });
}
