import type { Request } from 'express';
import { csrfToken } from '../http/auth/csrf.js';
import { queryOf } from '../http/request/form.js';
import type { Notice } from '../http/pages/page-models.js';
import { basePage } from '../http/pages/pages.js';
import type { Web } from '../http/web.js';
import { dateTimeWords } from '../lib/date-words.js';
import type { Call } from '../management/call.js';
import { diagnostics } from '../management/calls/diagnostics.js';
import { viewerOf } from './gate.js';
import { may } from './resource-objects.js';
import { presentations } from './pages/index.js';
import type { DashboardPage, IconPaths, Navigation } from './page-parts.js';
import { navigationGroups, type NavigationGroup } from './presentation.js';
import type { Render } from './render.js';
import { doneTexts } from './texts.js';
import { sentences, terms } from './words.js';

/** What the navigation leads to: `path` marks it, and everything below it; `marks` are further addresses that do. */
type Item = {
  readonly label: string;
  readonly path: string;
  readonly icon: IconPaths;
  readonly needs: string | null;
  /** Beside that: whether the actor gets in. */
  readonly isOpen?: (call: Call) => boolean;
  readonly marks?: readonly string[];
};

const overview: Item = {
  label: terms.overview,
  path: '/dashboard',
  icon: ['M3.5 3.5h5.5v7H3.5zM11 3.5h5.5v4H11zM11 10h5.5v6.5H11zM3.5 13h5.5v3.5H3.5z'],
  needs: null,
};
const settings: Item = {
  label: terms.settings,
  path: '/dashboard/settings',
  icon: ['M3 6h7M14 6h3M3 14h3M10 14h7', 'M12 8a2 2 0 1 0 0-4 2 2 0 0 0 0 4zM8 16a2 2 0 1 0 0-4 2 2 0 0 0 0 4z'],
  needs: 'environments',
};
const doctor: Item = {
  label: terms.diagnostics,
  path: '/dashboard/doctor',
  icon: ['M2.5 10h3.5l2-5 4 10 2-5h3.5'],
  needs: null,
  isOpen: ({ ctx, actor }) => ctx.environment.is_default && diagnostics.permissions.every((one) => actor.permissions.has(one)),
};
const arrivals: Item = {
  label: terms.self_registered_clients,
  path: '/dashboard/arrivals',
  icon: ['M11 4h5.5v12H11', 'M3.5 10H12M8.5 6.5 12 10l-3.5 3.5'],
  needs: 'clients',
};
const documentation: Item = {
  label: terms.documentation,
  path: '/docs',
  icon: [
    'M10 5c-1.5-1.25-3.75-1.5-6.75-1.5v11.75c3 0 5.25.25 6.75 1.5 1.5-1.25 3.75-1.5 6.75-1.5V3.5C13.75 3.5 11.5 3.75 10 5zM10 5v11.75',
  ],
  needs: null,
};

/** The resources of a group: all that the registry of pages places there. */
const itemsOf = (group: NavigationGroup): Item[] =>
  presentations.flatMap(({ title, path, navigation }) =>
    navigation?.group === group
      ? [
          {
            label: title,
            path: `/dashboard/${path}`,
            icon: navigation.icon,
            needs: path,
            marks: presentations.filter(({ under }) => under === path).map((one) => `/dashboard/${one.path}`),
          },
        ]
      : [],
  );

const groupLabels: Readonly<Record<NavigationGroup, string>> = {
  People: terms.user_management,
  Applications: terms.applications,
  Events: terms.events,
  Environment: terms.environment,
};

const groups: readonly { readonly label: string | null; readonly items: readonly Item[] }[] = [
  { label: null, items: [overview] },
  ...navigationGroups.map((name) => ({
    label: groupLabels[name],
    items: [
      ...(name === 'Environment' ? [settings] : []),
      ...itemsOf(name),
      ...(name === 'Applications' ? [arrivals] : []),
      ...(name === 'Environment' ? [doctor] : []),
    ],
  })),
  { label: terms.help, items: [documentation] },
];

/** The navigation, with the collections that the actor may read. */
function navigationFor(req: Request): Navigation {
  const here = req.path.replace(/\/$/, '');
  const at = (path: string) => here === path || (path !== overview.path && here.startsWith(`${path}/`));
  return groups
    .map(({ label, items }) => ({
      label,
      items: items
        .filter(({ needs, isOpen }) => (needs === null || may(req.call, needs, 'read')) && (isOpen?.(req.call) ?? true))
        .map((item) => ({ label: item.label, path: item.path, icon: item.icon, current: [item.path, ...(item.marks ?? [])].some(at) })),
    }))
    .filter(({ items }) => items.length > 0);
}

/** The notice of the action that redirected here, by `?done=` of the address; null without one. */
function noticeFrom(req: Request): Notice | null {
  const done = queryOf(req).get('done');
  return done !== undefined && Object.hasOwn(doneTexts, done) ? { tone: 'good', text: doneTexts[done] as string } : null;
}

/** Renders pages of the dashboard into their frame. */
export function createRender(web: Web): Render {
  return (req, res, page, status = 200) => {
    const viewer = viewerOf(req);
    const csrf_token = csrfToken(req, res);
    const model: DashboardPage = {
      ...basePage(req.ctx.environment, { title: page.title, request_id: req.request_id }),
      terms,
      sentences,
      csrf_token,
      navigation: navigationFor(req),
      viewer: { email: viewer.user_email, name: [viewer.user_first_name, viewer.user_last_name].filter(Boolean).join(' ') },
      printed: { address: req.ctx.environment.base_url + req.originalUrl, time: dateTimeWords(req.ctx.clock.now().toISOString()) },
      document_title: page.document_title ?? page.title,
      crumbs: page.crumbs ?? [],
      lead: page.lead ?? null,
      state: page.state ?? null,
      links: page.links ?? [],
      posts: page.posts ?? [],
      tabs: page.tabs ?? [],
      notice: page.notice ?? noticeFrom(req),
      errors: page.errors ?? {},
      labels: page.labels ?? {},
      parts: page.parts,
    };
    const holds = page.parts.some((part) => part.kind === 'preview' || (part.kind === 'form' && part.preview));
    web.renderPage(res, 'dashboard/page', model, { status, ...(holds && { frames: 'holds' }) });
  };
}
