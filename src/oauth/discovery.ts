import type { Request, Response } from 'express';
import type { Environment } from '../core/environments.js';
import { openidScopes } from '../core/tokens/scopes.js';
import { prompts, responseModes } from './authorize/request.js';
import { claimNames } from './claims.js';
import { endpoints, jwksPath } from './endpoints.js';
import { grants } from './grants/index.js';

const secretMethods = ['client_secret_basic', 'client_secret_post'];

/** The metadata that both documents share (RFC 8414 2, OIDC Discovery 3), derived from what is mounted. */
export function metadata(environment: Environment): Record<string, unknown> {
  const { issuer } = environment;
  return {
    issuer,
    ...Object.fromEntries(Object.entries(endpoints).map(([name, path]) => [name, issuer + path])),
    jwks_uri: issuer + jwksPath,
    scopes_supported: openidScopes,
    response_types_supported: ['code'],
    response_modes_supported: responseModes,
    grant_types_supported: Object.keys(grants),
    subject_types_supported: ['public'],
    id_token_signing_alg_values_supported: ['RS256'],
    token_endpoint_auth_methods_supported: [...secretMethods, 'none'],
    introspection_endpoint_auth_methods_supported: secretMethods,
    revocation_endpoint_auth_methods_supported: [...secretMethods, 'none'],
    code_challenge_methods_supported: ['S256'],
    prompt_values_supported: prompts,
    claims_supported: ['sub', ...claimNames, 'auth_time', 'acr', 'amr', 'sid'],
    claims_parameter_supported: true,
    request_parameter_supported: false,
    request_uri_parameter_supported: false,
    authorization_response_iss_parameter_supported: true,
    resource_indicators_supported: true,
  };
}

/** GET /.well-known/openid-configuration and /.well-known/oauth-authorization-server: built once per version of the environment. */
export async function discovery(req: Request, res: Response): Promise<void> {
  const { ctx } = req;
  const body = await ctx.cache.get(ctx.environment.id, 'environments', ' discovery', async () =>
    Buffer.from(JSON.stringify(metadata(ctx.environment))),
  );
  res.setHeader('Access-Control-Allow-Origin', '*');
  res.setHeader('Cache-Control', 'public, max-age=300');
  res.setHeader('Content-Type', 'application/json');
  res.end(body);
}
