import type { Request, Response } from 'express';
import type { Call } from '../../management/call.js';
import { diagnostics } from '../../management/calls/diagnostics.js';
import { token_preview } from '../../management/calls/token_preview.js';
import { notFound } from '../../management/problems.js';
import { tokenReaderLead, tokenReaderPath } from '../pages/apis/token-reader.js';
import { presentations } from '../pages/index.js';
import { settingsPath, settingsSubjects } from '../pages/settings/sections.js';
import type { DashboardPage, IconPaths, Navigation, SearchResult } from '../parts/page-parts.js';
import { may } from '../parts/records/objects.js';
import { navigationGroups, type NavigationGroup } from '../parts/records/presentation.js';
import type { Render } from '../parts/render.js';
import { terms } from '../parts/words.js';

/** A page that stands by itself: an entry's own, or a tab of it. */
type Page = { readonly label: string; readonly path: string; readonly lead: string; isOpen(call: Call): boolean };

/** What the navigation names. It leads to the first of its pages that is open, and is marked on all of them and below. */
type Entry = { readonly label: string; readonly icon: IconPaths; readonly pages: readonly Page[] };

const advancedPath = '/dashboard/advanced';

const diagnosticsPage: Page = {
  label: terms.diagnostics,
  path: '/dashboard/doctor',
  lead: 'Problems with this installation, with a fix for each.',
  isOpen: ({ ctx, actor }) => ctx.environment.is_default && diagnostics.permissions.every((one) => actor.permissions.has(one)),
};

const tokenPage: Page = {
  label: terms.read_token,
  path: tokenReaderPath,
  lead: tokenReaderLead,
  isOpen: ({ actor }) => token_preview.permissions.every((one) => actor.permissions.has(one)),
};

const collectionPage = (label: string, path: string, lead: string, needs = path): Page => ({
  label,
  path: `/dashboard/${path}`,
  lead,
  isOpen: (call) => may(call, needs, 'read'),
});

/** The lists that belong to an entry, in the order of the registry. */
const pagesUnder = (name: string): Page[] =>
  presentations.filter(({ under }) => under === name).map(({ title, path, lead }) => collectionPage(title, path, lead));

const clientPages = [collectionPage(terms.self_registered_clients, 'self_registered_clients', '', 'clients')];

const entriesOf = (group: NavigationGroup): Entry[] =>
  presentations.flatMap(({ title, path, lead, navigation }) =>
    navigation?.group === group
      ? [
          {
            label: navigation.label ?? title,
            icon: navigation.icon,
            pages: [collectionPage(title, path, lead), ...pagesUnder(path), ...(path === 'clients' ? clientPages : [])],
          },
        ]
      : [],
  );

const advancedPages = [...pagesUnder('advanced'), tokenPage, diagnosticsPage];

const overview: Entry = {
  label: terms.overview,
  icon: ['M3.5 3.5h5.5v7H3.5zM11 3.5h5.5v4H11zM11 10h5.5v6.5H11zM3.5 13h5.5v3.5H3.5z'],
  pages: [{ label: terms.overview, path: '/dashboard', lead: '', isOpen: () => true }],
};
const settings: Entry = {
  label: terms.settings,
  icon: ['M3 6h7M14 6h3M3 14h3M10 14h7', 'M12 8a2 2 0 1 0 0-4 2 2 0 0 0 0 4zM8 16a2 2 0 1 0 0-4 2 2 0 0 0 0 4z'],
  pages: [
    ...settingsSubjects.map((subject): Page => ({ ...collectionPage(subject.title, '', '', 'environments'), path: settingsPath(subject) })),
    ...pagesUnder('settings'),
  ],
};
const advanced: Entry = {
  label: 'Advanced',
  icon: ['m10 3 7.25 3.75L10 10.5 2.75 6.75z', 'm2.75 10.25 7.25 3.75 7.25-3.75M2.75 13.5 10 17.25l7.25-3.75'],
  pages: [
    { label: 'Advanced', path: advancedPath, lead: '', isOpen: (call) => advancedPages.some((page) => page.isOpen(call)) },
    ...advancedPages,
  ],
};
const documentation: Entry = {
  label: 'Documentation',
  icon: [
    'M10 5c-1.5-1.25-3.75-1.5-6.75-1.5v11.75c3 0 5.25.25 6.75 1.5 1.5-1.25 3.75-1.5 6.75-1.5V3.5C13.75 3.5 11.5 3.75 10 5zM10 5v11.75',
  ],
  pages: [{ label: 'Documentation', path: '/docs', lead: '', isOpen: () => true }],
};

const groupLabels: Readonly<Record<NavigationGroup, string>> = {
  People: 'User management',
  Applications: 'Applications',
  Events: terms.events,
};

const groups: readonly { readonly label: string | null; readonly entries: readonly Entry[] }[] = [
  { label: null, entries: [overview] },
  ...navigationGroups.map((name) => ({ label: groupLabels[name], entries: entriesOf(name) })),
  { label: 'Environment', entries: [settings, advanced] },
  { label: 'Help', entries: [documentation] },
];

/** An entry is called after its first page: whoever may not open that one reads the name of the first that they may. */
const labelOf = ({ label, pages }: Entry, first: Page): string => (first === pages[0] ? label : first.label);

export const openPages = (call: Call): SearchResult[] =>
  groups
    .flatMap(({ entries }) => entries)
    .flatMap((entry) => {
      const open = entry.pages.filter((page) => page.isOpen(call));
      const name = open[0] && labelOf(entry, open[0]);
      return open.map(({ label, path }) => ({ text: label, detail: name === label ? null : (name ?? null), path }));
    });

const addressOf = (req: Request) => req.path.replace(/\/$/, '');

export function navigationFor(req: Request): Navigation {
  const here = addressOf(req);
  const isAt = ({ path }: Page) => here === path || (path !== '/dashboard' && here.startsWith(`${path}/`));
  return groups
    .map(({ label, entries }) => ({
      label,
      items: entries.flatMap((entry) => {
        const first = entry.pages.find((page) => page.isOpen(req.call));
        return first ? [{ label: labelOf(entry, first), icon: entry.icon, path: first.path, current: entry.pages.some(isAt) }] : [];
      }),
    }))
    .filter(({ items }) => items.length > 0);
}

/** What leads from a page of an entry to the entry's others: tabs, or for those that few need the way back to the page that names them. */
export function wayAround(req: Request): Pick<DashboardPage, 'tabs' | 'crumbs'> {
  const here = addressOf(req);
  const entry = groups.flatMap(({ entries }) => entries).find(({ pages }) => pages.some(({ path }) => path === here));
  if (entry === undefined || here === advancedPath) return { tabs: [], crumbs: [] };
  if (entry === advanced) return { tabs: [], crumbs: [{ label: advanced.label, path: advancedPath }] };
  const open = entry.pages.filter((page) => page.isOpen(req.call));
  const tabs = open.map(({ label, path }) => ({ label, path, current: path === here }));
  return { tabs: tabs.length > 1 ? tabs : [], crumbs: [] };
}

/** GET /dashboard/advanced: what few need, a tile each. */
export const advancedTiles = (render: Render) => (req: Request, res: Response) => {
  const items = advancedPages.filter((page) => page.isOpen(req.call)).map(({ label, path, lead }) => ({ title: label, text: lead, path }));
  if (items.length === 0) throw notFound(terms.nothing_here);
  const lead = 'Keys, domains and environments: set up once, rarely changed.';
  render(req, res, { title: advanced.label, lead, parts: [{ kind: 'tiles', title: advanced.label, items }] });
};
