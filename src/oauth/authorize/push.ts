import type { Request, Response } from 'express';
import type { Client } from '../../domain/clients/clients.js';
import { proofRefused, usedBefore, type DpopProof } from '../../domain/dpop/proof.js';
import { insertPushedRequest } from '../../db/tables/pushed_requests.js';
import { OAuthError, PageError } from '../../errors.js';
import { dpopProofOf } from '../../http/auth/dpop.js';
import type { Web } from '../../http/web.js';
import { digest } from '../../lib/digest.js';
import { parametersOf, type Parameters } from '../../lib/parameters.js';
import { randomToken } from '../../lib/random.js';
import { findAddressee } from './addressee.js';
import { AuthorizationError } from './authorization-error.js';
import { requestUriPrefix } from './pushed-request.js';
import { readRequestObject } from './request-object.js';
import { validate } from './validate.js';

const lifetimeSeconds = 60;

/** What belongs to the HTTP request and not to the authorization request (RFC 9126 2.1); `assertion` is good for as long as its platform says. */
const authentication = new Set(['client_secret', 'client_assertion', 'client_assertion_type', 'grant_type', 'assertion']);

/** The authorization request that the form bears: its parameters, or those of its request object alone (RFC 9101 6.3). @throws {OAuthError} */
async function requestIn(req: Request, client: Client): Promise<Parameters> {
  const { ctx, form } = req;
  if (form.get('request_uri') !== undefined) throw OAuthError.invalid_request('request_uri must not be pushed (RFC 9126 2.1)');
  const jwt = form.get('request');
  if (jwt === undefined) {
    if (client.require_signed_request_object) throw OAuthError.invalid_request('this client signs its requests: request is required');
    const sent = Object.entries(form.all).filter(([name]) => !authentication.has(name));
    return parametersOf({ ...Object.fromEntries(sent), client_id: client.id });
  }
  const read = await readRequestObject(ctx, client, jwt, form);
  if ('reason' in read) throw new OAuthError(400, read.error, read.reason);
  return parametersOf({ ...read.parameters, client_id: client.id });
}

/** The request, bound to the key of the proof that came with it (RFC 9449 10.1). @throws {OAuthError} when it names another */
function boundRequest({ ctx }: Request, sent: Parameters, proof: DpopProof | null): Parameters {
  if (proof === null) return sent;
  const named = sent.get('dpop_jkt');
  if (named !== undefined && named !== proof.jkt)
    throw proofRefused(ctx, { error: 'invalid_dpop_proof', reason: 'dpop_jkt is not the key of the DPoP proof' });
  return parametersOf({ ...sent.all, dpop_jkt: proof.jkt });
}

/** The refusals of the authorization endpoint, as this one says them (RFC 9126 2.3). */
function inJson(error: unknown): unknown {
  if (error instanceof AuthorizationError) return new OAuthError(400, error.error, error.description);
  if (!(error instanceof PageError)) return error;
  return OAuthError.invalid_request(
    error.code === 'invalid_redirect_uri' ? 'redirect_uri is not registered for this client' : 'redirect_uri is required',
  );
}

/**
 * POST /oauth/par (RFC 9126 2): the client leaves its authorization request here, where it proves who it is, and takes a reference to the
 * browser. The request is judged now; the person's rights are judged when it is opened. One statement.
 * @throws {OAuthError}
 */
export const pushRequest = (web: Web) => async (req: Request, res: Response) => {
  const { ctx, client } = req;
  const proof = await dpopProofOf(web, req);
  const parameters = boundRequest(req, await requestIn(req, client), proof);
  try {
    await validate(ctx, await findAddressee(web, req, parameters), parameters, { session: null, pushed: true });
  } catch (error) {
    throw inJson(error);
  }
  const reference = randomToken('');
  const now = ctx.clock.now();
  const expires_at = new Date(now.getTime() + lifetimeSeconds * 1000);
  const row = { digest: digest(reference), client_id: client.id, parameters: { ...parameters.all }, created_at: now, expires_at };
  if (!(await insertPushedRequest(ctx.scope, row, proof && proof.use))) throw proofRefused(ctx, usedBefore);
  res.status(201).set('Cache-Control', 'no-store');
  res.json({ request_uri: requestUriPrefix + reference, expires_in: lifetimeSeconds });
};
