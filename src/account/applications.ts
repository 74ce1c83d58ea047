import type { Request, Response } from 'express';
import { listApiResourceNames } from '../db/tables/api_resources.js';
import { listAuthorizationsOfUser, type AuthorizationWithClient } from '../db/tables/authorizations.js';
import { listDescribedScopes } from '../db/tables/permissions.js';
import { openUrl } from '../domain/clients/initiation.js';
import { transaction } from '../domain/context.js';
import { blockClient, unblockClient, withdrawConsent } from '../domain/grants/authorizations.js';
import { PageError } from '../errors.js';
import { sessionOf } from '../http/auth/browser-session.js';
import { formPage } from '../http/auth/csrf.js';
import { errorMessage } from '../http/pages/error-texts.js';
import { originOf } from '../http/pages/mail-origin.js';
import { listProviderTokensOfUser } from '../db/tables/provider_tokens.js';
import type { PageAuthorization } from '../http/pages/pages.js';
import { detailReader } from '../http/pages/detail-texts.js';
import { scopeText } from '../http/pages/scope-texts.js';
import { shownNameOf } from '../http/pages/shown-client.js';
import { wordsIn, wordsOf, type Words } from '../http/pages/words.js';
import type { Web } from '../http/web.js';
import { queryOf, wantsJson } from '../http/request/form.js';
import { openApprovals } from './open-approvals.js';
import { done, isDone } from './done.js';

const most = 500;

/** Services that only pass calls on are nobody's to look after: whoever called them is listed. */
const isShown = ({ client, origin, blocked_at }: AuthorizationWithClient): boolean =>
  client.is_agent || client.first_party || origin !== 'administrator' || blocked_at !== null;

const listOwn = async (req: Request): Promise<AuthorizationWithClient[]> =>
  (await listAuthorizationsOfUser(req.ctx.scope, sessionOf(req).user_id, most)).filter(isShown);

/** What each may do in words, and where. */
async function authorizationsIn(req: Request, words: Words): Promise<PageAuthorization[]> {
  const { ctx } = req;
  const own = await listOwn(req);
  const identifiers = [...new Set(own.flatMap(({ resource_scopes }) => Object.keys(resource_scopes)))].filter((one) => one !== '');
  const described = await listDescribedScopes(ctx.scope, identifiers);
  const names = await listApiResourceNames(ctx.scope, identifiers);
  const waiting = await openApprovals(req, words);
  const provider_tokens = await listProviderTokensOfUser(ctx.scope, sessionOf(req).user_id);
  const textOf = (identifier: string, name: string) =>
    scopeText(words, name, described.find((one) => one.name === name && one.identifier === identifier)?.description);
  const details = await detailReader(
    ctx,
    words,
    own.flatMap(({ authorization_details }) => authorization_details),
  );
  return own.map((one) => ({
    client_id: one.client_id,
    name: shownNameOf(words, one.client),
    is_agent: one.client.is_agent,
    // Nobody knows where the logo and the links of an unverified client lead.
    logo_uri: one.client.verified ? one.client.logo_uri : null,
    open_url: openUrl(ctx.environment, one.client.verified && one.client.status === 'enabled' ? one.client.initiate_login_uri : null),
    access: Object.entries(one.resource_scopes)
      .toSorted(([a], [b]) => a.localeCompare(b))
      .map(([identifier, scopes]) => ({
        api: identifier === '' ? null : (names.get(identifier) ?? identifier),
        scopes: scopes.map((name) => textOf(identifier, name)),
      })),
    provider_accounts: provider_tokens
      .filter(({ client_id }) => client_id === one.client_id)
      .map(({ connection_name, scopes }) => ({ provider: connection_name, scopes })),
    details: one.authorization_details.flatMap((detail) => details(detail) ?? []),
    approvals: waiting.filter(({ client_id }) => client_id === one.client_id),
    origin: one.origin,
    blocked_by: one.blocked_by,
    granted_at: one.granted_at.toISOString(),
    last_used_at: one.last_used_at.toISOString(),
  }));
}

/** GET /account/applications: all that acts for the person, agents first, as a page or as JSON. */
export const applicationsPage = (web: Web) => async (req: Request, res: Response) => {
  if (wantsJson(req)) return void res.set('Cache-Control', 'no-store').json({ applications: await authorizationsIn(req, wordsIn('en')) });
  const words = wordsOf(req);
  const name = queryOf(req).get('done') ?? '';
  web.renderPage(res, 'account/applications', {
    ...formPage(req, res, words.t('applications.page_title')),
    authorizations: await authorizationsIn(req, words),
    notice: isDone(name) ? { tone: 'good', text: words.t(`done.${name}`) } : null,
  });
};

const here = '/account/applications';
const notFound = () => new PageError(404, 'not_found', errorMessage('not_found'));
const pairOf = (req: Request) => ({ user_id: sessionOf(req).user_id, client_id: String(req.params['client_id'] ?? '') });

/** POST /account/applications/{client_id}/revoke: ends all that the client holds, and all that others were given for it (specification 5.3.3, 19.5.3). */
export async function revokeApplication(req: Request, res: Response): Promise<void> {
  const { user_id, client_id } = pairOf(req);
  const withdrawn = await transaction(req.ctx, (tx) => withdrawConsent(tx, user_id, client_id, originOf(req)));
  if (!withdrawn) throw notFound();
  done(req, res, 'application', {}, 200, req.form.get('from') === 'applications' ? here : undefined);
}

/** POST /account/applications/{client_id}/block: the same, and never again (specification 19.5.4). */
export async function blockApplication(req: Request, res: Response): Promise<void> {
  if (!(await transaction(req.ctx, (tx) => blockClient(tx, pairOf(req), 'person', originOf(req))))) throw notFound();
  done(req, res, 'application_blocked', {}, 200, here);
}

/** POST /account/applications/{client_id}/unblock: what the person blocked may ask again; what an administrator did is theirs. */
export async function unblockApplication(req: Request, res: Response): Promise<void> {
  if (!(await transaction(req.ctx, (tx) => unblockClient(tx, pairOf(req), 'person', originOf(req))))) throw notFound();
  done(req, res, 'application_unblocked', {}, 200, here);
}

/** POST /account/applications/end_agents: ends all that agents hold of the person. */
export async function endAgents(req: Request, res: Response): Promise<void> {
  const agents = (await listOwn(req)).filter(({ client, blocked_at }) => client.is_agent && blocked_at === null);
  await transaction(req.ctx, async (tx) => {
    for (const { user_id, client_id } of agents) await withdrawConsent(tx, user_id, client_id, originOf(req));
  });
  done(req, res, 'agents', { revoked: agents.length }, 200, here);
}
