import type { AuthenticatorRow } from '../../db/tables/authenticators.js';
import type { UserRow } from '../../db/tables/users.js';
import { recordSecurityEvent, userParty } from '../audit/security-trail.js';
import type { Context } from '../context.js';
import { emitAuthenticatorCreated } from '../events/authenticators.js';
import { userActor } from '../events/data.js';
import type { Origin } from '../origin.js';

/** Records that a person added an authenticator to their account, or got recovery codes with one, in the transaction that stores it. */
export async function recordAdded(
  tx: Context,
  user: Pick<UserRow, 'id' | 'email'>,
  { id, kind, name }: Pick<AuthenticatorRow, 'id' | 'kind' | 'name'>,
  origin: Origin,
): Promise<void> {
  await emitAuthenticatorCreated(tx, userActor(user), { id, user_id: user.id, kind, name });
  const target = { target_type: 'authenticator', target_id: id, display: name };
  await recordSecurityEvent(tx, 'authenticator.created', { actor: userParty(user).actor, target, origin, detail: { kind } });
}
