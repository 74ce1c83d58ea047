import type { Context } from '../../domain/context.js';
import { accessTokenPayload, type AccessTokenContent } from '../../domain/tokens/access-token.js';
import type { ScopeRuling } from '../../lib/refusal-rules.js';

export type PreviewRequest = {
  readonly client_id: string;
  /** Null for a client that acts for itself. */
  readonly user_id: string | null;
  readonly resource: string | undefined;
  readonly scope: string | undefined;
  /** The id or name of the organization that it is for. */
  readonly organization: string | undefined;
  /** As if the person said yes on the consent page. */
  readonly assume_consent: boolean;
};

export type PreviewedTokens = {
  readonly access_token: {
    readonly format: 'jwt' | 'opaque';
    readonly lifetime: number;
    readonly claims: Readonly<Record<string, unknown>>;
  };
  readonly id_token: Readonly<Record<string, unknown>> | null;
  readonly userinfo: Readonly<Record<string, unknown>> | null;
  readonly refresh_token: boolean;
  readonly scopes: readonly ScopeRuling[];
};

/** What introspection tells of an opaque token (RFC 7662 2.2), which is all that anybody can read of it. */
function introspected(claims: Record<string, unknown>): Record<string, unknown> {
  const { nbf: _nbf, gid: _gid, userinfo_claims: _names, ...shown } = claims;
  return shown;
}

/** The access token of a content, unsigned. */
export function previewedToken(ctx: Context, content: AccessTokenContent): PreviewedTokens['access_token'] {
  const { format, lifetime } = content;
  const claims = accessTokenPayload(ctx, content);
  return { format, lifetime, claims: format === 'opaque' ? introspected(claims) : claims };
}

/** Stands for the thumbprint of the client's key, where tokens are bound to one (RFC 9449 6.1). */
const exampleThumbprint = '0'.repeat(43);

/** The key that the tokens would be bound to; null for bearer tokens. */
export const exampleKey = (...demands: readonly ({ readonly dpop_bound_access_tokens: boolean } | null)[]): string | null =>
  demands.some((one) => one?.dpop_bound_access_tokens === true) ? exampleThumbprint : null;
