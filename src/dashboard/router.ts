import { Router, type NextFunction, type Request, type Response } from 'express';
import { PageError } from '../errors.js';
import { browserSession } from '../http/auth/browser-session.js';
import { csrf } from '../http/auth/csrf.js';
import { formOrJson } from '../http/request/form.js';
import { route } from '../http/routes.js';
import type { Web } from '../http/web.js';
import { exportAuditLogs } from './audit-export.js';
import { overviewCharts } from './charts.js';
import { clientChooser, connectionChooser } from './chooser.js';
import { downloadPayload } from './delivery-payload.js';
import { createProve } from './fresh-sign-in.js';
import { createRender } from './frame.js';
import { reading, writing } from './gate.js';
import { saveLinked } from './linked-records.js';
import { overviewPage } from './overview.js';
import { clients } from './pages/clients.js';
import { saveQuickStart } from './pages/save-quick-start.js';
import { presentations } from './pages/index.js';
import { invitation, users } from './pages/users.js';
import { redeliverFailedPage, resendFailed } from './redeliver-failed.js';
import { refusals } from './refusals.js';
import { act, actionPage, deletePage, destroy } from './resource-actions.js';
import { editPage, update } from './resource-edit.js';
import { create, newPage, type Tools } from './resource-forms.js';
import { listPage } from './resource-list.js';
import { recordPage, tabPage } from './resource-record.js';
import { saveSettings, settingsPage } from './settings.js';
import { setup, setupPage } from './setup.js';
import { endUserSessions, endUserSessionsPage, markEmailVerified, verifyEmailPage } from './user-pages.js';
import { named } from '../lib/named.js';

const pass = (_req: Request, _res: Response, next: NextFunction) => next();

/** The pages of every resource: list, record, forms, tabs, actions. */
function resourceRoutes(router: Router, tools: Tools): void {
  const firstSteps: Readonly<Record<string, (req: Request, res: Response, next: NextFunction) => void>> = named({
    clients: clientChooser(tools.render),
    connections: connectionChooser(tools.render),
  });
  for (const presentation of presentations) {
    const { path } = presentation;
    const at = `/dashboard/${path}`;
    const tab = tabPage(tools.render, presentation);
    const ask = actionPage(tools, presentation);
    const isTab = (req: Request) => presentation.tabs?.some((one) => one.name === req.params['tab']) ?? false;
    route(router, at, { get: [...reading, listPage(tools.render, presentation)], post: [...writing, create(tools, presentation)] });
    route(router, `${at}/new`, { get: [...reading, firstSteps[path] ?? pass, newPage(tools, presentation)] });
    route(router, `${at}/:id`, {
      get: [...reading, recordPage(tools.render, presentation)],
      post: [...writing, update(tools, presentation)],
    });
    route(router, `${at}/:id/edit`, { get: [...reading, editPage(tools, presentation)] });
    route(router, `${at}/:id/delete`, {
      get: [...reading, deletePage(tools, presentation)],
      post: [...writing, destroy(tools, presentation)],
    });
    route(router, `${at}/:id/:tab`, {
      get: [...reading, (req, res) => (isTab(req) ? tab(req, res) : ask(req, res))],
      post: [...writing, act(tools, presentation)],
    });
  }
}

/** The dashboard: server-rendered administration over the operations of the Management API (specification 9.1). */
export function dashboardRouter(web: Web): Router {
  const router = Router({ caseSensitive: true });
  const tools: Tools = { render: createRender(web), prove: createProve(web) };
  const { render } = tools;
  route(router, '/dashboard/setup', { get: [browserSession, setupPage(web)], post: [formOrJson, browserSession, csrf, setup(web)] });
  route(router, '/dashboard', { get: [...reading, overviewPage(render, overviewCharts)] });
  route(router, '/dashboard/settings', { get: [...reading, settingsPage(tools)] });
  route(router, '/dashboard/settings/:section', { post: [...writing, saveSettings(tools)] });
  route(router, '/dashboard/webhooks/:id/redeliver_failed', {
    get: [...reading, redeliverFailedPage(tools)],
    post: [...writing, resendFailed(tools)],
  });
  route(router, '/dashboard/users/invite', {
    get: [...reading, newPage(tools, invitation)],
    post: [...writing, create(tools, invitation)],
  });
  route(router, '/dashboard/users/:id/roles', {
    get: [...reading, tabPage(render, users, 'roles')],
    post: [...writing, saveLinked(tools, users, 'roles')],
  });
  route(router, '/dashboard/clients/:id/connections', {
    get: [...reading, tabPage(render, clients, 'connections')],
    post: [...writing, saveLinked(tools, clients, 'connections')],
  });
  route(router, '/dashboard/clients/:id/quick_start', {
    get: [...reading, tabPage(render, clients, 'quick_start')],
    post: [...writing, saveQuickStart(tools)],
  });
  route(router, '/dashboard/users/:id/end_sessions', {
    get: [...reading, endUserSessionsPage(tools)],
    post: [...writing, endUserSessions],
  });
  route(router, '/dashboard/users/:id/verify_email', { get: [...reading, verifyEmailPage(tools)], post: [...writing, markEmailVerified] });
  route(router, '/dashboard/audit_logs/export', { get: [...reading, exportAuditLogs] });
  route(router, '/dashboard/webhook_deliveries/:id/payload', { get: [...reading, downloadPayload] });
  resourceRoutes(router, tools);
  router.use('/dashboard', ...reading, (_req, _res, next) => next(new PageError(404, 'not_found', 'There is nothing at this address.')));
  router.use('/dashboard', refusals(render));
  return router;
}
