import type { NextFunction, Request, Response } from 'express';
import { assertionType, claimedSubject, clientByAssertion } from '../../domain/clients/assertion.js';
import { noteSecurityEvent } from '../../domain/audit/security-trail.js';
import { clientBySecret, enabledClient, lastKnownClient, type Client } from '../../domain/clients/clients.js';
import type { ClientAuthMethod } from '../../db/tables/clients.js';
import { originOf } from '../pages/mail-origin.js';
import { requestOrigin } from '../request/asked-origin.js';
import { claimedIssuer, clientByWorkload } from '../../domain/workloads/assertion.js';
import { OAuthError } from '../../errors.js';
import { jwtBearerGrantType } from '../../lib/grant-types.js';
import { isIdJag } from '../../lib/identity-assertions.js';
import { named } from '../../lib/named.js';
import { parseBasicCredentials, type BasicCredentials } from '../../lib/basic-credentials.js';

/** How clients prove who they are at the token endpoint; discovery and client validation follow from this list. */
export const clientAuthMethods = [
  'client_secret_basic',
  'client_secret_post',
  'private_key_jwt',
  'none',
] as const satisfies readonly ClientAuthMethod[];

/**
 * What the client authenticates with; `workload`: a token of a trusted issuer (RFC 7523 2.2); `grant`: the same as the grant itself (2.1); `none`: only its client_id; `absent`: not even that.
 */
type Credentials =
  | { method: 'secret'; client_id: string; client_secret: string }
  | { method: 'assertion'; client_id: string; assertion: string }
  | { method: 'workload'; client_id: string; assertion: string }
  | { method: 'grant'; client_id: string | null; assertion: string }
  | { method: 'none'; client_id: string }
  | { method: 'absent' };

const twoMethods = () => OAuthError.invalid_request('the client must use one authentication method, not two');

/** The client assertion of the request (RFC 7521 4.2); null without one. client_id may be left out: the assertion's `sub` is the client. @throws {OAuthError} */
function assertionOf(req: Request): Credentials | null {
  const { form } = req;
  const assertion = form.get('client_assertion');
  const type = form.get('client_assertion_type');
  if (assertion === undefined && type === undefined) return null;
  if (req.headers.authorization !== undefined || form.get('client_secret') !== undefined) throw twoMethods();
  if (assertion === undefined) throw OAuthError.invalid_request('client_assertion is required with client_assertion_type');
  if (type !== assertionType)
    throw OAuthError.invalid_client('client_assertion_type must be urn:ietf:params:oauth:client-assertion-type:jwt-bearer');
  const subject = claimedSubject(assertion);
  const client_id = form.get('client_id');
  if (client_id !== undefined && claimedIssuer(assertion) !== null && claimedIssuer(assertion) !== client_id)
    return { method: 'workload', client_id, assertion };
  if (subject === null) throw OAuthError.invalid_client('the client_assertion can not be read');
  if (client_id !== undefined && client_id !== subject) throw OAuthError.invalid_client('client_id differs from the client_assertion');
  return { method: 'assertion', client_id: subject, assertion };
}

/** The Basic credentials of the request (RFC 7617); null without an Authorization header, and when it isn't well-formed Basic. */
function basicCredentialsOf(req: Request): BasicCredentials | null {
  const { authorization } = req.headers;
  return (req.basic ??= authorization === undefined ? null : parseBasicCredentials(authorization));
}

/** Reads the credentials; two methods in one request are refused (RFC 6749 2.3). `byGrant`: see {@link ClientProof}. Needs `form` before. */
function credentialsOf(req: Request, byGrant: boolean): Credentials {
  const asserted = assertionOf(req);
  if (asserted) return asserted;
  const { authorization } = req.headers;
  const client_id = req.form.get('client_id');
  const client_secret = req.form.get('client_secret');
  if (authorization !== undefined) {
    const basic = basicCredentialsOf(req);
    if (!basic) throw OAuthError.invalid_client('the Authorization header must be Basic with client_id and client_secret');
    if (client_secret !== undefined) throw twoMethods();
    if (client_id !== undefined && client_id !== basic.client_id)
      throw OAuthError.invalid_request('client_id differs from the Authorization header');
    return { method: 'secret', ...basic };
  }
  const assertion = byGrant && req.form.get('grant_type') === jwtBearerGrantType ? req.form.get('assertion') : undefined;
  // An identity assertion proves a person, and no client.
  if (assertion !== undefined && client_secret === undefined && !isIdJag(assertion))
    return { method: 'grant', client_id: client_id ?? null, assertion };
  if (client_id === undefined) return { method: 'absent' };
  return client_secret === undefined ? { method: 'none', client_id } : { method: 'secret', client_id, client_secret };
}

/** The client_id that a request claims, unproven, for rate limits; at most 512 characters, empty when it claims none. */
export function claimedClientId(req: Request): string {
  const basic = basicCredentialsOf(req);
  const assertion = req.form.get('client_assertion');
  const subject = assertion === undefined ? null : claimedSubject(assertion);
  return (basic?.client_id ?? req.form.get('client_id') ?? subject ?? '').slice(0, 512);
}

/** Finds the client that a request claims to be from; null for one that is unknown or disabled. */
export type FindClient = (req: Request, client_id: string) => Promise<Client | null>;

const storedClient: FindClient = ({ ctx }, client_id) => enabledClient(ctx, client_id);

export type ClientProof = {
  /** Finds one that is stored, unless the endpoint takes others too. */
  readonly find?: FindClient;
  /** Whether the grant of a workload proves its client beside (RFC 7523 2.1): where grants are brought, and nowhere else. */
  readonly byGrant?: boolean;
};

const secretMethods = new Set(['client_secret_basic', 'client_secret_post']);

/** The client that the request claims to be from, if there is one, and whether it proves that. @throws {OAuthError} */
async function authenticated(
  req: Request,
  { find = storedClient, byGrant = false }: ClientProof,
): Promise<{ client: Client | null; proven: boolean }> {
  const credentials = credentialsOf(req, byGrant);
  switch (credentials.method) {
    case 'secret': {
      if (credentials.client_secret === '') return { client: null, proven: false };
      const { client, proven } = await clientBySecret(req.ctx, credentials.client_id, credentials.client_secret);
      return { client, proven: proven && client !== null && secretMethods.has(client.token_endpoint_auth_method) };
    }
    case 'assertion': {
      const { issuer } = req.ctx.environment;
      // No other name of this service: what was made for one that somebody else serves is good there alone.
      const audiences = [issuer, `${issuer}/oauth/token`, `${requestOrigin(req)}/oauth/token`];
      const proven = await clientByAssertion(req.ctx, credentials.client_id, credentials.assertion, audiences, (id) => find(req, id));
      if ('reason' in proven) throw OAuthError.invalid_client(proven.reason);
      return { client: proven, proven: true };
    }
    case 'workload': {
      const proven = await clientByWorkload(req.ctx, credentials.assertion, credentials.client_id);
      if ('reason' in proven) throw OAuthError.invalid_client(proven.reason);
      return { client: proven, proven: true };
    }
    case 'grant': {
      const proven = await clientByWorkload(req.ctx, credentials.assertion, credentials.client_id);
      if ('reason' in proven) throw OAuthError.invalid_grant(proven.reason);
      return { client: proven, proven: true };
    }
    case 'none': {
      const client = await find(req, credentials.client_id);
      return { client, proven: client?.token_endpoint_auth_method === 'none' };
    }
    case 'absent':
      return { client: null, proven: false };
  }
}

/** Who used the header, or nothing at all, is told the scheme to use (RFC 6749 5.2). */
const isChallenged = (req: Request): boolean =>
  req.headers.authorization !== undefined || (req.form.get('client_id') === undefined && req.form.get('client_assertion') === undefined);

/** Libraries hide the error behind a challenge: after credentials in the body there is none. */
function unchallenged(req: Request, error: unknown): unknown {
  if (!(error instanceof OAuthError) || error.error !== 'invalid_client' || isChallenged(req)) return error;
  return new OAuthError(error.status, error.error, error.description, named(), error.cause);
}

/**
 * Records that a client didn't prove who it is, in memory. What was claimed and is nobody's client_id is recorded nowhere.
 * @param client that was claimed, if it was looked up; else what the process remembers of it
 */
function noteRefusal(req: Request, client: Client | null): void {
  const { ctx } = req;
  const claimed = claimedClientId(req);
  const known = client ?? lastKnownClient(ctx, claimed);
  noteSecurityEvent(ctx, 'client.authentication_failed', {
    target: { target_type: 'client', target_id: known?.id ?? null, display: known?.name ?? null },
    origin: originOf(req),
    reason: known ? 'not_proven' : claimed === '' ? 'no_credentials' : 'unknown_client',
  });
}

/**
 * The client that the request proves to be from (RFC 6749 2.3); a public client is taken at its word and must prove itself by PKCE. Needs `form` before.
 * @throws {OAuthError} 401 `invalid_client`, 400 `invalid_grant` where the assertion is the grant itself; 400 `invalid_target` for several resources; 400 `invalid_request` for a malformed request, in which any parameter comes twice, or two methods
 */
export async function provenClient(req: Request, taken: ClientProof = {}): Promise<Client> {
  // RFC 8707 2 allows several; but a scope means something else at each.
  if (req.form.repeated.has('resource')) throw OAuthError.invalid_target('only one resource can be asked for at once');
  if (req.form.repeated.size > 0) throw OAuthError.invalid_request('a parameter must not be sent twice');
  const { client, proven } = await authenticated(req, taken).catch((error: unknown) => {
    if (error instanceof OAuthError && error.error !== 'invalid_request') noteRefusal(req, null);
    throw unchallenged(req, error);
  });
  if (!client || !proven) {
    noteRefusal(req, client);
    throw unchallenged(req, OAuthError.invalid_client());
  }
  req.ctx.notes.clientUse.note(req.ctx.environment.id, client.id, req.ctx.clock.now());
  return client;
}

/** Middleware: sets `req.client` to the client that the request proves to be from. Needs `form` before. */
export const authenticateClient = (taken?: ClientProof) => async (req: Request, _res: Response, next: NextFunction) => {
  req.client = await provenClient(req, taken);
  next();
};

/** Refuses a public client where a secret is needed, such as introspection (RFC 7662 2.1). Needs `authenticateClient` before. @throws {OAuthError} 401 */
export function confidentialOnly(req: Request, _res: Response, next: NextFunction): void {
  if (req.client.token_endpoint_auth_method === 'none')
    throw unchallenged(req, OAuthError.invalid_client('this endpoint needs an authenticated client'));
  next();
}
