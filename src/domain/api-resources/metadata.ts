import type { ApiResourceRow } from '../../db/tables/api_resources.js';
import { proofAlgorithms } from '../dpop/proof.js';
import type { Environment } from '../environment.js';

/** Where the metadata of the Management API is: between the host and the path of its identifier (RFC 9728 3.1). */
export const managementMetadataPath = '/.well-known/oauth-protected-resource/api';

/** Where the metadata of any other API resource is: hosted here, for the 401 of an API may name any URL (RFC 9728 5.1). */
export const resourceMetadataPath = (id: string): string => `/oauth/resources/${id}/metadata`;

export const managementMetadataUrl = ({ base_url }: Pick<Environment, 'base_url'>): string => base_url + managementMetadataPath;

export const metadataUrlOf = (
  environment: Pick<Environment, 'base_url' | 'issuer'>,
  row: Pick<ApiResourceRow, 'id' | 'is_system'>,
): string => (row.is_system ? managementMetadataUrl(environment) : environment.issuer + resourceMetadataPath(row.id));

/** The challenge of an API that takes bearer tokens: it names the metadata, which tell a client where to get a token (RFC 9728 5.1). */
export const bearerChallenge = (metadata_url: string): string => `Bearer resource_metadata="${metadata_url}"`;

/** What an API answers with 401 in `WWW-Authenticate`; one whose tokens are bound to keys asks for a proof (RFC 9449 7.1). */
export function wwwAuthenticateOf(environment: Pick<Environment, 'base_url' | 'issuer'>, row: ApiResourceRow): string {
  const url = metadataUrlOf(environment, row);
  return row.dpop_bound_access_tokens ? `DPoP algs="${proofAlgorithms.join(' ')}", resource_metadata="${url}"` : bearerChallenge(url);
}
