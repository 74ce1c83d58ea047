import { z } from 'zod';
import { clientSigningAlgorithms, publicKeySet } from '../../domain/clients/key-set.js';
import { underDecided } from '../../domain/clients/ceiling.js';
import { underFapi2 } from '../../domain/clients/fapi2.js';
import { clientProblems } from '../../domain/clients/rules.js';
import { withoutSaml } from '../../domain/clients/saml.js';
import type { Context } from '../../domain/context.js';
import { deliveryModes } from '../../db/tables/backchannel_columns.js';
import type { ClientRow } from '../../db/tables/clients.js';
import { OAuthError } from '../../errors.js';
import { clientAuthMethods } from '../../http/auth/authenticate-client.js';
import { parseMeasured } from '../../lib/measured.js';
import { holdsInvisible, holdsStack } from '../../lib/plain-words.js';
import type { SigningAlgorithm } from '../../lib/signing-algorithm.js';
import { cibaGrantType, deviceCodeGrantType, jwtBearerGrantType, tokenExchangeGrantType } from '../../lib/grant-types.js';
import { parseScope } from '../../lib/scope-set.js';
import { checkUrl } from '../../platform/fetch/fetch.js';
import { originsOf, isNativeRedirectUri } from '../../lib/redirect-uri.js';
import { grants } from '../grants/index.js';
import { named } from '../../lib/named.js';

const text = (max: number) => z.string().trim().min(1, 'must not be empty').max(max, `must have at most ${max} characters`);
/** Of a client that came by itself. */
const maxRedirectUris = 10;
const uris = z.array(z.string()).max(50, 'must have at most 50 members');

/** What the service allows at all, and the environment signs with. */
type Policy = { readonly allowPrivateNetwork: boolean; readonly signingAlgorithms: readonly SigningAlgorithm[] };

/** What holds for every client that describes itself to this environment. */
export const policyOf = ({ config, environment }: Pick<Context, 'config' | 'environment'>): Policy => ({
  allowPrivateNetwork: config.allowPrivateNetwork,
  signingAlgorithms: environment.signing_algorithms,
});

/** With these a client acts without anybody's being asked, or for others: only who was given leave may register them. */
const grantsByPermission = new Set(['client_credentials', cibaGrantType, tokenExchangeGrantType, jwtBearerGrantType]);

/**
 * The grant types that are left of those asked for: what isn't offered is dropped (RFC 7591 3.2.1: the answer tells what was registered), what needs leave
 * refused. The device flow shows people a name that anybody could have chosen and no address that they go on to: it is left out whatever a token says.
 * @throws {OAuthError} `invalid_client_metadata`
 */
function allowedGrantTypes(requested: readonly string[], allowed: readonly string[]): string[] {
  const refused = requested.find((one) => grantsByPermission.has(one) && !allowed.includes(one));
  if (refused !== undefined) throw refuse('grant_types', `${refused} needs an initial access token that lists it`);
  const offered = (one: string) => allowed.includes(one) && Object.hasOwn(grants, one) && one !== deviceCodeGrantType;
  const left = [...new Set(requested)].filter(offered);
  if (left.length === 0) throw refuse('grant_types', 'none of them is for clients that register themselves');
  return left;
}

/**
 * The shape of the client metadata that is read (RFC 7591 2, OIDC Registration 2, the logout specifications); whatever else comes is ignored.
 * Strangers may not name addresses inside the network, even those that only browsers follow.
 */
const schema = (policy: Policy) => {
  const webUrl = z
    .string()
    .refine((url) => checkUrl(url, policy) !== 'url_port', 'uses the port of another kind of service')
    .refine((url) => [null, 'url_port'].includes(checkUrl(url, policy)), 'must be an https address on the public network')
    .nullish();
  return z.object({
    redirect_uris: z.array(z.string()).max(maxRedirectUris, `must have at most ${maxRedirectUris} members`).default([]),
    post_logout_redirect_uris: uris.default([]),
    client_name: text(255).refine((name) => !holdsInvisible(name), 'must not hold control characters, invisible ones or directions of writing').refine((name) => !holdsStack(name), 'must not have more than six marks on a character').nullish(),
    application_type: z.enum(['web', 'native']).optional(),
    grant_types: z.array(z.string().max(256)).max(20).default(['authorization_code']),
    response_types: z.array(z.literal('code')).max(20).default(['code']),
    token_endpoint_auth_method: z.enum(clientAuthMethods).default('client_secret_basic'),
    token_endpoint_auth_signing_alg: z.enum(clientSigningAlgorithms).nullish(),
    request_object_signing_alg: z.enum(clientSigningAlgorithms).nullish(),
    id_token_signed_response_alg: z.enum(policy.signingAlgorithms).nullish(),
    userinfo_signed_response_alg: z.enum(policy.signingAlgorithms).nullish(),
    authorization_signed_response_alg: z.enum(policy.signingAlgorithms).nullish(),
    introspection_signed_response_alg: z.enum(policy.signingAlgorithms).nullish(),
    require_pushed_authorization_requests: z.boolean().default(false),
    dpop_bound_access_tokens: z.boolean().default(false),
    initiate_login_uri: webUrl,
    subject_type: z.literal('public').nullish(),
    scope: z.string().max(4096).refine((scope) => parseScope(scope) !== null, 'must be words separated by spaces').nullish(),
    authorization_details_types: z.array(text(200)).max(50, 'must have at most 50 members').default([]),
    contacts: z.array(text(255)).max(20).default([]),
    client_uri: webUrl,
    logo_uri: webUrl,
    policy_uri: webUrl,
    tos_uri: webUrl,
    sector_identifier_uri: webUrl,
    jwks: publicKeySet.nullish(),
    jwks_uri: z.string().nullish(),
    backchannel_logout_uri: z.string().nullish(),
    backchannel_logout_session_required: z.boolean().default(false),
    backchannel_token_delivery_mode: z.enum(deliveryModes).default('poll'),
    backchannel_client_notification_endpoint: z.string().nullish(),
    backchannel_user_code_parameter: z.literal(false).nullish(),
  });
}; // prettier-ignore

type ClientMetadata = z.infer<ReturnType<typeof schema>>;

const refuse = (name: string, description: string) =>
  new OAuthError(400, name === 'redirect_uris' ? 'invalid_redirect_uri' : 'invalid_client_metadata', `${name}: ${description}`);

function readClientMetadata(body: Record<string, unknown>, policy: Policy): ClientMetadata {
  const parsed = parseMeasured(schema(policy), body);
  if (parsed.success) return parsed.data;
  const [issue] = parsed.issues;
  throw refuse(String(issue?.path[0] ?? 'the body'), issue?.message ?? 'invalid');
}

/** Those that can be read; the rules refuse the others. */
const parsedUris = (uris: readonly string[]) => uris.filter((uri) => URL.canParse(uri)).map((uri) => new URL(uri));

/** The metadata as columns. Whoever registers itself is never first-party: people are asked before it sees anything. */
function clientColumns(metadata: ClientMetadata, allowedGrants: readonly string[]) {
  const { redirect_uris, token_endpoint_auth_method } = metadata;
  const application_type = metadata.application_type ?? (redirect_uris.some(isNativeRedirectUri) ? 'native' : 'web');
  const isPublic = token_endpoint_auth_method === 'none';
  const fallbackName = parsedUris(redirect_uris)[0]?.host || 'Application';
  return {
    name: metadata.client_name ?? fallbackName,
    application_type: isPublic && application_type === 'web' ? ('spa' as const) : application_type,
    redirect_uris: [...new Set(redirect_uris)],
    post_logout_redirect_uris: [...new Set(metadata.post_logout_redirect_uris)],
    allowed_origins: isPublic ? originsOf(redirect_uris) : [],
    grant_types: allowedGrantTypes(metadata.grant_types, allowedGrants),
    token_endpoint_auth_method,
    scopes: metadata.scope ? parseScope(metadata.scope) : null,
    authorization_details_types: [...new Set(metadata.authorization_details_types)],
    first_party: false,
    require_pkce: isPublic,
    contacts: metadata.contacts,
    client_uri: metadata.client_uri ?? null,
    logo_uri: metadata.logo_uri ?? null,
    policy_uri: metadata.policy_uri ?? null,
    tos_uri: metadata.tos_uri ?? null,
    jwks: (metadata.jwks ?? null) as ClientRow['jwks'],
    jwks_uri: metadata.jwks_uri ?? null,
    require_pushed_authorization_requests: metadata.require_pushed_authorization_requests,
    dpop_bound_access_tokens: metadata.dpop_bound_access_tokens,
    initiate_login_uri: metadata.initiate_login_uri ?? null,
    id_token_signed_response_alg: metadata.id_token_signed_response_alg ?? ('RS256' as const),
    userinfo_signed_response_alg: metadata.userinfo_signed_response_alg ?? null,
    authorization_signed_response_alg: metadata.authorization_signed_response_alg ?? null,
    introspection_signed_response_alg: metadata.introspection_signed_response_alg ?? null,
    backchannel_logout_uri: metadata.backchannel_logout_uri ?? null,
    backchannel_logout_session_required: metadata.backchannel_logout_session_required,
    backchannel_token_delivery_mode: metadata.backchannel_token_delivery_mode,
    backchannel_client_notification_endpoint: metadata.backchannel_client_notification_endpoint ?? null,
  };
}

/** What an administrator decides of a client that registers itself; nothing of it is read from metadata. */
const undecided = { profile: null, require_signed_request_object: false } as const;

/**
 * Reads client metadata as columns, by the rules that hold for every client, and with what an administrator decided of this one; first failure wins.
 * @param allowedGrants the grant types that it may have
 * @param before the client as it is, when its metadata are replaced
 * @throws {OAuthError} `invalid_redirect_uri` or `invalid_client_metadata` (RFC 7591 3.2.2)
 */
export function readClient(
  body: unknown,
  policy: Policy,
  allowedGrants: readonly string[],
  before: ClientRow | null = null,
): ReturnType<typeof clientColumns> {
  const metadata = clientColumns(readClientMetadata(body as Record<string, unknown>, policy), allowedGrants);
  const columns = before ? underDecided(underFapi2(metadata, before), before) : metadata;
  const { profile, require_signed_request_object } = before ?? undecided;
  const [problem] = clientProblems(
    { ...withoutSaml, ...columns, profile, require_signed_request_object },
    { ...policy, keysRequired: true },
  );
  if (problem) throw refuse(String([problem.attribute].flat()[0]), problem.detail);
  return columns;
}

/** A client as its own registration shows it (RFC 7591 3.2.1); what isn't set is left out. */
export function metadataOf(client: ClientRow): Record<string, unknown> {
  const shown: Record<string, unknown> = named({
    client_id: client.id,
    client_id_issued_at: Math.floor(client.created_at.getTime() / 1000),
    client_name: client.name,
    application_type: client.application_type === 'native' ? 'native' : 'web',
    redirect_uris: client.redirect_uris,
    post_logout_redirect_uris: client.post_logout_redirect_uris,
    grant_types: client.grant_types,
    response_types: client.grant_types.includes('authorization_code') ? ['code'] : [],
    token_endpoint_auth_method: client.token_endpoint_auth_method,
    id_token_signed_response_alg: client.id_token_signed_response_alg,
    userinfo_signed_response_alg: client.userinfo_signed_response_alg,
    authorization_signed_response_alg: client.authorization_signed_response_alg,
    introspection_signed_response_alg: client.introspection_signed_response_alg,
    subject_type: 'public',
    scope: client.scopes?.join(' '),
    authorization_details_types: client.authorization_details_types,
    contacts: client.contacts,
    client_uri: client.client_uri,
    logo_uri: client.logo_uri,
    policy_uri: client.policy_uri,
    tos_uri: client.tos_uri,
    jwks: client.jwks,
    jwks_uri: client.jwks_uri,
    require_pushed_authorization_requests: client.require_pushed_authorization_requests || undefined,
    dpop_bound_access_tokens: client.dpop_bound_access_tokens || undefined,
    initiate_login_uri: client.initiate_login_uri,
    backchannel_logout_uri: client.backchannel_logout_uri,
    backchannel_logout_session_required: client.backchannel_logout_session_required,
    backchannel_token_delivery_mode: client.grant_types.includes(cibaGrantType) ? client.backchannel_token_delivery_mode : undefined,
    backchannel_client_notification_endpoint: client.backchannel_client_notification_endpoint,
  });
  const isSet = (value: unknown) => value !== null && value !== undefined && !(Array.isArray(value) && value.length === 0);
  return Object.fromEntries(Object.entries(shown).filter(([, value]) => isSet(value)));
}
