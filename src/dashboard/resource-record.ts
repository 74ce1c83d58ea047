import type { Request, Response } from 'express';
import { notFound } from '../management/problems.js';
import type { Render } from './render.js';
import type { LinkButton, Part, PostButton } from './page-parts.js';
import { recordPath, type ViewContext, type Presentation } from './presentation.js';
import type { ResourceObject } from '../management/documents.js';
import { managedNotice } from './managed-notice.js';
import { may, recordOf, resourceOf } from './resource-objects.js';

/** The id of the record that the address names. */
export const addressedId = (req: Request): string => String(req.params['id'] ?? '');

/** The tabs of a record that the actor may see; the first is the record itself. */
function tabsOf(look: ViewContext, presentation: Presentation, record: ResourceObject, current: string | null) {
  const { call } = look.req;
  const tabs = (presentation.tabs ?? []).filter(
    (tab) => (tab.needs === undefined || may(call, tab.needs, 'read')) && (tab.when?.(record) ?? true),
  );
  if (tabs.length === 0) return [];
  const path = recordPath(presentation.path, record.id);
  return [
    { label: 'Overview', path, current: current === null },
    ...tabs.map((tab) => ({ label: tab.label, path: `${path}/${tab.name}`, current: tab.name === current })),
  ];
}

/** Buttons and links for actions that the actor may use and that the record's state allows. */
function recordActions(
  look: ViewContext,
  presentation: Presentation,
  record: ResourceObject,
): { links: LinkButton[]; posts: PostButton[]; dangers: Part[] } {
  const { call } = look.req;
  const resource = resourceOf(call, presentation.path);
  const path = recordPath(presentation.path, record.id);
  if (!may(call, presentation.path, 'write')) return { links: [], posts: [], dangers: [] };
  const links: LinkButton[] = [];
  const posts: PostButton[] = [];
  const items: { title: string; text: string; link: LinkButton }[] = [];
  for (const [verb, action] of Object.entries(presentation.actions ?? {})) {
    const { needs = [] } = resource.actions?.[verb] ?? {};
    if (!resource.actions?.[verb] || !(action.when?.(record) ?? true) || !needs.every((name) => call.actor.permissions.has(name))) continue;
    const dialog = action.guarded !== true;
    if (action.danger)
      items.push({
        title: action.label,
        text: action.confirm?.join(' ') ?? '',
        link: { label: action.label, path: `${path}/${verb}`, variant: 'danger', dialog },
      });
    else if (action.confirm) links.push({ label: action.label, path: `${path}/${verb}`, dialog });
    else posts.push({ label: action.label, action: `${path}/${verb}` });
  }
  const { remove } = presentation;
  if (remove && resource.remove && (remove.when?.(record) ?? true)) {
    items.push({ title: remove.label, text: remove.text, link: { label: remove.label, path: `${path}/delete`, variant: 'danger' } });
  }
  if (presentation.fields && resource.update && (presentation.edit?.when?.(record) ?? true))
    links.unshift({ label: 'Edit', path: `${path}/edit`, variant: 'quiet' });
  return { links, posts, dangers: items.length > 0 ? [{ kind: 'dangers', items }] : [] };
}

/** The frame that all pages of a record share. */
export function recordFrame(
  look: ViewContext,
  presentation: Presentation,
  record: ResourceObject,
  included: readonly ResourceObject[],
  tab: string | null,
) {
  const { links, posts, dangers } = recordActions(look, presentation, record);
  const extra = presentation.links?.(record, look) ?? { links: [], posts: [] };
  const name = presentation.name(record, included);
  const tabs = tabsOf(look, presentation, record, tab);
  const label = tabs.find((one) => one.current && tab !== null)?.label;
  return {
    title: name,
    document_title: label === undefined ? `${name} · ${presentation.title}` : `${label} · ${name}`,
    crumbs: [{ label: presentation.title, path: `/dashboard/${presentation.path}` }],
    state: presentation.state?.(record) ?? null,
    links: [...extra.links, ...links],
    posts: [...extra.posts, ...posts],
    tabs,
    dangers,
  };
}

/** GET /dashboard/{collection}/{id} */
export function recordPage(render: Render, presentation: Presentation) {
  return async (req: Request, res: Response): Promise<void> => {
    const { record, included } = await recordOf(req.call, presentation.path, addressedId(req), readableIncludes(req, presentation));
    const look: ViewContext = { req, now: req.call.ctx.clock.now() };
    const { dangers, ...frame } = recordFrame(look, presentation, record, included, null);
    const above = (await presentation.above?.(look, record, included)) ?? [];
    const more = (await presentation.more?.(look, record, included)) ?? [];
    const managed = await managedNotice(req.call, resourceOf(req.call, presentation.path).type, record.id);
    render(req, res, {
      ...frame,
      parts: [
        ...managed,
        ...above,
        { kind: 'summary', title: null, rows: presentation.summary(record, look, included) },
        ...more,
        ...dangers,
      ],
    });
  };
}

/** The presentation's `include` without relationships that the actor may not read. */
export function readableIncludes(
  req: Request,
  presentation: { readonly path: string; readonly recordInclude?: string | undefined },
): string | undefined {
  const resource = resourceOf(req.call, presentation.path);
  const names = (presentation.recordInclude ?? '').split(',').filter((name) => {
    const target = req.call.registry.byType.get(resource.relationships[name.split('.')[0] ?? '']?.to ?? '');
    return target !== undefined && req.call.actor.permissions.has(`${target.permissions ?? target.path}:read`);
  });
  return names.length > 0 ? names.join(',') : undefined;
}

/** GET /dashboard/{collection}/{id}/{tab} */
export function tabPage(render: Render, presentation: Presentation, name?: string) {
  return async (req: Request, res: Response): Promise<void> => {
    const tab = presentation.tabs?.find((one) => one.name === (name ?? req.params['tab']));
    const { record, included } = await recordOf(req.call, presentation.path, addressedId(req));
    const look: ViewContext = { req, now: req.call.ctx.clock.now() };
    if (!tab || (tab.needs !== undefined && !may(req.call, tab.needs, 'read')) || !(tab.when?.(record) ?? true)) throw notFound();
    const { dangers: _dangers, ...frame } = recordFrame(look, presentation, record, included, tab.name);
    render(req, res, { ...frame, parts: await tab.parts(look, record) });
  };
}
