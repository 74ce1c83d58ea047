import type { Request, Response } from 'express';
import type { OrganizationOption } from '../../db/tables/session_organizations.js';
import type { Client } from '../../domain/clients/clients.js';
import { sessionOf } from '../../http/auth/browser-session.js';
import { csrfToken } from '../../http/auth/csrf.js';
import { basePage } from '../../http/pages/pages.js';
import { wordsOf } from '../../http/pages/words.js';
import { devicePath } from '../../http/request/return-to.js';
import type { Web } from '../../http/web.js';
import { chooserModel } from '../authorize/chooser-page.js';

/** The page on which the person says what organization the device is for. It posts the code once more, with the choice. */
export function renderDeviceChooser(
  web: Web,
  req: Request,
  res: Response,
  { client, user_code, options }: { readonly client: Client; readonly user_code: string; readonly options: readonly OrganizationOption[] },
): void {
  req.branded_for = client;
  const words = wordsOf(req);
  const title = words.t('choose_organization.title');
  const other = new URLSearchParams({ return_to: `${devicePath}?user_code=${user_code}` });
  web.renderPage(res, 'oauth/choose-organization', {
    ...basePage(req.ctx.environment, { title, request_id: req.request_id, csrf_token: csrfToken(req, res) }),
    ...chooserModel(words, client, sessionOf(req), options),
    other_account: `/logout?${other}`,
    action: devicePath,
    hidden: { user_code },
  });
}
