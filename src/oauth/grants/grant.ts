import type { Client } from '../../domain/clients/clients.js';
import type { Context } from '../../domain/context.js';
import { maxDetailsBytes, type Detail } from '../../lib/authorization-details.js';
import type { DpopProof } from '../../domain/dpop/proof.js';
import type { Origin } from '../../domain/origin.js';
import type { ScopeRuling } from '../../lib/refusal-rules.js';

/** How a grant type declares one of its parameters. */
export type Param = {
  readonly required: boolean;
  /** Characters that are taken. */
  readonly maxLength: number;
};

/** The parameters of a grant type beside `grant_type` and those of client authentication, by name. */
export type Params = Readonly<Record<string, Param>>;

/** The values of declared parameters: required ones are there, others may be undefined. */
export type ParamValues<P extends Params> = { readonly [Name in keyof P]: P[Name]['required'] extends true ? string : string | undefined };

/** A parameter without which there is no token: `required(4096)`. */
export const required = (maxLength: number) => ({ required: true, maxLength }) as const;

/** A parameter that may be left out. */
export const optional = (maxLength: number) => ({ required: false, maxLength }) as const;

/** What a grant gives: the members of the token response (RFC 6749 5.1, specification 5.5.1) that differ from grant to grant. */
export type GrantedTokens = {
  readonly access_token: string;
  /** Seconds; left out where it isn't known. */
  readonly expires_in?: number | undefined;
  readonly scope: string;
  /** What was allowed beyond scopes (RFC 9396 7); null or left out: nothing was asked for. */
  readonly authorization_details?: readonly Detail[] | null;
  readonly issued_token_type?: string;
  /** What is handed out is no access token, and how it would be used is not applicable (RFC 8693 2.2.1); left out: it is one; of another's, as that is used. */
  readonly token_type?: 'N_A' | 'Bearer';
  readonly refresh_token?: string | null;
  readonly id_token?: string | undefined;
  /** What became of each scope that was granted, where the token says less; it isn't answered, but leaves a trace. */
  readonly dropped?: readonly ScopeRuling[] | undefined;
};

/** `authorization_details` (RFC 9396 6). */
export const detailsParam = optional(maxDetailsBytes);

export type Grant<P extends Params = Params> = {
  /** Whether a client without a secret may use it, on the strength of PKCE or of a refresh token bound to it. */
  readonly public_clients: boolean;
  /** Whether its own statement spends the DPoP proof; else the token endpoint does before. */
  readonly spends_proof?: boolean;
  /** Its parameters: they are read before `handle`, and discovery and docs/specification/05-oauth.md follow from them. */
  readonly params: P;
  /** What stands for a required parameter that is absent. @throws {OAuthError} `invalid_request` where nothing does: how to find a value */
  readonly absent?: { readonly [Name in keyof P]?: (ctx: Context, client: Client) => Promise<string> };
  /**
   * Makes the tokens. `origin`: where the request comes from, for the security event of a replay. `proof`: of the key that the access token is to be
   * bound to (RFC 9449 5); null: a bearer token.
   * @throws {OAuthError}
   */
  handle(ctx: Context, client: Client, params: ParamValues<P>, origin: () => Origin, proof: DpopProof | null): Promise<GrantedTokens>;
};

/** Declares a grant type; inside, the values of its parameters are typed. */
export const grant = <P extends Params>(declaration: Grant<P>): Grant => declaration as unknown as Grant;
