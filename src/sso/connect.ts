import type { Request, Response } from 'express';
import { Duplicate } from '../db/connection/failures.js';
import { transaction, type Context } from '../domain/context.js';
import { holdSession } from '../domain/sessions/sessions.js';
import { linkToAccount, proveIdentity } from '../domain/connections/identities.js';
import { findIdentity } from '../db/tables/identities.js';
import { originOf } from '../http/pages/mail-origin.js';
import type { Web } from '../http/web.js';
import type { ProviderAssertion } from './provider-assertion.js';
import { requiresOtherConnection } from '../domain/sign-ins/provider-decision.js';
import { ProviderFailure } from './provider-failure.js';
import { ssoRefusal, type SsoCode } from './refusal.js';
import { accountOf } from '../domain/sign-ins/provider-account.js';
import { message } from '../lib/languages/messages.js';

const refused = (code: SsoCode, why: string) => ssoRefusal(code, { cause: new ProviderFailure(why) });

/**
 * Links the provider's account to the signed-in user, whose session is asked for again in the transaction that links: the provider may have taken its time.
 * @throws {PageError} `sso_account_exists` when it is linked to another user, `sso_domain_not_allowed`, `sso_state_mismatch` when the session has ended
 */
export async function connectAccount(req: Request, { connection, profile, spend }: ProviderAssertion): Promise<void> {
  const { session } = req;
  if (!session) throw refused('sso_state_mismatch', 'nobody is signed in here');
  const user = { id: session.user_id, email: session.user_email, locale: session.user_locale };
  const inSession = (work: (tx: Context) => Promise<unknown>) =>
    transaction(req.ctx, async (tx) => {
      if (!(await holdSession(tx, session))) throw refused('sso_state_mismatch', 'the session has ended meanwhile');
      await work(tx);
    });
  if (spend && !(await transaction(req.ctx, spend))) throw refused('saml_replayed', 'the assertion was used before');
  const existing = await findIdentity(req.ctx.scope, connection.id, profile.subject);
  const foreign = () =>
    ssoRefusal('sso_account_exists', {
      text: message('refusal.identity_taken', { provider: connection.display_name }),
      cause: new ProviderFailure('the account at the provider is another user’s here'),
    });
  if (existing && existing.user_id !== user.id) throw foreign();
  if (await requiresOtherConnection(req.ctx, connection, user.email))
    throw refused('sso_domain_not_allowed', 'the user’s address signs in through another connection alone');
  const how = { provider: connection.display_name, origin: originOf(req) };
  const account = accountOf(connection, profile);
  if (existing && !(existing.proven && existing.generation === connection.generation)) {
    await inSession((tx) => proveIdentity(tx, existing, user, account, how));
  }
  if (!existing) {
    try {
      await inSession((tx) => linkToAccount(tx, user, account, how));
    } catch (error) {
      if (!(error instanceof Duplicate)) throw error;
      if ((await findIdentity(req.ctx.scope, connection.id, profile.subject))?.user_id !== user.id) throw foreign();
    }
  }
}

/** Back to the account page, with the account connected. @throws as {@link connectAccount} */
export async function finishConnect(_web: Web, req: Request, res: Response, assertion: ProviderAssertion): Promise<void> {
  await connectAccount(req, assertion);
  res.redirect(303, assertion.flow.return_to ?? '/account');
}
