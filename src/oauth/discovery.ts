import type { Request, Response } from 'express';
import { acrValuesOf } from '../domain/sessions/authentication-context.js';
import { clientSigningAlgorithms } from '../domain/clients/key-set.js';
import { proofAlgorithms } from '../domain/dpop/proof.js';
import { publicMaxAgeMs } from '../domain/environments/environments.js';
import type { Environment } from '../domain/environment.js';
import { openidScopes } from '../domain/claims/scopes.js';
import { clientAuthMethods } from '../http/auth/authenticate-client.js';
import { deliveryModes } from '../db/tables/backchannel_columns.js';
import { prompts, responseModes } from './authorize/request.js';
import { claimNames } from '../domain/claims/claims.js';
import { languageTags } from '../lib/languages/languages.js';
import { ageHeader, publicDocumentOf, sendDocument } from '../http/request/public-document.js';
import { oauthEndpoints, jwksPath, registrationPath } from './endpoints.js';
import { grants } from './grants/index.js';
import { idJagProfile, idJagTokenType } from '../lib/identity-assertions.js';
import { ofEach } from '../lib/memo.js';

const confidentialMethods = clientAuthMethods.filter((method) => method !== 'none');

const takes = (name: string) => Object.values(grants).some(({ params }) => Object.hasOwn(params, name));

/** The metadata that both documents share (RFC 8414 2, OIDC Discovery 3), derived from what is mounted. */
export function metadata(environment: Environment): Record<string, unknown> {
  const { issuer } = environment;
  return {
    issuer,
    ...Object.fromEntries(Object.entries(oauthEndpoints).map(([name, path]) => [name, issuer + path])),
    ...(environment.dynamic_registration_enabled ? { registration_endpoint: issuer + registrationPath } : {}),
    jwks_uri: issuer + jwksPath,
    scopes_supported: openidScopes,
    response_types_supported: ['code'],
    response_modes_supported: responseModes,
    authorization_signing_alg_values_supported: environment.signing_algorithms,
    grant_types_supported: Object.keys(grants),
    subject_types_supported: ['public'],
    id_token_signing_alg_values_supported: environment.signing_algorithms,
    userinfo_signing_alg_values_supported: environment.signing_algorithms,
    token_endpoint_auth_methods_supported: clientAuthMethods,
    token_endpoint_auth_signing_alg_values_supported: clientSigningAlgorithms,
    introspection_signing_alg_values_supported: environment.signing_algorithms,
    introspection_endpoint_auth_methods_supported: confidentialMethods,
    introspection_endpoint_auth_signing_alg_values_supported: clientSigningAlgorithms,
    revocation_endpoint_auth_methods_supported: clientAuthMethods,
    revocation_endpoint_auth_signing_alg_values_supported: clientSigningAlgorithms,
    code_challenge_methods_supported: takes('code_verifier') ? ['S256'] : [],
    prompt_values_supported: prompts,
    claims_supported: ['sub', ...claimNames, 'auth_time', 'nonce', 'acr', 'amr', 'sid', 'at_hash'],
    ui_locales_supported: languageTags,
    claim_types_supported: ['normal'],
    claims_parameter_supported: true,
    acr_values_supported: acrValuesOf(environment),
    request_parameter_supported: true,
    request_object_signing_alg_values_supported: clientSigningAlgorithms,
    request_uri_parameter_supported: false,
    require_pushed_authorization_requests: environment.require_pushed_authorization_requests,
    dpop_signing_alg_values_supported: proofAlgorithms,
    backchannel_token_delivery_modes_supported: deliveryModes,
    backchannel_user_code_parameter_supported: false,
    backchannel_logout_supported: true,
    backchannel_logout_session_supported: true,
    authorization_response_iss_parameter_supported: true,
    ...(environment.client_id_metadata_documents === 'off' ? {} : { client_id_metadata_document_supported: true }),
    ...(environment.authorization_details_types.length > 0 && {
      authorization_details_types_supported: environment.authorization_details_types,
    }),
    resource_indicators_supported: takes('resource'),
    identity_chaining_requested_token_types_supported: [idJagTokenType],
    authorization_grant_profiles_supported: [idJagProfile],
  };
}

/** The metadata of the environment as it is sent, built once per version of it. */
export const discoveryDocument = ofEach((environment: Environment) => publicDocumentOf(JSON.stringify(metadata(environment))));

/** GET /.well-known/openid-configuration and /.well-known/oauth-authorization-server. Waits for nobody, as the JWKS doesn't. */
export function discovery(req: Request, res: Response): void {
  const { cache, environment } = req.ctx;
  const age_ms = cache.recallPublic(environment.id, 'environments', environment.id, publicMaxAgeMs)?.age_ms ?? 0;
  sendDocument(req, res, discoveryDocument(environment), ageHeader(age_ms));
}
