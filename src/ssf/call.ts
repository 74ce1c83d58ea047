import type { Request, RequestHandler, Response } from 'express';
import { findSignalStream, type SignalStreamRow } from '../db/tables/signal_streams.js';
import type { Client } from '../domain/clients/clients.js';
import type { Context } from '../domain/context.js';
import { Refusal } from '../domain/refusal.js';
import { isUuid } from '../lib/random.js';
import { signalsAudience } from '../lib/signals-api.js';
import { quotedValue } from '../domain/tokens/unusable-token.js';
import { OAuthError } from '../errors.js';
import { authenticateToken } from '../http/auth/access-token.js';
import type { Web } from '../http/web.js';

export type SsfScope = 'ssf.read' | 'ssf.manage';

/** A request of a receiver, once it is known whose it is. */
export type SsfCall = {
  readonly ctx: Context;
  readonly client: Client;
  readonly req: Request;
  readonly res: Response;
  /** Asks anew whether the token is good, for an answer that was waited for. @throws {OAuthError} 401 */
  readonly again: () => Promise<unknown>;
};

/** An answer before it is sent; without a body it is empty. */
export type SsfReply = { readonly status: number; readonly body?: unknown };

/** The client whose own token the request bears, for the API of signals; `ssf.manage` does what `ssf.read` does. @throws {OAuthError} 401, 403 */
async function authenticate(web: Web, req: Request, scope: SsfScope): Promise<Pick<SsfCall, 'client' | 'again'>> {
  const { token, invalid, again } = await authenticateToken(web, req);
  const audience = signalsAudience(req.ctx.environment);
  if (token.audience !== audience) throw invalid(`the access token is for ${quotedValue(token.audience)}; ask for resource=${audience}`);
  if (token.user_id !== null) throw invalid('the access token is of a person; a stream takes one of the client itself');
  const scopes = token.scope.split(' ');
  if (!scopes.includes(scope) && !scopes.includes('ssf.manage')) throw OAuthError.insufficient_scope(scope);
  return { client: token.client, again: () => again(req.ctx) };
}

function oauthErrorOf(error: unknown): unknown {
  const problem = error instanceof Refusal ? error.problems[0] : undefined;
  if (!problem) return error;
  const code = problem.status === 409 ? 'too_many_streams' : 'invalid_request';
  return new OAuthError(problem.status === 422 ? 400 : problem.status, code, problem.detail);
}

/** Answers with what the operation says, to clients whose token has the scope. */
export const answer =
  (web: Web, scope: SsfScope, operation: (call: SsfCall) => Promise<SsfReply>): RequestHandler =>
  async (req, res) => {
    const caller = await authenticate(web, req, scope);
    const { status, body } = await operation({ ctx: req.ctx, ...caller, req, res }).catch((error: unknown) => {
      throw oauthErrorOf(error);
    });
    res.status(status).set('Cache-Control', 'no-store');
    if (body === undefined) res.end();
    else res.json(body);
  };

/** The client's stream of the id. @throws {OAuthError} 404, another client's too */
export async function requireStream({ ctx, client }: Pick<SsfCall, 'ctx' | 'client'>, id: string, lock = false): Promise<SignalStreamRow> {
  const row = isUuid(id) ? await findSignalStream(ctx.scope, client.id, id, lock) : null;
  if (!row) throw new OAuthError(404, 'not_found', 'there is no such stream of this client');
  return row;
}
