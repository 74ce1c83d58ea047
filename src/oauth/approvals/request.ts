import type { Request, Response } from 'express';
import { askPerson } from '../../domain/approvals/ask.js';
import { pollInterval } from '../../domain/device-codes/device-codes.js';
import { isClass } from '../../domain/proofs/classes.js';
import { acrValuesOf } from '../../domain/sessions/authentication-context.js';
import { readIdTokenHint } from '../../domain/tokens/id-token.js';
import { OAuthError, RateLimitedError } from '../../errors.js';
import { traceNarrowed } from '../../http/auth/trace.js';
import { originOf } from '../../http/pages/mail-origin.js';
import { isBindingMessage } from '../../lib/binding-message.js';
import { cibaGrantType } from '../../lib/grant-types.js';
import { granted } from '../authorize/granted-scopes.js';
import { judgeDeviceRequest, maxLengths, requestedOf, requireLengths } from '../device/start.js';

const lengths = { ...maxLengths, login_hint: 254, id_token_hint: 16_384, acr_values: 255, client_notification_token: 1024 };
/** RFC 6750 2.1. */
const bearerToken = /^[\w.~+/-]+=*$/;
const { invalid_request } = OAuthError;

/** What is wrong with the request whoever it is about, in this order; the first decides (CIBA Core 1.0 7.1, 7.2). */
function problemOf({ form, client, ctx }: Request): OAuthError | null {
  const has = (name: string) => form.get(name) !== undefined;
  const message = form.get('binding_message');
  const expiry = form.get('requested_expiry');
  const token = form.get('client_notification_token');
  const acrs = acrValuesOf(ctx.environment);
  const reachable = (form.get('acr_values') ?? '').split(' ').some((one) => isClass(one) && acrs.includes(one));
  const pinged = client.backchannel_token_delivery_mode === 'ping';
  const unsupported = ['request', 'login_hint_token', 'user_code'].find(has);
  const checks: readonly [boolean, () => OAuthError][] = [
    [unsupported !== undefined, () => invalid_request(`${unsupported} is not supported`)],
    [has('login_hint') === has('id_token_hint'), () => invalid_request('exactly one of login_hint and id_token_hint names the person')],
    [!(form.get('scope') ?? '').split(' ').includes('openid'), () => OAuthError.invalid_scope('scope must contain openid')],
    [
      message !== undefined && !isBindingMessage(message),
      () => new OAuthError(400, 'invalid_binding_message', 'binding_message has 1 to 100 visible characters on one line, and no address'),
    ],
    [expiry !== undefined && !/^[1-9]\d{0,8}$/.test(expiry), () => invalid_request('requested_expiry is a number of seconds')],
    [has('acr_values') && !reachable, () => invalid_request('acr_values names no class that people can reach here')],
    [pinged && !has('client_notification_token'), () => invalid_request('client_notification_token is missing')],
    [token !== undefined && !bearerToken.test(token), () => invalid_request('client_notification_token is no bearer token')],
  ];
  return checks.find(([broken]) => broken)?.[1]() ?? null;
}

/** The address or user id of the hint; an ID token is one of this client's, expired or not. @throws {OAuthError} `invalid_request` */
async function hintOf({ ctx, form, client }: Request): Promise<string> {
  const token = form.get('id_token_hint');
  if (token === undefined) return form.get('login_hint') ?? '';
  const hint = await readIdTokenHint(ctx, token);
  if (hint?.client_id !== client.id) throw invalid_request('id_token_hint is no ID token of this client');
  return hint.sub;
}

/**
 * POST /oauth/backchannel_authentication (CIBA Core 1.0 7): a client asks a person who is elsewhere, and gets what it asks about their answer with. Two statements.
 * @throws {OAuthError}
 * @throws {RateLimitedError} whoever the hint names, and if it is nobody
 */
export async function askElsewhere(req: Request, res: Response): Promise<void> {
  const { ctx, client, form } = req;
  const requested = requestedOf(form);
  requireLengths(form, lengths);
  const { target, rulings, authorization_details } = await judgeDeviceRequest(ctx, client, requested, cibaGrantType);
  const problem = problemOf(req);
  if (problem) throw problem;
  if (target?.resource.is_system) throw OAuthError.invalid_target('nobody is asked elsewhere for the Management API').by('no_client_grant');
  const hint = await hintOf(req);
  traceNarrowed(req, form, rulings, client.id);
  const expiry = form.get('requested_expiry');
  const answer = await askPerson(ctx, client, {
    hint,
    scopes: granted(rulings),
    resource: target && target.resource,
    authorization_details,
    organization: requested.organization ?? null,
    binding_message: form.get('binding_message') ?? null,
    acr_values: (form.get('acr_values') ?? '').split(' ').filter(isClass),
    requested_expiry: expiry === undefined ? null : Number(expiry),
    client_notification_token: client.backchannel_token_delivery_mode === 'ping' ? (form.get('client_notification_token') ?? null) : null,
    request_id: req.request_id,
    origin: originOf(req),
  });
  if (answer === 'unknown') throw new OAuthError(400, 'unknown_user_id', 'the hint names nobody whom the client knows');
  if (typeof answer === 'number') throw new RateLimitedError(answer);
  res.setHeader('Cache-Control', 'no-store');
  res.json({ ...answer, interval: pollInterval });
}
