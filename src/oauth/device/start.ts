import type { Request, Response } from 'express';
import { askableScopes, namedResource, type Client } from '../../domain/clients/clients.js';
import { isSelfRegistered } from '../../domain/clients/rules.js';
import type { Context } from '../../domain/context.js';
import { deviceCodeLifetime, pollInterval, startDeviceCode } from '../../domain/device-codes/device-codes.js';
import type { Target } from '../../domain/tokens/target.js';
import { quoted } from '../../domain/tokens/unusable-token.js';
import { OAuthError } from '../../errors.js';
import { originOf } from '../../http/pages/mail-origin.js';
import { traceNarrowed } from '../../http/request/trace.js';
import { deviceCodeGrantType } from '../../lib/grant-types.js';
import { formatScope, parseScope } from '../../lib/scope-set.js';
import type { ScopeRuling } from '../../lib/refusal-rules.js';
import { showUserCode } from '../../lib/user-code.js';
import { goesBeyondClient, granted, judgeScopes } from '../authorize/granted-scopes.js';
import { devicePath } from './paths.js';

/** The resource that the device wants tokens for (RFC 8707 2), as far as its client may ask people for it; null without one. @throws {OAuthError} */
async function targetOf(ctx: Context, client: Client, identifier: string | undefined): Promise<Target | null> {
  if (identifier === undefined) return null;
  const resource = await namedResource(ctx, identifier);
  if (!resource) throw OAuthError.invalid_target(`the resource ${quoted(identifier)} is not registered`).by('unknown_resource');
  if (isSelfRegistered(client) && resource.is_system)
    throw OAuthError.invalid_target('a client that registered itself may not ask for the Management API').by('no_client_grant');
  const askable = await askableScopes(ctx, client, resource);
  if (!askable)
    throw OAuthError.invalid_target(`the client may not ask people for the resource ${quoted(identifier)}`).by('no_client_grant');
  return { resource, askable };
}

/** What becomes of the scopes that are asked for (RFC 6749 3.3). @throws {OAuthError} */
function rulingsOf(client: Client, text: string | undefined, target: Target | null): ScopeRuling[] {
  const scopes = parseScope(text ?? '');
  if (scopes === null) throw OAuthError.invalid_scope('scope must be words separated by spaces').by('unknown_scope');
  const rulings = judgeScopes(client, scopes, target);
  if (goesBeyondClient(rulings))
    throw OAuthError.invalid_scope('the scope goes beyond what the client may ask for').by('not_in_client_scopes', { scopes: rulings });
  return rulings;
}

const maxLength = 4096;

/** What a device is given, if its person agrees: the resource, and the scopes with what became of each. */
export type DeviceRequest = { readonly target: Target | null; readonly rulings: readonly ScopeRuling[] };

/** Judges what a device asks for. @throws {OAuthError} `unauthorized_client`, `invalid_target`, `invalid_scope` */
export async function judgeDeviceRequest(
  ctx: Context,
  client: Client,
  asked: { readonly resource: string | undefined; readonly scope: string | undefined },
): Promise<DeviceRequest> {
  if (!client.grant_types.includes(deviceCodeGrantType))
    throw OAuthError.unauthorized_client('the client may not use the device flow').by('grant_type_not_allowed');
  const target = await targetOf(ctx, client, asked.resource);
  return { target, rulings: rulingsOf(client, asked.scope, target) };
}

/**
 * POST /oauth/device_authorization (RFC 8628 3.1): a device without a browser asks for a code that its person types elsewhere. One statement.
 * @throws {OAuthError}
 */
export async function startDevice(req: Request, res: Response): Promise<void> {
  const { ctx, client, form } = req;
  for (const name of ['scope', 'resource'])
    if ((form.get(name) ?? '').length > maxLength) throw OAuthError.invalid_request(`${name} is longer than ${maxLength} characters`);
  const { target, rulings } = await judgeDeviceRequest(ctx, client, { resource: form.get('resource'), scope: form.get('scope') });
  traceNarrowed(req, form, rulings, client.id);
  const scope = formatScope(granted(rulings));
  const asked = {
    client_id: client.id,
    scope,
    resource: target?.resource.identifier ?? null,
    origin: originOf(req),
    request_id: req.request_id,
  };
  const { device_code, user_code: code } = await startDeviceCode(ctx, asked);
  const user_code = showUserCode(code);
  const verification_uri = ctx.environment.issuer + devicePath;
  res.setHeader('Cache-Control', 'no-store');
  res.json({
    device_code,
    user_code,
    verification_uri,
    verification_uri_complete: `${verification_uri}?user_code=${user_code}`,
    expires_in: deviceCodeLifetime,
    interval: pollInterval,
  });
}
