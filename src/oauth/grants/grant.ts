import type { Client } from '../../domain/clients/clients.js';
import type { Context } from '../../domain/context.js';
import type { Origin } from '../../domain/origin.js';
import { OAuthError } from '../../errors.js';
import type { Parameters } from '../../lib/parameters.js';
import { readParams, type Params, type ParamValues } from './params.js';

/** The token response (RFC 6749 5.1, specification 5.5.1). */
export type TokenResponse = {
  access_token: string;
  token_type: 'Bearer';
  /** Seconds. */
  expires_in: number;
  scope: string;
  refresh_token?: string;
  id_token?: string;
};

/** The declaration of a grant type. */
type Declaration<P extends Params> = {
  /** Whether a client without a secret may use it, on the strength of PKCE or of a refresh token bound to it. */
  readonly public_clients: boolean;
  /** Its parameters: they are read before `handle`, and discovery and docs/specification/05-oauth.md follow from them. */
  readonly params: P;
  /** What to say of a required parameter that is missing, beside that: how to find its value. */
  readonly missing?: { readonly [Name in keyof P]?: (ctx: Context, client: Client) => Promise<string> };
  /**
   * Answers with tokens. `origin`: where the request comes from, for the security event of a replay.
   * @throws {OAuthError}
   */
  handle(ctx: Context, client: Client, params: ParamValues<P>, origin: () => Origin): Promise<TokenResponse>;
};

/** A grant type, as the token endpoint uses it. */
export type Grant = Pick<Declaration<Params>, 'public_clients' | 'params'> & {
  /** Reads the parameters and answers with tokens. @throws {OAuthError} */
  answer(ctx: Context, client: Client, sent: Parameters, origin: () => Origin): Promise<TokenResponse>;
};

/** Makes a grant type of its declaration. */
export function grant<P extends Params>({ public_clients, params, missing, handle }: Declaration<P>): Grant {
  return {
    public_clients,
    params,
    async answer(ctx, client, sent, origin) {
      for (const [name, hint] of Object.entries<((ctx: Context, client: Client) => Promise<string>) | undefined>(missing ?? {}))
        if (hint && sent.get(name) === undefined && sent.repeated.size === 0)
          throw OAuthError.invalid_request(`${name} is required: ${await hint(ctx, client)}`);
      return handle(ctx, client, readParams(params, sent), origin);
    },
  };
}

/** The token response, without the members that there is no value for. */
export function tokenResponse(
  given: Pick<TokenResponse, 'access_token' | 'expires_in' | 'scope'>,
  { refresh_token, id_token }: { readonly refresh_token?: string | null; readonly id_token?: string | undefined } = {},
): TokenResponse {
  const { access_token, expires_in, scope } = given;
  return {
    access_token,
    token_type: 'Bearer',
    expires_in,
    scope,
    ...(refresh_token == null ? {} : { refresh_token }),
    ...(id_token === undefined ? {} : { id_token }),
  };
}
