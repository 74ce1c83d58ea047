import type { NextFunction, Request, RequestHandler, Response } from 'express';
import { inOrganization } from '../domain/context.js';
import { organizationLooks } from '../domain/environments/branding.js';
import { openSetupLink, setupLinkActor, type HeldSetupLink } from '../domain/setup-links/setup-links.js';
import type { SetupPart } from '../db/tables/setup_links.js';
import { PageError } from '../errors.js';
import { cookieName, readCookie } from '../http/request/cookies.js';
import { originOf } from '../http/pages/mail-origin.js';
import { basePage } from '../http/pages/pages.js';
import { wordsOf } from '../http/pages/words.js';
import type { Web } from '../http/web.js';
import { message, type MessageKey } from '../lib/languages/messages.js';
import type { Call } from '../management/call.js';
import { registry } from '../management/resources/index.js';

declare module 'express-serve-static-core' {
  interface Request {
    /** The set-up link that the address names; set below /setup. */
    setup?: HeldSetupLink;
  }
}

/** The cookie of the browser that opened a link; one for all its links. */
export const browserCookie = 'setup';
const shape = /^[\w-]{43}$/;

export function setupBrowserOf(req: Request): string | null {
  const secret = readCookie(req, cookieName(req, browserCookie)) ?? '';
  return shape.test(secret) ? secret : null;
}

/** The pages of a link, once it is this browser's: its id is in the address, and the token no more. */
export const pathOf = ({ link }: HeldSetupLink): string => `/setup/${link.id}`;

type Refused = { readonly status: number; readonly title: MessageKey; readonly text: MessageKey };

const refusals = {
  unknown: { status: 404, title: 'setup.unknown_title', text: 'setup.ask_again' },
  expired: { status: 410, title: 'setup.expired_title', text: 'setup.ask_again' },
  revoked: { status: 410, title: 'setup.revoked_title', text: 'setup.ask_again' },
  finished: { status: 410, title: 'setup.finished_title', text: 'setup.used' },
  elsewhere: { status: 403, title: 'setup.elsewhere_title', text: 'setup.elsewhere' },
} as const satisfies Record<string, Refused>;

/** Says why the link does nothing here, and no more of whose it is. */
export function refuseLink(web: Web, req: Request, res: Response, why: keyof typeof refusals): void {
  const { t } = wordsOf(req);
  const { status, title, text } = refusals[why];
  const page = basePage(req.ctx.environment, { title: t(title), request_id: req.request_id });
  const tone = why === 'finished' ? 'info' : 'warning';
  web.renderPage(res, 'account/message', { ...page, tone, text: [t(text, { service: page.environment.name })], next: null }, { status });
}

/** Finds the link; whatever isn't one that can be gone on with here gets its page. */
export const findLink = (web: Web): RequestHandler =>
  async function link(req: Request, res: Response, next: NextFunction): Promise<void> {
    res.set('Cache-Control', 'no-store');
    const held = await openSetupLink(req.ctx, String(req.params['token']), setupBrowserOf(req));
    if (!held) return refuseLink(web, req, res, 'unknown');
    const { status } = held;
    if (status !== 'pending' && status !== 'started') return refuseLink(web, req, res, status);
    if (status === 'started' && !held.isOwnBrowser) return refuseLink(web, req, res, 'elsewhere');
    req.setup = held;
    req.branded_for = organizationLooks(held.organization);
    next();
  };

export function heldOf({ setup }: Request): HeldSetupLink {
  if (!setup) throw new Error('this handler is for requests of a set-up link');
  return setup;
}

/** Lets through what is a part of the link, once it was begun; a page before that leads to the first one. @throws {PageError} 404 */
export const inPart =
  (part: SetupPart | null): RequestHandler =>
  (req, res, next) => {
    const { link, status } = heldOf(req);
    if (status === 'pending') return res.redirect(303, `/setup/${String(req.params['token'])}`);
    if (part !== null && !link.sections.includes(part)) throw new PageError(404, 'not_found', message('refusal.nothing_here'));
    next();
  };

/** The Management API as the link uses it: narrowed to its organization, with the permissions of its parts. */
export function callOf(req: Request): Call {
  const { link, organization } = heldOf(req);
  const actor = setupLinkActor(link, organization, originOf(req));
  return { ctx: inOrganization(req.ctx, organization.id), actor, registry, ...originOf(req), request_id: req.request_id, read_after: '' };
}
