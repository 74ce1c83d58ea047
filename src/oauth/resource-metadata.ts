import type { Request, Response } from 'express';
import { apiResourceById, apiResourceOf, type ApiResource } from '../domain/clients/clients.js';
import { proofAlgorithms } from '../domain/dpop/proof.js';
import type { Environment } from '../domain/environment.js';
import { OAuthError } from '../errors.js';
import { publicDocumentOf, sendDocument } from '../http/request/public-document.js';
import { ofEach } from '../lib/memo.js';

/** The metadata of an API resource (RFC 9728 2). */
function resourceMetadata(environment: Environment, resource: ApiResource): Record<string, unknown> {
  const defaults = resource.default_scopes.filter((scope) => resource.permissions.includes(scope));
  return {
    resource: resource.identifier,
    authorization_servers: [environment.issuer],
    scopes_supported: defaults.length > 0 ? defaults : resource.permissions,
    bearer_methods_supported: ['header'],
    dpop_signing_alg_values_supported: proofAlgorithms,
    dpop_bound_access_tokens_required: resource.dpop_bound_access_tokens,
    ...(resource.detail_types.size > 0 && { authorization_details_types_supported: [...resource.detail_types.keys()] }),
    resource_name: resource.name,
    ...(resource.documentation_url === null ? {} : { resource_documentation: resource.documentation_url }),
  };
}

/** The documents of an environment, built once for each of its resources as it is remembered. */
const documentsOf = ofEach((environment: Environment) =>
  ofEach((resource: ApiResource) => publicDocumentOf(JSON.stringify(resourceMetadata(environment, resource)))),
);

function answer(req: Request, res: Response, resource: ApiResource | null): void {
  if (!resource) throw new OAuthError(404, 'not_found', 'there is no such API resource');
  sendDocument(req, res, documentsOf(req.ctx.environment)(resource));
}

/** GET /.well-known/oauth-protected-resource/api: the Management API. No statement once it is remembered. */
export async function managementResourceMetadata(req: Request, res: Response): Promise<void> {
  answer(req, res, await apiResourceOf(req.ctx, req.ctx.environment.management_audience));
}

/** GET /oauth/resources/{api_resource_id}/metadata: any other API, whose owner needs to host nothing. */
export async function apiResourceMetadata(req: Request, res: Response): Promise<void> {
  const resource = await apiResourceById(req.ctx, String(req.params['api_resource_id'] ?? ''));
  answer(req, res, resource?.is_system ? null : resource);
}
