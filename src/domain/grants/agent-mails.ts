import type { ClientRow } from '../../db/tables/clients.js';
import { strangersName } from '../../lib/plain-words.js';
import type { Context } from '../context.js';
import { queueMail } from '../mail/mail.js';
import type { Origin } from '../origin.js';
import type { BrowserSession } from '../sessions/sessions.js';

type Named = Pick<ClientRow, 'name' | 'verified'>;

/** As pages name it: what a stranger calls itself is no text of ours. */
export const mailModel = ({ environment }: Context, client: Named) => ({
  application: client.verified ? client.name : strangersName(client.name, 60),
  applications_url: `${environment.issuer}/account/applications`,
});

/** Tells the person that an agent acts for them from now on, which they allow for the first time. */
export async function mailAgentAllowed(
  tx: Context,
  client: Named & Pick<ClientRow, 'is_agent'>,
  session: Pick<BrowserSession, 'user_email' | 'user_locale'>,
  origin: Origin,
): Promise<void> {
  if (!client.is_agent) return;
  const { user_email: to, user_locale: locale } = session;
  await queueMail(tx, { template: 'agent_allowed', to, locale, model: mailModel(tx, client), origin });
}
