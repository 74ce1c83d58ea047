import type { NextFunction, Request, RequestHandler, Response } from 'express';
import { originOf } from '../http/pages/mail-origin.js';
import { listPermissionNamesOfUser } from '../db/tables/permissions.js';
import { PageError } from '../errors.js';
import { browserSession } from '../http/auth/browser-session.js';
import { csrf } from '../http/auth/csrf.js';
import { limitProof } from '../http/auth/fresh-sign-in.js';
import { form } from '../http/request/form.js';
import type { Web } from '../http/web.js';
import type { Call } from '../management/call.js';
import { registry } from '../management/resources/index.js';
import { proofsOf } from '../domain/sessions/proofs.js';
import { dueOfSession } from '../domain/sign-ins/session-step.js';
import type { BrowserSession } from '../domain/sessions/sessions.js';

declare module 'express-serve-static-core' {
  interface Request {
    /** The signed-in administrator's use of the Management operations; set by `gate`. */
    call: Call;
  }
}

/** The session of whoever is behind the gate. */
export function viewerOf(req: Request): BrowserSession {
  if (!req.session) throw new Error('this handler belongs behind the gate');
  return req.session;
}

/**
 * Where somebody goes whose session is older than what the policy asks for now. Enrolling a factor begins with a sign-in: whoever sits at an old session
 * may be somebody else.
 */
function stepPath(due: 'verify' | 'enroll', { method, originalUrl }: Request): string {
  const return_to = method === 'GET' ? originalUrl : '/dashboard';
  const [path, parameters] = due === 'verify' ? ['/login/verify', { acr_values: '1' }] : ['/login', { prompt: 'login' }];
  return `${path}?${new URLSearchParams({ ...parameters, return_to }).toString()}`;
}

/**
 * Lets in whoever is signed in and holds a Management permission through roles, right now: others are sent to sign in (303) or refused (403).
 * From here on the dashboard works through the operations of the Management API with this user as the actor: there is no second
 * path to the data. A session that lacks a second step takes it first; a form that is posted meanwhile waits for {@link writing}. Needs `browserSession` before.
 */
export async function gate(req: Request, res: Response, next: NextFunction): Promise<void> {
  res.set('Cache-Control', 'no-store');
  const { ctx, session } = req;
  if (!session) {
    const return_to = req.method === 'GET' ? req.originalUrl : '/dashboard';
    return res.redirect(303, `/login?${new URLSearchParams({ return_to }).toString()}`);
  }
  const due = await dueOfSession(ctx, session);
  if (due === 'enroll' || (due === 'verify' && req.method === 'GET')) return res.redirect(303, stepPath(due, req));
  const permissions = new Set(await listPermissionNamesOfUser(ctx.scope, session.user_id, ctx.environment.management_audience));
  if (permissions.size === 0) {
    throw new PageError(
      403,
      'no_management_permission',
      `You are signed in as ${session.user_email}, but this account holds no permission of the Management API. An administrator can give it a role that does.`,
    );
  }
  req.call = {
    ctx,
    actor: {
      actor_kind: 'user',
      actor_id: session.user_id,
      display: session.user_email,
      permissions,
      proven_at: session.auth_time_known ? session.authenticated_at : null,
      proofs: proofsOf(session),
    },
    registry,
    ...originOf(req),
    request_id: req.request_id,
  };
  next();
}

/** What every page of the dashboard is behind. */
export const reading: RequestHandler[] = [browserSession, gate];

/** What everything that changes something is behind: the form must come from our own page too, and guesses at a password are limited. */
export const writing = (web: Web): RequestHandler[] => [form, browserSession, gate, csrf, ...limitProof(web)];
