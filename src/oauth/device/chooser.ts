import type { Request, Response } from 'express';
import type { OrganizationOption } from '../../db/tables/session_organizations.js';
import type { Client } from '../../domain/clients/clients.js';
import { sessionOf } from '../../http/auth/browser-session.js';
import { csrfToken } from '../../http/auth/csrf.js';
import { basePage } from '../../http/pages/pages.js';
import { wordsOf } from '../../http/pages/words.js';
import type { Web } from '../../http/web.js';
import { chooserModel } from '../authorize/chooser-page.js';

/** The page on which the person says what organization it is for; it posts the choice, and `hidden` once more, to `action`. */
export function renderDeviceChooser(
  web: Web,
  req: Request,
  res: Response,
  {
    client,
    options,
    action,
    hidden,
    return_to,
  }: {
    readonly client: Client;
    readonly options: readonly OrganizationOption[];
    readonly action: string;
    readonly hidden: Record<string, string>;
    readonly return_to: string;
  },
): void {
  req.branded_for = client;
  const words = wordsOf(req);
  const title = words.t('choose_organization.title');
  const other = new URLSearchParams({ return_to });
  web.renderPage(res, 'oauth/choose-organization', {
    ...basePage(req.ctx.environment, { title, request_id: req.request_id, csrf_token: csrfToken(req, res) }),
    ...chooserModel(words, client, sessionOf(req), options),
    other_account: `/logout?${other}`,
    action,
    hidden,
  });
}
