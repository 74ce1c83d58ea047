import { isDeepStrictEqual } from 'node:util';
import type { Request, Response } from 'express';
import { queryOf } from '../../../http/request/form.js';
import { notFound } from '../../../management/problems.js';
import type { Render } from '../render.js';
import type { LinkButton, Part, PostButton, Row } from '../page-parts.js';
import { recordPath, type ViewContext, type Presentation } from './presentation.js';
import type { ResourceObject } from '../../../management/documents.js';
import { healthNotice, healthOfRecord, healthState } from '../health.js';
import { code, nothing } from '../values.js';
import { listAddress } from '../list-address.js';
import { managedNotice } from './managed-notice.js';
import { may, recordOf, resourceOf } from './objects.js';
import { terms } from '../words.js';

export const addressedId = (req: Request): string => String(req.params['id'] ?? '');

function tabsOf(view: ViewContext, presentation: Presentation, record: ResourceObject, current: string | null) {
  const { call } = view.req;
  const tabs = (presentation.tabs ?? []).filter(
    (tab) => (tab.needs === undefined || may(call, tab.needs, 'read')) && (tab.when?.(record) ?? true),
  );
  if (tabs.length === 0) return [];
  const path = recordPath(presentation.path, record.id);
  return [
    { label: terms.overview, path, current: current === null },
    ...tabs.map((tab) => ({ label: tab.label, path: `${path}/${tab.name}`, current: tab.name === current })),
  ];
}

/** Buttons and links for actions that the actor may use and that the record's state allows. */
function recordActions(
  view: ViewContext,
  presentation: Presentation,
  record: ResourceObject,
): { links: LinkButton[]; posts: PostButton[]; dangers: Part[] } {
  const { call } = view.req;
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

/** The rows with the API's name of what they show, which the forms tell: a field and the row of its value bear the same label. */
function withAttributes({ fields }: Presentation, rows: readonly Row[]): readonly Row[] {
  const names = new Map(fields?.map(({ label, name }) => [label, name]));
  return rows.map((row) => ({ ...row, attribute: row.attribute ?? names.get(row.label) }));
}

const isNothing = ({ value }: Row): boolean =>
  value === nothing || (value.kind === 'stack' && value.values.every((one) => one === nothing));

/** What the record is: all of it, or without the settings that have their default. */
function summaryOf(view: ViewContext, presentation: Presentation, record: ResourceObject, included: readonly ResourceObject[]): Part {
  const id = presentation.showsId === false ? [] : [{ label: terms.id, value: code(record.id, true) }];
  const rows = withAttributes(presentation, [...presentation.summary(record, view, included), ...id]);
  const defaults = presentation.defaults?.(record) ?? {};
  const isDefault = ({ attribute = '' }: Row) =>
    Object.hasOwn(defaults, attribute) && isDeepStrictEqual(record.attributes[attribute] ?? null, defaults[attribute]);
  const usual = rows.filter(isDefault).length;
  const path = recordPath(presentation.path, record.id);
  if (presentation.details !== undefined) {
    const editable = rows.some(isNothing) && may(view.req.call, presentation.path, 'write');
    const more = editable ? { label: presentation.details, path: `${path}/edit` } : undefined;
    return { kind: 'summary', title: null, rows: rows.filter((row) => !isNothing(row)), ...(more && { more }) };
  }
  if (usual === 0) return { kind: 'summary', title: null, rows };
  if (queryOf(view.req).get('show') === 'all')
    return { kind: 'summary', title: null, rows, more: { label: 'Show only what differs from its default', path } };
  const label = usual === 1 ? 'Show all: 1 setting has its default' : `Show all: ${usual} settings have their default`;
  return { kind: 'summary', title: null, rows: rows.filter((row) => !isDefault(row)), more: { label, path: `${path}?show=all` } };
}

export function recordFrame(
  view: ViewContext,
  presentation: Presentation,
  record: ResourceObject,
  included: readonly ResourceObject[],
  tab: string | null,
) {
  const { links, posts, dangers } = recordActions(view, presentation, record);
  const extra = presentation.links?.(record, view) ?? { links: [], posts: [] };
  const name = presentation.name(record, included);
  const tabs = tabsOf(view, presentation, record, tab);
  const label = tabs.find((one) => one.current && tab !== null)?.label;
  return {
    title: name,
    document_title: label === undefined ? `${name} · ${presentation.title}` : `${label} · ${name}`,
    crumbs: [{ label: presentation.title, path: listAddress(view.req, presentation.path) }],
    state: presentation.state?.(record) ?? null,
    links: [...extra.links, ...links],
    posts: [...extra.posts, ...posts],
    tabs,
    dangers,
  };
}

/** The same where something may be wrong with the record: that is its state then, and stands on top. */
async function judgedFrame(...[view, presentation, record, included, tab]: Parameters<typeof recordFrame>) {
  const frame = recordFrame(view, presentation, record, included, tab);
  const health = await healthOfRecord(view.req.call.ctx, presentation.attention, record.id);
  return { ...frame, state: health === null ? frame.state : healthState(health, nothing), trouble: healthNotice(health) };
}

/** GET /dashboard/{collection}/{id} */
export const recordPage = (render: Render, usual: Presentation) => async (req: Request, res: Response) => {
  const { record, included } = await recordOf(
    req.call,
    usual.path,
    addressedId(req),
    readableIncludes(req, usual.path, usual.recordInclude ?? usual.include),
  );
  const view: ViewContext = { req, now: req.call.ctx.clock.now() };
  const presentation: Presentation = { ...usual, ...(await usual.named?.(view, record)) };
  const { dangers, trouble, ...frame } = await judgedFrame(view, presentation, record, included, null);
  const above = (await presentation.above?.(view, record, included)) ?? [];
  const more = (await presentation.more?.(view, record, included)) ?? [];
  const managed = await managedNotice(req.call, resourceOf(req.call, presentation.path).type, record.id);
  render(req, res, {
    ...frame,
    parts: [...managed, ...trouble, ...above, summaryOf(view, presentation, record, included), ...more, ...dangers],
  });
};

/** An `include` without relationships that the actor may not read. */
export function readableIncludes(req: Request, path: string, include = ''): string | undefined {
  const resource = resourceOf(req.call, path);
  const names = include.split(',').filter((name) => {
    const target = req.call.registry.byType.get(resource.relationships[name.split('.')[0] ?? '']?.to ?? '');
    return target !== undefined && req.call.actor.permissions.has(`${target.permissions ?? target.path}:read`);
  });
  return names.length > 0 ? names.join(',') : undefined;
}

/** The addressed record, with what its name is made of and `more`, as far as the reader may see them. */
export const recordToName = (req: Request, presentation: Presentation, more: readonly string[] = []): ReturnType<typeof recordOf> => {
  const named = (presentation.recordInclude ?? presentation.include ?? '').split(',');
  const include = readableIncludes(req, presentation.path, [...new Set([...named, ...more])].join(','));
  return recordOf(req.call, presentation.path, addressedId(req), include);
};

/** GET /dashboard/{collection}/{id}/{tab} */
export const tabPage = (render: Render, presentation: Presentation, name?: string) => async (req: Request, res: Response) => {
  const tab = presentation.tabs?.find((one) => one.name === (name ?? req.params['tab']));
  const { record, included } = await recordOf(req.call, presentation.path, addressedId(req));
  const view: ViewContext = { req, now: req.call.ctx.clock.now() };
  if (!tab || (tab.needs !== undefined && !may(req.call, tab.needs, 'read')) || !(tab.when?.(record) ?? true)) throw notFound();
  const { dangers: _dangers, trouble, ...frame } = await judgedFrame(view, presentation, record, included, tab.name);
  render(req, res, { ...frame, parts: [...trouble, ...(await tab.parts(view, record))] });
};
