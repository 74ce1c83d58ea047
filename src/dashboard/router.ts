import { Router, type NextFunction, type Request, type RequestHandler, type Response } from 'express';
import { PageError } from '../errors.js';
import { askForForm } from '../http/auth/ask-to-confirm.js';
import { browserSession } from '../http/auth/browser-session.js';
import { csrf } from '../http/auth/csrf.js';
import { formOrJson } from '../http/request/form.js';
import { route } from '../http/routes.js';
import type { Web } from '../http/web.js';
import { arrivalsPage, decideArrival, letClientsConnect } from './arrivals.js';
import { exportAuditLogs } from './audit-export.js';
import { previewBranding } from './branding-preview.js';
import { overviewCharts } from './charts.js';
import { clientChooser, connectionChooser, credentialChooser, issuerChooser, mailChooser } from './chooser.js';
import { downloadPayload } from './delivery-payload.js';
import { doctorPage } from './doctor.js';
import { createRender } from './frame.js';
import { renderedMail } from './rendered-mail.js';
import { reading, uploading, writing } from './gate.js';
import { saveLinked } from './linked-records.js';
import { logosPage, saveLogo } from './logo-pages.js';
import { maxImageBytes } from '../lib/images/image.js';
import { overviewPage } from './overview.js';
import { clients } from './pages/clients.js';
import { saveQuickStart } from './pages/save-quick-start.js';
import { presentations } from './pages/index.js';
import { invitation, users } from './pages/users.js';
import { redeliverFailedPage, resendFailed } from './redeliver-failed.js';
import { pageTextChooser } from './page-text-chooser.js';
import { previewPageText } from './page-text-preview.js';
import { refusals } from './refusals.js';
import { act, actionPage, deletePage, destroy } from './resource-actions.js';
import { editPage, update } from './resource-edit.js';
import { create, newPage } from './resource-forms.js';
import type { Render } from './render.js';
import { listPage } from './resource-list.js';
import { recordPage, tabPage } from './resource-record.js';
import { saveSettings, settingsPage } from './settings.js';
import { setup, setupPage } from './setup.js';
import { endUserSessions, endUserSessionsPage, markEmailVerified, verifyEmailPage } from './user-pages.js';
import { named } from '../lib/named.js';

const pass = (_req: Request, _res: Response, next: NextFunction) => next();

/** The pages of every resource: list, record, forms, tabs, actions. */
function resourceRoutes(router: Router, render: Render, write: readonly RequestHandler[]): void {
  const firstSteps: Readonly<Record<string, (req: Request, res: Response, next: NextFunction) => void>> = named({
    clients: clientChooser(render),
    connections: connectionChooser(render),
    mail_templates: mailChooser(render),
    page_texts: pageTextChooser(render),
    trusted_issuers: issuerChooser(render),
    federated_credentials: credentialChooser(render),
  });
  for (const presentation of presentations) {
    const { path } = presentation;
    const at = `/dashboard/${path}`;
    const tab = tabPage(render, presentation);
    const ask = actionPage(render, presentation);
    const isTab = (req: Request) => presentation.tabs?.some((one) => one.name === req.params['tab']) ?? false;
    route(router, at, { get: [...reading, listPage(render, presentation)], post: [...write, create(render, presentation)] });
    route(router, `${at}/new`, { get: [...reading, firstSteps[path] ?? pass, newPage(render, presentation)] });
    route(router, `${at}/:id`, {
      get: [...reading, recordPage(render, presentation)],
      post: [...write, update(render, presentation)],
    });
    route(router, `${at}/:id/edit`, { get: [...reading, editPage(render, presentation)] });
    route(router, `${at}/:id/delete`, {
      get: [...reading, deletePage(render, presentation)],
      post: [...write, destroy(render, presentation)],
    });
    route(router, `${at}/:id/:tab`, {
      get: [...reading, (req, res) => (isTab(req) ? tab(req, res) : ask(req, res))],
      post: [...write, act(render, presentation)],
    });
  }
}

/** The dashboard: server-rendered administration over the operations of the Management API (specification 9.1). */
export function dashboardRouter(web: Web): Router {
  const router = Router({ caseSensitive: true });
  const render = createRender(web);
  const write = writing(web);
  route(router, '/dashboard/setup', { get: [browserSession, setupPage(web)], post: [formOrJson, browserSession, csrf, setup(web)] });
  route(router, '/dashboard', { get: [...reading, overviewPage(render, overviewCharts)] });
  route(router, '/dashboard/doctor', { get: [...reading, doctorPage(render)] });
  route(router, '/dashboard/settings', { get: [...reading, settingsPage(render)] });
  const upload = uploading(web, maxImageBytes);
  route(router, '/dashboard/settings/logo', {
    get: [...reading, logosPage(render, 'environments')],
    post: [...upload, saveLogo(render, 'environments')],
  });
  route(router, '/dashboard/clients/:id/logo', {
    get: [...reading, logosPage(render, 'clients')],
    post: [...upload, saveLogo(render, 'clients')],
  });
  route(router, '/dashboard/settings/:section', { post: [...write, saveSettings(render)] });
  route(router, '/dashboard/branding_preview', { get: [...reading, previewBranding(web)] });
  route(router, '/dashboard/arrivals', { get: [...reading, arrivalsPage(render)], post: [...write, letClientsConnect] });
  route(router, '/dashboard/arrivals/:id/:verb', { post: [...write, decideArrival] });
  route(router, '/dashboard/webhooks/:id/redeliver_failed', {
    get: [...reading, redeliverFailedPage(render)],
    post: [...write, resendFailed(render)],
  });
  route(router, '/dashboard/users/invite', {
    get: [...reading, newPage(render, invitation)],
    post: [...write, create(render, invitation)],
  });
  route(router, '/dashboard/users/:id/roles', {
    get: [...reading, tabPage(render, users, 'roles')],
    post: [...write, saveLinked(render, users, 'roles')],
  });
  route(router, '/dashboard/clients/:id/connections', {
    get: [...reading, tabPage(render, clients, 'connections')],
    post: [...write, saveLinked(render, clients, 'connections')],
  });
  route(router, '/dashboard/clients/:id/quick_start', {
    get: [...reading, tabPage(render, clients, 'quick_start')],
    post: [...write, saveQuickStart(render)],
  });
  route(router, '/dashboard/users/:id/end_sessions', {
    get: [...reading, endUserSessionsPage(render)],
    post: [...write, endUserSessions],
  });
  route(router, '/dashboard/users/:id/verify_email', { get: [...reading, verifyEmailPage(render)], post: [...write, markEmailVerified] });
  route(router, '/dashboard/mail_templates/:id/rendered', { get: [...reading, renderedMail] });
  route(router, '/dashboard/page_texts/:id/rendered', { get: [...reading, previewPageText(web)] });
  route(router, '/dashboard/audit_logs/export', { get: [...reading, exportAuditLogs] });
  route(router, '/dashboard/webhook_deliveries/:id/payload', { get: [...reading, downloadPayload] });
  resourceRoutes(router, render, write);
  router.use('/dashboard', ...reading, (_req, _res, next) => next(new PageError(404, 'not_found', 'There is nothing at this address.')));
  router.use('/dashboard', askForForm(web), refusals(render));
  return router;
}
