import type { Client } from '../../domain/clients/clients.js';
import { isFapi2 } from '../../domain/clients/profile.js';
import { shownText, maskedUri } from '../../domain/request-traces/shown-text.js';
import { PageError, type PageDetail } from '../../errors.js';
import type { Parameters } from '../../lib/parameters.js';
import { matchesRedirectUri } from '../../lib/redirect-uri.js';
import { identifyClient, UnidentifiedClient, type ClientRequest, type Limiting } from '../metadata-documents/identify-client.js';
import { isFragment, isSigned, responseModes, takesFragments, type Addressee, type ResponseMode } from './request.js';
import { message, type Message } from '../../lib/languages/messages.js';

type Sender = { readonly sent: Parameters; readonly client: Client | null };

/** A check: its name, whether the request fails it, the error code and text of the page, and the section that asks for it. */
type Check = readonly [name: string, fails: (sender: Sender) => boolean, code: string, text: Message, source: string];

const link = (problem: string): Message => message('refusal.application_link', { problem });

/** What is checked before anything may be sent to the client, in this order; the first failure is shown to the person. */
export const addresseeChecks: readonly Check[] = [
  ['client_id once', ({ sent }) => sent.repeated.has('client_id'), 'invalid_request', link('it holds client_id twice'), 'RFC 6749 3.1'],
  ['redirect_uri once', ({ sent }) => sent.repeated.has('redirect_uri'), 'invalid_request', link('it holds redirect_uri twice'), 'RFC 6749 3.1'],
  ['client_id there', ({ sent }) => sent.get('client_id') === undefined, 'invalid_request', link('client_id is missing'), 'RFC 6749 4.1.1'],
  ['client known', ({ client }) => client === null, 'invalid_client', message('refusal.application_unknown'), 'RFC 6749 4.1.2.1'],
  ['redirect_uri there', ({ sent }) => sent.get('redirect_uri') === undefined, 'invalid_request', link('redirect_uri is missing'), 'RFC 6749 3.1.2.3'],
  ['redirect_uri registered', (sender) => !isRegistered(sender), 'invalid_redirect_uri', message('refusal.redirect_uri'), 'RFC 9700 2.1'],
]; // prettier-ignore

/** Redirect URIs compare as exact text; the port of a loopback address is free for a native client (RFC 8252 7.3). */
function isRegistered({ sent, client }: Sender): boolean {
  const uri = sent.get('redirect_uri');
  return client !== null && uri !== undefined && matchesRedirectUri(client.redirect_uris, uri, client.application_type === 'native');
}

/** Addresses that are logged or shown at once. */
const listedUris = 20;

/**
 * Logs the redirect URI that came beside those that are registered: the commonest mistake in setting up a client, and one that nobody but the two
 * sides can see. User names, passwords, values of a query and what looks like a secret stay out of the log. In a development environment the page shows both as well; elsewhere it
 * says nothing of a client's registration.
 */
function tellMismatch(
  { ctx, request_id }: ClientRequest,
  came: string,
  client_id: string | undefined,
  all: readonly string[],
): PageDetail[] {
  const registered = all.slice(0, listedUris);
  const { id: environment_id, kind } = ctx.environment;
  const logged = { redirect_uri: maskedUri(came), registered: registered.map(maskedUri) };
  ctx.logger.info(
    { event: 'authorization.redirect_uri_mismatch', request_id, environment_id, client_id, ...logged },
    'an authorization request named a redirect_uri that is not registered',
  );
  if (kind !== 'development') return [];
  return [
    { name: 'Address sent', values: [shownText(came)] },
    { name: 'Registered for this client', values: registered.length > 0 ? registered.map(shownText) : ['none'] },
  ];
}

/** The page for an address that isn't registered for the client: nobody is ever sent there. */
export function unregisteredAddress(
  req: ClientRequest,
  came: string,
  client_id: string | undefined,
  registered: readonly string[],
): PageError {
  const details = tellMismatch(req, came, client_id, registered);
  return new PageError(400, 'invalid_redirect_uri', message('refusal.redirect_uri'), {}, undefined, null, details).by(
    'redirect_uri_mismatch',
    { client_id, redirect_uri: came, registered_redirect_uris: registered },
  );
}

/**
 * The response mode that was asked for, where it is one that the client may have; signed in any case for a client that has its answers signed. With
 * FAPI 2.0 nothing is posted unsigned.
 */
function responseModeOf(client: Client, requested: string | undefined): ResponseMode {
  const known = responseModes.find((one) => one === requested) ?? 'query';
  const isRefused = (known === 'form_post' && isFapi2(client)) || (isFragment(known) && !takesFragments(client));
  const mode = isRefused ? 'query' : known;
  return client.authorization_signed_response_alg === null || isSigned(mode) ? mode : (`${mode}.jwt` as ResponseMode);
}

/** The client that asks; null for one that is unknown or disabled. @throws {PageError} 400 when there is no good document of it */
export async function identifyClientOrPage(web: Limiting, req: ClientRequest, client_id: string): Promise<Client | null> {
  try {
    return await identifyClient(web, req, client_id);
  } catch (error) {
    if (!(error instanceof UnidentifiedClient)) throw error;
    throw new PageError(400, 'invalid_client', message('refusal.application_unidentified', { reason: error.reason })).by('unknown_client');
  }
}

/**
 * The client that asks, and the redirect URI that the answer may go to. Anything wrong with them is shown to the person and never redirected
 * (RFC 6749 4.1.2.1, RFC 9700 4.11).
 * @throws {PageError} 400
 */
export async function findAddressee(web: Limiting, req: ClientRequest, sent: Parameters): Promise<Addressee> {
  const client_id = sent.get('client_id');
  const client = client_id === undefined || sent.repeated.has('client_id') ? null : await identifyClientOrPage(web, req, client_id);
  const failed = addresseeChecks.find(([, fails]) => fails({ sent, client }));
  if (failed) {
    const [, , code, text] = failed;
    if (code !== 'invalid_redirect_uri') throw new PageError(400, code, text).by(code === 'invalid_client' ? 'unknown_client' : null);
    throw unregisteredAddress(req, sent.get('redirect_uri') ?? '', client?.id, client?.redirect_uris ?? []);
  }
  return {
    client: client as Client,
    redirect_uri: sent.get('redirect_uri') as string,
    state: sent.repeated.has('state') ? undefined : sent.get('state'),
    response_mode: responseModeOf(client as Client, sent.get('response_mode')),
  };
}
