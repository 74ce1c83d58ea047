import type { Client } from '../../domain/clients/clients.js';
import type { Context } from '../../domain/context.js';
import type { Visitor } from '../../domain/organizations/just-in-time.js';
import { organizationChoice } from '../../domain/organizations/requested.js';
import type { Target } from '../../domain/tokens/target.js';
import { readDetails } from '../../domain/tokens/authorization-details.js';
import type { Detail } from '../../lib/authorization-details.js';
import { jsonObject } from '../../lib/json-object.js';
import type { OAuthErrorCode } from '../../lib/oauth-error-codes.js';
import type { Parameters } from '../../lib/parameters.js';
import { isCodeChallenge } from '../../lib/pkce.js';
import { parseScope } from '../../lib/scope-set.js';
import type { RefusalDetail, RefusalRule } from '../../lib/refusal-rules.js';
import { requestedTarget } from './requested-target.js';
import { AuthorizationError } from './authorization-error.js';
import { afterRights, goesBeyondClient, granted, judgeScopes, limitToRights } from './granted-scopes.js';
import { isFragment, prompts, responseModes, takesFragments, type Addressee, type AuthorizationRequest, type Prompt } from './request.js';

const maxParameterLength = 4096;

/** The parameters as they read; null (`max_age`: undefined) where the text is malformed. */
type Reading = {
  readonly ctx: Context;
  readonly client: Client;
  readonly addressee: Addressee;
  readonly sent: Parameters;
  /** Whether the client pushed the request (RFC 9126), or pushes it now. */
  readonly pushed: boolean;
  readonly get: (name: string) => string | undefined;
  readonly prompts: Prompt[] | null;
  readonly max_age: number | null | undefined;
  readonly claims: AuthorizationRequest['claims'] | null;
  readonly scopes: string[] | null;
  /** What `resource` names; null without one, and until the check `resource` has looked it up. */
  target: Target | null;
  /** Null without any, and until they have been checked. */
  details: readonly Detail[] | null;
};

/** What is wrong with a request, and by which rule where the description alone doesn't say. */
type Problem = readonly [error: OAuthErrorCode, description: string, rule?: RefusalRule, detail?: RefusalDetail];

/** A check: its name, what it finds wrong (null: nothing), and the section that asks for it. */
type Check = readonly [name: string, check: (r: Reading) => Problem | null | Promise<Problem | null>, source: string];

/** What is checked once client and redirect URI are known, in this order; the client is told of the first failure. */
export const requestChecks: readonly Check[] = [
  ['no parameter twice', once, 'RFC 6749 3.1'],
  ['no request object left', notSupported('request', 'request_not_supported'), 'OIDC Core 6.1'],
  ['no request_uri', notSupported('request_uri', 'request_uri_not_supported'), 'OIDC Core 6.2'],
  ['pushed where that is demanded', pushedWhereDemanded, 'RFC 9126 5'],
  ['no registration', notSupported('registration', 'registration_not_supported'), 'OIDC Core 7.2.1'],
  ['no parameter too long', shortEnough, 'RFC 6749 4.1.2.1'],
  ['response_type', responseType, 'RFC 6749 3.1.1'],
  ['response_mode', responseMode, 'OAuth 2.0 Multiple Response Types 2.1'],
  ['grant type of the client', mayUseCodes, 'RFC 6749 4.1.2.1'],
  ['PKCE', pkce, 'RFC 7636 4.4.1'],
  ['dpop_jkt', ({ get }) => malformed(!isThumbprint(get('dpop_jkt')), 'dpop_jkt must be the SHA-256 thumbprint of a key'), 'RFC 9449 10'],
  ['prompt', (r) => malformed(r.prompts === null, 'prompt must be none alone, or of login, consent, select_account'), 'OIDC Core 3.1.2.1'],
  ['max_age', (r) => malformed(r.max_age === undefined, 'max_age must be a number of seconds'), 'OIDC Core 3.1.2.1'],
  ['claims', (r) => malformed(r.claims === null, 'claims must be a JSON object'), 'OIDC Core 5.5'],
  ['organization', organizationAllowed, 'specification 16.2.1'],
  ['resource', findTarget, 'RFC 8707 2'],
  ['authorization_details', checkDetails, 'RFC 9396 5'],
  [
    'scope syntax',
    (r) => (r.scopes === null ? ['invalid_scope', 'scope must be words separated by spaces', 'unknown_scope'] : null),
    'RFC 6749 3.3',
  ],
  ['scope of the client', findScopeProblem, 'RFC 6749 3.3'],
];

/** Who asks, and how; `organization`: what the person chose in the place of what the request names. */
type RequestSender = { readonly pushed: boolean; readonly session: Visitor | null; readonly organization?: string | undefined };

/**
 * Checks the rest of the request.
 * @param session of whoever asks; its person's rights bound the scopes, see {@link limitToRights}
 * @throws {AuthorizationError} for the first check of {@link requestChecks} that fails
 */
export async function validate(
  ctx: Context,
  addressee: Addressee,
  sent: Parameters,
  { pushed, session, organization: word = sent.get('organization') }: RequestSender,
): Promise<AuthorizationRequest> {
  const { client } = addressee;
  const get = (name: string) => sent.get(name);
  const r: Reading = {
    ctx,
    client,
    addressee,
    sent,
    pushed,
    get,
    target: null,
    details: null,
    prompts: parsePrompts(get('prompt')),
    max_age: parseMaxAge(get('max_age')),
    claims: parseClaims(get('claims')),
    scopes: parseScope(get('scope') ?? ''),
  };
  for (const [, check] of requestChecks) {
    const found = check(r);
    const problem = found instanceof Promise ? await found : found;
    if (problem) throw refusal(addressee, problem);
  }
  const rulings = judgeScopes(client, r.scopes ?? [], r.target);
  const organization_choice = await organizationChoice(ctx, client, word, session);
  const request = {
    scopes: granted(rulings),
    rulings,
    resource: r.target?.resource ?? null,
    authorization_details: r.details,
    organization: organization_choice.kind === 'one' ? organization_choice.organization : null,
    organization_choice,
    code_challenge: get('code_challenge') ?? null,
    dpop_jkt: get('dpop_jkt') ?? null,
    nonce: get('nonce') ?? null,
    prompts: r.prompts ?? [],
    max_age: r.max_age ?? null,
    acr_values: (get('acr_values') ?? '').split(' ').filter((value) => value !== ''),
    login_hint: get('login_hint') ?? null,
    id_token_hint: get('id_token_hint') ?? null,
    claims: r.claims ?? { userinfo: null, id_token: null },
    ...addressee,
  };
  const limited = await limitToRights(ctx, request, session);
  return limited === request ? request : { ...limited, rulings: afterRights(rulings, limited.scopes) };
}

const refusal = (addressee: Addressee, [error, description, rule, detail]: Problem) =>
  new AuthorizationError(addressee, error, description).by(rule ?? null, { client_id: addressee.client.id, ...detail });

/** Whether it can be a thumbprint (RFC 7638), or isn't there. */
const isThumbprint = (jkt: string | undefined) => jkt === undefined || /^[\w-]{43}$/.test(jkt);

const malformed = (is: boolean, description: string): Problem | null => (is ? ['invalid_request', description] : null);

function once({ sent }: Reading): Problem | null {
  const [twice] = sent.repeated;
  // RFC 8707 2 allows several; but a scope means something else at each.
  if (twice === 'resource') return ['invalid_target', 'only one resource can be asked for at once'];
  // The name comes from the request: only a plain one is repeated in the answer.
  return twice === undefined ? null : ['invalid_request', `${/^[\w.-]{1,64}$/.test(twice) ? twice : 'a parameter'} was sent twice`];
}

/** Refuses a parameter that this service doesn't support. `request` (by value) was read before. */
function notSupported(name: string, error: OAuthErrorCode): Check[1] {
  return ({ get }) => (get(name) === undefined ? null : [error, `${name} is not supported`]);
}

function pushedWhereDemanded({ ctx, client, pushed }: Reading): Problem | null {
  const demanded = ctx.environment.require_pushed_authorization_requests || client.require_pushed_authorization_requests;
  const description = 'the request has to be pushed to the pushed authorization request endpoint first';
  return demanded && !pushed ? ['invalid_request', description, 'pushed_request_required'] : null;
}

function shortEnough({ sent }: Reading): Problem | null {
  // That one has a limit of its own.
  const long = Object.entries(sent.all).some(([name, value]) => name !== 'authorization_details' && value.length > maxParameterLength);
  return malformed(long, `a parameter is longer than ${maxParameterLength} characters`);
}

function responseType({ get }: Reading): Problem | null {
  const type = get('response_type');
  if (type === undefined) return ['invalid_request', 'response_type is required'];
  return type === 'code' ? null : ['unsupported_response_type', 'response_type must be code'];
}

function responseMode({ get, client, addressee }: Reading): Problem | null {
  const mode = get('response_mode');
  if (mode === undefined || mode === addressee.response_mode) return null;
  if (!(responseModes as readonly string[]).includes(mode))
    return ['invalid_request', `response_mode must be one of ${responseModes.join(', ')}`];
  if (isFragment(mode) && !takesFragments(client))
    return ['invalid_request', `response_mode ${mode} is for single-page and native clients: use query or form_post`];
  const signed = client.authorization_signed_response_alg !== null;
  return [
    'invalid_request',
    signed ? 'this client has its answers signed: response_mode must be jwt' : 'this client gets no posted answers that are not signed',
  ];
}

function mayUseCodes({ client }: Reading): Problem | null {
  if (client.grant_types.includes('authorization_code')) return null;
  return ['unauthorized_client', 'the client may not use the authorization code flow', 'grant_type_not_allowed'];
}

function pkce({ client, get }: Reading): Problem | null {
  const [challenge, method] = [get('code_challenge'), get('code_challenge_method')];
  if (challenge === undefined) {
    if (method !== undefined) return ['invalid_request', 'code_challenge is missing'];
    const needed = client.require_pkce || client.token_endpoint_auth_method === 'none';
    return needed ? ['invalid_request', 'this client must use PKCE: code_challenge is missing', 'pkce_required'] : null;
  }
  if (method !== 'S256') return ['invalid_request', 'code_challenge_method must be S256'];
  return malformed(!isCodeChallenge(challenge), 'code_challenge must be 43 base64url characters');
}

/** What is wrong with `organization` for a client with `organization_usage` `deny`. */
export const takesNoOrganization = 'this client signs people in for no organization: leave organization out';

function organizationAllowed({ client, get }: Reading): Problem | null {
  if (get('organization') === undefined || client.organization_usage !== 'deny') return null;
  return ['invalid_request', takesNoOrganization, 'organizations_not_taken'];
}

/** Looks up what `resource` names. */
async function findTarget(r: Reading): Promise<Problem | null> {
  const identifier = r.get('resource');
  if (identifier === undefined) return null;
  const found = await requestedTarget(r.ctx, r.client, identifier);
  if ('rule' in found) return ['invalid_target', found.description, found.rule];
  r.target = found;
  return null;
}

function checkDetails(r: Reading): Problem | null {
  const text = r.get('authorization_details');
  if (text === undefined) return null;
  const details = readDetails(r.client, r.target && r.target.resource, text);
  if (typeof details === 'string') return ['invalid_authorization_details', details, 'details_not_taken'];
  r.details = details;
  return null;
}

function findScopeProblem({ client, scopes: requested, target }: Reading): Problem | null {
  const scopes = judgeScopes(client, requested ?? [], target);
  if (!goesBeyondClient(scopes)) return null;
  return ['invalid_scope', 'the scope goes beyond what the client may ask for', 'not_in_client_scopes', { scopes }];
}

function parsePrompts(text: string | undefined): Prompt[] | null {
  const requested = [...new Set((text ?? '').split(' ').filter((word) => word !== ''))] as Prompt[];
  if (!requested.every((word) => prompts.includes(word))) return null;
  return requested.includes('none') && requested.length > 1 ? null : requested;
}

const parseMaxAge = (text: string | undefined): number | null | undefined =>
  text === undefined ? null : /^\d{1,10}$/.test(text) ? Number(text) : undefined;

function parseClaims(text: string | undefined): AuthorizationRequest['claims'] | null {
  if (text === undefined) return { userinfo: null, id_token: null };
  // Longer than any parameter may be: refused for that, and not worth parsing.
  if (text.length > maxParameterLength) return null;
  try {
    const value = jsonObject(JSON.parse(text));
    return value && { userinfo: jsonObject(value['userinfo']), id_token: jsonObject(value['id_token']) };
  } catch {
    return null;
  }
}
