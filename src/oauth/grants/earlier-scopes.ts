import type { ApiResource } from '../../domain/clients/clients.js';
import type { Context } from '../../domain/context.js';
import type { ExchangeableToken } from '../../domain/tokens/exchangeable-token.js';
import { isOwnAudience } from '../../domain/tokens/token-look-up.js';
import { OAuthError } from '../../errors.js';

/** The scopes that the subject's token has, and those that it goes back to had, by the identifiers of the API resources that they are for. */
export function scopesBefore(ctx: Context, { token }: ExchangeableToken): ReadonlyMap<string, string> {
  const own: [string, string][] = isOwnAudience(ctx, token.audience) ? [] : [[token.audience, token.scope]];
  return new Map([...Object.entries(token.earlier_scopes), ...own]);
}

/** More API resources are not remembered of a token: so many may act one for the other. */
const maxResources = 4;

/** What the token for the API resource has to remember of them. @throws {OAuthError} `invalid_request` for too much */
export function earlierScopes(before: ReadonlyMap<string, string>, { identifier }: ApiResource): Readonly<Record<string, string>> {
  const others = [...before].filter(([audience]) => audience !== identifier);
  if (others.length > maxResources)
    throw OAuthError.invalid_request(`subject_token: it was exchanged at ${maxResources} API resources already`);
  return Object.fromEntries(others);
}
