import type { Request, Response } from 'express';
import { noteClientOfSession } from '../db/tables/session_clients.js';
import { noteOrganizationOfSession } from '../db/tables/session_organizations.js';
import { enabledClient, type Client } from '../domain/clients/clients.js';
import { scopesOfClaims } from '../domain/claims/claims.js';
import { organizationChoice } from '../domain/organizations/requested.js';
import { identityProviderId } from '../domain/saml/identity-provider.js';
import { samlKeys } from '../domain/saml-certificates/saml-certificates.js';
import { basePage, formActionSource } from '../http/pages/pages.js';
import { shownNameOf } from '../http/pages/shown-client.js';
import { wordsOf } from '../http/pages/words.js';
import type { Web } from '../http/web.js';
import { own } from '../lib/named.js';
import { unregisteredAddress } from '../oauth/authorize/addressee.js';
import { AuthorizationError } from '../oauth/authorize/authorization-error.js';
import type { SentRequest } from '../oauth/authorize/pending.js';
import type { AcceptedRequest, Protocol } from '../oauth/authorize/protocol.js';
import type { Addressee, AuthorizationRequest } from '../oauth/authorize/request.js';
import { writeResponse, type Status } from './assertion.js';
import { contextClasses } from './names.js';
import { unknownApplication } from './receive.js';
import { assertedSubject } from './subject.js';

/** What a request that has passed {@link receive} still has to fulfil when it goes on: the client may have changed since. @throws {PageError} 400 */
async function findAddressee(_web: Web, req: Request, { parameters }: SentRequest): Promise<Addressee> {
  const client = await enabledClient(req.ctx, parameters.get('client_id') ?? '');
  if (client?.application_type !== 'saml') throw unknownApplication();
  const redirect_uri = parameters.get('redirect_uri') ?? '';
  if (!client.saml_acs_urls.includes(redirect_uri)) throw unregisteredAddress(req, redirect_uri, client.id, client.saml_acs_urls);
  return { client, redirect_uri, state: parameters.get('state'), response_mode: 'form_post' };
}

/** What the application gets to know of people, in the words in which they are asked for it. */
const scopesOf = ({ saml_attributes, saml_name_id }: Client): string[] => [
  'openid',
  ...scopesOfClaims([...Object.values(saml_attributes), ...(saml_name_id === 'email' ? ['email'] : [])]),
];

const promptsOf = ({ parameters, saml }: SentRequest): AuthorizationRequest['prompts'] => [
  ...(parameters.get('prompt') === 'none' ? (['none'] as const) : []),
  ...(saml?.is_new ? (['login'] as const) : []),
];

const validate: Protocol['validate'] = async (ctx, addressee, sent, session) => {
  const { client } = addressee;
  const word = sent.organization ?? sent.parameters.get('organization');
  if (word !== undefined && client.organization_usage === 'deny')
    throw new AuthorizationError(addressee, 'invalid_request', 'the application does not sign people in for organizations');
  const organization_choice = await organizationChoice(ctx, client, word, session);
  const contexts = sent.saml?.contexts ?? [];
  const values = contexts.map((name) => own(contextClasses, name) ?? name);
  return {
    ...addressee,
    scopes: scopesOf(client),
    rulings: [],
    resource: null,
    authorization_details: null,
    organization: organization_choice.kind === 'one' ? organization_choice.organization : null,
    organization_choice,
    code_challenge: null,
    dpop_jkt: null,
    nonce: null,
    prompts: promptsOf(sent),
    max_age: null,
    acr_values: [],
    login_hint: sent.parameters.get('login_hint') ?? null,
    id_token_hint: null,
    claims: { userinfo: null, id_token: values.length === 0 ? null : { acr: { essential: true, values } } },
  };
};

/** Posts a response by a page with a button, which a script presses (SAML Bindings 3.5). */
async function post(web: Web, req: Request, res: Response, to: Addressee, sent: SentRequest, answer: Parameters<typeof writeResponse>[2]) {
  const { ctx } = req;
  const { primary } = await samlKeys(ctx);
  const address = {
    issuer: identityProviderId(ctx.environment),
    acs_url: to.redirect_uri,
    audience: to.client.saml_entity_id ?? '',
    request_id: sent.saml?.request_id ?? null,
    now: ctx.clock.now(),
  };
  const xml = await writeResponse(address, primary, answer);
  const fields = { SAMLResponse: Buffer.from(xml).toString('base64'), ...(to.state !== undefined && { RelayState: to.state }) };
  res.setHeader('Cache-Control', 'no-store');
  res.setHeader('Referrer-Policy', 'no-referrer');
  req.branded_for = to.client;
  const words = wordsOf(req);
  const client = { name: shownNameOf(words, to.client) };
  const base = basePage(ctx.environment, { title: words.t('form_post.title', { client: client.name }), request_id: req.request_id });
  const page = { ...base, action: to.redirect_uri, fields, client };
  web.renderPage(res, 'oauth/form-post', page, { formAction: [formActionSource(to.redirect_uri)] });
}

async function accept(web: Web, req: Request, res: Response, { sent, request, session }: AcceptedRequest): Promise<void> {
  const { ctx } = req;
  const { client, organization } = request;
  const subject = await assertedSubject(ctx, request, session, sent.saml?.contexts ?? []);
  const party = { session_id: session.id, client_id: client.id };
  if (organization && client.organization_usage === 'require')
    await noteOrganizationOfSession(ctx.scope, { ...party, organization_id: organization.id });
  await noteClientOfSession(ctx.scope, { ...party, now: ctx.clock.now() });
  ctx.notes.clientUse.note(ctx.environment.id, client.id, ctx.clock.now());
  await post(web, req, res, request, sent, { subject });
}

/** What an error is called here (SAML Core 3.2.2.2). */
function statusOf({ error, description: text }: AuthorizationError, isPassive: boolean): Status {
  if (error === 'unmet_authentication_requirements') return { code: 'Responder', inner: 'NoAuthnContext', text };
  if (error === 'invalid_request') return { code: 'Requester', inner: 'RequestUnsupported', text };
  if (error === 'access_denied') return { code: 'Responder', inner: 'RequestDenied', text };
  return { code: 'Responder', inner: isPassive ? 'NoPassive' : 'AuthnFailed', text };
}

/** SAML 2.0 Web Browser SSO, as its identity provider (SAML Profiles 4.1). */
export const samlProtocol: Protocol = {
  name: 'saml',
  findAddressee,
  validate,
  accept,
  refuse: (web, req, res, sent, error) =>
    post(web, req, res, error.addressee, sent, { status: statusOf(error, sent.parameters.get('prompt') === 'none') }),
};
