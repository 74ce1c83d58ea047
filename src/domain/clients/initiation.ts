import { withParameters } from '../../lib/redirect-uri.js';
import type { Environment } from '../environment.js';

/**
 * Where a sign-in to a client begins that is started here (OIDC Core 4): its `initiate_login_uri` with our issuer. Without `login_hint`, for an
 * address in a link ends up in logs, and the session here tells who it is. Null when the client has none.
 */
export function openUrl(environment: Pick<Environment, 'issuer'>, initiate_login_uri: string): string;
export function openUrl(environment: Pick<Environment, 'issuer'>, initiate_login_uri: string | null): string | null;
export function openUrl({ issuer }: Pick<Environment, 'issuer'>, initiate_login_uri: string | null): string | null {
  return initiate_login_uri === null ? null : withParameters(initiate_login_uri, { iss: issuer });
}
