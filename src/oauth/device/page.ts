import type { NextFunction, Request, Response } from 'express';
import { sessionOf } from '../../http/auth/browser-session.js';
import { apiResourceOf, enabledClient, type ApiResource, type Client } from '../../domain/clients/clients.js';
import { waitingDeviceCode } from '../../domain/device-codes/device-codes.js';
import { countGuess, returnDeviceGuess, type Guesser } from '../../domain/device-codes/guesses.js';
import { organizationChoice, type OrganizationChoice } from '../../domain/organizations/requested.js';
import type { BrowserSession } from '../../domain/sessions/sessions.js';
import type { WaitingDeviceCode } from '../../db/tables/device_codes.js';
import { RateLimitedError } from '../../errors.js';
import { csrfToken } from '../../http/auth/csrf.js';
import { addressKey, networkKey } from '../../http/limits/rate-limits.js';
import { originOf } from '../../http/pages/mail-origin.js';
import { basePage } from '../../http/pages/pages.js';
import { queryOf } from '../../http/request/form.js';
import type { Web } from '../../http/web.js';
import { readUserCode, showUserCode } from '../../lib/user-code.js';
import { detailsStillAsked } from '../authorize/allowed-details.js';
import { detailTexts, scopeTexts } from '../authorize/consent-page.js';
import { shownClient, unverifiedNotice } from '../../http/pages/shown-client.js';
import { limitToRights } from '../authorize/granted-scopes.js';
import './page-models.js';
import { devicePath } from '../../http/request/return-to.js';
import { anotherCode, deviceAnswerPath } from './paths.js';
import { sealQuestion } from './question.js';
import { renderDeviceChooser } from './chooser.js';
import { chosenOf, isSignInMet } from './sign-in-met.js';
import { wordsOf } from '../../http/pages/words.js';
import { message, type Message } from '../../lib/languages/messages.js';

const maxTyped = 64;

/** The page with the code filled in, as it is shown. */
const pathFor = (user_code: string) => `${devicePath}?user_code=${user_code}`;

/** Lets only somebody signed in pass; others sign in first and come back, with the code of the link that they followed. Needs `browserSession` before. */
export function signedInForDevice(req: Request, res: Response, next: NextFunction): void {
  if (req.session) return next();
  const user_code = readUserCode((queryOf(req).get('user_code') ?? '').slice(0, maxTyped));
  const return_to = user_code === null ? devicePath : pathFor(showUserCode(user_code));
  res.setHeader('Cache-Control', 'no-store');
  res.redirect(303, `/login?${new URLSearchParams({ return_to })}`);
}

/** Who is asked, as pages show it. */
export const personOf = ({ user_email, user_first_name, user_last_name }: BrowserSession) => ({
  email: user_email,
  name: [user_first_name, user_last_name].filter(Boolean).join(' '),
});

function renderEntry(web: Web, req: Request, res: Response, user_code: string, error: Message | null = null): void {
  const base = basePage(req.ctx.environment, {
    title: wordsOf(req).t('device.title'),
    request_id: req.request_id,
    csrf_token: csrfToken(req, res),
  });
  web.renderPage(
    res,
    'oauth/device',
    {
      ...base,
      user: personOf(sessionOf(req)),
      action: devicePath,
      values: { user_code },
      ...(error !== null && { errors: { user_code: wordsOf(req).say(error) } }),
    },
    { status: error === null ? 200 : 422 },
  );
}

/** GET /device (RFC 8628 3.3): where a person types the code. One in the link fills the field, no more. */
export const devicePage = (web: Web) => (req: Request, res: Response) =>
  signedInForDevice(req, res, () => {
    const typed = (queryOf(req).get('user_code') ?? '').slice(0, maxTyped);
    const code = readUserCode(typed);
    renderEntry(web, req, res, code === null ? typed : showUserCode(code));
  });

/** The page that asks, every time: whose device it is, what it gets, and all by which a person tells the own device from a stranger's (RFC 8628 5.4). */
async function renderApproval(
  web: Web,
  req: Request,
  res: Response,
  approval: {
    readonly code: WaitingDeviceCode;
    readonly user_code: string;
    readonly client: Client;
    readonly resource: ApiResource | null;
    readonly organization_choice: OrganizationChoice;
  },
): Promise<void> {
  const { ctx } = req;
  const { code, client, resource, organization_choice } = approval;
  const organization = chosenOf(organization_choice);
  const session = sessionOf(req);
  const request = { client, resource, organization, scopes: code.scope === '' ? [] : code.scope.split(' ') };
  const { scopes } = await limitToRights(ctx, request, session);
  const authorization_details = detailsStillAsked({ client, resource }, code.authorization_details, anotherCode);
  const since = code.created_at.getTime();
  if (!(await isSignInMet(req, res, { client, resource, scopes, since, organization_choice }, pathFor(showUserCode(approval.user_code)))))
    return;
  req.branded_for = client;
  const words = wordsOf(req);
  const shown = shownClient(words, client);
  const title = words.t('consent.title', { client: shown.name });
  const { ip_address, created_at } = code;
  web.renderPage(res, 'oauth/device-approval', {
    ...basePage(ctx.environment, { title, request_id: req.request_id, csrf_token: csrfToken(req, res) }),
    client: shown,
    unverified: unverifiedNotice(words, client, null),
    user: personOf(session),
    organization: organization && organization.display_name,
    scopes: await scopeTexts(ctx, words, { resource }, { scopes }),
    details: detailTexts(ctx, words, { resource, authorization_details }),
    user_code: showUserCode(approval.user_code),
    device: {
      ip_address,
      same_network: addressKey(ip_address ?? undefined) === addressKey(req.ip),
      requested_at: created_at.toISOString(),
    },
    action: deviceAnswerPath,
    hidden: {
      question: sealQuestion(ctx, session, {
        digest: code.digest,
        client_id: client.id,
        resource: code.resource,
        organization: organization && organization.id,
        scopes,
        authorization_details,
        since,
      }),
    },
  });
}

/** POST /device: a code that waits leads to the page that asks; any other is counted, and ten in ten minutes are the last (RFC 8628 5.1). @throws {RateLimitedError} */
export const enterUserCode = (web: Web) => async (req: Request, res: Response) => {
  const { ctx, form } = req;
  const typed = (form.get('user_code') ?? '').slice(0, maxTyped);
  if (typed.trim() === '') return renderEntry(web, req, res, '', message('refusal.device_code_missing'));
  const { id: session_id, user_id } = sessionOf(req);
  const guesser: Guesser = { session_id, user_id, address: addressKey(req.ip), network: networkKey(req.ip), origin: originOf(req) };
  const wait = await countGuess(ctx, guesser);
  if (wait !== null) throw new RateLimitedError(wait);
  const user_code = readUserCode(typed);
  const code = user_code === null ? null : await waitingDeviceCode(ctx, user_code);
  const client = code && (await enabledClient(ctx, code.client_id));
  const resource = code === null || code.resource === null ? null : await apiResourceOf(ctx, code.resource);
  if (user_code === null || !code || !client || (code.resource !== null && !resource))
    return renderEntry(web, req, res, typed, message('refusal.device_code_wrong'));
  await returnDeviceGuess(ctx, guesser);
  const word = form.all['organization'] ?? code.organization ?? undefined;
  const organization_choice = await organizationChoice(ctx, client, word, sessionOf(req));
  if (organization_choice.kind === 'choose') {
    const shown = showUserCode(user_code);
    const chooser = { action: devicePath, hidden: { user_code: shown }, return_to: pathFor(shown) };
    return renderDeviceChooser(web, req, res, { ...chooser, client, options: organization_choice.options });
  }
  await renderApproval(web, req, res, { code, user_code, client, resource, organization_choice });
};
