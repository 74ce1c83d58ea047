import type { Request, Response } from 'express';
import { enabledClient } from '../domain/clients/clients.js';
import { openUrl } from '../domain/clients/initiation.js';
import { requiredConnectionFor } from '../domain/connections/connections.js';
import { transaction } from '../domain/context.js';
import { acceptInvitation, findInvitation, type HeldInvitation, type Invitation } from '../domain/organizations/invitations.js';
import { startInvitedRegistration } from '../domain/registration/registration.js';
import { findUser, findUserByEmailKey, type UserRow } from '../db/tables/users.js';
import { formPage } from '../http/auth/csrf.js';
import { basePage, formActionSource, type PageInvitation } from '../http/pages/pages.js';
import { wordsOf } from '../http/pages/words.js';
import { organizationLooks } from '../domain/environments/branding.js';
import type { Web } from '../http/web.js';
import { renderComplete } from './register-complete.js';

const tokenOf = (req: Request): string => String(req.params['token'] ?? '');
const pathOf = (req: Request): string => `/invitations/${tokenOf(req)}`;

/** Where whoever accepts goes on: where the client's sign-in begins, else to its first page, else to the account. */
async function landingOf(req: Request, { client_id }: Invitation): Promise<string> {
  const client = client_id === null ? null : await enabledClient(req.ctx, client_id);
  return openUrl(req.ctx.environment, client?.initiate_login_uri ?? null) ?? client?.client_uri ?? '/account';
}

/** One answer to what can't be accepted, so that nobody learns of an invitation without its link. */
function refuse(web: Web, req: Request, res: Response): void {
  const words = wordsOf(req);
  web.renderPage(
    res,
    'account/message',
    {
      ...basePage(req.ctx.environment, { title: words.t('invitation.over_title'), request_id: req.request_id }),
      tone: 'warning',
      text: [words.t('invitation.over')],
      next: req.session ? { href: '/account', label: words.t('common.back_to_account') } : null,
    },
    { status: 410 },
  );
}

const userOf = async (req: Request): Promise<UserRow | null> => (req.session ? findUser(req.ctx.scope, req.session.user_id) : null);

/** What whoever looks at the invitation can do about it. */
async function askedOf(req: Request, { email, email_key }: Invitation, user: UserRow | null): Promise<PageInvitation['asked']> {
  if (user) return user.email_key !== email_key ? 'other_account' : user.email_verified ? 'accept' : 'unverified';
  const known = (await findUserByEmailKey(req.ctx.scope, email_key)) ?? (await requiredConnectionFor(req.ctx, email));
  return known ? 'sign_in' : 'register';
}

async function render(web: Web, req: Request, res: Response, held: HeldInvitation, user: UserRow | null, status = 200): Promise<void> {
  const { invitation, organization } = held;
  const title = wordsOf(req).t('invitation.title', { organization: organization.display_name });
  const landing = await landingOf(req, invitation);
  web.renderPage(
    res,
    'account/invitation',
    {
      ...formPage(req, res, title, organizationLooks(organization)),
      path: pathOf(req),
      asked: await askedOf(req, invitation, user),
      organization: { name: organization.display_name },
      inviter: invitation.inviter_name,
      email: invitation.email,
      user_email: user?.email ?? null,
    },
    { status, formAction: landing.startsWith('/') ? [] : [formActionSource(landing)] },
  );
}

/** GET /invitations/{token}: whose invitation it is, and what to do; changes nothing. Whoever has accepted it goes on to where it leads. */
export const invitationPage = (web: Web) => async (req: Request, res: Response) => {
  const held = await findInvitation(req.ctx, tokenOf(req));
  const user = held && (await userOf(req));
  if (held?.status === 'accepted' && user?.email_key === held.invitation.email_key) {
    res.set('Cache-Control', 'no-store').redirect(303, await landingOf(req, held.invitation));
    return;
  }
  if (held?.status !== 'pending') return refuse(web, req, res);
  await render(web, req, res, held, user);
};

/** POST /invitations/{token}: accepts it, once, as the user of this very address (specification 16.10.4). */
export const accept = (web: Web) => async (req: Request, res: Response) => {
  const held = await findInvitation(req.ctx, tokenOf(req));
  if (held?.status !== 'pending') return refuse(web, req, res);
  const user = await userOf(req);
  if (!user || (await askedOf(req, held.invitation, user)) !== 'accept') return render(web, req, res, held, user, 403);
  const accepted = await transaction(req.ctx, (tx) => acceptInvitation(tx, held.invitation.token_digest, user));
  if (!accepted) return refuse(web, req, res);
  res.redirect(303, await landingOf(req, accepted));
};

/** POST /invitations/{token}/register: the last step of a registration, whose address the mail has proven; its end accepts the invitation (specification 16.10.6). */
export const registerInvited = (web: Web) => async (req: Request, res: Response) => {
  const held = await findInvitation(req.ctx, tokenOf(req));
  if (held?.status !== 'pending') return refuse(web, req, res);
  const proven = req.session ? null : await startInvitedRegistration(req.ctx, held.invitation);
  if (!proven) return render(web, req, res, held, await userOf(req), 409);
  const { registration, token: registration_token } = proven;
  renderComplete(web, req, res, { registration, registration_token, return_to: pathOf(req) });
};
