import type { NextFunction, Request, RequestHandler, Response } from 'express';
import { originOf } from '../http/pages/mail-origin.js';
import { listPermissionNamesOfUser } from '../db/tables/permissions.js';
import { PageError } from '../errors.js';
import { browserSession } from '../http/auth/browser-session.js';
import { csrf } from '../http/auth/csrf.js';
import { heldNames, limitProofs } from '../http/auth/confirmation.js';
import { form } from '../http/request/form.js';
import type { Web } from '../http/web.js';
import type { Call } from '../management/call.js';
import { registry } from '../management/resources/index.js';
import { confirmationClass, confirmedAt } from '../domain/sessions/confirmation.js';
import { proofsOf } from '../domain/sessions/proofs.js';
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

/** When the session was last confirmed for changes of its person; null when that isn't known, or its class doesn't do. */
export function provenAt(session: BrowserSession): Date | null {
  return confirmedAt(proofsOf(session), confirmationClass({ two_step_enabled: session.user_two_step_enabled }));
}

/**
 * Lets in whoever is signed in and holds a Management permission through roles, right now: others are sent to sign in (303) or refused (403).
 * From here on the dashboard works through the operations of the Management API with this user as the actor: there is no second
 * path to the data. Needs `browserSession` before.
 */
export async function gate(req: Request, res: Response, next: NextFunction): Promise<void> {
  res.set('Cache-Control', 'no-store');
  const { ctx, session } = req;
  if (!session) {
    const return_to = req.method === 'GET' ? req.originalUrl : '/dashboard';
    return res.redirect(303, `/login?${new URLSearchParams({ return_to }).toString()}`);
  }
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
      proven_at: provenAt(session),
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
export const writing = (web: Web): RequestHandler[] => [form, browserSession, gate, csrf, ...limitProofs(web, heldNames)];
