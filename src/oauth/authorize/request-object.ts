import { clientClockSkewSeconds, verifyClientJwt } from '../../domain/clients/keys.js';
import type { Client } from '../../domain/clients/clients.js';
import { isFapi2 } from '../../domain/clients/profile.js';
import type { Context } from '../../domain/context.js';
import { jsonObject, jsonText } from '../../lib/json-object.js';
import { isNumericDate } from '../../lib/numeric-date.js';
import type { OAuthErrorCode } from '../../lib/oauth-error-codes.js';
import { parametersOf, type Parameters } from '../../lib/parameters.js';
import { AuthorizationError } from './authorization-error.js';
import type { ClientRequest, Limiting } from '../metadata-documents/identify-client.js';
import { identifyClientOrPage, findAddressee } from './addressee.js';
import { named } from '../../lib/named.js';

/** Claims of a request object that are about the object itself, not parameters (RFC 9101 4). */
const envelope = new Set(['iss', 'aud', 'exp', 'nbf', 'iat', 'jti', 'sub']);

/** A claim as the text that it would be as a parameter; null when it can't be one. */
function asText(value: unknown): string | null {
  if (typeof value === 'string') return value.includes('\0') || !value.isWellFormed() ? null : value;
  if (typeof value === 'number' && Number.isSafeInteger(value)) return String(value);
  return jsonObject(value) && jsonText(value);
}

/** How long a request object of a client that has to sign its requests may be good, and how old it may be (FAPI 2.0 Message Signing 5.3.1). */
const maxSeconds = 3_600;

/** First thing wrong with a request object that proves that nobody but the client asks, and asks this service, now (FAPI 2.0 Message Signing 5.3.1); or null. */
function problemOfProof({ aud, exp, nbf }: Readonly<Record<string, unknown>>, now: number): string | null {
  const list: [boolean, string][] = [
    [aud === undefined, 'aud of the request object must be the issuer'],
    [!isNumericDate(nbf), 'nbf is required in the request object'],
    [!isNumericDate(exp), 'exp is required in the request object'],
    [isNumericDate(exp) && isNumericDate(nbf) && exp - nbf > maxSeconds, 'the request object must expire within an hour of its nbf'],
    [isNumericDate(nbf) && now - nbf > maxSeconds, 'nbf of the request object is more than an hour past'],
  ];
  return list.find(([applies]) => applies)?.[1] ?? null;
}

/** First thing wrong with a request object whose signature is right (OIDC Core 6.1, RFC 9101 4, 10.8), or null. */
function problemOf(ctx: Context, client: Client, outer: Parameters, claims: Readonly<Record<string, unknown>>): string | null {
  const now = Math.floor(ctx.clock.now().getTime() / 1000);
  const audiences = [claims['aud']].flat();
  const { exp, nbf, iss } = claims;
  const list: [boolean, string][] = [
    ['request' in claims || 'request_uri' in claims, 'a request object must not hold another'],
    [iss !== undefined && iss !== client.id, 'iss of the request object must be the client_id'],
    [claims['aud'] !== undefined && !audiences.includes(ctx.environment.issuer), 'aud of the request object must be the issuer'],
    [claims['client_id'] !== undefined && claims['client_id'] !== client.id, 'client_id of the request object differs'],
    [claims['response_type'] !== undefined && outer.get('response_type') !== undefined && claims['response_type'] !== outer.get('response_type'), 'response_type of the request object differs'],
    // A client assertion has sub = client_id: it must not serve as a request object (RFC 9101 10.8).
    [claims['sub'] === client.id, 'sub must not be in the request object'],
    [exp !== undefined && !(isNumericDate(exp) && exp > now - clientClockSkewSeconds), 'the request object has expired'],
    [nbf !== undefined && !(isNumericDate(nbf) && nbf <= now + clientClockSkewSeconds), 'the request object is not valid yet'],
  ]; // prettier-ignore
  return list.find(([applies]) => applies)?.[1] ?? (client.require_signed_request_object ? problemOfProof(claims, now) : null);
}

const isUnsigned = (jwt: string): boolean => {
  try {
    const header = JSON.parse(Buffer.from(jwt.split('.')[0] ?? '', 'base64url').toString('utf8')) as { alg?: unknown };
    return typeof header.alg === 'string' && header.alg.toLowerCase() === 'none';
  } catch {
    return false;
  }
};

/** The parameters in the request object of a client (RFC 9101 4), as texts; or what is wrong with it. */
export async function readRequestObject(
  ctx: Context,
  client: Client,
  jwt: string,
  sent: Parameters,
): Promise<{ readonly parameters: Readonly<Record<string, string>> } | { readonly error: OAuthErrorCode; readonly reason: string }> {
  if (isUnsigned(jwt)) {
    // Who may send parameters as they are is told to.
    const error = isFapi2(client) || client.require_signed_request_object ? 'invalid_request_object' : 'request_not_supported';
    return { error, reason: 'unsigned request objects are not supported' };
  }
  const verified = await verifyClientJwt(ctx, client, jwt, 'oauth-authz-req+jwt');
  if ('reason' in verified) return { error: 'invalid_request_object', reason: verified.reason };
  const reason = problemOf(ctx, client, sent, verified.payload);
  if (reason !== null) return { error: 'invalid_request_object', reason };
  const parameters: Record<string, string> = named();
  for (const [name, value] of Object.entries(verified.payload)) {
    if (envelope.has(name)) continue;
    // RFC 9396 2: the one parameter that is a list.
    const text = name === 'authorization_details' && Array.isArray(value) ? jsonText(value) : asText(value);
    if (text === null) return { error: 'invalid_request_object', reason: 'a parameter in the request object is not text' };
    parameters[name] = text;
  }
  return { parameters };
}

/**
 * The parameters of a request whose `request` parameter holds a signed request object (OIDC Core 6.1): those of the object, and beside
 * them those of the request that it doesn't name. A request object is taken or refused, never ignored; a refusal goes only to a
 * redirect URI that stands, registered, in the request itself.
 * @throws {AuthorizationError | PageError}
 */
export async function unwrapRequestObject(web: Limiting, req: ClientRequest, sent: Parameters): Promise<Parameters> {
  const jwt = sent.get('request');
  const client_id = sent.get('client_id');
  // Whatever is wrong with the rest of the request is found by the checks that every request goes through.
  if (jwt === undefined || client_id === undefined || sent.repeated.size > 0 || sent.get('request_uri') !== undefined) return sent;
  const client = await identifyClientOrPage(web, req, client_id);
  if (!client) return sent;
  const read = await readRequestObject(req.ctx, client, jwt, sent);
  if ('reason' in read) throw new AuthorizationError(await findAddressee(web, req, sent), read.error, read.reason);
  const { request: _object, ...outside } = sent.all;
  return parametersOf({ ...outside, ...read.parameters });
}
