import { fullName } from '../lib/languages/languages.js';
import type { Request, Response } from 'express';
import { sessionOf } from '../http/auth/browser-session.js';
import { clientOf } from '../domain/clients/clients.js';
import { openUrl } from '../domain/clients/initiation.js';
import { enabledConnections, requiredConnectionFor } from '../domain/connections/connections.js';
import type { Context } from '../domain/context.js';
import { listIdentities } from '../domain/connections/identities.js';
import { addressMembers, profileColumns } from '../lib/profile-columns.js';
import { sessionBounds, sessionStatus } from '../domain/sessions/sessions.js';
import { listSignInsOfUser, type OwnSignIn } from '../db/tables/audit_logs.js';
import { listConsentsOfUser, type ConsentWithClient } from '../db/tables/consents.js';
import { listOpenableClients, type OpenableClient } from '../db/tables/clients.js';
import { listDescribedScopes } from '../db/tables/permissions.js';
import { findUserWithMemberships } from '../db/tables/organization_memberships.js';
import { listLiveSessionsOfUser, type SessionRow } from '../db/tables/sessions.js';
import { findUser, type UserRow } from '../db/tables/users.js';
import { PageError } from '../errors.js';
import { formPage } from '../http/auth/csrf.js';
import { errorMessage } from '../http/pages/error-texts.js';
import { queryOf, wantsJson } from '../http/request/form.js';
import type { AccountPage, PageNotice, PageIdentity } from '../http/pages/pages.js';
import { shownNameOf } from '../http/pages/shown-client.js';
import { scopeText } from '../http/pages/scope-texts.js';
import type { Web } from '../http/web.js';
import { pageErrors, type StepRefusal } from './refusal.js';
import { pageSignInMethods, signInMethods } from './sign-in-methods.js';
import { openApprovals } from './open-approvals.js';
import { ownOrganizations } from './own-organizations.js';
import { isDone } from './done.js';
import { userDocument } from './user-document.js';
import { listProviderTokensOfUser } from '../db/tables/provider_tokens.js';
import { identityDocument, providerUse } from './identity-document.js';
import { deviceIn } from '../http/pages/device-words.js';
import { wordsIn, wordsOf, type Words } from '../http/pages/words.js';

/** A session as JSON shows it to its owner (specification 4.7.2); never its token. */
async function sessionDocument(req: Request, session: SessionRow, words: Words) {
  // A device says little of itself: people know it by the application that they allowed there.
  const application = session.device_client_id === null ? null : await clientOf(req.ctx, session.device_client_id);
  return {
    id: session.id,
    ip_address: session.ip_address,
    user_agent: session.user_agent,
    device: application?.name ?? deviceIn(words, session.user_agent),
    amr: session.amr,
    provider_amr: session.provider_amr,
    status: sessionStatus(req.ctx, session),
    current: session.id === sessionOf(req).id,
    created_at: session.created_at.toISOString(),
    authenticated_at: session.authenticated_at.toISOString(),
    last_activity_at: session.last_activity_at.toISOString(),
    expires_at: session.expires_at.toISOString(),
  };
}

const applicationDocument = (req: Request, consent: ConsentWithClient) => ({
  client_id: consent.client_id,
  name: shownNameOf(wordsOf(req), { name: consent.client_name, verified: consent.client_verified }),
  logo_uri: consent.client_logo_uri,
  scopes: consent.scopes,
  resources: consent.resources,
  granted_at: consent.granted_at.toISOString(),
  open_url: openUrl(req.ctx.environment, consent.client_initiate_login_uri),
});

/** First-party applications, which nobody is asked about, as far as they can be opened from here. */
const ownApplication = (req: Request, { id, name, logo_uri, initiate_login_uri }: OpenableClient) => ({
  client_id: id,
  name,
  logo_uri,
  open_url: openUrl(req.ctx.environment, initiate_login_uri),
});

const signInsShown = { page: 10, data: 1_000 } as const;

/** A sign-in, or several alike within a minute that were refused. */
const signInDocument = ({ occurred_at, outcome, count, ip_address, user_agent }: OwnSignIn, words: Words) => ({
  occurred_at: occurred_at.toISOString(),
  succeeded: outcome === 'success',
  count,
  device: deviceIn(words, user_agent),
  ip_address,
});

async function load(req: Request, words: Words) {
  const { ctx } = req;
  const { user_id } = sessionOf(req);
  const user = await findUserWithMemberships(ctx.scope, user_id, ctx.clock.now());
  if (!user) throw new PageError(401, 'login_required', errorMessage('login_required'));
  const organizations = await ownOrganizations(ctx, user.memberships);
  const approvals = user.is_asked ? await openApprovals(req, words) : [];
  const sessions = await listLiveSessionsOfUser(ctx.scope, user_id, sessionBounds(ctx));
  const documents = await Promise.all(sessions.map((session) => sessionDocument(req, session, words)));
  documents.sort((a, b) => Number(b.current) - Number(a.current));
  const linked = await listIdentities(ctx, user_id);
  const tokens = linked.some((one) => one.connection_token_storage) ? await listProviderTokensOfUser(ctx.scope, user_id) : [];
  const usesOf = (identity_id: string) => tokens.filter((one) => one.identity_id === identity_id).map((one) => providerUse(words, one));
  const identities = linked.map((one) => {
    const uses = usesOf(one.id);
    return { ...identityDocument(one), ...(uses.length > 0 && { uses }) };
  });
  const consents = await listConsentsOfUser(ctx.scope, user_id);
  const openable = await listOpenableClients(ctx.scope, user_id);
  const own_applications = openable.map((client) => ownApplication(req, client));
  const joined = organizations.filter(({ status }) => status === 'active').map(({ id }) => id);
  const connections = (await enabledConnections(ctx))
    // Those of other organizations would tell who the customers are (specification 16.2.2).
    .filter(({ organization_id }) => organization_id === null || joined.includes(organization_id))
    .filter(({ id }) => !identities.some((identity) => identity.connection_id === id))
    .map(({ id, display_name, strategy }) => ({ id, display_name, strategy: strategy as PageIdentity['strategy'] }));
  return { user, organizations, approvals, sessions: documents, identities, connections, consents, own_applications };
}

/** The scopes of a consent in words; those of an API resource in the words of its permissions. */
async function scopesInWords(ctx: Context, words: Words, consents: readonly ConsentWithClient[]): Promise<Map<string, string[]>> {
  const described = await listDescribedScopes(ctx.scope, [...new Set(consents.flatMap((consent) => consent.resources))]);
  const textOf = (consent: ConsentWithClient) =>
    consent.scopes.map((name) =>
      scopeText(words, name, described.find((scope) => scope.name === name && consent.resources.includes(scope.identifier))?.description),
    );
  return new Map(consents.map((consent) => [consent.client_id, textOf(consent)]));
}

function profileValues(user: UserRow): AccountPage['values'] {
  const columns = profileColumns.map((name) => [name, user[name]]);
  const address = addressMembers.map((member) => [`address_${member}`, user.address?.[member] ?? null]);
  return Object.fromEntries([...columns, ...address]) as AccountPage['values'];
}

/** When the account would be deleted if that were asked for now; null where people can't. */
function deletionDate({ environment, clock }: Context): string | null {
  const { account_deletion_delay: delay } = environment;
  return delay === null ? null : new Date(clock.now().getTime() + delay * 1000).toISOString();
}

/** The account as a page; after a refusal with what was typed. */
export async function renderAccount(
  web: Web,
  req: Request,
  res: Response,
  state: { refusal?: StepRefusal; typed?: Record<string, string>; notice?: PageNotice | null } = {},
): Promise<void> {
  const { ctx } = req;
  const words = wordsOf(req);
  const { user, organizations, approvals, sessions, identities, connections, consents, own_applications } = await load(req, words);
  const scopes = await scopesInWords(ctx, words, consents);
  const signIns = await listSignInsOfUser(ctx.scope, user.id, signInsShown.page);
  web.renderPage(
    res,
    'account/account',
    {
      ...formPage(req, res, words.t('account.title')),
      user: {
        email: user.email,
        email_verified: user.email_verified,
        phone_number_verified: user.phone_number_verified,
        name: fullName(words.language, user),
      },
      values: { ...profileValues(user), ...state.typed },
      approvals,
      has_password: user.password_hash !== null,
      password_min_length: ctx.environment.password_min_length,
      sessions,
      identities,
      connections,
      applications: consents.map((consent) => ({ ...applicationDocument(req, consent), scopes: scopes.get(consent.client_id) ?? [] })),
      own_applications,
      organizations,
      sign_in_methods: await pageSignInMethods(req, user),
      sign_ins: signIns.map((row) => signInDocument(row, words)),
      kept_until: deletionDate(ctx),
      email_managed_by: (await requiredConnectionFor(ctx, user.email))?.display_name ?? null,
      notice: state.notice,
      errors: state.refusal && pageErrors(req, state.refusal),
    },
    { status: state.refusal?.status ?? 200 },
  );
}

/** GET /account: profile, sessions, connected accounts, granted applications; as a page or as JSON. */
export const accountPage = (web: Web) => async (req: Request, res: Response) => {
  if (!wantsJson(req)) {
    const done = queryOf(req).get('done') ?? '';
    return renderAccount(web, req, res, { notice: isDone(done) ? { tone: 'good', text: wordsOf(req).t(`done.${done}`) } : null });
  }
  res.set('Cache-Control', 'no-store').json(await accountDocument(req));
};

async function accountDocument(req: Request) {
  const { user, organizations, approvals, sessions, identities, consents, own_applications } = await load(req, wordsIn('en'));
  const applications = consents.map((consent) => applicationDocument(req, consent));
  return {
    user: userDocument(user),
    sessions,
    identities,
    applications,
    own_applications,
    ...(organizations.length > 0 && { organizations }),
    ...(approvals.length > 0 && { approvals }),
  };
}

/** GET /account/data: all that is stored of the person, to take along, as a JSON file. */
export async function ownData(req: Request, res: Response): Promise<void> {
  const { scope, clock } = req.ctx;
  const { user_id } = sessionOf(req);
  const words = wordsIn('en');
  const user = await findUser(scope, user_id);
  const { authenticators, devices } = user ? await signInMethods(req.ctx, user) : { authenticators: [], devices: [] };
  const sign_ins = (await listSignInsOfUser(scope, user_id, signInsShown.data)).map((row) => signInDocument(row, words));
  const data = { exported_at: clock.now().toISOString(), ...(await accountDocument(req)), authenticators, devices, sign_ins };
  res.set({ 'Cache-Control': 'no-store', 'Content-Disposition': 'attachment; filename="account.json"' });
  res.type('json').send(`${JSON.stringify(data, null, 2)}\n`);
}
