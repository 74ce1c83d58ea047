import type { Request, Response } from 'express';
import { csrfToken } from '../http/auth/csrf.js';
import { queryOf } from '../http/request/form.js';
import type { Notice } from '../http/pages/page-models.js';
import { basePage } from '../http/pages/pages.js';
import type { Web } from '../http/web.js';
import { viewerOf } from './gate.js';
import { may } from './records.js';
import type { DashboardPage, Navigation, Part } from './page-parts.js';
import { doneTexts } from './texts.js';

type Item = { readonly label: string; readonly path: string; readonly icon: string; readonly needs: string | null };

const groups: readonly { readonly label: string | null; readonly items: readonly Item[] }[] = [
  { label: null, items: [{ label: 'Overview', path: '/dashboard', icon: 'overview', needs: null }] },
  {
    label: 'People',
    items: [
      { label: 'Users', path: '/dashboard/users', icon: 'users', needs: 'users' },
      { label: 'Sessions', path: '/dashboard/sessions', icon: 'sessions', needs: 'sessions' },
      { label: 'Roles', path: '/dashboard/roles', icon: 'roles', needs: 'roles' },
    ],
  },
  {
    label: 'Applications',
    items: [
      { label: 'Clients', path: '/dashboard/clients', icon: 'clients', needs: 'clients' },
      { label: 'Client grants', path: '/dashboard/client_grants', icon: 'client_grants', needs: 'client_grants' },
      { label: 'API resources', path: '/dashboard/api_resources', icon: 'api_resources', needs: 'api_resources' },
      { label: 'Permissions', path: '/dashboard/permissions', icon: 'permissions', needs: 'permissions' },
      { label: 'Connections', path: '/dashboard/connections', icon: 'connections', needs: 'connections' },
    ],
  },
  {
    label: 'Events',
    items: [
      { label: 'Webhooks', path: '/dashboard/webhooks', icon: 'webhooks', needs: 'webhooks' },
      { label: 'Event types', path: '/dashboard/event_types', icon: 'event_types', needs: 'event_types' },
      { label: 'Audit log', path: '/dashboard/audit_logs', icon: 'audit_logs', needs: 'audit_logs' },
    ],
  },
  {
    label: 'Environment',
    items: [
      { label: 'Settings', path: '/dashboard/settings', icon: 'settings', needs: 'environments' },
      { label: 'Custom domains', path: '/dashboard/custom_domains', icon: 'custom_domains', needs: 'custom_domains' },
      { label: 'Signing keys', path: '/dashboard/signing_keys', icon: 'signing_keys', needs: 'signing_keys' },
      { label: 'Environments', path: '/dashboard/environments', icon: 'environments', needs: 'environments' },
    ],
  },
  { label: 'Help', items: [{ label: 'Documentation', path: '/docs', icon: 'docs', needs: null }] },
];

/** What the actor may see, by permission: what isn't allowed isn't shown. */
function navigationFor(req: Request): Navigation {
  const here = req.path
    .replace(/\/$/, '')
    .replace('/webhook_deliveries', '/webhooks')
    .replace(/\/(identities|consents)\b/, '/users');
  const current = (path: string) => (path === '/dashboard' ? here === path : here === path || here.startsWith(`${path}/`));
  return groups
    .map(({ label, items }) => ({
      label,
      items: items
        .filter(({ needs }) => needs === null || may(req.call, needs, 'read'))
        .map((item) => ({ label: item.label, path: item.path, icon: item.icon, current: current(item.path) })),
    }))
    .filter(({ items }) => items.length > 0);
}

/** What a page says of itself; the rest of the frame follows from the request. */
export type Page = {
  readonly title: string;
  /** Left out: the title. */
  readonly document_title?: string;
  readonly parts: readonly Part[];
} & Partial<Pick<DashboardPage, 'crumbs' | 'lead' | 'state' | 'links' | 'posts' | 'tabs' | 'notice' | 'errors' | 'labels'>>;

/** What the page before did, told once by the address: `?done=created`. */
function noticeFrom(req: Request): Notice | null {
  const done = queryOf(req).get('done');
  return done !== undefined && Object.hasOwn(doneTexts, done) ? { tone: 'good', text: doneTexts[done] as string } : null;
}

export type Render = (req: Request, res: Response, page: Page, status?: number) => void;

/** Renders pages of the dashboard into their frame. */
export function createRender(web: Web): Render {
  return (req, res, page, status = 200) => {
    const viewer = viewerOf(req);
    const csrf_token = csrfToken(req, res);
    const model: DashboardPage = {
      ...basePage(req.ctx.environment, { title: page.title, request_id: req.request_id }),
      csrf_token,
      navigation: navigationFor(req),
      viewer: { email: viewer.user_email, name: [viewer.user_first_name, viewer.user_last_name].filter(Boolean).join(' ') },
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
    web.renderPage(res, 'dashboard/page', model, { status });
  };
}
