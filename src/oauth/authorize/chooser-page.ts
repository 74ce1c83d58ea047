import type { Request, Response } from 'express';
import type { OrganizationOption } from '../../db/tables/session_organizations.js';
import type { Client } from '../../domain/clients/clients.js';
import { personalAccount } from '../../domain/organizations/requested.js';
import type { BrowserSession } from '../../domain/sessions/sessions.js';
import { PageError } from '../../errors.js';
import { formPage } from '../../http/auth/csrf.js';
import { formActionSource } from '../../http/pages/pages.js';
import { shownNameOf } from '../../http/pages/shown-client.js';
import { wordsOf, type Words } from '../../http/pages/words.js';
import type { Web } from '../../http/web.js';
import { message } from '../../lib/languages/messages.js';
import { anotherSignIn, journeyForm, type SentRequest } from './pending.js';
import type { AuthorizationRequest } from './request.js';

/** What the person chose, as `validate` takes it. */
export const chosenIn = ({ organization }: SentRequest) => (organization === undefined ? {} : { organization });

const shownOption = ({ name, display_name, branding }: OrganizationOption) => ({ name, display_name, logo_url: branding.logo_url ?? null });

/** What the page says, and offers to choose from. */
export const chooserModel = (words: Words, client: Client, session: BrowserSession, options: readonly OrganizationOption[]) => ({
  client: { name: shownNameOf(words, client) },
  user: { email: session.user_email },
  organizations: options.filter(({ is_member }) => is_member).map(shownOption),
  invitations: options.filter(({ is_member }) => !is_member).map(shownOption),
  personal: client.organization_usage === 'allow' ? personalAccount : null,
});

/** The page on which the person says what organization the sign-in is for. The request is sealed into its form. */
export function renderChooser(
  web: Web,
  req: Request,
  res: Response,
  chooser: { sent: SentRequest; request: AuthorizationRequest; session: BrowserSession; options: readonly OrganizationOption[] },
): void {
  const { request, session, options, sent } = chooser;
  req.branded_for = request.client;
  const words = wordsOf(req);
  const title = words.t('choose_organization.title');
  web.renderPage(
    res,
    'oauth/choose-organization',
    {
      ...formPage(req, res, title),
      ...chooserModel(words, request.client, session, options),
      other_account: anotherSignIn(req, sent),
      ...journeyForm(req, 'organization', sent),
    },
    { formAction: [formActionSource(request.redirect_uri)] },
  );
}

/** The one answer to whoever can't sign in for an organization, whatever the reason: it names the account, and leads to another. */
export const noMemberPage = (req: Request, sent: SentRequest, { user_email: email }: BrowserSession): PageError =>
  new PageError(403, 'organization_access_denied', message('refusal.no_member', { email }), {}, undefined, {
    href: anotherSignIn(req, sent),
    label: 'choose_organization.other_account',
  }).by('not_a_member');
