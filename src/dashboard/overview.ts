import type { Request, Response } from 'express';
import { sessionBounds } from '../domain/sessions/sessions.js';
import { countOverview, type OverviewCounts } from '../db/tables/overview.js';
import { listDailyStats } from '../db/tables/daily_stats.js';
import { queryOf } from '../http/request/form.js';
import { exposureNotice } from './exposure-notice.js';
import { factorNotice } from './factor-notice.js';
import { deliveryColumns } from './pages/delivery-columns.js';
import { auditColumns } from './pages/audit-logs.js';
import type { Render } from './render.js';
import type { Part } from './page-parts.js';
import { recordPath, type ColumnSpec, type ViewContext } from './presentation.js';
import { listOf, may } from './resource-objects.js';
import { figure, percentage } from './values.js';

const ranges = [7, 30, 90] as const;

/** The steps from a new environment to the first signed-in user; null once somebody has signed in, and for actors who may not write clients. */
function checklist(look: ViewContext, counts: OverviewCounts, client_id: string | null): Part | null {
  if (!may(look.req.call, 'clients', 'write') || (counts.signed_in && counts.clients > 0)) return null;
  const quickStart = client_id === null ? null : `${recordPath('clients', client_id)}/quick_start`;
  return {
    kind: 'steps',
    title: 'From here to the first signed-in user',
    text: 'Three steps, five minutes.',
    steps: [
      {
        title: 'Create a client',
        text: 'Your application as this service knows it.',
        done: counts.clients > 0,
        link: { label: 'Create client', path: '/dashboard/clients/new', variant: 'primary' },
      },
      {
        title: 'Copy the configuration',
        text: 'Ready for openid-client, Auth.js, Spring and curl, with this installation’s own addresses.',
        done: counts.client_used || counts.signed_in,
        link: quickStart === null ? null : { label: 'Quick start', path: quickStart, variant: 'primary' },
      },
      {
        title: 'Sign somebody in',
        text: 'Start the sign-in in your application. People can register there, or you create them here.',
        done: counts.signed_in,
        link: { label: 'Create user', path: '/dashboard/users/new' },
      },
    ],
  };
}

function figures(look: ViewContext, counts: OverviewCounts, days: number, deliveries: { succeeded: number; failed: number } | null): Part {
  const { call } = look.req;
  const settled = deliveries ? deliveries.succeeded + deliveries.failed : 0;
  const items = [
    ...(may(call, 'users', 'read')
      ? [
          {
            label: 'Users',
            figure: figure(counts.users),
            note: `${figure(counts.new_users)} new in ${days} days`,
            path: '/dashboard/users',
          },
          {
            label: 'Active users',
            figure: figure(counts.active_users),
            note: `signed in within ${days} days`,
            path: '/dashboard/users?sort=-last_login_at',
          },
        ]
      : []),
    ...(may(call, 'sessions', 'read')
      ? [{ label: 'Sessions', figure: figure(counts.sessions), note: 'active now', path: '/dashboard/sessions?status=active' }]
      : []),
    ...(may(call, 'clients', 'read') ? [{ label: 'Clients', figure: figure(counts.clients), note: null, path: '/dashboard/clients' }] : []),
    ...(deliveries
      ? [
          {
            label: 'Webhook success',
            figure: settled === 0 ? '–' : percentage(deliveries.succeeded, settled),
            note: settled === 0 ? `nothing delivered in ${days} days` : `of ${figure(settled)} in ${days} days`,
            path: '/dashboard/webhooks',
          },
        ]
      : []),
  ];
  return { kind: 'stats', title: 'In figures', items };
}

type Latest = {
  readonly path: string;
  readonly caption: string;
  readonly columns: readonly ColumnSpec[];
  readonly filters: Record<string, string>;
  readonly nothing: [string, string];
};

async function latest(look: ViewContext, { path, caption, columns, filters, nothing }: Latest): Promise<Part[]> {
  if (!may(look.req.call, path, 'read')) return [];
  const listing = await listOf(look.req.call, path, { filters, size: 5 });
  const rows = listing.records.map((record) => ({
    path: recordPath(path, record.id),
    cells: columns.map((column) => column.value(record, look, listing)),
  }));
  const empty = { title: nothing[0], text: nothing[1], button: null };
  return [
    {
      kind: 'table',
      id: path,
      caption,
      heading: true,
      columns: columns.map(({ label, numeric }) => ({ label, numeric })),
      rows,
      empty,
      pager: null,
    },
  ];
}

const deliveryGlance = deliveryColumns.filter(({ label }) => label !== 'Next attempt' && label !== 'Duration');

export type Charts = (look: ViewContext, days: number) => Promise<readonly Part[]>;

/** How deliveries ended within so many days, from the counts by day: reading a million of them takes seconds. */
async function deliveredWithin({ req, now }: ViewContext, days: number): Promise<{ succeeded: number; failed: number }> {
  const since = new Date(now.getTime() - (days - 1) * 86_400_000).toISOString().slice(0, 10);
  const stats = (await listDailyStats(req.call.ctx.scope, since)).filter(({ name }) => name === 'deliveries');
  const sum = (wanted: string) => stats.filter(({ label }) => label === wanted).reduce((total, { count }) => total + count, 0);
  return { succeeded: sum('succeeded'), failed: sum('failed') };
}

/** GET /dashboard */
export function overviewPage(render: Render, charts: Charts) {
  return async (req: Request, res: Response): Promise<void> => {
    const { call } = req;
    const look: ViewContext = { req, now: call.ctx.clock.now() };
    const asked = Number(queryOf(req).get('days') ?? 30);
    const days = ranges.find((one) => one === asked) ?? 30;
    const webhooks = may(call, 'webhooks', 'read');
    const [counts, deliveries, clients] = await Promise.all([
      countOverview(call.ctx.scope, new Date(look.now.getTime() - days * 86_400_000), sessionBounds(call.ctx)),
      webhooks ? deliveredWithin(look, days) : null,
      may(call, 'clients', 'read') ? listOf(call, 'clients', { size: 1, sort: '-created_at' }) : null,
    ]);
    const steps = checklist(look, counts, counts.clients > 0 ? (clients?.records[0]?.id ?? null) : null);
    const failed =
      counts.webhooks > 0
        ? await latest(look, {
            path: 'webhook_deliveries',
            caption: 'Latest failed deliveries',
            columns: deliveryGlance,
            filters: { status: 'failed' },
            nothing: ['No failed delivery', 'Everything that was sent arrived.'],
          })
        : [];
    const audit = await latest(look, {
      path: 'audit_logs',
      caption: 'Latest changes',
      columns: auditColumns,
      filters: { security_event: 'false' },
      nothing: ['Nothing yet', 'Changes that people make here or through the Management API appear here.'],
    });
    const range: Part = {
      kind: 'tabs',
      label: 'Range',
      items: ranges.map((one) => ({ label: `${one} days`, path: `/dashboard?days=${one}`, current: one === days })),
    };
    const parts = [
      ...exposureNotice(call.ctx),
      ...(await factorNotice(call)),
      ...(steps ? [steps] : []),
      range,
      figures(look, counts, days, deliveries),
      ...(await charts(look, days)),
      ...failed,
      ...audit,
    ];
    render(req, res, { title: 'Overview', lead: `${call.ctx.environment.issuer}`, parts });
  };
}
