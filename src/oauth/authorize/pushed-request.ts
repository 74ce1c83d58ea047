import { findPushedRequest } from '../../db/tables/pushed_requests.js';
import { PageError } from '../../errors.js';
import { digest } from '../../lib/digest.js';
import { parametersOf, type Parameters } from '../../lib/parameters.js';
import type { ClientRequest } from '../metadata-documents/identify-client.js';
import type { SentRequest } from './pending.js';
import { message } from '../../lib/languages/messages.js';

/** What references to pushed requests begin with (RFC 9126 2.2). */
export const requestUriPrefix = 'urn:ietf:params:oauth:request_uri:';

/** A page, for the redirect URI of a request that isn't found is unknown (RFC 9126 4). */
export const unusableRequestUri = () => new PageError(400, 'invalid_request_uri', message('refusal.application_link_expired'));

/** What the sign-in looks at, carried along with the reference; at the end what was pushed counts. */
const shown = ['redirect_uri', 'login_hint', 'prompt', 'max_age', 'acr_values', 'resource', 'ui_locales', 'organization'] as const;

/**
 * The request that `request_uri` stands for (RFC 9126 4), or null when it isn't one of ours. Beside it only `client_id` counts: whatever else the
 * browser brings was not authenticated. It may be opened until it is answered with a code, and the sign-in may outlast it.
 * @throws {PageError} when it is unknown, was used, has expired or is another client's
 */
export async function openPushedRequest(
  { ctx }: Pick<ClientRequest, 'ctx'>,
  { parameters: sent, ...how }: SentRequest,
): Promise<SentRequest | null> {
  const request_uri = sent.get('request_uri');
  if (request_uri === undefined || !request_uri.startsWith(requestUriPrefix)) return null;
  const reference = digest(request_uri.slice(requestUriPrefix.length));
  const row = sent.repeated.has('request_uri') || sent.repeated.has('client_id') ? null : await findPushedRequest(ctx.scope, reference);
  if (!row || row.used_at !== null || row.client_id !== sent.get('client_id') || row.expires_at.getTime() <= how.since)
    throw unusableRequestUri();
  const parameters: Parameters = parametersOf(row.parameters);
  const extras = Object.fromEntries(shown.flatMap((name) => (row.parameters[name] === undefined ? [] : [[name, row.parameters[name]]])));
  return { ...how, parameters, pushed: { reference, carried: parametersOf({ ...extras, client_id: row.client_id, request_uri }) } };
}
