import type { Request, Response } from 'express';
import { apiResourceById, apiResourceOf, type ApiResource } from '../domain/clients/clients.js';
import { proofAlgorithms } from '../domain/dpop/proof.js';
import type { Environment } from '../domain/environments/environment.js';
import { OAuthError } from '../errors.js';
import { digest } from '../lib/digest.js';
import { sendDocument } from './document.js';

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
    resource_name: resource.name,
    ...(resource.documentation_url === null ? {} : { resource_documentation: resource.documentation_url }),
  };
}

type Document = { readonly environment: Environment; readonly text: string; readonly etag: string };

/** Documents by the remembered resource that they tell of. */
const documents = new WeakMap<ApiResource, Document>();

function documentOf(environment: Environment, resource: ApiResource): Document {
  const known = documents.get(resource);
  if (known?.environment === environment) return known;
  const text = JSON.stringify(resourceMetadata(environment, resource));
  const made = { environment, text, etag: `"${digest(text).subarray(0, 16).toString('base64url')}"` };
  documents.set(resource, made);
  return made;
}

/** Whether the caller has it already (RFC 9110 13.1.2). */
const isKnown = ({ headers }: Request, etag: string): boolean =>
  (headers['if-none-match'] ?? '').split(',').some((one) => one.trim().replace(/^W\//, '') === etag);

function answer(req: Request, res: Response, resource: ApiResource | null): void {
  const { environment } = req.ctx;
  if (!resource) throw new OAuthError(404, 'not_found', 'there is no such API resource');
  const { text, etag } = documentOf(environment, resource);
  res.setHeader('ETag', etag);
  if (isKnown(req, etag)) res.statusCode = 304;
  sendDocument(res, res.statusCode === 304 ? '' : text);
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
