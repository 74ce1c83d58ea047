import type { NextFunction, Request, Response } from 'express';
import { findApprovalOfUser, type AskedApproval } from '../../db/tables/approvals.js';
import { approvalPath } from '../../domain/approvals/approvals.js';
import { apiResourceOf, enabledClient, type ApiResource, type Client } from '../../domain/clients/clients.js';
import { organizationChoice, type OrganizationChoice } from '../../domain/organizations/requested.js';
import { PageError } from '../../errors.js';
import { sessionOf } from '../../http/auth/browser-session.js';
import { csrfToken } from '../../http/auth/csrf.js';
import { errorMessage } from '../../http/pages/error-texts.js';
import { basePage } from '../../http/pages/pages.js';
import { shownClient, unverifiedNotice } from '../../http/pages/shown-client.js';
import { wordsOf } from '../../http/pages/words.js';
import type { Web } from '../../http/web.js';
import type { Detail } from '../../lib/authorization-details.js';
import { cibaGrantType } from '../../lib/grant-types.js';
import { message } from '../../lib/languages/messages.js';
import { isUuid } from '../../lib/random.js';
import { detailsStillAsked } from '../authorize/allowed-details.js';
import { detailTexts, scopeTexts } from '../authorize/consent-page.js';
import { limitToRights } from '../authorize/granted-scopes.js';
import { renderDeviceChooser } from '../device/chooser.js';
import { personOf } from '../device/page.js';
import { chosenOf } from '../device/sign-in-met.js';
import './page-models.js';

/** What a person is asked, as far as it still can be answered, and what it comes to for them. */
export type OpenQuestion = {
  readonly approval: AskedApproval;
  readonly client: Client;
  readonly resource: ApiResource | null;
  readonly organization_choice: OrganizationChoice;
  /** Those asked for, as far as the person's rights go. */
  readonly scopes: readonly string[];
  readonly authorization_details: readonly Detail[] | null;
  /** When the client asked, in milliseconds. */
  readonly since: number;
};

const toAccount = { href: '/account', label: 'device_answer.next' } as const;

const approvalEnded = () => new PageError(400, 'expired_token', message('refusal.approval_ended'), {}, undefined, toAccount);

/** Lets only somebody signed in pass; others sign in first and come back. Needs `browserSession` before. */
export function signedInForApproval(req: Request, res: Response, next: NextFunction): void {
  res.setHeader('Cache-Control', 'no-store');
  if (req.session) return next();
  res.redirect(303, `/login?${new URLSearchParams({ return_to: req.path })}`);
}

/** @throws {PageError} 404 for what isn't the person's own, 400 for what is over */
export async function approvalQuestion(req: Request): Promise<OpenQuestion> {
  const { ctx } = req;
  const session = sessionOf(req);
  const id = String(req.params['id'] ?? '');
  const approval = isUuid(id) ? await findApprovalOfUser(ctx.scope, id, session.user_id) : null;
  if (!approval) throw new PageError(404, 'not_found', errorMessage('not_found'));
  if (approval.decision !== null || approval.expires_at <= ctx.clock.now()) throw approvalEnded();
  const client = await enabledClient(ctx, approval.client_id);
  if (!client?.grant_types.includes(cibaGrantType)) throw new PageError(400, 'invalid_client', message('refusal.application_gone'));
  const resource = approval.resource === null ? null : await apiResourceOf(ctx, approval.resource);
  if (approval.resource !== null && !resource) throw new PageError(400, 'invalid_target', message('refusal.resource_gone'));
  const authorization_details = detailsStillAsked({ client, resource }, approval.authorization_details, toAccount);
  const word = req.form?.all['organization'] ?? approval.organization ?? undefined;
  const organization_choice = await organizationChoice(ctx, client, word, session);
  const requested = approval.scope === '' ? [] : approval.scope.split(' ');
  const request = { client, resource, organization: chosenOf(organization_choice), scopes: requested };
  const { scopes } = await limitToRights(ctx, request, session);
  return { approval, client, resource, organization_choice, scopes, authorization_details, since: approval.created_at.getTime() };
}

/** GET /approvals/{id}, and POST with the organization alone: what the client asks for, and all by which the person knows whether that is right. */
export const approvalPage = (web: Web) => async (req: Request, res: Response) => renderApproval(web, req, res, await approvalQuestion(req));

export async function renderApproval(web: Web, req: Request, res: Response, question: OpenQuestion): Promise<void> {
  const { ctx } = req;
  const { approval, client, resource, organization_choice, scopes, authorization_details } = question;
  const action = approvalPath(approval.id);
  if (organization_choice.kind === 'choose')
    return renderDeviceChooser(web, req, res, { client, options: organization_choice.options, action, hidden: {}, return_to: action });
  const organization = chosenOf(organization_choice);
  req.branded_for = client;
  const words = wordsOf(req);
  const shown = shownClient(words, client);
  const title = words.t('approval.title', { client: shown.name });
  web.renderPage(res, 'oauth/approval', {
    ...basePage(ctx.environment, { title, request_id: req.request_id, csrf_token: csrfToken(req, res) }),
    client: shown,
    unverified: unverifiedNotice(words, client, null),
    user: personOf(sessionOf(req)),
    binding_message: approval.binding_message,
    organization: organization && organization.display_name,
    scopes: await scopeTexts(ctx, words, { resource }, { scopes }),
    details: detailTexts(ctx, words, { resource, authorization_details }),
    ip_address: approval.ip_address,
    requested_at: approval.created_at.toISOString(),
    expires_at: approval.expires_at.toISOString(),
    action,
    hidden: organization ? { organization: organization.id } : {},
  });
}
