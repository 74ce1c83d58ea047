import type { UserRow } from '../../db/tables/users.js';
import { connectionOf } from '../connections/connections.js';
import type { Context } from '../context.js';
import { isGoodFor } from '../organizations/admission.js';
import type { SessionProof } from '../proofs/proofs.js';
import type { ProviderLink } from '../sessions/half-sign-ins.js';
import { loginColumns } from '../sessions/sessions.js';

type Comer = {
  readonly user: Pick<UserRow, 'email'>;
  readonly proofs: readonly SessionProof[];
  readonly provider_account?: ProviderLink | null;
};

/**
 * Whether somebody comes only through a connection of an organization that doesn't manage them: its provider says who signs in for the organization, and
 * nothing of the account (specification 16.2.7). Costs no statement.
 */
export async function isGuest(ctx: Context, { user, proofs, provider_account = null }: Comer): Promise<boolean> {
  if (provider_account === null) return false;
  const connection = await connectionOf(ctx, provider_account.account.connection_id);
  // One that is gone lets nobody in.
  return connection === null || !(await isGoodFor(ctx, { ...loginColumns(proofs, connection), user_email: user.email }, null));
}
