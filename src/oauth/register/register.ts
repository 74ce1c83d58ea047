import type { NextFunction, Request, Response } from 'express';
import { isDeepStrictEqual } from 'node:util';
import { transaction, type Context } from '../../domain/context.js';
import { clientData } from '../../domain/events/data.js';
import { emit } from '../../domain/events/emit.js';
import { reachOfClient } from '../../domain/reach/reach-of.js';
import { fullReach, requireReach, stranger } from '../../domain/reach/reach.js';
import { Refusal } from '../../domain/refusal.js';
import { chosenAlgorithms } from '../../domain/clients/registration.js';
import { requireSigningAlgorithms } from '../../domain/signing-keys/algorithms.js';
import { listNamesBeyondManagement } from '../../db/tables/permissions.js';
import { deleteClient, findClient, insertClient, updateClient, type ClientRow } from '../../db/tables/clients.js';
import { OAuthError } from '../../errors.js';
import { bearerTokenOf } from '../../http/auth/authenticate-bearer.js';
import { digest, equalDigests } from '../../lib/digest.js';
import { randomToken, uuidv7 } from '../../lib/random.js';
import { registrationPath } from '../endpoints.js';
import { metadataOf, readClient } from './metadata.js';

/** Registration is there only while the environment offers it (specification 5.9.2). */
export function registrationEnabled(req: Request, _res: Response, next: NextFunction): void {
  if (!req.ctx.environment.dynamic_registration_enabled)
    throw new OAuthError(404, 'not_found', 'dynamic client registration is not offered here');
  if (req.method !== 'GET' && req.method !== 'DELETE' && req.is('application/json') !== 'application/json') {
    throw new OAuthError(400, 'invalid_client_metadata', 'the body must be application/json');
  }
  next();
}

/** Whether the method rests on a shared secret. */
const hasSecret = (method: string) => method.startsWith('client_secret_');

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

const secretColumns = (secret: string | null, now: Date): Partial<ClientRow> => ({
  secret_digest: secret === null ? null : digest(secret),
  secret_hint: secret === null ? null : secret.slice(-4),
  secret_rotated_at: secret === null ? null : now,
  previous_secret_digest: null,
  previous_secret_expires_at: null,
});

const policyOf = ({ config, environment }: Context) => ({
  allowPrivateNetwork: config.allowPrivateNetwork,
  signingAlgorithms: environment.signing_algorithms,
});

/** Strangers hold nothing of the Management API, and may not ask people for it either. @throws {OAuthError} `invalid_client_metadata` */
async function refuseManagementScopes(ctx: Context, scopes: readonly string[] | null): Promise<void> {
  const named = (scopes ?? []).filter((scope) => fullReach.has(scope));
  const elsewhere = new Set(await listNamesBeyondManagement(ctx.scope, named));
  if (named.every((scope) => elsewhere.has(scope))) return;
  throw new OAuthError(400, 'invalid_client_metadata', 'scope: must not name permissions of the Management API');
}

/** What an administrator gave the client beside what it says of itself is not for its registration token to move. @throws {OAuthError} 403 */
async function requireOwnReach(tx: Context, client: ClientRow): Promise<void> {
  const reach = await reachOfClient(tx, { ...client, first_party: false });
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

/** POST /oauth/register (RFC 7591 3): a client registers itself. Emits `client.registered`. */
export async function createRegistration(req: Request, res: Response): Promise<void> {
  const { ctx } = req;
  const columns = readClient(req.body, policyOf(ctx));
  await refuseManagementScopes(ctx, columns.scopes);
  const now = ctx.clock.now();
  const client_secret = hasSecret(columns.token_endpoint_auth_method) ? randomToken('cs_') : null;
  const registration_access_token = randomToken('');
  const client = await transaction(ctx, async (tx) => {
    await requireSigningAlgorithms(tx, chosenAlgorithms(columns));
    const row = await insertClient(tx.scope, {
      ...columns,
      ...secretColumns(client_secret, now),
      id: uuidv7(now.getTime()),
      registration_token_digest: digest(registration_access_token),
      created_at: now,
      updated_at: now,
    });
    await emit(tx, 'client.registered', clientData(row));
    return row;
  });
  ctx.logger.info(
    { event: 'client.registered', environment_id: ctx.environment.id, client_id: client.id, request_id: req.request_id },
    'a client registered itself',
  );
  answer(req, res, 201, client, { client_secret, registration_access_token });
}

/** The client that the registration access token is for; an unknown client is told no more than a wrong token (RFC 7592 2). */
async function requireRegistration(req: Request): Promise<ClientRow> {
  const presented = digest(bearerTokenOf(req));
  const client = await findClient(req.ctx.scope, String(req.params['client_id'] ?? '').slice(0, 255));
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
  await emit(tx, 'client.updated', { ...clientData(after), previous_attributes });
}

/**
 * PUT /oauth/register/{client_id} (RFC 7592 2.2): replaces the metadata as a whole; a client that was made first-party no longer is, for it is
 * no longer what an administrator looked at. Emits `client.updated`.
 */
export async function replaceRegistration(req: Request, res: Response): Promise<void> {
  const { ctx } = req;
  const client = await requireRegistration(req);
  const body = req.body as Record<string, unknown>;
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
  const columns = readClient(body, policyOf(ctx));
  await refuseManagementScopes(ctx, columns.scopes);
  const now = ctx.clock.now();
  const needsSecret = hasSecret(columns.token_endpoint_auth_method);
  const client_secret = needsSecret && client.secret_digest === null ? randomToken('cs_') : null;
  const secret = needsSecret && client_secret === null ? {} : secretColumns(client_secret, now);
  const changed = await transaction(ctx, async (tx) => {
    await requireOwnReach(tx, client);
    await requireSigningAlgorithms(tx, chosenAlgorithms(columns));
    const row = await updateClient(tx.scope, client.id, { ...columns, ...secret, updated_at: now });
    if (row) await emitUpdated(tx, client, row);
    return row;
  });
  if (!changed) throw OAuthError.invalid_token('the client is no longer registered');
  answer(req, res, 200, changed, { client_secret });
}

/** DELETE /oauth/register/{client_id} (RFC 7592 2.3): the client and all that it holds go. */
export async function deleteRegistration(req: Request, res: Response): Promise<void> {
  const client = await requireRegistration(req);
  await transaction(req.ctx, (tx) => deleteClient(tx.scope, client.id));
  req.ctx.logger.info(
    { event: 'client.deregistered', environment_id: req.ctx.environment.id, client_id: client.id, request_id: req.request_id },
    'a client removed itself',
  );
  res.status(204).set('Cache-Control', 'no-store').end();
}
