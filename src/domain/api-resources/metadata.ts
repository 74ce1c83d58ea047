import type { ApiResourceRow } from '../../db/tables/api_resources.js';
import type { Environment } from '../environments/environment.js';

/** Where the metadata of the Management API is: between the host and the path of its identifier (RFC 9728 3.1). */
export const managementMetadataPath = '/.well-known/oauth-protected-resource/api';

/** Where the metadata of any other API resource is: hosted here, for the 401 of an API may name any URL (RFC 9728 5.1). */
export const resourceMetadataPath = (id: string): string => `/oauth/resources/${id}/metadata`;

/** The address of the metadata of the Management API. */
export const managementMetadataUrl = ({ base_url }: Pick<Environment, 'base_url'>): string => base_url + managementMetadataPath;

/** The address of an API resource's metadata. */
export const metadataUrlOf = (
  environment: Pick<Environment, 'base_url' | 'issuer'>,
  row: Pick<ApiResourceRow, 'id' | 'is_system'>,
): string => (row.is_system ? managementMetadataUrl(environment) : environment.issuer + resourceMetadataPath(row.id));

/** What an API answers with 401 in `WWW-Authenticate`, so that a client finds out where to get a token (RFC 9728 5.1). */
export const challengeOf = (metadata_url: string): string => `Bearer resource_metadata="${metadata_url}"`;
