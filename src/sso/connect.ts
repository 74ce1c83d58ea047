import type { Request, Response } from 'express';
import { Duplicate } from '../db/failures.js';
import { transaction } from '../domain/context.js';
import { linkToAccount, proveIdentity } from '../domain/connections/identities.js';
import { findIdentity } from '../db/tables/identities.js';
import { originOf } from '../http/pages/mail-origin.js';
import type { Web } from '../http/web.js';
import type { ProviderAssertion } from './provider-assertion.js';
import { requiresOtherConnection } from './linking.js';
import { ssoRefusal } from './refusal.js';
import { accountOf } from './profile.js';
import { message } from '../lib/languages/messages.js';

/** Links the provider's account to the signed-in user. @throws {PageError} `sso_account_exists` when it is linked to another user, `sso_domain_not_allowed` */
export async function finishConnect(
  _web: Web,
  req: Request,
  res: Response,
  { connection, profile, flow }: ProviderAssertion,
): Promise<void> {
  const user = { id: req.session?.user_id ?? '', email: req.session?.user_email ?? '', locale: req.session?.user_locale ?? null };
  const existing = await findIdentity(req.ctx.scope, connection.id, profile.subject);
  const foreign = () =>
    ssoRefusal('sso_account_exists', { text: message('refusal.identity_taken', { provider: connection.display_name }) });
  if (existing && existing.user_id !== user.id) throw foreign();
  if (await requiresOtherConnection(req.ctx, connection, user.email)) throw ssoRefusal('sso_domain_not_allowed');
  const how = { provider: connection.display_name, origin: originOf(req) };
  const account = accountOf(connection, profile);
  if (existing && !(existing.proven && existing.generation === connection.generation)) {
    await transaction(req.ctx, (tx) => proveIdentity(tx, existing, user, account, how));
  }
  if (!existing) {
    try {
      await transaction(req.ctx, (tx) => linkToAccount(tx, user, account, how));
    } catch (error) {
      if (!(error instanceof Duplicate)) throw error;
      if ((await findIdentity(req.ctx.scope, connection.id, profile.subject))?.user_id !== user.id) throw foreign();
    }
  }
  res.redirect(303, flow.return_to ?? '/account');
}
