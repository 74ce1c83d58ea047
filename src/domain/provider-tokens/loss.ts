import { findClient } from '../../db/tables/clients.js';
import type { ProviderTokenRow } from '../../db/tables/provider_tokens.js';
import { findUser } from '../../db/tables/users.js';
import type { Connection } from '../connections/connections.js';
import type { Context } from '../context.js';
import { emit } from '../events/emit.js';
import { queueMail } from '../mail/mail.js';
import { noOrigin } from '../origin.js';

/** Tells whoever listens, and the person, that a client has lost its access at a provider. */
export async function announceLoss(tx: Context, connection: Connection, token: ProviderTokenRow): Promise<void> {
  const { id, user_id, client_id, connection_id, scopes } = token;
  await emit(tx, 'provider_token.lost', { id, user_id, client_id, connection_id, scopes, lost_at: tx.clock.now().toISOString() });
  const [user, client] = [await findUser(tx.scope, user_id), await findClient(tx.scope, client_id)];
  if (!user || !client) return;
  const model = { provider: connection.display_name, application: client.name, account_url: `${tx.environment.issuer}/account` };
  await queueMail(tx, { template: 'provider_access_lost', to: user.email, locale: user.locale, model, origin: noOrigin });
}
