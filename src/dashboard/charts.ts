import { listDailyStats, type DailyStat } from '../db/tables/daily_stats.js';
import { listNewUsersByDay } from '../db/tables/overview.js';
import type { Bar, ChartPart, Drawing, Part } from './page-parts.js';
import type { ViewContext } from './presentation.js';
import { may } from './resource-objects.js';
import { figure, inWords, percentage } from './values.js';
import { fill, sentences, terms } from './words.js';

const [width, height, left, bottom, top] = [400, 190, 44, 24, 12];
const dayMs = 86_400_000;
const short = new Intl.DateTimeFormat('en-GB', { day: 'numeric', month: 'short', timeZone: 'UTC' });

/** A round number at or above the greatest value, so that the axis has whole steps. */
function ceiling(most: number): number {
  const size = 10 ** Math.max(0, Math.floor(Math.log10(Math.max(1, most))));
  return [1, 2, 4, 5, 10].map((step) => step * size).find((step) => step >= most && step >= 2) ?? 2;
}

/** Stacked bars of the days as an SVG's elements. */
function draw(bars: readonly Bar[], tones: readonly number[]): Drawing {
  const sums = bars.map((bar) => bar.values.reduce((sum, value) => sum + value, 0));
  const limit = ceiling(Math.max(0, ...sums));
  const plot = { width: width - left, height: height - bottom - top };
  const step = plot.width / bars.length;
  const y = (value: number) => top + plot.height * (1 - value / limit);
  const round = (value: number) => Math.round(value * 10) / 10;
  const rects = bars.flatMap((bar, index) => {
    let below = 0;
    return bar.values.flatMap((value, layer) => {
      const from = below;
      below += value;
      if (value === 0) return [];
      return [
        {
          x: round(left + index * step + step * 0.1),
          y: round(y(below)),
          width: round(step * 0.8),
          height: round(Math.max(1, y(from) - y(below))),
          tone: tones[layer] ?? 0,
          partial: bar.partial,
        },
      ];
    });
  });
  const lines = [0, limit / 2, limit].map((value) => ({ y: round(y(value)), label: value >= 1000 ? `${value / 1000}k` : String(value) }));
  const label = (index: number, anchor: string) => ({ x: round(left + (index + 0.5) * step), text: bars[index]?.words ?? '', anchor });
  return {
    width,
    left,
    height,
    rects,
    lines,
    labels: [
      { ...label(0, 'start'), x: left },
      label(Math.floor(bars.length / 2), 'middle'),
      { ...label(bars.length - 1, 'end'), x: width },
    ],
  };
}

type Plot = {
  readonly id: string;
  readonly name: string;
  readonly labels: readonly string[];
  /** The colour of each label. */
  readonly tones: readonly number[];
  title(sums: readonly number[], days: number): string;
  readonly text: string;
};

/** The days of the range, gaps filled with zero; the last one is not over yet. */
function barsOf(stats: readonly DailyStat[], plot: Plot, now: Date, days: number): Bar[] {
  const counts = new Map(stats.filter(({ name }) => name === plot.name).map(({ day, label, count }) => [`${day} ${label}`, count]));
  return Array.from({ length: days }, (_, index) => {
    const at = new Date(now.getTime() - (days - 1 - index) * dayMs);
    const day = at.toISOString().slice(0, 10);
    return {
      day,
      words: short.format(at),
      values: plot.labels.map((label) => counts.get(`${day} ${label}`) ?? 0),
      partial: index === days - 1,
    };
  });
}

function chart(plot: Plot, stats: readonly DailyStat[], now: Date, days: number): ChartPart {
  const bars = barsOf(stats, plot, now, days);
  const sums = plot.labels.map((_, index) => bars.reduce((sum, bar) => sum + (bar.values[index] ?? 0), 0));
  return {
    kind: 'chart',
    id: `chart-${plot.id}`,
    title: plot.title(sums, days),
    text: plot.text,
    series: plot.labels.map((label, index) => ({ label: inWords(label), tone: plot.tones[index] ?? 0 })),
    bars,
    drawing: draw(bars, plot.tones),
  };
}

const perDay = sentences.by_day_in_utc_today;

const logins: Plot = {
  id: 'logins',
  name: 'logins',
  labels: ['succeeded', 'failed'],
  tones: [0, 1],
  title: ([succeeded = 0, failed = 0], days) =>
    succeeded + failed === 0
      ? fill(terms.no_sign_in_in_days, { days })
      : fill(terms.succeeded_sign_ins_in_days, { succeeded: figure(succeeded), days, failed: figure(failed) }),
  text: perDay,
};

const newUsers: Plot = {
  id: 'new-users',
  name: 'new_users',
  labels: ['new_users'],
  tones: [2],
  title: ([sum = 0], days) =>
    sum === 0
      ? fill(terms.no_new_user_in_days, { days })
      : fill(terms.sum_new_value_in_days, { sum: figure(sum), value: sum === 1 ? 'user' : 'users', days }),
  text: perDay,
};

const tokens: Plot = {
  id: 'tokens',
  name: 'tokens',
  labels: ['authorization_code', 'refresh_token', 'client_credentials'],
  tones: [0, 2, 3],
  title: (sums, days) => {
    const sum = sums.reduce((one, other) => one + other, 0);
    return sum === 0 ? fill(terms.no_token_issued_in_days, { days }) : fill(terms.sum_tokens_issued_in_days, { sum: figure(sum), days });
  },
  text: fill(terms.by_grant_perday, { perday: perDay }),
};

const deliveries: Plot = {
  id: 'deliveries',
  name: 'deliveries',
  labels: ['succeeded', 'failed'],
  tones: [0, 1],
  title: ([succeeded = 0, failed = 0], days) => {
    const sum = succeeded + failed;
    return sum === 0
      ? fill(terms.no_webhook_delivery_in_days, { days })
      : fill(terms.webhook_deliveries_arrived, { value: percentage(succeeded, sum), sum: figure(sum) });
  },
  text: fill(terms.deliveries_that_arrived_or_failed, { perday: perDay }),
};

/** The plots of the overview, for what the actor may read. */
export async function overviewCharts({ req, now }: ViewContext, days: number): Promise<readonly Part[]> {
  const { call } = req;
  const plots = [
    ...(may(call, 'users', 'read') ? [logins, newUsers] : []),
    ...(may(call, 'clients', 'read') ? [tokens] : []),
    ...(may(call, 'webhooks', 'read') ? [deliveries] : []),
  ];
  if (plots.length === 0) return [];
  const since = new Date(now.getTime() - (days - 1) * dayMs).toISOString().slice(0, 10);
  const [counted, users] = await Promise.all([
    listDailyStats(call.ctx.scope, since),
    plots.includes(newUsers) ? listNewUsersByDay(call.ctx.scope, new Date(since)) : [],
  ]);
  // New users are counted from their rows, so that days before the daily counts began are shown too.
  const stats = [...counted, ...users.map(({ day, count }) => ({ day, name: newUsers.name, label: 'new_users', count }))];
  return [{ kind: 'charts', items: plots.map((plot) => chart(plot, stats, now, days)) }];
}
