import { z } from 'zod';
import { clientSigningAlgorithms, publicKeySet } from '../../core/client-keys.js';
import type { ClientRow } from '../../db/tables/clients.js';
import { OAuthError } from '../../errors.js';
import { clientAuthMethods } from '../../http/authenticate-client.js';
import { redirectUriProblem } from '../../lib/redirect-uri.js';
import { parseScope } from '../../lib/scope-set.js';
import { checkUrl } from '../../platform/fetch.js';
import { grants } from '../grants/index.js';

const text = (max: number) => z.string().trim().min(1, 'must not be empty').max(max, `must have at most ${max} characters`);
const uris = z.array(z.string()).max(50, 'must have at most 50 members');

/** The client metadata that is read (RFC 7591 2, OIDC Registration 2, the logout specifications); whatever else comes is ignored. */
const schema = (policy: { allowPrivateNetwork: boolean }) => {
  const webUrl = z.string().refine((url) => checkUrl(url, policy) === null, 'must be an https address on the public network').nullish();
  const redirects = uris.superRefine((list, context) => {
    for (const uri of list) {
      const problem = redirectUriProblem(uri);
      if (problem !== null) context.addIssue({ code: 'custom', message: problem });
    }
  });
  return z.object({
    redirect_uris: redirects.default([]),
    post_logout_redirect_uris: redirects.default([]),
    client_name: text(255).nullish(),
    application_type: z.enum(['web', 'native']).default('web'),
    grant_types: z.array(z.enum(Object.keys(grants) as [string, ...string[]])).default(['authorization_code']),
    response_types: z.array(z.literal('code')).default(['code']),
    token_endpoint_auth_method: z.enum(clientAuthMethods).default('client_secret_basic'),
    token_endpoint_auth_signing_alg: z.enum(clientSigningAlgorithms).nullish(),
    request_object_signing_alg: z.enum(clientSigningAlgorithms).nullish(),
    id_token_signed_response_alg: z.literal('RS256').nullish(),
    subject_type: z.literal('public').nullish(),
    scope: z.string().max(4096).refine((scope) => parseScope(scope) !== null, 'must be words separated by spaces').nullish(),
    contacts: z.array(text(255)).max(20).default([]),
    client_uri: webUrl,
    logo_uri: webUrl,
    policy_uri: webUrl,
    tos_uri: webUrl,
    sector_identifier_uri: webUrl,
    jwks: publicKeySet.nullish(),
    jwks_uri: webUrl,
    backchannel_logout_uri: webUrl,
    backchannel_logout_session_required: z.boolean().default(false),
  });
}; // prettier-ignore

export type ClientMetadata = z.infer<ReturnType<typeof schema>>;

const refuse = (error: string, description: string) => new OAuthError(400, error, description);

/** What doesn't fit together; first failure wins. */
function refuseContradictions(metadata: ClientMetadata): void {
  const { redirect_uris, grant_types, token_endpoint_auth_method: method, jwks, jwks_uri, application_type } = metadata;
  const has = (grant: string) => grant_types.includes(grant);
  const list: [boolean, string, string][] = [
    [has('authorization_code') && redirect_uris.length === 0, 'invalid_redirect_uri', 'redirect_uris must hold an address'],
    [application_type === 'web' && redirect_uris.some((uri) => !/^https?:/i.test(uri)), 'invalid_redirect_uri', 'redirect_uris of a web application must use https'],
    [has('refresh_token') && !has('authorization_code'), 'invalid_client_metadata', 'grant_types: refresh_token goes with authorization_code'],
    [method === 'none' && has('client_credentials'), 'invalid_client_metadata', 'grant_types: client_credentials needs a client that can prove who it is'],
    [Boolean(jwks && jwks_uri), 'invalid_client_metadata', 'jwks and jwks_uri must not be given together'],
    [method === 'private_key_jwt' && !jwks && !jwks_uri, 'invalid_client_metadata', 'private_key_jwt needs jwks or jwks_uri'],
  ]; // prettier-ignore
  const found = list.find(([applies]) => applies);
  if (found) throw refuse(found[1], found[2]);
}

/** Reads client metadata. @throws {OAuthError} `invalid_redirect_uri` or `invalid_client_metadata` (RFC 7591 3.2.2) */
export function readClientMetadata(body: unknown, policy: { allowPrivateNetwork: boolean }): ClientMetadata {
  const parsed = schema(policy).safeParse(body);
  if (!parsed.success) {
    const [issue] = parsed.error.issues;
    const name = String(issue?.path[0] ?? 'the body');
    const error = name === 'redirect_uris' ? 'invalid_redirect_uri' : 'invalid_client_metadata';
    throw refuse(error, `${name}: ${issue?.message ?? 'invalid'}`);
  }
  refuseContradictions(parsed.data);
  return parsed.data;
}

const originsOf = (redirect_uris: readonly string[]) => [
  ...new Set(redirect_uris.map((uri) => new URL(uri).origin).filter((origin) => origin !== 'null')),
];

/** The metadata as columns. Whoever registers itself is never first-party: people are asked before it sees anything. */
export function clientColumns(metadata: ClientMetadata) {
  const { redirect_uris, token_endpoint_auth_method, application_type } = metadata;
  const isPublic = token_endpoint_auth_method === 'none';
  const fallbackName = redirect_uris[0] === undefined ? 'Application' : new URL(redirect_uris[0]).host || 'Application';
  return {
    name: metadata.client_name ?? fallbackName,
    application_type: isPublic && application_type === 'web' ? ('spa' as const) : application_type,
    redirect_uris: [...new Set(redirect_uris)],
    post_logout_redirect_uris: [...new Set(metadata.post_logout_redirect_uris)],
    allowed_origins: isPublic && application_type === 'web' ? originsOf(redirect_uris) : [],
    grant_types: [...new Set(metadata.grant_types)],
    token_endpoint_auth_method,
    scopes: metadata.scope ? parseScope(metadata.scope) : null,
    first_party: false,
    require_pkce: isPublic,
    contacts: metadata.contacts,
    client_uri: metadata.client_uri ?? null,
    logo_uri: metadata.logo_uri ?? null,
    policy_uri: metadata.policy_uri ?? null,
    tos_uri: metadata.tos_uri ?? null,
    jwks: (metadata.jwks ?? null) as ClientRow['jwks'],
    jwks_uri: metadata.jwks_uri ?? null,
    backchannel_logout_uri: metadata.backchannel_logout_uri ?? null,
    backchannel_logout_session_required: metadata.backchannel_logout_session_required,
  };
}

/** A client as its own registration shows it (RFC 7591 3.2.1); what isn't set is left out. */
export function metadataOf(client: ClientRow): Record<string, unknown> {
  const shown: Record<string, unknown> = {
    client_id: client.id,
    client_id_issued_at: Math.floor(client.created_at.getTime() / 1000),
    client_name: client.name,
    application_type: client.application_type === 'native' ? 'native' : 'web',
    redirect_uris: client.redirect_uris,
    post_logout_redirect_uris: client.post_logout_redirect_uris,
    grant_types: client.grant_types,
    response_types: client.grant_types.includes('authorization_code') ? ['code'] : [],
    token_endpoint_auth_method: client.token_endpoint_auth_method,
    id_token_signed_response_alg: 'RS256',
    subject_type: 'public',
    scope: client.scopes?.join(' '),
    contacts: client.contacts,
    client_uri: client.client_uri,
    logo_uri: client.logo_uri,
    policy_uri: client.policy_uri,
    tos_uri: client.tos_uri,
    jwks: client.jwks,
    jwks_uri: client.jwks_uri,
    backchannel_logout_uri: client.backchannel_logout_uri,
    backchannel_logout_session_required: client.backchannel_logout_session_required,
  };
  const isSet = (value: unknown) => value !== null && value !== undefined && !(Array.isArray(value) && value.length === 0);
  return Object.fromEntries(Object.entries(shown).filter(([, value]) => isSet(value)));
}
