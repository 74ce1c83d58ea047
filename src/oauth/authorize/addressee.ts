import { enabledClient, type Client } from '../../domain/clients/clients.js';
import type { Context } from '../../domain/context.js';
import { PageError } from '../../errors.js';
import type { Parameters } from '../../lib/parameters.js';
import { matchesRedirectUri } from '../../lib/redirect-uri.js';
import { responseModes, type Addressee, type ResponseMode } from './request.js';

type Sender = { readonly sent: Parameters; readonly client: Client | null };

/** A check: its name, whether the request fails it, the error code and text of the page, and the section that asks for it. */
type Check = readonly [name: string, fails: (sender: Sender) => boolean, code: string, text: string, source: string];

/** What is checked before anything may be sent to the client, in this order; the first failure is shown to the person. */
export const addresseeChecks: readonly Check[] = [
  ['client_id once', ({ sent }) => sent.repeated.has('client_id'), 'invalid_request', "The application's link is wrong: it holds client_id twice.", 'RFC 6749 3.1'],
  ['redirect_uri once', ({ sent }) => sent.repeated.has('redirect_uri'), 'invalid_request', "The application's link is wrong: it holds redirect_uri twice.", 'RFC 6749 3.1'],
  ['client_id there', ({ sent }) => sent.get('client_id') === undefined, 'invalid_request', "The application's link is wrong: client_id is missing.", 'RFC 6749 4.1.1'],
  ['client known', ({ client }) => client === null, 'invalid_client', 'The application that sent you here is not known. Go back and tell its support about this page.', 'RFC 6749 4.1.2.1'],
  ['redirect_uri there', ({ sent }) => sent.get('redirect_uri') === undefined, 'invalid_request', "The application's link is wrong: redirect_uri is missing.", 'RFC 6749 3.1.2.3'],
  ['redirect_uri registered', (sender) => !isRegistered(sender), 'invalid_redirect_uri', 'The application asked us to send you to an address that is not registered for it, so we did not.', 'RFC 9700 2.1'],
]; // prettier-ignore

/** Redirect URIs compare as exact text; the port of a loopback address is free for a native client (RFC 8252 7.3). */
function isRegistered({ sent, client }: Sender): boolean {
  const uri = sent.get('redirect_uri');
  return client !== null && uri !== undefined && matchesRedirectUri(client.redirect_uris, uri, client.application_type === 'native');
}

/**
 * The client that asks, and the redirect URI that the answer may go to. Anything wrong with them is shown to the person and never redirected
 * (RFC 6749 4.1.2.1, RFC 9700 4.11).
 * @throws {PageError} 400
 */
export async function findAddressee(ctx: Context, sent: Parameters): Promise<Addressee> {
  const client_id = sent.get('client_id');
  const client = client_id === undefined ? null : await enabledClient(ctx, client_id);
  const failed = addresseeChecks.find(([, fails]) => fails({ sent, client }));
  if (failed) {
    const [, , code, text] = failed;
    throw new PageError(400, code, text);
  }
  const mode = sent.get('response_mode');
  return {
    client: client as Client,
    redirect_uri: sent.get('redirect_uri') as string,
    state: sent.repeated.has('state') ? undefined : sent.get('state'),
    response_mode: responseModes.includes(mode as ResponseMode) ? (mode as ResponseMode) : 'query',
  };
}
