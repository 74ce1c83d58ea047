import { holdConnection } from '../../db/tables/connections.js';
import { findIdentity } from '../../db/tables/identities.js';
import type { UserRow } from '../../db/tables/users.js';
import { PageError } from '../../errors.js';
import type { Context } from '../context.js';
import type { Origin } from '../origin.js';
import type { Linking } from '../sign-ins/sign-ins.js';
import { provesAddress } from './address-owner.js';
import { linkToAccount, proveIdentity } from './identities.js';
import { message } from '../../lib/languages/messages.js';

/**
 * Links an account at a provider in the transaction that completes the sign-in which proved the local account; done before, it changes nothing.
 * A connection that was changed, disabled or deleted meanwhile links nothing any more, nor does one by its word that is no longer believed: the sign-in
 * here goes on without.
 * @throws {PageError} 409 `sso_account_exists` when it was linked to somebody else meanwhile
 */
export function settleLinking(user: UserRow, { account, provider, by_word }: Linking, origin: Origin): (tx: Context) => Promise<void> {
  return async (tx) => {
    const connection = await holdConnection(tx.scope, account.connection_id);
    if (connection?.status !== 'enabled' || connection.generation !== account.generation) return;
    const said = { email: account.email, email_verified: account.claims['email_verified'] === true };
    if (by_word && !(await provesAddress(tx, connection, said))) return;
    const how = { provider, origin };
    const known = await findIdentity(tx.scope, account.connection_id, account.subject);
    if (!known) await linkToAccount(tx, user, account, how);
    else if (known.user_id !== user.id) throw new PageError(409, 'sso_account_exists', message('refusal.identity_taken_meanwhile'));
    else if (!known.proven) await proveIdentity(tx, known, user, account, how);
  };
}
