import type { Request, Response } from 'express';
import type { Actor } from '../domain/actor.js';
import { transaction } from '../domain/context.js';
import { findMembership, removeMember, type Membership } from '../domain/organizations/memberships.js';
import { findOrganization, type Organization } from '../domain/organizations/organizations.js';
import { Refusal } from '../domain/refusal.js';
import { PageError } from '../errors.js';
import { sessionOf } from '../http/auth/browser-session.js';
import { formPage } from '../http/auth/csrf.js';
import { errorMessage } from '../http/pages/error-texts.js';
import { wordsOf } from '../http/pages/words.js';
import type { Web } from '../http/web.js';
import { isUuid } from '../lib/random.js';
import { message } from '../lib/languages/messages.js';
import { done } from './done.js';
import { refusalError } from './refusal.js';

/** The membership that the path names. @throws {PageError} 404 */
async function requireOwn(req: Request): Promise<{ membership: Membership; organization: Organization }> {
  const id = String(req.params['id'] ?? '');
  const membership = isUuid(id) ? await findMembership(req.ctx, id.toLowerCase(), sessionOf(req).user_id) : null;
  const organization = membership && (await findOrganization(req.ctx, membership.organization_id));
  if (!organization) throw new PageError(404, 'not_found', errorMessage('not_found'));
  return { membership, organization };
}

/** GET /account/organizations/{id}/leave: asks. */
export const leavePage = (web: Web) => async (req: Request, res: Response) => {
  const { organization } = await requireOwn(req);
  const title = wordsOf(req).t('organizations.leave_title', { name: organization.display_name });
  web.renderPage(res, 'account/leave', { ...formPage(req, res, title), organization: { id: organization.id } });
};

/** POST /account/organizations/{id}/leave: ends the membership with what was issued for the organization; its last administrator stays (specification 16.10.7). */
export const leave = (_web: Web) => async (req: Request, res: Response) => {
  const { membership } = await requireOwn(req);
  const { user_id, user_email } = sessionOf(req);
  const actor: Actor = {
    actor_kind: 'user',
    actor_id: user_id,
    display: user_email,
    permissions: new Set(),
    organization_id: membership.organization_id,
  };
  try {
    await transaction(req.ctx, (tx) => removeMember(tx, actor, membership));
  } catch (error) {
    const code = error instanceof Refusal ? error.problems[0]?.code : undefined;
    if (code === 'last_administrator') throw refusalError({ status: 409, code, text: message('organizations.last_administrator') });
    if (code === 'not_found') throw new PageError(404, 'not_found', errorMessage('not_found'));
    throw error;
  }
  done(req, res, 'organization');
};
