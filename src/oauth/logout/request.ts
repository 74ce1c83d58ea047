import { enabledClient, type Client } from '../../domain/clients/clients.js';
import type { Context } from '../../domain/context.js';
import { readIdTokenHint, type IdTokenHint } from '../../domain/tokens/id-token.js';
import { PageError } from '../../errors.js';
import type { Parameters } from '../../lib/parameters.js';
import { message } from '../../lib/languages/messages.js';

/**
 * Why somebody stays here though the application asked for an address to go to: it isn't registered for the client, or nothing shows that the request is
 * the client's.
 */
export type Stay = 'unregistered' | 'unproven';

/** A logout request, reduced to what was verified (RP-Initiated Logout 1.0 2). */
export type LogoutRequest = {
  /** The client that proved itself by an ID token, or named itself. */
  readonly client: Client | null;
  /** The ID token that came along, if it is one of ours. */
  readonly hint: IdTokenHint | null;
  /** Where to go afterwards: only an exactly registered address of that client. */
  readonly redirect_uri: string | null;
  /** Why the request doesn't lead to the address that it asks for; null when it does, or asks for none. */
  readonly stays: Stay | null;
  readonly state: string | undefined;
};

const maxStateLength = 4096;

const refuse = (problem: string) => new PageError(400, 'invalid_request', message('refusal.sign_out_link', { problem }));

/** Reads the request. A hint or an address that doesn't hold is left out; a contradiction is refused. @throws {PageError} */
export async function readLogoutRequest(ctx: Context, parameters: Parameters): Promise<LogoutRequest> {
  if (parameters.repeated.size > 0) throw refuse('it holds a parameter twice');
  const presented = parameters.get('id_token_hint');
  const hint = presented === undefined ? null : await readIdTokenHint(ctx, presented);
  const client_id = parameters.get('client_id');
  if (hint && client_id !== undefined && client_id !== hint.client_id) {
    throw refuse('its client_id and its id_token_hint belong to different applications');
  }
  const state = parameters.get('state');
  if (state !== undefined && state.length > maxStateLength) throw refuse('its state is too long');
  // With a hint that doesn't verify nothing else of the request is used, the redirect URI least of all.
  const named = presented !== undefined && hint === null ? undefined : (hint?.client_id ?? client_id);
  const client = named === undefined ? null : await enabledClient(ctx, named);
  const uri = parameters.get('post_logout_redirect_uri');
  const registered = uri !== undefined && client?.post_logout_redirect_uris.includes(uri) === true;
  const stays = uri === undefined || registered ? null : named === undefined ? 'unproven' : 'unregistered';
  return { client, hint, redirect_uri: registered ? uri : null, stays, state };
}
