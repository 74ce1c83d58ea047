import type { Request, Response } from 'express';
import { transaction } from '../domain/context.js';
import { finishSetupLink, startSetupLink, type SetupLink } from '../domain/setup-links/setup-links.js';
import type { SetupPart } from '../db/tables/setup_links.js';
import { formPage } from '../http/auth/csrf.js';
import { setCookie } from '../http/request/cookies.js';
import { basePage } from '../http/pages/pages.js';
import { wordsOf } from '../http/pages/words.js';
import type { Web } from '../http/web.js';
import { randomToken } from '../lib/random.js';
import { recordWrite } from '../management/audit.js';
import type { Call } from '../management/call.js';
import { browserCookie, callOf, heldOf, pathOf, refuseLink, setupBrowserOf } from './held.js';
import { ownRecords, collectionOf } from './operations.js';
import type { SetupStepPage, SetupStep, SetupWelcomePage } from './page-models.js';

/** The order of the steps, whichever of them a link has. */
const order: readonly SetupPart[] = ['domains', 'connection', 'directory'];

/** The browser keeps the cookie as long as any link is good. */
const cookieSeconds = 30 * 86_400;

const isDone: Readonly<Record<SetupPart, (call: Call, link: SetupLink) => Promise<boolean>>> = {
  domains: async (call) => (await ownRecords(call, 'organization_domains')).some(({ attributes }) => attributes['status'] === 'verified'),
  connection: async (call, { connection_id }) =>
    (await ownRecords(call, 'connections')).some(({ id, attributes }) => id === connection_id && attributes['status'] === 'enabled'),
  directory: async (call) => (await ownRecords(call, 'directories')).length > 0,
};

async function stepsOf(req: Request): Promise<SetupStep[]> {
  const { link } = heldOf(req);
  const sections = order.filter((part) => link.sections.includes(part));
  return Promise.all(sections.map(async (part) => ({ part, done: await isDone[part](callOf(req), link) })));
}

/** What the pages of a set-up share. */
export async function stepPage(req: Request, res: Response, title: string): Promise<SetupStepPage> {
  const held = heldOf(req);
  const { link } = held;
  return {
    ...formPage(req, res, title),
    path: pathOf(held),
    service: req.ctx.environment.name,
    steps: await stepsOf(req),
    expires_at: link.expires_at.toISOString(),
  };
}

/** Writes to the audit log what became of the link itself, by the link. */
const record = (call: Call, { id, organization_id }: SetupLink, action: 'started' | 'finished', from: string): Promise<void> =>
  recordWrite(call, {
    action,
    resource: collectionOf(call, 'setup_links'),
    target_id: id,
    organization_id,
    changes: { status: [from, action] },
  });

/** What whoever sets it up has to have access to: the DNS for domains, the provider for anything else. */
function needsOf({ sections }: SetupLink): SetupWelcomePage['needs'] {
  if (!sections.includes('domains')) return 'setup.needs_provider';
  return sections.length === 1 ? 'setup.needs_domains' : 'setup.needs_both';
}

/** GET /setup/{token}: whose link it is, and a button; changes nothing. For the browser that pressed it: the steps. */
export const firstPage = (web: Web) => async (req: Request, res: Response) => {
  const held = heldOf(req);
  const title = wordsOf(req).t('setup.title', { organization: held.organization.display_name });
  if (held.status === 'started' && req.params['token'] !== held.link.id) return res.redirect(303, pathOf(held));
  const page = await stepPage(req, res, title);
  if (held.status === 'started') return web.renderPage(res, 'setup/steps', page);
  web.renderPage(res, 'setup/welcome', { ...page, path: `/setup/${String(req.params['token'])}`, needs: needsOf(held.link) });
};

/** POST /setup/{token}: makes the link this browser's, once (specification 16.9.3). */
export const begin = (web: Web) => async (req: Request, res: Response) => {
  const held = heldOf(req);
  if (held.status === 'started') return res.redirect(303, pathOf(held));
  const secret = setupBrowserOf(req) ?? randomToken('');
  const call = callOf(req);
  const started = await transaction(call.ctx, async (tx) => {
    const link = await startSetupLink(tx, held.link, secret);
    if (link) await record({ ...call, ctx: tx }, link, 'started', 'pending');
    return link;
  });
  if (!started) return refuseLink(web, req, res, 'elsewhere');
  setCookie(req, res, browserCookie, secret, cookieSeconds);
  res.redirect(303, pathOf(held));
};

/** POST /setup/{token}/finish: the link ends. */
export const finish = (web: Web) => async (req: Request, res: Response) => {
  const { link, organization } = heldOf(req);
  const call = callOf(req);
  const finished = await transaction(call.ctx, async (tx) => {
    const ended = await finishSetupLink(tx, link);
    if (ended) await record({ ...call, ctx: tx }, ended, 'finished', 'started');
    return ended;
  });
  if (!finished) return refuseLink(web, req, res, 'finished');
  const { t } = wordsOf(req);
  const page = basePage(req.ctx.environment, { title: t('setup.finished_title'), request_id: req.request_id });
  const text = [t('setup.finished', { organization: organization.display_name })];
  web.renderPage(res, 'account/message', { ...page, tone: 'good', text, next: null });
};
