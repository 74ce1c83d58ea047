import type { NextFunction, Request, RequestHandler, Response } from 'express';
import { originOf } from '../../http/pages/mail-origin.js';
import { listPermissionNamesOfUser } from '../../db/tables/permissions.js';
import { PageError } from '../../errors.js';
import { browserSession } from '../../http/auth/browser-session.js';
import { csrf } from '../../http/auth/csrf.js';
import { confirmByForm } from '../../http/confirmation/ask-to-confirm.js';
import { demandedOf, heldNames, limitProofs } from '../../http/confirmation/confirmation.js';
import { cookieName, readCookie, setCookie } from '../../http/request/cookies.js';
import { form } from '../../http/request/form.js';
import { uploadForm } from '../../http/request/upload.js';
import { errorMessage } from '../../http/pages/error-texts.js';
import { message } from '../../lib/languages/messages.js';
import { named } from '../../lib/named.js';
import type { Web } from '../../http/web.js';
import { registry } from '../../management/resources/index.js';
import type { Actor } from '../../domain/actor.js';
import type { Context } from '../../domain/context.js';
import { isGoodFor } from '../../domain/organizations/admission.js';
import { findSessionAgain, noteActivity, type BrowserSession } from '../../domain/sessions/sessions.js';
import type { AuthenticationClass } from '../../domain/proofs/classes.js';
import { managementClass } from '../../domain/sessions/management-requirement.js';
import { stepRequiredOfSession } from '../../domain/sign-ins/session-step.js';
import { provenBy, viewerOf } from '../parts/viewer.js';

const writtenName = 'dashboard_written';
/** Seconds after a form, in which lists are read from the primary: as long as a report replica may be behind at most. */
const writtenSeconds = 60;

/** What lists must have for who has written lately by this browser: no place of the primary's log is named, so the primary answers. */
function afterOwnWrite(req: Request, res: Response): string | undefined {
  if (!req.ctx.db.report) return undefined;
  if (req.method !== 'GET') setCookie(req, res, writtenName, 'yes', writtenSeconds);
  return req.method !== 'GET' || readCookie(req, cookieName(req, writtenName)) !== undefined ? '' : undefined;
}

/** Where somebody goes whose session is older than what the policy asks for now. */
function stepPath(due: 'verify' | 'enroll', { method, originalUrl }: Request): string {
  const return_to = method === 'GET' ? originalUrl : '/dashboard';
  return `/login/${due}?${new URLSearchParams({ acr_values: due === 'verify' ? '1' : '2', return_to }).toString()}`;
}

/** The session's person with the Management permissions that they hold through roles. */
async function actorOf(ctx: Context, session: BrowserSession): Promise<Actor> {
  const names = await listPermissionNamesOfUser(ctx.scope, session.user_id, ctx.environment.management_audience);
  const { user_id: actor_id, user_email: display } = session;
  return { actor_kind: 'user', actor_id, display, permissions: new Set(names), acts_in_full: true, ...provenBy(session) };
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
  const due = await stepRequiredOfSession(ctx, session);
  if (due === 'enroll' || (due === 'verify' && req.method === 'GET')) return res.redirect(303, stepPath(due, req));
  const actor = await actorOf(ctx, session);
  if (actor.permissions.size === 0) {
    const text = message('refusal.no_management_permission', { email: session.user_email });
    throw new PageError(403, 'no_management_permission', text, named(), undefined, { href: '/account', label: 'device_answer.next' });
  }
  req.call = {
    ctx,
    actor,
    registry,
    ...originOf(req),
    request_id: req.request_id,
    read_after: afterOwnWrite(req, res),
    async again(later) {
      const now = await findSessionAgain(later, session);
      if (!now || !(await isGoodFor(later, now, null))) throw new PageError(401, 'login_required', errorMessage('login_required'));
      // Whoever reads a long file is active, though they ask for nothing else.
      await noteActivity(later, now);
      return actorOf(later, now);
    },
  };
  next();
}

/** What a choice is behind that concerns nothing but how pages look in this browser. */
export const choosing: RequestHandler[] = [form, browserSession, gate, csrf];

/** What every page of the dashboard is behind. */
export const reading: RequestHandler[] = [browserSession, gate];

/** The class that a change takes of whoever makes it: what the environment demands, and the second step that a session still lacks. Null: none. */
async function classOfWrites({ ctx, session }: Request): Promise<AuthenticationClass | null> {
  const demanded = managementClass(ctx.environment);
  return demanded === null && session && (await stepRequiredOfSession(ctx, session)) === 'verify' ? '2' : demanded;
}

/**
 * Lets a form pass that is posted with a session confirmed for the class that changes take here. Another one waits on the page that asks, with all
 * that was typed (RFC 9470). @throws {ConfirmationNeeded}
 */
async function confirmedForWrites(req: Request, res: Response, next: NextFunction): Promise<void> {
  const demanded = await classOfWrites(req);
  if (demanded === null) return next();
  const needed = await confirmByForm(req, res, demandedOf(req, demanded));
  if (needed) throw needed;
  req.call = { ...req.call, actor: { ...req.call.actor, ...provenBy(viewerOf(req)) } };
  next();
}

/**
 * What everything that changes something is behind: the form must come from our own page too, guesses at a password are limited, and the session is
 * confirmed where the environment demands a class.
 */
export const writing = (web: Web): RequestHandler[] => [form, browserSession, gate, ...afterGate(web)];

/** The same for a form with a file of at most so many bytes, which is read of nobody who may not be here. */
export const uploading = (web: Web, maxFileBytes: number): RequestHandler[] => [
  browserSession,
  gate,
  uploadForm(maxFileBytes),
  ...afterGate(web),
];

/** What a form passes once it is read and its sender is behind the gate. */
const afterGate = (web: Web): RequestHandler[] => [csrf, ...limitProofs(web, heldNames), confirmedForWrites];
