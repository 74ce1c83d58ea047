import type { Request } from 'express';
import { csrfToken } from '../../http/auth/csrf.js';
import { queryOf } from '../../http/request/form.js';
import type { PageNotice } from '../../http/pages/page-models.js';
import { basePage, operatorTheme } from '../../http/pages/pages.js';
import type { Web } from '../../http/web.js';
import { dateTimeWords } from '../../lib/date-words.js';
import { viewerOf } from '../parts/viewer.js';
import type { DashboardPage } from '../parts/page-parts.js';
import { showsApiNames } from './api-names.js';
import { navigationFor, wayAround } from './navigation.js';
import { viewTexts } from '../parts/view-texts.js';
import type { Render } from '../parts/render.js';
import { doneTexts } from '../parts/texts.js';

/** The notice of the action that redirected here, by `?done=` of the address; null without one. */
function noticeFrom(req: Request): PageNotice | null {
  const done = queryOf(req).get('done');
  return done !== undefined && Object.hasOwn(doneTexts, done) ? { tone: 'good', text: doneTexts[done] as string } : null;
}

export function createRender(web: Web): Render {
  return (req, res, page, status = 200) => {
    const viewer = viewerOf(req);
    const csrf_token = csrfToken(req, res);
    const around = wayAround(req);
    const model: DashboardPage = {
      ...basePage(req.ctx.environment, { title: page.title, request_id: req.request_id }),
      theme_path: operatorTheme(req.ctx.environment),
      texts: viewTexts,
      csrf_token,
      navigation: navigationFor(req),
      shows_api_names: showsApiNames(req),
      address: req.originalUrl,
      viewer: { email: viewer.user_email, name: [viewer.user_first_name, viewer.user_last_name].filter(Boolean).join(' ') },
      search: req.path === '/dashboard/search' ? (queryOf(req).get('q') ?? '') : '',
      printed: { address: req.ctx.environment.base_url + req.originalUrl, time: dateTimeWords(req.ctx.clock.now().toISOString()) },
      document_title: page.document_title ?? page.title,
      crumbs: page.crumbs ?? around.crumbs,
      lead: page.lead ?? null,
      state: page.state ?? null,
      links: page.links ?? [],
      posts: page.posts ?? [],
      tabs: page.tabs ?? around.tabs,
      notice: page.notice ?? noticeFrom(req),
      errors: page.errors ?? {},
      labels: page.labels ?? {},
      parts: page.parts,
    };
    const holds = page.parts.some((part) => part.kind === 'preview' || (part.kind === 'form' && (part.preview || part.draft)));
    web.renderPage(res, 'dashboard/page', model, { status, ...(holds && { frames: 'holds' }) });
  };
}
