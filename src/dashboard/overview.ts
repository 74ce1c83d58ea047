import type { Request, Response } from 'express';
import { sessionBounds } from '../domain/sessions/sessions.js';
import { countOverview, mostCounted, type OverviewCounts } from '../db/tables/overview.js';
import { countAdministratorFactors } from '../db/tables/factor_counts.js';
import { holdsEverything } from '../domain/reach/reach.js';
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
import { figure, figureUpTo, percentage } from './values.js';
import { fill, sentences, terms } from './words.js';

const ranges = [7, 30, 90] as const;

type Administrators = Awaited<ReturnType<typeof countAdministratorFactors>>;

type Step = Extract<Part, { kind: 'steps' }>['steps'][number];

/** The steps to the first signed-in user. */
function applicationSteps({ req }: ViewContext, counts: OverviewCounts, client_id: string | null): Step[] {
  const quickStart = client_id === null ? null : `${recordPath('clients', client_id)}/quick_start`;
  const api: Step = {
    title: terms.add_an_api,
    text: sentences.add_an_api_text,
    done: counts.api_resources > 0,
    link: { label: terms.create_api_resource, path: '/dashboard/api_resources/new' },
  };
  return [
    {
      title: terms.create_a_client,
      text: sentences.your_application_as_this_service,
      done: counts.clients > 0,
      link: { label: terms.create_client, path: '/dashboard/clients/new', variant: 'primary' },
    },
    {
      title: terms.copy_the_configuration,
      text: sentences.ready_for_openid_client_auth,
      done: counts.client_used || counts.signed_in,
      link: quickStart === null ? null : { label: terms.quick_start, path: quickStart, variant: 'primary' },
    },
    ...(may(req.call, 'api_resources', 'write') ? [api] : []),
    {
      title: terms.sign_somebody_in,
      text: sentences.start_the_sign_in_in,
      done: counts.signed_in,
      link: may(req.call, 'users', 'write') ? { label: terms.create_user, path: '/dashboard/users/new' } : null,
    },
  ];
}

/** The steps that make the service itself ready. */
function serviceSteps({ req }: ViewContext, administrators: Administrators | null): Step[] {
  const { config } = req.ctx;
  const people: Step[] =
    administrators === null
      ? []
      : [
          {
            title: terms.add_a_passkey_for_yourself,
            text: sentences.add_a_passkey_text,
            done: !administrators.viewer_without,
            link: { label: terms.add_passkey, path: '/account/authenticators' },
          },
          {
            title: terms.invite_an_administrator,
            text: sentences.invite_an_administrator_text,
            done: administrators.people > 1,
            link: { label: terms.invite_user, path: '/dashboard/users/invite' },
          },
        ];
  return [
    ...people,
    {
      title: terms.set_up_mail,
      text: sentences.set_up_mail_text,
      done: config.smtpUrl !== null,
      link: { label: terms.read_how, path: '/docs/operations#configuration' },
    },
  ];
}

/** What to do first in a new environment; null once somebody has signed in, and for actors who may not write clients. */
async function checklist(look: ViewContext, counts: OverviewCounts, client_id: string | null): Promise<Part | null> {
  const { call } = look.req;
  if (!may(call, 'clients', 'write') || (counts.signed_in && counts.clients > 0)) return null;
  const administrators = holdsEverything(call.actor) ? await countAdministratorFactors(call.ctx.scope, call.actor.actor_id ?? '') : null;
  const steps = [...applicationSteps(look, counts, client_id), ...serviceSteps(look, administrators)];
  return { kind: 'steps', title: terms.what_to_do_first, text: sentences.set_up_lead, steps };
}

function figures(look: ViewContext, counts: OverviewCounts, days: number, deliveries: { succeeded: number; failed: number } | null): Part {
  const { call } = look.req;
  const settled = deliveries ? deliveries.succeeded + deliveries.failed : 0;
  const items = [
    ...(may(call, 'users', 'read')
      ? [
          {
            label: terms.users,
            figure: figureUpTo(counts.users, mostCounted.people),
            note: fill(terms.new_in_days, { new_users: figureUpTo(counts.new_users, mostCounted.people), days }),
            path: '/dashboard/users',
          },
          {
            label: terms.active_users,
            figure: figureUpTo(counts.active_users, mostCounted.active),
            note: fill(terms.signed_in_within_days, { days }),
            path: '/dashboard/users?sort=-last_login_at',
          },
        ]
      : []),
    ...(may(call, 'sessions', 'read')
      ? [
          {
            label: terms.sessions,
            figure: figureUpTo(counts.sessions, mostCounted.active),
            note: terms.active_now,
            path: '/dashboard/sessions?status=active',
          },
        ]
      : []),
    ...(may(call, 'clients', 'read')
      ? [{ label: terms.clients, figure: figure(counts.clients), note: null, path: '/dashboard/clients' }]
      : []),
    ...(deliveries
      ? [
          {
            label: terms.webhook_success_rate,
            figure: settled === 0 ? '–' : percentage(deliveries.succeeded, settled),
            note:
              settled === 0
                ? fill(terms.nothing_delivered_in_days, { days })
                : fill(terms.of_settled_in_days, { settled: figure(settled), days }),
            path: '/dashboard/webhooks',
          },
        ]
      : []),
  ];
  return { kind: 'stats', title: terms.key_figures, items };
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

const deliveryGlance = deliveryColumns.filter(({ label }) => label !== terms.next_attempt && label !== terms.duration);

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
    const steps = await checklist(look, counts, counts.clients > 0 ? (clients?.records[0]?.id ?? null) : null);
    const failed =
      counts.webhooks > 0
        ? await latest(look, {
            path: 'webhook_deliveries',
            caption: terms.latest_failed_deliveries,
            columns: deliveryGlance,
            filters: { status: 'failed' },
            nothing: [terms.no_failed_delivery, sentences.everything_that_was_sent_arrived],
          })
        : [];
    const audit = await latest(look, {
      path: 'audit_logs',
      caption: terms.latest_changes,
      columns: auditColumns,
      filters: { security_event: 'false' },
      nothing: [terms.nothing_yet, sentences.changes_that_people_make_here],
    });
    const range: Part = {
      kind: 'tabs',
      label: terms.range,
      items: ranges.map((one) => ({ label: fill(terms.one_days, { one }), path: `/dashboard?days=${one}`, current: one === days })),
    };
    const parts = [
      ...exposureNotice(call.ctx),
      ...(await factorNotice(call)),
      ...(steps ? [steps] : []),
      ...(steps ? [] : [range]),
      figures(look, counts, days, deliveries),
      ...(steps ? [] : await charts(look, days)),
      ...failed,
      ...audit,
    ];
    render(req, res, { title: terms.overview, lead: `${call.ctx.environment.issuer}`, parts });
  };
}
