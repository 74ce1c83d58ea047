import type { NextFunction, Request, Response } from 'express';
import { isDeepStrictEqual } from 'node:util';
import { transaction, type Context } from '../../domain/context.js';
import { emitClientRegistered, emitClientUpdated } from '../../domain/events/clients.js';
import { reachGivenToClients } from '../../domain/reach/reach-of.js';
import { requireReach, stranger } from '../../domain/reach/reach.js';
import { Refusal } from '../../domain/refusal.js';
import { endClient } from '../../domain/clients/removal.js';
import { chosenAlgorithms, isSecretless, noSecret, secretColumns } from '../../domain/clients/registration.js';
import { recordOwnChange } from '../../domain/clients/trail.js';
import { isOpenidScope } from '../../domain/claims/scopes.js';
import { openGrants, usableInitialAccessToken } from '../../domain/clients/initial-access-tokens.js';
import { requireSigningAlgorithms } from '../../domain/signing-keys/algorithms.js';
import { listNamesBeyondManagement } from '../../db/tables/permissions.js';
import { findClient, insertClient, updateClient, type ClientRow, type RegistrationCeiling } from '../../db/tables/clients.js';
import { spendInitialAccessToken, type InitialAccessTokenRow } from '../../db/tables/registration_tokens.js';
import { countSelfRegisteredClients } from '../../db/tables/unused_clients.js';
import { BodyError, OAuthError, RateLimitedError } from '../../errors.js';
import { bearerTokenOf } from '../../http/auth/authenticate-bearer.js';
import { originOf } from '../../http/pages/mail-origin.js';
import { digest, equalDigests } from '../../lib/digest.js';
import { randomToken, uuidv7 } from '../../lib/random.js';
import { registrationPath } from '../endpoints.js';
import { metadataOf, policyOf, readClient } from './metadata.js';

/** Registration is there only while the environment offers it (specification 5.9.2). */
export function registrationEnabled(req: Request, _res: Response, next: NextFunction): void {
  if (!req.ctx.environment.dynamic_registration_enabled)
    throw new OAuthError(404, 'not_found', 'dynamic client registration is not offered here');
  if (req.method !== 'GET' && req.method !== 'DELETE' && req.is('application/json') !== 'application/json') {
    throw new OAuthError(400, 'invalid_client_metadata', 'the body must be application/json');
  }
  next();
}

function answer(
  req: Request,
  res: Response,
  status: number,
  client: ClientRow,
  secrets: { client_secret?: string | null; registration_access_token?: string },
): void {
  const { client_secret, registration_access_token } = secrets;
  res.status(status).set('Cache-Control', 'no-store');
  res.json({
    ...metadataOf(client),
    ...(client_secret ? { client_secret, client_secret_expires_at: 0 } : {}),
    ...(registration_access_token === undefined ? {} : { registration_access_token }),
    registration_client_uri: `${req.ctx.environment.issuer}${registrationPath}/${encodeURIComponent(client.id)}`,
  });
}

/**
 * The scopes that the client may ask for: those on offer, within the ceiling of its token (RFC 7591 2). Strangers hold nothing of the Management API,
 * so its permissions are not on offer; null: whatever is.
 */
async function scopesOnOffer(
  ctx: Context,
  requested: readonly string[] | null,
  ceiling: RegistrationCeiling | null,
): Promise<string[] | null> {
  const scopes = requested ?? ceiling?.scopes ?? null;
  if (scopes === null) return null;
  const permissions = new Set(await listNamesBeyondManagement(ctx.scope, scopes));
  const isUnderCeiling = (scope: string) => ceiling?.scopes == null || ceiling.scopes.includes(scope);
  return scopes.filter((scope) => (isOpenidScope(scope) || permissions.has(scope)) && isUnderCeiling(scope));
}

/** What an administrator gave the client besides what it says of itself is not for its registration access token to move. @throws {OAuthError} 403 */
async function requireOwnReach(tx: Context, client: ClientRow): Promise<void> {
  const reach = await reachGivenToClients(tx, [client]);
  try {
    requireReach(stranger, { before: reach, after: reach, touched: [{ touch: 'control', at: {} }] });
  } catch (error) {
    if (!(error instanceof Refusal)) throw error;
    tx.logger.warn(
      { event: 'client.update_refused', environment_id: tx.environment.id, client_id: client.id, permissions: [...reach] },
      'a client may not change itself: it reaches further than registration allows',
    );
    throw new OAuthError(403, 'access_denied', 'the client was given more than it may change by itself; ask an administrator');
  }
}

const maxMetadataBytes = 16_384;

/** Refuses what is larger than any client's metadata. @throws {BodyError} 413 */
function requireSmall(body: unknown): void {
  if (Buffer.byteLength(JSON.stringify(body)) > maxMetadataBytes)
    throw new BodyError(413, `client metadata may have at most ${maxMetadataBytes} bytes`);
}

const notUsable = () => OAuthError.invalid_token('the initial access token is unknown, has expired or was used before');

/** The initial access token of the request (RFC 7591 3); null where the environment is open and none came. @throws {OAuthError} 401 */
async function initialAccessToken(req: Request): Promise<InitialAccessTokenRow | null> {
  const { ctx } = req;
  if (ctx.environment.client_registration_policy === 'open' && req.headers.authorization === undefined) return null;
  const token = await usableInitialAccessToken(ctx, bearerTokenOf(req));
  if (!token) throw notUsable();
  return token;
}

const ceilingOf = (token: InitialAccessTokenRow | null): RegistrationCeiling | null =>
  token && { grant_types: token.grant_types, scopes: token.scopes, verified: token.verified };

/** Before anything is stored: strangers fill no table. @throws {RateLimitedError} */
async function requireCapacity(tx: Context): Promise<void> {
  const { self_registered_client_limit: most } = tx.environment;
  if ((await countSelfRegisteredClients(tx.scope, most)) < most) return;
  tx.logger.warn(
    { event: 'client.registrations_full', environment_id: tx.environment.id, limit: most },
    'a client was not registered: too many have come by themselves',
  );
  throw new RateLimitedError(3600, 'an administrator can raise self_registered_client_limit');
}

/** POST /oauth/register (RFC 7591 3): a client registers itself. Emits `client.registered`. */
export async function createRegistration(req: Request, res: Response): Promise<void> {
  const { ctx } = req;
  const token = await initialAccessToken(req);
  const ceiling = ceilingOf(token);
  requireSmall(req.body);
  const columns = readClient(req.body, policyOf(ctx), ceiling?.grant_types ?? openGrants);
  const scopes = await scopesOnOffer(ctx, columns.scopes, ceiling);
  const now = ctx.clock.now();
  const client_secret = isSecretless(columns) ? null : randomToken('cs_');
  const registration_access_token = randomToken('');
  const client = await transaction(ctx, async (tx) => {
    await requireCapacity(tx);
    await requireSigningAlgorithms(tx, chosenAlgorithms(columns));
    if (token && !(await spendInitialAccessToken(tx.scope, token.id, now))) throw notUsable();
    const row = await insertClient(tx.scope, {
      ...columns,
      scopes,
      origin: 'registration',
      verified: ceiling?.verified ?? false,
      registration_ceiling: ceiling,
      ...(client_secret === null ? noSecret : secretColumns(client_secret, now)),
      id: uuidv7(now.getTime()),
      registration_token_digest: digest(registration_access_token),
      created_at: now,
      updated_at: now,
    });
    await emitClientRegistered(tx, row);
    return row;
  });
  ctx.logger.info(
    { event: 'client.registered', environment_id: ctx.environment.id, client_id: client.id, request_id: req.request_id },
    'a client registered itself',
  );
  answer(req, res, 201, client, { client_secret, registration_access_token });
}

/**
 * The client that the registration access token is for; an unknown client is told no more than a wrong token (RFC 7592 2). In the transaction that changes it
 * nobody else does.
 */
async function requireRegistration(req: Request, tx?: Context): Promise<ClientRow> {
  const presented = digest(bearerTokenOf(req));
  const client = await findClient((tx ?? req.ctx).scope, String(req.params['client_id'] ?? '').slice(0, 255), { lock: tx !== undefined });
  const fits = client?.registration_token_digest != null && equalDigests(client.registration_token_digest, presented);
  if (!fits || client.status !== 'enabled') throw OAuthError.invalid_token('the registration access token is not valid for this client');
  return client;
}

/** GET /oauth/register/{client_id} (RFC 7592 2.1). The secret was shown once; only its digest is kept. */
export async function readRegistration(req: Request, res: Response): Promise<void> {
  answer(req, res, 200, await requireRegistration(req), {});
}

async function emitUpdated(tx: Context, before: ClientRow, after: ClientRow): Promise<void> {
  const [was, is] = [metadataOf(before), metadataOf(after)];
  const changed = Object.keys({ ...was, ...is }).filter((name) => !isDeepStrictEqual(was[name], is[name]));
  if (changed.length === 0) return;
  const previous_attributes = Object.fromEntries(changed.map((name) => [name === 'client_name' ? 'name' : name, was[name] ?? null]));
  await emitClientUpdated(tx, after, previous_attributes);
}

/** @throws {OAuthError} `invalid_client_metadata` for what is not of this client, or not for it to say (RFC 7592 2.2) */
function requireReplacement(body: Record<string, unknown>, client: ClientRow): void {
  const invalid = (text: string) => new OAuthError(400, 'invalid_client_metadata', text);
  if (body['client_id'] !== client.id) throw invalid('client_id must be the one of this registration');
  for (const name of ['registration_access_token', 'registration_client_uri', 'client_secret_expires_at', 'client_id_issued_at']) {
    if (Object.hasOwn(body, name)) throw invalid(`${name} must not be sent`);
  }
  const { client_secret: sent } = body;
  if (
    sent !== undefined &&
    !(typeof sent === 'string' && client.secret_digest !== null && equalDigests(digest(sent), client.secret_digest))
  ) {
    throw invalid('client_secret is not the one of this client');
  }
  requireSmall(body);
}

/**
 * PUT /oauth/register/{client_id} (RFC 7592 2.2): replaces the metadata as a whole; a client that was made first-party or verified no longer is, for it is
 * no longer what an administrator looked at. Emits `client.updated`.
 */
export async function replaceRegistration(req: Request, res: Response): Promise<void> {
  const { ctx } = req;
  const body = req.body as Record<string, unknown>;
  await requireRegistration(req); // Strangers hold no client.
  const { changed, client_secret } = await transaction(ctx, async (tx) => {
    const client = await requireRegistration(req, tx);
    requireReplacement(body, client);
    await requireOwnReach(tx, client);
    const ceiling = client.registration_ceiling;
    const columns = readClient(body, policyOf(ctx), ceiling?.grant_types ?? openGrants, client);
    const scopes = await scopesOnOffer(tx, columns.scopes, ceiling);
    await requireSigningAlgorithms(tx, chosenAlgorithms(columns));
    const now = ctx.clock.now();
    const client_secret = isSecretless(columns) || client.secret_digest !== null ? null : randomToken('cs_');
    const secret = client_secret !== null ? secretColumns(client_secret, now) : isSecretless(columns) ? noSecret : {};
    const changed = await updateClient(tx.scope, client.id, {
      ...columns,
      ...secret,
      scopes,
      verified: ceiling?.verified ?? false,
      updated_at: now,
    });
    if (changed) {
      await emitUpdated(tx, client, changed);
      await recordOwnChange(tx, client, changed, Object.keys(columns), originOf(req));
    }
    return { changed, client_secret };
  });
  if (!changed) throw OAuthError.invalid_token('the client is no longer registered');
  answer(req, res, 200, changed, { client_secret });
}

/** DELETE /oauth/register/{client_id} (RFC 7592 2.3): the client and all that it holds go. */
export async function deleteRegistration(req: Request, res: Response): Promise<void> {
  await requireRegistration(req);
  const client = await transaction(req.ctx, async (tx) => {
    const client = await requireRegistration(req, tx);
    await requireOwnReach(tx, client);
    await endClient(tx, { actor_kind: 'client', actor_id: client.id }, client);
    return client;
  });
  req.ctx.logger.info(
    { event: 'client.deregistered', environment_id: req.ctx.environment.id, client_id: client.id, request_id: req.request_id },
    'a client removed itself',
  );
  res.status(204).set('Cache-Control', 'no-store').end();
}
