import { decodeJwt } from 'jose';
import { spendAssertion } from '../../db/tables/client_assertions.js';
import { digest } from '../../lib/digest.js';
import { isNumericDate } from '../../lib/numeric-date.js';
import { clientClockSkewSeconds, verifyClientJwt, type ClientJwtRefusal } from './keys.js';
import { enabledClient, type Client } from './clients.js';
import { isFapi2 } from './profile.js';
import type { Context } from '../context.js';

/** The only kind of assertion (RFC 7523 2.2). */
export const assertionType = 'urn:ietf:params:oauth:client-assertion-type:jwt-bearer';

/** An assertion has to expire within this time, so that its `jti` needn't be remembered longer. */
const maxLifetimeSeconds = 3_600;
const maxJtiLength = 512;

/** The unverified `sub` of an assertion; null when it can't be decoded. */
export function claimedSubject(assertion: string): string | null {
  try {
    const { sub } = decodeJwt(assertion) as { sub?: unknown };
    return typeof sub === 'string' ? sub : null;
  } catch {
    return null;
  }
}

/**
 * The client that an assertion proves (`private_key_jwt`, OIDC Core 9, RFC 7523 3), or why it proves none. It is spent by this: the
 * same `jti` proves nothing a second time.
 * @param audiences the issuer, and the addresses of the token endpoint that the assertion may have been made for
 * @param find finds the client
 */
export async function clientByAssertion(
  ctx: Context,
  client_id: string,
  assertion: string,
  audiences: readonly string[],
  find: (client_id: string) => Promise<Client | null> = (id) => enabledClient(ctx, id),
): Promise<Client | ClientJwtRefusal> {
  const client = await find(client_id);
  if (client?.token_endpoint_auth_method !== 'private_key_jwt') return { reason: 'the client does not authenticate by private_key_jwt' };
  const verified = await verifyClientJwt(ctx, client, assertion, 'client-authentication+jwt');
  if ('reason' in verified) return verified;
  const { iss, sub, aud, exp, nbf, iat, jti } = verified.payload;
  const now = Math.floor(ctx.clock.now().getTime() / 1000);
  const latest = now + clientClockSkewSeconds;
  const problems: [boolean, string][] = [
    [iss !== client.id || sub !== client.id, 'iss and sub of the assertion must be the client_id'],
    [![aud].flat().some((value) => value !== undefined && audiences.includes(value)), 'aud of the assertion must be the issuer'],
    // A list of audiences, or an address that somebody else could name as its own, is what attacks on assertions rest on.
    [isFapi2(client) && aud !== ctx.environment.issuer, 'aud of the assertion must be the issuer, as one string'],
    [!isNumericDate(exp), 'exp is required in the assertion'],
    [isNumericDate(exp) && exp <= now - clientClockSkewSeconds, 'the assertion has expired'],
    [isNumericDate(exp) && exp > latest + maxLifetimeSeconds, 'the assertion must expire within an hour'],
    [nbf !== undefined && !(isNumericDate(nbf) && nbf <= latest), 'the assertion is not valid yet'],
    [iat !== undefined && !(isNumericDate(iat) && iat <= latest), 'the assertion was issued in the future'],
    [typeof jti !== 'string' || jti === '' || jti.length > maxJtiLength, 'jti is required in the assertion'],
  ];
  const reason = problems.find(([applies]) => applies)?.[1];
  if (reason !== undefined) return { reason };
  const forgottenAt = new Date(((exp as number) + clientClockSkewSeconds) * 1000);
  const first = await spendAssertion(ctx.scope, client.id, digest(jti as string), forgottenAt);
  return first ? client : { reason: 'the assertion was used before' };
}
