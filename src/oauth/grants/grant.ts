import type { Client } from '../../domain/clients/clients.js';
import type { Context } from '../../domain/context.js';
import type { Origin } from '../../domain/origin.js';
import type { Parameters } from '../../lib/parameters.js';

/** The token response (RFC 6749 5.1, specification 5.5.1). */
export type TokenResponse = {
  access_token: string;
  token_type: 'Bearer';
  expires_in: number;
  scope: string;
  refresh_token?: string;
  id_token?: string;
};

/** A grant type: reads its own parameters, answers with tokens or throws an OAuthError. */
export type Grant = {
  /** Whether a client that only names itself may use it (with PKCE or a bound refresh token). */
  readonly public_clients: boolean;
  /** `origin` tells where the request came from, for the trace of a refusal. */
  handle(ctx: Context, client: Client, parameters: Parameters, origin: () => Origin): Promise<TokenResponse>;
};
