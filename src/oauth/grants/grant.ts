import type { Client } from '../../domain/clients/clients.js';
import type { Context } from '../../domain/context.js';
import type { Proof } from '../../domain/dpop/proof.js';
import type { Origin } from '../../domain/origin.js';
import { OAuthError } from '../../errors.js';
import type { Parameters } from '../../lib/parameters.js';

/** How a grant type declares one of its parameters. */
export type Param = {
  readonly required: boolean;
  /** Characters that are taken. */
  readonly maxLength: number;
};

/** The parameters of a grant type beside `grant_type` and those of client authentication, by name. */
export type Params = Readonly<Record<string, Param>>;

/** The values of declared parameters: required ones are there, others may be undefined. */
export type ParamValues<P extends Params> = {
  readonly [Name in keyof P]: P[Name]['required'] extends true ? string : string | undefined;
};

/** A parameter without which there is no token: `required(4096)`. */
export const required = (maxLength: number) => ({ required: true, maxLength }) as const;

/** A parameter that may be left out. */
export const optional = (maxLength: number) => ({ required: false, maxLength }) as const;

/**
 * Reads the declared parameters of a token request; an empty one counts as missing (RFC 6749 3.2), others are ignored.
 * @throws {OAuthError} `invalid_request` for the first, in the order of declaration, that is sent twice, is missing or is too long (RFC 6749 5.2)
 */
export function readParams<P extends Params>(params: P, sent: Parameters): ParamValues<P> {
  const values: [string, string | undefined][] = [];
  for (const name of Object.keys(params)) {
    const { required: needed, maxLength } = params[name] as Param;
    const value = sent.get(name);
    if (sent.repeated.has(name)) throw OAuthError.invalid_request(`${name} was sent twice`);
    if (needed && value === undefined) throw OAuthError.invalid_request(`${name} is required`);
    if (value !== undefined && value.length > maxLength) throw OAuthError.invalid_request(`${name} is longer than ${maxLength} characters`);
    values.push([name, value]);
  }
  return Object.fromEntries(values) as ParamValues<P>;
}

/** The token response (RFC 6749 5.1, specification 5.5.1). */
export type TokenResponse = {
  access_token: string;
  /** `DPoP`: bound to the key of the proof that came with the request (RFC 9449 5). */
  token_type: 'Bearer' | 'DPoP';
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
  /** Whether its own statement spends the DPoP proof; else the token endpoint does before. */
  readonly spends_proof?: boolean;
  /** Its parameters: they are read before `handle`, and discovery and docs/specification/05-oauth.md follow from them. */
  readonly params: P;
  /** What to say of a required parameter that is missing, beside that: how to find its value. */
  readonly missing?: { readonly [Name in keyof P]?: (ctx: Context, client: Client) => Promise<string> };
  /**
   * Answers with tokens. `origin`: where the request comes from, for the security event of a replay. `proof`: the key that the tokens are to be bound to;
   * null: bearer tokens.
   * @throws {OAuthError}
   */
  handle(ctx: Context, client: Client, params: ParamValues<P>, origin: () => Origin, proof: Proof | null): Promise<TokenResponse>;
};

/** A grant type, as the token endpoint uses it. */
export type Grant = Pick<Declaration<Params>, 'public_clients' | 'spends_proof' | 'params'> & {
  /** Reads the parameters and answers with tokens. @throws {OAuthError} */
  answer(ctx: Context, client: Client, sent: Parameters, origin: () => Origin, proof: Proof | null): Promise<TokenResponse>;
};

/** Makes a grant type of its declaration. */
export function grant<P extends Params>({ public_clients, spends_proof = false, params, missing, handle }: Declaration<P>): Grant {
  return {
    public_clients,
    spends_proof,
    params,
    async answer(ctx, client, sent, origin, proof) {
      for (const [name, hint] of Object.entries<((ctx: Context, client: Client) => Promise<string>) | undefined>(missing ?? {}))
        if (hint && sent.get(name) === undefined && sent.repeated.size === 0)
          throw OAuthError.invalid_request(`${name} is required: ${await hint(ctx, client)}`);
      return handle(ctx, client, readParams(params, sent), origin, proof);
    },
  };
}

/** The token response, without the members that there is no value for. */
export function tokenResponse(
  given: Pick<TokenResponse, 'access_token' | 'expires_in' | 'scope'>,
  { refresh_token, id_token }: { readonly refresh_token?: string | null; readonly id_token?: string | undefined } = {},
  proof: Proof | null = null,
): TokenResponse {
  const { access_token, expires_in, scope } = given;
  return {
    access_token,
    token_type: proof === null ? 'Bearer' : 'DPoP',
    expires_in,
    scope,
    ...(refresh_token == null ? {} : { refresh_token }),
    ...(id_token === undefined ? {} : { id_token }),
  };
}
