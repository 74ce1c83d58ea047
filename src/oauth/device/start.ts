import type { Request, Response } from 'express';
import type { Client } from '../../domain/clients/clients.js';
import type { Context } from '../../domain/context.js';
import { deviceCodeLifetime, pollInterval, startDeviceCode } from '../../domain/device-codes/device-codes.js';
import { requireDetails } from '../../domain/tokens/authorization-details.js';
import type { Target } from '../../domain/tokens/target.js';
import { OAuthError } from '../../errors.js';
import { originOf } from '../../http/pages/mail-origin.js';
import { traceNarrowed } from '../../http/auth/trace.js';
import type { Detail } from '../../lib/authorization-details.js';
import { deviceCodeGrantType } from '../../lib/grant-types.js';
import { formatScope, parseScope } from '../../lib/scope-set.js';
import type { Parameters } from '../../lib/parameters.js';
import type { ScopeRuling } from '../../lib/refusal-rules.js';
import { showUserCode } from '../../lib/user-code.js';
import { requestedTarget } from '../authorize/requested-target.js';
import { takesNoOrganization } from '../authorize/validate.js';
import { goesBeyondClient, granted, judgeScopes } from '../authorize/granted-scopes.js';
import { devicePath } from '../../http/request/return-to.js';

/** The resource that the device wants tokens for (RFC 8707 2); null without one. @throws {OAuthError} `invalid_target` */
async function targetOf(ctx: Context, client: Client, identifier: string | undefined): Promise<Target | null> {
  if (identifier === undefined) return null;
  const found = await requestedTarget(ctx, client, identifier);
  if ('rule' in found) throw OAuthError.invalid_target(found.description).by(found.rule);
  return found;
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

/** @throws {OAuthError} `invalid_request` */
export function requireLengths(form: Parameters, maxLengths: Readonly<Record<string, number>>): void {
  for (const [name, most] of Object.entries(maxLengths))
    if ((form.get(name) ?? '').length > most) throw OAuthError.invalid_request(`${name} is longer than ${most} characters`);
}

export const maxLengths = { scope: 4096, resource: 4096, organization: 255 };

/** What a device's or a backchannel authentication request comes to, if the person agrees: the resource, the scopes with what became of each, and details. */
export type DeviceRulings = {
  readonly target: Target | null;
  readonly rulings: readonly ScopeRuling[];
  readonly authorization_details: readonly Detail[] | null;
};

type Requested = {
  readonly resource: string | undefined;
  readonly scope: string | undefined;
  readonly organization: string | undefined;
  readonly authorization_details?: string | undefined;
};

/** The parameters that a device and a client that asks elsewhere have in common. */
export const requestedOf = (form: Parameters): Requested => ({
  resource: form.get('resource'),
  scope: form.get('scope'),
  organization: form.get('organization'),
  authorization_details: form.get('authorization_details'),
});

/** Judges what a device asks for, or a client of another grant that asks people elsewhere. @throws {OAuthError} `unauthorized_client`, `invalid_target`, `invalid_authorization_details`, `invalid_scope` */
export async function judgeDeviceRequest(
  ctx: Context,
  client: Client,
  requested: Requested,
  grant_type = deviceCodeGrantType,
): Promise<DeviceRulings> {
  if (!client.grant_types.includes(grant_type))
    throw OAuthError.unauthorized_client(`the client may not use ${grant_type}`).by('grant_type_not_allowed');
  if (client.organization_usage === 'deny' && requested.organization !== undefined)
    throw OAuthError.invalid_request(takesNoOrganization).by('organizations_not_taken');
  const target = await targetOf(ctx, client, requested.resource);
  const authorization_details = requireDetails(client, target && target.resource, requested.authorization_details);
  return { target, rulings: rulingsOf(client, requested.scope, target), authorization_details };
}

/**
 * POST /oauth/device_authorization (RFC 8628 3.1): a device without a browser asks for a code that its person types elsewhere. One statement.
 * @throws {OAuthError}
 */
export async function startDevice(req: Request, res: Response): Promise<void> {
  const { ctx, client, form } = req;
  requireLengths(form, maxLengths);
  const requested = requestedOf(form);
  const { target, rulings, authorization_details } = await judgeDeviceRequest(ctx, client, requested);
  traceNarrowed(req, form, rulings, client.id);
  const scope = formatScope(granted(rulings));
  const request = {
    client_id: client.id,
    scope,
    resource: target?.resource.identifier ?? null,
    authorization_details,
    organization: requested.organization ?? null,
    origin: originOf(req),
    request_id: req.request_id,
  };
  const { device_code, user_code: code } = await startDeviceCode(ctx, request);
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
