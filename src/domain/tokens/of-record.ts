import { timeOfUuidv7 } from '../../lib/random.js';
import type { ApiResource, Client } from '../clients/clients.js';
import type { TokenContent } from './token-look-up.js';

/** When a token was issued, in milliseconds: `iat` of a JWT counts whole seconds, and its `jti` tells the rest. */
export const issuedAt = ({ format, issued_at, jti }: Pick<TokenContent, 'format' | 'issued_at' | 'jti'>): number => {
  const issuedMs = issued_at.getTime();
  if (format === 'opaque') return issuedMs;
  const made = timeOfUuidv7(jti);
  return made - issuedMs < 1000 ? Math.max(issuedMs, made) : issuedMs;
};

/** Whether what was issued at that moment is the record's: not of an earlier one of its name, nor ended with all else that was issued for it. */
export const isOfRecord = ({ tokens_not_before }: Pick<Client | ApiResource, 'tokens_not_before'>, at: number): boolean =>
  tokens_not_before === null || at >= tokens_not_before.getTime();

/** Those of the scopes that aren't of an earlier permission of the same name. */
export const withoutEarlierNames = (resource: ApiResource, scopes: readonly string[], at: number): readonly string[] =>
  resource.permissions_not_before.size === 0 ? scopes : scopes.filter((name) => at >= (resource.permissions_not_before.get(name) ?? 0));
