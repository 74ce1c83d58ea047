import { isSelfRegistered } from '../../domain/clients/rules.js';
import {
  apiResourceOf,
  askableScopes,
  enabledClient,
  withoutUnaskable,
  type ApiResource,
  type Client,
} from '../../domain/clients/clients.js';
import type { Context } from '../../domain/context.js';
import { isOpenidScope } from '../../domain/tokens/scopes.js';
import { PageError } from '../../errors.js';
import type { OAuthErrorCode } from '../../lib/oauth-error-codes.js';
import type { Parameters } from '../../lib/parameters.js';
import { isCodeChallenge } from '../../lib/pkce.js';
import { matchesRedirectUri } from '../../lib/redirect-uri.js';
import { parseScope } from '../../lib/scope-set.js';
import { AuthorizationError } from './authorization-error.js';
import { prompts, responseModes, type Addressee, type AuthorizationRequest, type Prompt, type ResponseMode } from './request.js';

const refuse = (code: string, text: string) => new PageError(400, code, text);

/**
 * Who asked, and where the answer may go. Anything wrong here is shown to the person and never redirected (RFC 6749 4.1.2.1, RFC 9700
 * 4.11): the redirect URI compares as exact text.
 */
export async function findAddressee(ctx: Context, parameters: Parameters): Promise<Addressee> {
  for (const name of ['client_id', 'redirect_uri']) {
    if (parameters.repeated.has(name)) throw refuse('invalid_request', `The application's link is wrong: it holds ${name} twice.`);
  }
  const client_id = parameters.get('client_id');
  if (client_id === undefined) throw refuse('invalid_request', "The application's link is wrong: client_id is missing.");
  const client = await enabledClient(ctx, client_id);
  if (!client)
    throw refuse('invalid_client', 'The application that sent you here is not known. Go back and tell its support about this page.');
  const redirect_uri = parameters.get('redirect_uri');
  if (redirect_uri === undefined) throw refuse('invalid_request', "The application's link is wrong: redirect_uri is missing.");
  if (!matchesRedirectUri(client.redirect_uris, redirect_uri, client.application_type === 'native')) {
    throw refuse(
      'invalid_redirect_uri',
      'The application asked us to send you to an address that is not registered for it, so we did not.',
    );
  }
  const mode = parameters.get('response_mode');
  const known = !parameters.repeated.has('state');
  return {
    client,
    redirect_uri,
    state: known ? parameters.get('state') : undefined,
    response_mode: responseModes.includes(mode as ResponseMode) ? (mode as ResponseMode) : 'query',
  };
}

const maxParameterLength = 4096;

const parsePrompts = (text: string | undefined): Prompt[] | null => {
  const asked = [...new Set((text ?? '').split(' ').filter((word) => word !== ''))] as Prompt[];
  if (!asked.every((word) => prompts.includes(word))) return null;
  return asked.includes('none') && asked.length > 1 ? null : asked;
};

type ClaimsRequest = AuthorizationRequest['claims'];

function parseClaims(text: string | undefined): ClaimsRequest | null {
  if (text === undefined) return { userinfo: null, id_token: null };
  try {
    const value = JSON.parse(text) as Record<string, unknown> | null;
    if (typeof value !== 'object' || value === null || Array.isArray(value)) return null;
    const part = (name: string) => {
      const member = value[name];
      return typeof member === 'object' && member !== null && !Array.isArray(member) ? (member as Record<string, unknown>) : null;
    };
    return { userinfo: part('userinfo'), id_token: part('id_token') };
  } catch {
    return null;
  }
}

/** The resource of the request, and which of its scopes the client may ask people for. */
type Target = { readonly resource: ApiResource; readonly askable: readonly string[] };

/** What of the asked scopes is granted; one that nobody here knows, or the client may not ask for, is left out, as RFC 6749 3.3 allows. */
function grantedScopes(client: Client, asked: readonly string[], target: Target | null): string[] {
  const known = asked.filter((scope) => {
    if (scope === 'offline_access') return client.grant_types.includes('refresh_token');
    return isOpenidScope(scope) || target?.resource.permissions.includes(scope) === true || client.scopes?.includes(scope) === true;
  });
  return target === null ? known : withoutUnaskable(target.resource, target.askable, known);
}

/**
 * What the `resource` parameter names (RFC 8707 2); null without one. One whose tokens for people reach only clients that were let in, the
 * Management API above all, is as unknown to others as one that isn't there.
 */
async function findTarget(ctx: Context, client: Client, identifier: string | undefined): Promise<Target | { refused: string } | null> {
  if (identifier === undefined) return null;
  const resource = await apiResourceOf(ctx, identifier);
  if (!resource) return { refused: 'the resource is not registered' };
  const askable = await askableScopes(ctx, client.id, resource);
  return askable ? { resource, askable } : { refused: 'the client may not ask people for this resource' };
}

const maxAge = (text: string | undefined): number | null | undefined =>
  text === undefined ? null : /^\d{1,10}$/.test(text) ? Number(text) : undefined;

/** What is refused rather than ignored (OIDC Core 6.1, 6.2, 7.2.1). A request object by value was opened before. */
const unsupported = {
  request: 'request_not_supported',
  request_uri: 'request_uri_not_supported',
  registration: 'registration_not_supported',
} as const;

/** Checks the rest of the request in a fixed order; the first failure wins. @throws {AuthorizationError} */
export async function validate(ctx: Context, addressee: Addressee, parameters: Parameters): Promise<AuthorizationRequest> {
  const { client } = addressee;
  const get = (name: string) => parameters.get(name);
  const fail = (error: OAuthErrorCode, description: string) => new AuthorizationError(addressee, error, description);

  const [twice] = parameters.repeated;
  if (twice !== undefined) throw fail('invalid_request', `${/^[\w.-]{1,64}$/.test(twice) ? twice : 'a parameter'} was sent twice`);
  for (const [name, error] of Object.entries(unsupported)) if (get(name) !== undefined) throw fail(error, `${name} is not supported`);
  if (Object.values(parameters.all).some((value) => value.length > maxParameterLength)) {
    throw fail('invalid_request', `a parameter is longer than ${maxParameterLength} characters`);
  }
  if (get('response_type') === undefined) throw fail('invalid_request', 'response_type is required');
  if (get('response_type') !== 'code') throw fail('unsupported_response_type', 'response_type must be code');
  if (get('response_mode') !== undefined && get('response_mode') !== addressee.response_mode) {
    throw fail('invalid_request', `response_mode must be one of ${responseModes.join(', ')}`);
  }
  if (!client.grant_types.includes('authorization_code'))
    throw fail('unauthorized_client', 'the client may not use the authorization code flow');
  if (isSelfRegistered(client) && get('resource') === ctx.environment.management_audience)
    throw fail('invalid_target', 'a client that registered itself may not ask for the Management API');

  const code_challenge = get('code_challenge') ?? null;
  const method = get('code_challenge_method');
  if (code_challenge === null && method !== undefined) throw fail('invalid_request', 'code_challenge is missing');
  if (code_challenge !== null && method !== 'S256') throw fail('invalid_request', 'code_challenge_method must be S256');
  if (code_challenge !== null && !isCodeChallenge(code_challenge))
    throw fail('invalid_request', 'code_challenge must be 43 base64url characters');
  if (code_challenge === null && (client.require_pkce || client.token_endpoint_auth_method === 'none')) {
    throw fail('invalid_request', 'this client must use PKCE: code_challenge is missing');
  }

  const askedPrompts = parsePrompts(get('prompt'));
  if (askedPrompts === null) throw fail('invalid_request', 'prompt must be none alone, or of login, consent, select_account');
  const max_age = maxAge(get('max_age'));
  if (max_age === undefined) throw fail('invalid_request', 'max_age must be a number of seconds');
  const claims = parseClaims(get('claims'));
  if (claims === null) throw fail('invalid_request', 'claims must be a JSON object');

  const target = await findTarget(ctx, client, get('resource'));
  if (target && 'refused' in target) throw fail('invalid_target', target.refused);
  const asked = parseScope(get('scope') ?? '');
  if (asked === null) throw fail('invalid_scope', 'scope must be words separated by spaces');
  const known = (scope: string) => isOpenidScope(scope) || target?.resource.permissions.includes(scope) === true;
  if (client.scopes !== null && asked.some((scope) => known(scope) && !client.scopes?.includes(scope))) {
    throw fail('invalid_scope', 'the scope goes beyond what the client may ask for');
  }

  return {
    ...addressee,
    scopes: grantedScopes(client, asked, target),
    resource: target?.resource ?? null,
    code_challenge,
    nonce: get('nonce') ?? null,
    prompts: askedPrompts,
    max_age,
    acr_values: (get('acr_values') ?? '').split(' ').filter((value) => value !== ''),
    login_hint: get('login_hint') ?? null,
    id_token_hint: get('id_token_hint') ?? null,
    claims,
  };
}
