/** The OAuth endpoints that are mounted, under their metadata names (RFC 8414 2). Router and discovery both read this list. */
export const oauthEndpoints = {
  authorization_endpoint: '/oauth/authorize',
  token_endpoint: '/oauth/token',
  userinfo_endpoint: '/oauth/userinfo',
  introspection_endpoint: '/oauth/introspect',
  revocation_endpoint: '/oauth/revoke',
  end_session_endpoint: '/oauth/logout',
  pushed_authorization_request_endpoint: '/oauth/par',
  device_authorization_endpoint: '/oauth/device_authorization',
  backchannel_authentication_endpoint: '/oauth/backchannel_authentication',
} as const;

/** What browser applications call from their own origins (`cors`); the documents that everybody may read are not among them. */
export const crossOriginPaths: ReadonlySet<string> = new Set([
  oauthEndpoints.token_endpoint,
  oauthEndpoints.revocation_endpoint,
  oauthEndpoints.userinfo_endpoint,
  oauthEndpoints.pushed_authorization_request_endpoint,
  oauthEndpoints.device_authorization_endpoint,
]);

/** The revocation feed, which no standard names. */
export const revocationsPath = '/oauth/revocations';

export const jwksPath = '/.well-known/jwks.json';

/** Where clients register themselves, in environments that offer it (RFC 7591). */
export const registrationPath = '/oauth/register';

/** Where the documents about the service are published (OIDC Discovery 4, RFC 8414 3). */
export const metadataPaths = { openid: '/.well-known/openid-configuration', oauth: '/.well-known/oauth-authorization-server' } as const;

/**
 * All addresses of the metadata. Clients that know the address of the Management API alone look beside it: behind the name (RFC 8414 3.1) and below it
 * (OIDC Discovery 4).
 */
export const allMetadataPaths: readonly string[] = Object.values(metadataPaths).flatMap((path) => [path, `${path}/api`, `/api${path}`]);
