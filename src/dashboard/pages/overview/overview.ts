import type { Request, Response } from 'express';
import { sessionBounds } from '../../../domain/sessions/sessions.js';
import { countOverview, maxOverviewCounted, type OverviewCounts } from '../../../db/tables/overview.js';
import { maxTroubledCounted } from '../../../db/tables/attention.js';
import { countAdministratorFactors } from '../../../db/tables/factor_counts.js';
import { holdsEverything } from '../../../domain/reach/reach.js';
import { listDailyStats } from '../../../db/tables/daily_stats.js';
import { reported } from '../../../management/reported.js';
import { queryOf } from '../../../http/request/form.js';
import { attentionOf, attentionParts } from './attention.js';
import { exposureNotice } from './exposure-notice.js';
import { factorNotice } from './factor-notice.js';
import { logColumns } from '../../parts/activity/columns.js';
import type { Render } from '../../parts/render.js';
import type { Part } from '../../parts/page-parts.js';
import { recordsTable } from '../../parts/page-tables.js';
import { withExtras } from '../../parts/lists/extras.js';
import { recordPath, type ListSpec, type ViewContext } from '../../parts/records/presentation.js';
import { listOf, may } from '../../parts/records/objects.js';
import { arrivedShare, figure, figureUpTo, percentage } from '../../parts/values.js';
import { terms } from '../../parts/words.js';

const ranges = [7, 30, 90] as const;

type Administrators = Awaited<ReturnType<typeof countAdministratorFactors>>;

type Step = Extract<Part, { kind: 'steps' }>['steps'][number];

/** The steps to the first signed-in user. */
function applicationSteps({ req }: ViewContext, counts: OverviewCounts, client_id: string | null): Step[] {
  const quickStart = client_id === null ? null : `${recordPath('clients', client_id)}/quick_start`;
  const api: Step = {
    title: 'Add an API resource',
    text: 'If your application calls your own API, register it to get access tokens for it.',
    done: counts.api_resources > 0,
    link: { label: terms.create_api_resource, path: '/dashboard/api_resources/new' },
  };
  return [
    {
      title: terms.create_a_client,
      text: 'Register your application.',
      done: counts.clients > 0,
      link: { label: terms.create_client, path: '/dashboard/clients/new', variant: 'primary' },
    },
    {
      title: 'Copy the configuration',
      text: 'Ready for openid-client, Auth.js, Spring and curl, with the URLs of this installation.',
      done: counts.client_used || counts.signed_in,
      link: quickStart === null ? null : { label: terms.quick_start, path: quickStart, variant: 'primary' },
    },
    ...(may(req.call, 'api_resources', 'write') ? [api] : []),
    {
      title: 'Sign in your first user',
      text: 'Start the sign-in in your application. People can register there, or you create them here.',
      done: counts.signed_in,
      link: may(req.call, 'users', 'write') ? { label: terms.create_user, path: '/dashboard/users/new' } : null,
    },
  ];
}

function serviceSteps({ req }: ViewContext, administrators: Administrators | null): Step[] {
  const { config } = req.ctx;
  const people: Step[] =
    administrators === null
      ? []
      : [
          {
            title: 'Add a passkey for yourself',
            text: 'This account controls everything here. Protect it with a passkey or an authenticator app.',
            done: !administrators.viewer_without,
            link: { label: 'Add passkey', path: '/account/authenticators' },
          },
          {
            title: 'Invite a second administrator',
            text: 'So that you aren’t locked out if one person is away. Create the user, then assign the Administrator role under Roles.',
            done: administrators.people > 1,
            link: { label: terms.invite_user, path: '/dashboard/users/invite' },
          },
        ];
  return [
    ...people,
    {
      title: 'Set a mail server',
      text: 'Set SMTP_URL. Without it, codes, invitations and password resets aren’t sent.',
      done: config.smtpUrl !== null,
      link: { label: 'Read how', path: '/docs/operations#configuration' },
    },
  ];
}

/** What to do first in a new environment; null once somebody has signed in, and for actors who may not write clients. */
async function checklist(view: ViewContext, counts: OverviewCounts, client_id: string | null): Promise<Part | null> {
  const { call } = view.req;
  if (!may(call, 'clients', 'write') || (counts.signed_in && counts.clients > 0)) return null;
  const administrators = holdsEverything(call.actor) ? await countAdministratorFactors(call.ctx.scope, call.actor.actor_id ?? '') : null;
  const steps = [...applicationSteps(view, counts, client_id), ...serviceSteps(view, administrators)];
  return { kind: 'steps', title: 'What to do first', text: 'Charts appear after the first sign-in.', steps };
}

/** How deliveries and their attempts ended, and how many deliveries wait for another attempt now. */
type Deliveries = Readonly<Record<'succeeded' | 'failed' | 'retrying' | 'attempts' | 'failed_attempts', number>>;

function deliveryNote({ succeeded, failed, retrying, attempts, failed_attempts }: Deliveries, days: number): string {
  const tries = attempts === 0 ? [] : [`${percentage(attempts - failed_attempts, attempts)} of ${figure(attempts)} attempts succeeded`];
  const waiting = retrying === 0 ? [] : [`${figureUpTo(retrying, maxTroubledCounted)} being retried`];
  const ended = succeeded + failed === 0 ? `none completed in ${days} days` : `of ${figure(succeeded + failed + retrying)} in ${days} days`;
  return [ended, ...waiting, ...tries].join('; ');
}

/** How deliveries ended within so many days, from the counts by day: reading a million of them takes seconds. */
async function deliveredWithin({ req, now }: ViewContext, days: number, retrying: number): Promise<Deliveries> {
  const since = new Date(now.getTime() - (days - 1) * 86_400_000).toISOString().slice(0, 10);
  const stats = await reported(req.call, ({ ctx }) => listDailyStats(ctx.scope, since));
  const sum = (name: string, result: string) =>
    stats.filter((one) => one.name === name && one.label === result).reduce((total, { count }) => total + count, 0);
  const failed_attempts = sum('delivery_attempts', 'failed');
  const attempts = sum('delivery_attempts', 'succeeded') + failed_attempts;
  return { succeeded: sum('deliveries', 'succeeded'), failed: sum('deliveries', 'failed'), retrying, attempts, failed_attempts };
}

function figures(view: ViewContext, counts: OverviewCounts, days: number, deliveries: Deliveries | null): Part {
  const { call } = view.req;
  const items = [
    ...(may(call, 'users', 'read')
      ? [
          {
            label: terms.users,
            figure: figureUpTo(counts.users, maxOverviewCounted.people),
            note: `${figureUpTo(counts.new_users, maxOverviewCounted.people)} new in ${days} days`,
            path: '/dashboard/users',
          },
          {
            label: 'Active users',
            figure: figureUpTo(counts.active_users, maxOverviewCounted.active),
            note: `signed in within ${days} days`,
            path: '/dashboard/users?sort=-last_login_at',
          },
        ]
      : []),
    ...(may(call, 'sessions', 'read')
      ? [
          {
            label: terms.sessions,
            figure: figureUpTo(counts.sessions, maxOverviewCounted.active),
            note: 'active now',
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
            label: 'Webhook deliveries that arrived',
            figure: arrivedShare(deliveries) ?? '–',
            note: deliveryNote(deliveries, days),
            path: '/dashboard/webhooks',
          },
        ]
      : []),
  ];
  return { kind: 'stats', title: 'Key figures', items };
}

type Latest = Pick<ListSpec, 'columns' | 'extras'> & {
  readonly path: string;
  readonly caption: string;
  readonly filters: Record<string, string>;
  readonly nothing: [string, string];
};

async function latest(view: ViewContext, { caption, filters, nothing, ...spec }: Latest): Promise<Part[]> {
  const { path } = spec;
  if (!may(view.req.call, path, 'read')) return [];
  const listing = await withExtras(view, spec, await listOf(view.req.call, path, { filters, size: 5 }));
  return [recordsTable(view, spec, listing, { id: path, caption, nothing })];
}

export type Charts = (view: ViewContext, days: number) => Promise<readonly Part[]>;

/** GET /dashboard */
export const overviewPage = (render: Render, charts: Charts) => async (req: Request, res: Response) => {
  const { call } = req;
  const view: ViewContext = { req, now: call.ctx.clock.now() };
  const requested = Number(queryOf(req).get('days') ?? 30);
  const days = ranges.find((one) => one === requested) ?? 30;
  const webhooks = may(call, 'webhooks', 'read');
  const [counts, attention, clients] = await Promise.all([
    reported(call, ({ ctx }) => countOverview(ctx.scope, new Date(view.now.getTime() - days * 86_400_000), sessionBounds(ctx))),
    attentionOf(view),
    may(call, 'clients', 'read') ? listOf(call, 'clients', { size: 1, sort: '-created_at' }) : null,
  ]);
  const retrying = attention.reduce((sum, one) => sum + one.retrying, 0);
  const deliveries = webhooks ? await deliveredWithin(view, days, retrying) : null;
  const steps = await checklist(view, counts, counts.clients > 0 ? (clients?.records[0]?.id ?? null) : null);
  const audit = await latest(view, {
    path: 'audit_logs',
    caption: 'Latest changes',
    ...logColumns,
    filters: { security_event: 'false' },
    nothing: [terms.nothing_yet, 'Changes that people make here or through the Management API appear here.'],
  });
  const range: Part = {
    kind: 'tabs',
    label: 'Range',
    items: ranges.map((one) => ({ label: `${one} days`, path: `/dashboard?days=${one}`, current: one === days })),
  };
  const sections = [
    ...exposureNotice(call.ctx),
    ...(await factorNotice(call)),
    ...attentionParts(view, attention),
    ...(steps ? [steps] : []),
    ...(steps ? [] : [range]),
    figures(view, counts, days, deliveries),
    ...(steps ? [] : await charts(view, days)),
    ...audit,
  ];
  render(req, res, { title: terms.overview, lead: `${call.ctx.environment.issuer}`, parts: sections });
};
