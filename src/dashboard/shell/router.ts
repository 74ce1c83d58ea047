import { Router, type NextFunction, type Request, type RequestHandler, type Response } from 'express';
import { PageError } from '../../errors.js';
import { askForForm } from '../../http/confirmation/ask-to-confirm.js';
import { browserSession } from '../../http/auth/browser-session.js';
import { csrf } from '../../http/auth/csrf.js';
import { formOrJson } from '../../http/request/form.js';
import { laterRouter } from '../../http/later-router.js';
import { route } from '../../http/routes.js';
import type { Web } from '../../http/web.js';
import { selfRegisteredClientsPage, decideSelfRegisteredClient, letClientsConnect } from '../pages/clients/self-registered-clients.js';
import { previewBranding } from '../pages/branding/branding-preview.js';
import { followEvents } from '../pages/activity/events.js';
import { overviewCharts } from '../pages/overview/charts.js';
import { clientChooser, connectionChooser, credentialChooser, issuerChooser, mailChooser } from '../pages/chooser.js';
import { downloadPayload } from '../pages/webhooks/delivery-payload.js';
import { doctorPage } from '../pages/overview/doctor.js';
import { createRender } from './frame.js';
import { advancedTiles } from './navigation.js';
import { builtInDraft, postedDraft, renderedMail } from '../pages/texts/rendered-mail.js';
import { choosing, reading, uploading, writing } from './gate.js';
import { chooseApiNames } from './api-names.js';
import { chooseLayout } from '../parts/lists/layout.js';
import { saveLinked } from '../parts/forms/linked-records.js';
import { logosPage, postLogo } from '../pages/settings/logo-pages.js';
import { maxImageBytes } from '../../lib/images/image.js';
import { maxImportFileBytes, postImportFile } from '../pages/moving/import-file.js';
import { downloadUserExport } from '../pages/moving/user-exports.js';
import { userImportsPresentation } from '../pages/moving/user-imports.js';
import { overviewPage } from '../pages/overview/overview.js';
import { readPostedToken, tokenReaderPage, tokenReaderPath } from '../pages/apis/token-reader.js';
import { clientsPresentation } from '../pages/clients/clients.js';
import { saveQuickStart } from '../pages/clients/quick-start/save.js';
import { presentations } from '../pages/index.js';
import { invitationPresentation, usersPresentation } from '../pages/users/users.js';
import { redeliverFailedPage, resendFailed } from '../pages/webhooks/redeliver-failed.js';
import { pageTextChooser } from '../pages/texts/page-text-chooser.js';
import { pageTextForm, savePageTexts } from '../pages/texts/page-text-form.js';
import { draftPageTexts, previewPageText } from '../pages/texts/page-text-preview.js';
import { refusals } from './refusals.js';
import { act, actionPage, deletePage, destroy } from '../parts/forms/actions.js';
import { editPage, postEdit } from '../parts/forms/edit.js';
import { create, newPage } from '../parts/forms/create.js';
import type { Render } from '../parts/render.js';
import { exportList, exportRelated } from '../parts/lists/export.js';
import { listPage } from '../parts/lists/list.js';
import { actOnSelected, listAgain } from '../parts/lists/selected.js';
import type { Presentation } from '../parts/records/presentation.js';
import { recordPage, tabPage } from '../parts/records/record.js';
import { saveSettings, settingsPage } from '../pages/settings/settings.js';
import { searchPage } from './search.js';
import { setup, setupPage } from './setup.js';
import { endUserSessions, endUserSessionsPage, markEmailVerified, verifyEmailPage } from '../pages/users/user-pages.js';
import { named } from '../../lib/named.js';
import { terms } from '../parts/words.js';

const pass = (_req: Request, _res: Response, next: NextFunction) => next();

/** What a creation begins with, of the collections where it begins with a choice. */
const choosers: Readonly<Record<string, (render: Render) => (req: Request, res: Response, next: NextFunction) => void>> = named({
  clients: clientChooser,
  connections: connectionChooser,
  mail_templates: mailChooser,
  page_texts: pageTextChooser,
  trusted_issuers: issuerChooser,
  federated_credentials: credentialChooser,
});

/** The pages of one collection. */
export function collectionRouter(presentation: Presentation, render: Render, write: readonly RequestHandler[]): Router {
  const router = Router({ caseSensitive: true });
  const { path } = presentation;
  const at = `/dashboard/${path}`;
  const firstStep = choosers[path]?.(render) ?? pass;
  const tab = tabPage(render, presentation);
  const ask = actionPage(render, presentation);
  const isTab = (req: Request) => presentation.tabs?.some((one) => one.name === req.params['tab']) ?? false;
  route(router, at, { get: [...reading, listPage(render, presentation)], post: [...write, create(render, presentation)] });
  if (presentation.downloads) route(router, `${at}/export`, { get: [...reading, exportList(presentation)] });
  if (presentation.selected)
    route(router, `${at}/selected`, {
      get: [...reading, listAgain(presentation)],
      post: [...write, actOnSelected(render, presentation)],
    });
  route(router, `${at}/new`, { get: [...reading, firstStep, newPage(render, presentation)] });
  route(router, `${at}/:id`, { get: [...reading, recordPage(render, presentation)], post: [...write, postEdit(render, presentation)] });
  route(router, `${at}/:id/edit`, { get: [...reading, editPage(render, presentation)] });
  if (presentation.subjects)
    route(router, `${at}/:id/edit/:subject`, {
      get: [...reading, editPage(render, presentation)],
      post: [...write, postEdit(render, presentation)],
    });
  route(router, `${at}/:id/delete`, {
    get: [...reading, deletePage(render, presentation)],
    post: [...write, destroy(render, presentation)],
  });
  route(router, `${at}/:id/:tab`, {
    get: [...reading, (req, res) => (isTab(req) ? tab(req, res) : ask(req, res))],
    post: [...write, act(render, presentation)],
  });
  return router;
}

/** Pages that stand by themselves and are only looked at. */
function pageRoutes(router: Router, render: Render): void {
  route(router, '/dashboard', { get: [...reading, overviewPage(render, overviewCharts)] });
  route(router, '/dashboard/advanced', { get: [...reading, advancedTiles(render)] });
  route(router, '/dashboard/search', { get: [...reading, searchPage(render)] });
  route(router, '/dashboard/doctor', { get: [...reading, doctorPage(render)] });
  route(router, tokenReaderPath, { get: [...reading, tokenReaderPage(render)], post: [...choosing, readPostedToken(render)] });
  route(router, '/dashboard/settings', { get: [...reading, settingsPage(render)] });
}

function movingRoutes(router: Router, render: Render, web: Web): void {
  route(router, '/dashboard/user_imports/:id/data', {
    post: [...uploading(web, maxImportFileBytes), postImportFile(render, userImportsPresentation)],
  });
  route(router, '/dashboard/user_imports/:id/row_errors/export', {
    get: [...reading, exportRelated(userImportsPresentation, 'row_errors', terms.failed_rows)],
  });
  route(router, '/dashboard/user_exports/:id/data', { get: [...reading, downloadUserExport] });
}

/** The dashboard: server-rendered administration over the operations of the Management API (specification 9.1). */
export function dashboardRouter(web: Web): Router {
  const router = Router({ caseSensitive: true });
  const render = createRender(web);
  const write = writing(web);
  pageRoutes(router, render);
  route(router, '/dashboard/setup', { get: [browserSession, setupPage(web)], post: [formOrJson, browserSession, csrf, setup(web)] });
  route(router, '/dashboard/preferences/api_names', { post: [...choosing, chooseApiNames] });
  route(router, '/dashboard/preferences/list', { post: [...choosing, chooseLayout(presentations)] });
  const upload = uploading(web, maxImageBytes);
  for (const [path, owner] of [
    ['/dashboard/settings/logo', 'environments'],
    ['/dashboard/clients/:id/logo', 'clients'],
    ['/dashboard/organizations/:id/logo', 'organizations'],
  ] as const)
    // prettier-ignore
    route(router, path, { get: [...reading, logosPage(render, owner)], post: [...upload, postLogo(render, owner)] });
  route(router, '/dashboard/settings/:section', { get: [...reading, settingsPage(render)], post: [...write, saveSettings(render)] });
  route(router, '/dashboard/branding_preview', { get: [...reading, previewBranding(web)] });
  route(router, '/dashboard/self_registered_clients', {
    get: [...reading, selfRegisteredClientsPage(render)],
    post: [...write, letClientsConnect],
  });
  route(router, '/dashboard/self_registered_clients/:id/:verb', { post: [...write, decideSelfRegisteredClient] });
  route(router, '/dashboard/webhooks/:id/redeliver_failed', {
    get: [...reading, redeliverFailedPage(render)],
    post: [...write, resendFailed(render)],
  });
  route(router, '/dashboard/users/invite', {
    get: [...reading, newPage(render, invitationPresentation)],
    post: [...write, create(render, invitationPresentation)],
  });
  route(router, '/dashboard/users/:id/roles', {
    get: [...reading, tabPage(render, usersPresentation, 'roles')],
    post: [...write, saveLinked(render, usersPresentation, 'roles')],
  });
  route(router, '/dashboard/clients/:id/connections', {
    get: [...reading, tabPage(render, clientsPresentation, 'connections')],
    post: [...write, saveLinked(render, clientsPresentation, 'connections')],
  });
  route(router, '/dashboard/clients/:id/quick_start', {
    get: [...reading, tabPage(render, clientsPresentation, 'quick_start')],
    post: [...write, saveQuickStart(render, clientsPresentation)],
  });
  route(router, '/dashboard/users/:id/end_sessions', { get: [...reading, endUserSessionsPage(render)], post: [...write, endUserSessions] });
  route(router, '/dashboard/users/:id/verify_email', { get: [...reading, verifyEmailPage(render)], post: [...write, markEmailVerified] });
  movingRoutes(router, render, web);
  route(router, '/dashboard/mail_templates/draft', { get: [...reading, builtInDraft], post: [...write, postedDraft] });
  route(router, '/dashboard/mail_templates/:id/rendered', { get: [...reading, renderedMail] });
  route(router, '/dashboard/page_texts/edit', { get: [...reading, pageTextForm(render)], post: [...write, savePageTexts(render)] });
  route(router, '/dashboard/page_texts/draft', { get: [...reading, draftPageTexts(web)], post: [...write, draftPageTexts(web)] });
  route(router, '/dashboard/page_texts/:id/rendered', { get: [...reading, previewPageText(web)] });
  route(router, '/dashboard/webhook_deliveries/:id/payload', { get: [...reading, downloadPayload] });
  route(router, '/dashboard/events/stream', { get: [...reading, followEvents] });
  // Some four hundred routes: each collection's are made by the first request for one of them.
  for (const one of presentations)
    router.use(laterRouter(() => Promise.resolve(collectionRouter(one, render, write)), `/dashboard/${one.path}`));
  router.use('/dashboard', ...reading, (_req, _res, next) => next(new PageError(404, 'not_found', terms.nothing_here)));
  router.use('/dashboard', askForForm(web), refusals(render));
  return router;
}
