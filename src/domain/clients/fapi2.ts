import type { ClientRow } from '../../db/tables/clients.js';
import { tokenExchangeGrantType } from '../../lib/grant-types.js';
import { type Problem, unfit } from '../refusal.js';
import { importClientKey } from './key-set.js';
import { algorithmsOfClient } from './profile.js';

export type Fapi2Settings = Pick<
  ClientRow,
  | 'redirect_uris' | 'grant_types' | 'token_endpoint_auth_method' | 'jwks' | 'jwks_uri' | 'require_pkce' | 'require_pushed_authorization_requests'
  | 'dpop_bound_access_tokens' | 'id_token_signed_response_alg' | 'userinfo_signed_response_alg' | 'authorization_signed_response_alg'
  | 'introspection_signed_response_alg'
>; // prettier-ignore

const profile = 'fapi2';

/**
 * Grants in which the client proves itself, and the person is in its own browser. Not among them: a device, whose person could be somebody whom a stranger sent
 * a code (RFC 8628 5.4), and a platform's assertion in the place of the client's (RFC 7523 2.1).
 */
const grants = ['authorization_code', 'refresh_token', 'client_credentials', tokenExchangeGrantType];

type Attribute = NonNullable<Problem['attribute']>;

const unmet = (attribute: Attribute, detail: string): Problem => unfit(attribute, 'profile_rule_unmet', `FAPI 2.0: ${detail}`);

/** What a setting has to be, and what is said of one that isn't. */
const switches: readonly [name: keyof Fapi2Settings, fits: (settings: Fapi2Settings) => boolean, detail: string][] = [
  ['token_endpoint_auth_method', (one) => one.token_endpoint_auth_method === 'private_key_jwt', 'a client proves itself by private_key_jwt.'],
  ['jwks', (one) => one.jwks !== null || one.jwks_uri !== null, 'a client has keys of its own: jwks, or jwks_uri.'],
  ['require_pkce', (one) => one.require_pkce, 'PKCE is compulsory.'],
  ['require_pushed_authorization_requests', (one) => one.require_pushed_authorization_requests, 'authorization requests are pushed.'],
  ['dpop_bound_access_tokens', (one) => one.dpop_bound_access_tokens, 'access tokens are bound to a key by DPoP.'],
]; // prettier-ignore

const responses = [
  'id_token_signed_response_alg',
  'userinfo_signed_response_alg',
  'authorization_signed_response_alg',
  'introspection_signed_response_alg',
] as const;

/** Whether the redirect URI is one that FAPI 2.0 takes; http is of loopback addresses alone, for development. */
const isProtected = (uri: string, { allowPrivateNetwork }: { readonly allowPrivateNetwork: boolean }) =>
  /^https:/i.test(uri) || (allowPrivateNetwork && /^http:/i.test(uri));

/** Each key that is for RS256 alone: it can verify nothing of this client. */
function keyProblems({ jwks }: Fapi2Settings): Problem[] {
  const algorithms = algorithmsOfClient({ profile });
  return (jwks?.keys ?? []).flatMap((key, index) => {
    const usable = importClientKey(key as Readonly<Record<string, unknown>>)?.algorithms ?? [];
    const fits = usable.length === 0 || usable.some((algorithm) => algorithms.includes(algorithm));
    return fits ? [] : [unmet(['jwks', 'keys', index], `nothing is signed with RS256: register a key for ${algorithms.join(', ')}.`)];
  });
}

/**
 * Every setting of the client that the FAPI 2.0 Security Profile doesn't allow, each at its place. What else the profile asks for follows from these, or
 * from `profile` itself: how assertions and request objects are judged, which answers and API resources the client gets, and that its refresh tokens stay.
 */
export const fapi2Problems = (client: Fapi2Settings, policy: { readonly allowPrivateNetwork: boolean }): Problem[] => [
  ...switches.filter(([, fits]) => !fits(client)).map(([name, , detail]) => unmet(name, detail)),
  ...keyProblems(client),
  ...responses
    .filter((name) => client[name] === 'RS256')
    .map((name) => unmet(name, 'nothing is signed with RS256: choose another algorithm.')),
  ...client.redirect_uris.flatMap((uri, index) =>
    isProtected(uri, policy) ? [] : [unmet(['redirect_uris', index], 'a redirect URI uses https.')],
  ),
  ...client.grant_types.flatMap((grant, index) =>
    grants.includes(grant) ? [] : [unmet(['grant_types', index], `only ${grants.join(', ')} are for such a client.`)],
  ),
];

/** What the profile settles by itself, where the client that gets it says nothing else. */
const settled = { require_pkce: true, require_pushed_authorization_requests: true, dpop_bound_access_tokens: true } as const;

/** What its ID tokens are signed with unless something else is chosen. */
export const fapi2Algorithm = 'ES256';

/**
 * The input with what the profile fills in, for a client that gets it by this: what the input says itself stays as it is, and is judged. Of a client that is
 * there already its way to prove itself, and signatures that somebody chose, aren't changed behind its back.
 */
export function withFapi2<Input extends Partial<ClientRow>>(input: Input, before: ClientRow | null): Input {
  if (input.profile !== profile || before?.profile === profile) return input;
  const method = before === null ? { token_endpoint_auth_method: 'private_key_jwt' as const } : {};
  const weak = before === null || before.id_token_signed_response_alg === 'RS256';
  return { ...settled, ...method, ...(weak && { id_token_signed_response_alg: fapi2Algorithm }), ...input };
}

/** The metadata of a client that registered itself, with what its profile leaves it no choice of (RFC 7591 3.2.1: the answer tells what was registered). */
export function underFapi2<Metadata extends Partial<ClientRow>>(metadata: Metadata, before: ClientRow): Metadata {
  if (before.profile !== profile) return metadata;
  const weak = metadata.id_token_signed_response_alg === 'RS256';
  return { ...metadata, ...settled, ...(weak && { id_token_signed_response_alg: before.id_token_signed_response_alg }) };
}
