import type { Request } from 'express';
import { enabledClient, samlClientOf, type Client } from '../domain/clients/clients.js';
import { maxEntityIdLength } from '../domain/clients/saml.js';
import { ownOrigins } from '../domain/environment.js';
import { singleSignOnPath } from '../domain/saml/identity-provider.js';
import { maskedUri, shownText } from '../domain/request-traces/shown-text.js';
import { SamlRefusal } from '../domain/saml/saml-refusal.js';
import { readXml, type XmlElement } from '../domain/saml/xml.js';
import { PageError } from '../errors.js';
import { queryOf } from '../http/request/form.js';
import { message } from '../lib/languages/messages.js';
import { parametersOf, type Parameters } from '../lib/parameters.js';
import { unregisteredAddress } from '../oauth/authorize/addressee.js';
import type { SentRequest } from '../oauth/authorize/pending.js';
import { readAuthnRequest, type AuthnRequest } from './authn-request.js';
import { requireSignedQuery, requireSignedXml } from './request-signature.js';
import { decodeRequest } from './sent-message.js';

const maxRelayState = 1024;

/** Everything that counts once; a second one could be what somebody else reads. */
const single = ['SAMLRequest', 'RelayState', 'SAMLEncoding', 'SigAlg', 'Signature', 'client_id', 'organization', 'ui_locales'] as const;

const invalidRequest = (problem: string, client_id?: string) =>
  new PageError(400, 'invalid_request', message('refusal.application_link', { problem })).by(null, { client_id });

export const unknownApplication = () => new PageError(400, 'invalid_client', message('refusal.application_unknown')).by('unknown_client');

/** The same of a request: its Issuer, which two sides may write differently, is in the trace, and on the page in a development environment. */
function unknownIssuer({ ctx }: Request, issuer: string): PageError {
  const details = ctx.environment.kind === 'development' ? [{ name: 'Entity ID sent', values: [shownText(issuer)] }] : [];
  return new PageError(400, 'invalid_client', message('refusal.application_unknown'), {}, undefined, null, details).by('unknown_client', {
    description: `no enabled application has the entity ID ${maskedUri(issuer)}`,
  });
}

/** What was sent: an address that posted requests come to may name an organization too (specification 16.8.5). */
function sentIn(req: Request): Parameters {
  if (req.method !== 'POST') return queryOf(req);
  const [form, query] = [req.form, queryOf(req)];
  const organization = query.get('organization');
  if (organization === undefined) return form;
  const isTwice = form.get('organization') !== undefined || query.repeated.has('organization');
  const repeated = isTwice ? new Set([...form.repeated, 'organization']) : form.repeated;
  return { ...parametersOf({ ...form.all, organization }), repeated };
}

/** Whether a request for this address came here: an application that was given one with an organization in it says so, and has to have come by it. */
function isForUs({ ctx }: Request, destination: string, sent: Parameters): boolean {
  const [address = '', ...queries] = destination.split('?');
  const named = [...new URLSearchParams(queries.join('?'))];
  return (
    ownOrigins(ctx.environment).some((origin) => address === `${origin}${singleSignOnPath}`) &&
    named.every(([name, value]) => name === 'organization' && value === sent.get(name))
  );
}

/** The address that the answer goes to: one that is registered, to the letter (SAML Profiles 4.1.4.1). @throws {PageError} 400 */
function addressFor(req: Request, { id, saml_acs_urls: urls }: Client, { acs_url, has_acs_index }: AuthnRequest): string {
  const [first] = urls;
  // An index counts in metadata of the application's that nobody here has: it says something where there is but one.
  if (acs_url === null && has_acs_index && urls.length > 1)
    throw invalidRequest('AssertionConsumerServiceIndex says nothing here: send AssertionConsumerServiceURL', id);
  const requested = acs_url ?? first ?? '';
  if (!urls.includes(requested)) throw unregisteredAddress(req, requested, id, urls);
  return requested;
}

/** A request as it was sent, and whose it says that it is. */
type Named = { readonly root: XmlElement; readonly client: Client };

const bindingOf = ({ method }: Request) => (method === 'POST' ? 'post' : 'redirect');

/** @throws {SamlRefusal} @throws {PageError} */
async function identify(req: Request, sent: Parameters): Promise<Named> {
  const root = readXml(await decodeRequest(sent, bindingOf(req)));
  const { issuer } = readAuthnRequest(root);
  const client = issuer.length > maxEntityIdLength ? null : await samlClientOf(req.ctx, issuer);
  if (!client) throw unknownIssuer(req, issuer);
  return { root, client };
}

/** The request, as the signature covers it where its requests have to be signed. @throws {SamlRefusal} */
async function verified(req: Request, sent: Parameters, { root, client }: Named): Promise<AuthnRequest> {
  const { saml_request_certificates: certificates, saml_entity_id } = client;
  const isSigned = certificates.length > 0;
  const isPosted = bindingOf(req) === 'post';
  if (isSigned && !isPosted) requireSignedQuery(req.url.slice(req.url.indexOf('?') + 1), certificates);
  const request = readAuthnRequest(isSigned && isPosted ? await requireSignedXml(root, certificates) : root);
  if (request.issuer !== saml_entity_id) throw new SamlRefusal('issuer', 'the signature covers another Issuer');
  // A signed one that doesn't say is good at any provider that the application has (SAML Bindings 3.5.5.2).
  if (request.destination === null ? isSigned : !isForUs(req, request.destination, sent))
    throw new SamlRefusal('destination', 'the request is not for this address');
  return request;
}

/** What is wrong with a request is said on a page. @throws {PageError} 400 */
const orPage = async <T>(work: Promise<T>, client_id?: string): Promise<T> =>
  work.catch((error: unknown) => {
    if (!(error instanceof SamlRefusal)) throw error;
    throw invalidRequest(error.message.slice(error.rule.length + 2), client_id);
  });

/** A sign-in that begins here, for an application that lets it (SAML Profiles 4.1.5). @throws {PageError} 400 */
async function unsolicited(req: Request, sent: Parameters): Promise<SentRequest> {
  const client = await enabledClient(req.ctx, sent.get('client_id') ?? '');
  if (client?.application_type !== 'saml') throw unknownApplication();
  if (!client.saml_idp_initiated) throw invalidRequest('a sign-in to this application begins there', client.id);
  const [redirect_uri = ''] = client.saml_acs_urls;
  return sentRequest(req, sent, { client_id: client.id, redirect_uri }, { request_id: null, is_new: false, contexts: [] });
}

function sentRequest(
  { ctx }: Request,
  sent: Parameters,
  values: Readonly<Record<string, string | undefined>>,
  saml: NonNullable<SentRequest['saml']>,
): SentRequest {
  const [state, organization, ui_locales] = [sent.get('RelayState'), sent.get('organization'), sent.get('ui_locales')];
  const all = Object.entries({ ...values, state, organization, ui_locales }).filter(
    (entry): entry is [string, string] => entry[1] !== undefined,
  );
  return { parameters: parametersOf(Object.fromEntries(all)), since: ctx.clock.now().getTime(), saml };
}

/** What came to /saml/sso, by either binding. @throws {PageError} 400 */
export async function receive(req: Request): Promise<SentRequest> {
  const sent = sentIn(req);
  const twice = single.find((name) => sent.repeated.has(name));
  if (twice !== undefined) throw invalidRequest(`it holds ${twice} twice`);
  if (Buffer.byteLength(sent.get('RelayState') ?? '') > maxRelayState) throw invalidRequest('RelayState is longer than 1 KiB');
  if ((sent.get('organization') ?? '').length > 255) throw invalidRequest('organization is too long');
  if (sent.get('SAMLRequest') === undefined) {
    if (req.method === 'POST' || sent.get('client_id') === undefined) throw invalidRequest('SAMLRequest is missing');
    return unsolicited(req, sent);
  }
  const named = await orPage(identify(req, sent));
  const { client } = named;
  const request = await orPage(verified(req, sent, named), client.id);
  const { id: request_id, passive, is_new, contexts, login_hint } = request;
  const prompt = passive ? 'none' : is_new ? 'login' : undefined;
  const values = { client_id: client.id, redirect_uri: addressFor(req, client, request), prompt, login_hint: login_hint ?? undefined };
  return sentRequest(req, sent, values, { request_id, is_new, contexts });
}
