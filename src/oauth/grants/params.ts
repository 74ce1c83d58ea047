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
