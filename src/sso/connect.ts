import type { Request, Response } from 'express';
import { transaction } from '../core/context.js';
import { linkIdentity } from '../core/identities.js';
import { findIdentity } from '../db/tables/identities.js';
import type { Web } from '../http/web.js';
import type { Answer } from './callback.js';
import { ssoRefusal } from './refusal.js';
import { accountOf, isTaken } from './settle.js';

/** Ties the account to the signed-in user, who has proven both; one that signs somebody else in stays theirs. */
export async function finishConnect(_web: Web, req: Request, res: Response, { connection, profile, flow }: Answer): Promise<void> {
  const user_id = req.session?.user_id ?? '';
  const existing = await findIdentity(req.ctx.scope, connection.id, profile.subject);
  const foreign = () =>
    ssoRefusal('sso_account_exists', { text: `This ${connection.display_name} account is already connected to another account here.` });
  if (existing && existing.user_id !== user_id) throw foreign();
  if (!existing) {
    try {
      await transaction(req.ctx, (tx) => linkIdentity(tx, user_id, accountOf(connection, profile)));
    } catch (error) {
      if (!isTaken(error)) throw error;
      if ((await findIdentity(req.ctx.scope, connection.id, profile.subject))?.user_id !== user_id) throw foreign();
    }
  }
  res.redirect(303, flow.return_to ?? '/account');
}
