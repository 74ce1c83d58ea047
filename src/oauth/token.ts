import type { Request, Response } from 'express';
import type { Client } from '../domain/clients/clients.js';
import type { Context } from '../domain/context.js';
import { requireBound, spendProof } from '../domain/dpop/proof.js';
import { OAuthError } from '../errors.js';
import { dpopProofOf } from '../http/auth/dpop.js';
import { originOf } from '../http/pages/mail-origin.js';
import { traceDropped } from '../http/auth/trace.js';
import type { Web } from '../http/web.js';
import { enforce } from '../http/limits/rate-limits.js';
import { idJagTokenType, isIdJag } from '../lib/identity-assertions.js';
import { named } from '../lib/named.js';
import type { Parameters } from '../lib/parameters.js';
import type { Grant, Param, Params, ParamValues } from './grants/grant.js';
import { grants } from './grants/index.js';

/**
 * Reads the declared parameters of a token request; an empty one counts as missing (RFC 6749 3.2), others are ignored.
 * @throws {OAuthError} `invalid_request` for the first, in the order of declaration, that is sent twice, is missing or is too long (RFC 6749 5.2)
 */
export function readParams<P extends Params>(
  params: P,
  sent: Parameters,
  absent: Readonly<Record<string, string>> = named(),
): ParamValues<P> {
  const values: Record<string, string | undefined> = named();
  for (const name of Object.keys(params)) {
    const { required: needed, maxLength } = params[name] as Param;
    const value = sent.get(name) ?? absent[name];
    if (sent.repeated.has(name)) throw OAuthError.invalid_request(`${name} was sent twice`);
    if (needed && value === undefined) throw OAuthError.invalid_request(`${name} is required`);
    if (value !== undefined && value.length > maxLength) throw OAuthError.invalid_request(`${name} is longer than ${maxLength} characters`);
    values[name] = value;
  }
  return values as ParamValues<P>;
}

/** The parameters of the request, with what stands for those that are absent. @throws {OAuthError} `invalid_request` */
export async function paramsOf(
  { params, absent = {} }: Grant,
  ctx: Context,
  client: Client,
  sent: Parameters,
): Promise<ParamValues<Params>> {
  const values: Record<string, string> = named();
  for (const [name, valueOf] of Object.entries(absent))
    if (valueOf && sent.get(name) === undefined && sent.repeated.size === 0) values[name] = await valueOf(ctx, client);
  return readParams(params, sent, values);
}

/** The grant, if the client may use it. @throws {OAuthError} `unsupported_grant_type`, `unauthorized_client` */
export function grantFor(client: Client, grant_type: string): Grant {
  const grant = Object.hasOwn(grants, grant_type) ? grants[grant_type] : undefined;
  if (!grant) throw OAuthError.unsupported_grant_type('this grant type is not offered');
  const unproven = client.token_endpoint_auth_method === 'none';
  if (!client.grant_types.includes(grant_type) || (unproven && !grant.public_clients))
    throw OAuthError.unauthorized_client('the client may not use this grant type').by('grant_type_not_allowed');
  return grant;
}

/** Identity assertions, those that are asked for and those that are brought, count by their client too. @throws {RateLimitedError} */
async function limitAssertions({ limiter, deps }: Web, { ctx, client, form }: Request, res: Response): Promise<void> {
  const assertion = form.get('assertion');
  const isOne = form.get('requested_token_type') === idJagTokenType || (assertion !== undefined && isIdJag(assertion));
  if (!isOne || !limiter.enabled) return;
  enforce(res, await limiter.take(JSON.stringify(['assertions', ctx.environment.id, client.id]), deps.config.rateLimits.assertions));
}

/** POST /oauth/token (RFC 6749 3.2): answers with the tokens of the grant type (RFC 6749 5.1), `Cache-Control: no-store`. @throws {OAuthError} */
export const token = (web: Web) => async (req: Request, res: Response) => {
  const { ctx, client, form } = req;
  const grant_type = form.get('grant_type');
  if (grant_type === undefined) throw OAuthError.invalid_request('grant_type is required');
  const grant = grantFor(client, grant_type);
  const started = performance.now();
  await limitAssertions(web, req, res);
  const params = await paramsOf(grant, ctx, client, form);
  const proof = await dpopProofOf(web, req);
  requireBound(ctx, client, proof);
  if (proof && !grant.spends_proof) await spendProof(ctx, proof);
  const given = await grant.handle(ctx, client, params, () => originOf(req), proof);
  ctx.metrics.tokenSeconds.record((performance.now() - started) / 1000, grant_type);
  ctx.metrics.daily.add(ctx.environment.id, 'tokens', grant_type);
  ctx.metrics.tokensIssued.count(grant_type, given.access_token.startsWith('at_') ? 'opaque' : 'jwt');
  if (given.dropped) traceDropped(req, given.dropped);
  const { access_token, expires_in, scope, authorization_details, refresh_token, id_token, issued_token_type } = given;
  res.setHeader('Cache-Control', 'no-store');
  res.setHeader('Pragma', 'no-cache');
  res.setHeader('Content-Type', 'application/json');
  // What is undefined is left out.
  const token_type = given.token_type ?? (proof === null ? 'Bearer' : 'DPoP');
  res.end(
    JSON.stringify({
      access_token,
      token_type,
      expires_in,
      scope,
      authorization_details: authorization_details ?? undefined,
      refresh_token: refresh_token ?? undefined,
      id_token,
      issued_token_type,
    }),
  );
};
