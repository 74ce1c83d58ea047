import { listDailyStats, type DailyStat } from '../../../db/tables/daily_stats.js';
import { listNewUsersByDay } from '../../../db/tables/overview.js';
import type { Bar, ChartPart, Drawing, Part } from '../../parts/page-parts.js';
import type { ViewContext } from '../../parts/records/presentation.js';
import { groupedBy } from '../../../lib/grouped.js';
import { reported } from '../../../management/reported.js';
import { may } from '../../parts/records/objects.js';
import { figure, inWords, percentage } from '../../parts/values.js';

const [width, height, left, bottom, top] = [400, 190, 44, 24, 12];
const dayMs = 86_400_000;
const short = new Intl.DateTimeFormat('en-GB', { day: 'numeric', month: 'short', timeZone: 'UTC' });

/** A round number at or above the greatest value, so that the axis has whole steps. */
function ceiling(most: number): number {
  const size = 10 ** Math.max(0, Math.floor(Math.log10(Math.max(1, most))));
  return [1, 2, 4, 5, 10].map((step) => step * size).find((step) => step >= most && step >= 2) ?? 2;
}

const daysBefore = (days: number) => `${days} days before`;

const sumOf = (values: readonly number[]) => values.reduce((sum, value) => sum + value, 0);

/** Stacked bars of the days as an SVG's elements, and the days before them as a line. */
function draw(bars: readonly Bar[], plotted: Plot): Drawing {
  const { tones } = plotted;
  const labels = layersOf(plotted);
  const hasBefore = bars.some(({ before }) => before > 0);
  const limit = ceiling(Math.max(0, ...bars.map(({ values, before }) => Math.max(sumOf(values), before))));
  const plot = { width: width - left, height: height - bottom - top };
  const step = plot.width / bars.length;
  const y = (value: number) => top + plot.height * (1 - value / limit);
  const round = (value: number) => Math.round(value * 10) / 10;
  const days = bars.map((bar, index) => {
    let below = 0;
    const rects = bar.values.flatMap((value, layer) => {
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
        },
      ];
    });
    const values = bar.values.map((value, layer) => `${labels[layer] ?? ''}: ${figure(value)}`);
    const before = hasBefore ? [`${daysBefore(bars.length)}: ${figure(bar.before)}`] : [];
    return { x: round(left + index * step), rects, text: [bar.words, ...values, ...before].join('\n') };
  });
  const points = bars.map(({ before }, index) => `${round(left + (index + 0.5) * step)},${round(y(before))}`);
  const lines = [0, limit / 2, limit].map((value) => ({ y: round(y(value)), label: value >= 1000 ? `${value / 1000}k` : String(value) }));
  const label = (index: number, anchor: string) => ({ x: round(left + (index + 0.5) * step), text: bars[index]?.day ?? '', anchor });
  return {
    width,
    left,
    height,
    top,
    bottom: height - bottom,
    step: round(step),
    days,
    before: hasBefore ? points.join(' ') : null,
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
  /** What a last layer is called, of all that has another label. */
  readonly others?: string;
  readonly tones: readonly number[];
  title(sums: readonly number[], days: number): string;
  readonly text: string;
};

const layersOf = ({ labels, others }: Plot): string[] => [...labels.map(inWords), ...(others === undefined ? [] : [others])];

/** The days of the range, each with the sum of the day that is as many days before, gaps filled with zero; the last one is not over yet. */
function barsOf(stats: readonly DailyStat[], plot: Plot, now: Date, days: number): Bar[] {
  const byDay = groupedBy(
    stats.filter(({ name }) => name === plot.name),
    ({ day }) => day,
  );
  const counts = new Map([...byDay].map(([day, all]) => [day, new Map(all.map(({ label, count }) => [label, count]))]));
  return Array.from({ length: days }, (_, index) => {
    const at = new Date(now.getTime() - (days - 1 - index) * dayMs);
    const valuesOf = (at: Date) => {
      const found = counts.get(at.toISOString().slice(0, 10));
      const values = plot.labels.map((label) => found?.get(label) ?? 0);
      return plot.others === undefined ? values : [...values, sumOf([...(found?.values() ?? [])]) - sumOf(values)];
    };
    return {
      day: short.format(at),
      words: `${short.format(at)}${index === days - 1 ? ' (so far)' : ''}`,
      values: valuesOf(at),
      before: sumOf(valuesOf(new Date(at.getTime() - days * dayMs))),
    };
  });
}

type Drawn = { readonly title: string; readonly chart: ChartPart | null };

/** The chart of a plot; null where there is nothing to draw. */
function drawn(plot: Plot, stats: readonly DailyStat[], now: Date, days: number): Drawn {
  const bars = barsOf(stats, plot, now, days);
  const layers = layersOf(plot);
  const title = plot.title(
    layers.map((_, index) => sumOf(bars.map(({ values }) => values[index] ?? 0))),
    days,
  );
  if (bars.every(({ values, before }) => sumOf(values) + before === 0)) return { title, chart: null };
  const drawing = draw(bars, plot);
  const series = layers.map((label, index) => ({ label, tone: plot.tones[index] ?? 0 }));
  const before = drawing.before === null ? null : daysBefore(days);
  return { title, chart: { kind: 'chart', id: `chart-${plot.id}`, title, text: plot.text, series, before, bars, drawing } };
}

const perDay = 'By day in UTC; today so far.';

const logins: Plot = {
  id: 'logins',
  name: 'logins',
  labels: ['succeeded', 'failed'],
  tones: [0, 1],
  title: ([succeeded = 0, failed = 0], days) =>
    succeeded + failed === 0 ? `No sign-in in ${days} days` : `${figure(succeeded)} sign-ins in ${days} days, ${figure(failed)} failed`,
  text: perDay,
};

const newUsers: Plot = {
  id: 'new-users',
  name: 'new_users',
  labels: ['new_users'],
  tones: [2],
  title: ([sum = 0], days) =>
    sum === 0 ? `No new user in ${days} days` : `${figure(sum)} new ${sum === 1 ? 'user' : 'users'} in ${days} days`,
  text: perDay,
};

const tokens: Plot = {
  id: 'tokens',
  name: 'tokens',
  labels: ['authorization_code', 'refresh_token', 'client_credentials'],
  others: 'Devices, approvals, exchanges, assertions',
  tones: [0, 2, 3, 4],
  title: (sums, days) => {
    const sum = sums.reduce((one, other) => one + other, 0);
    return sum === 0 ? `No token issued in ${days} days` : `${figure(sum)} tokens issued in ${days} days`;
  },
  text: `By grant. ${perDay}`,
};

const deliveries: Plot = {
  id: 'deliveries',
  name: 'deliveries',
  labels: ['succeeded', 'failed'],
  tones: [0, 1],
  title: ([succeeded = 0, failed = 0], days) => {
    const sum = succeeded + failed;
    return sum === 0
      ? `No webhook delivery completed in ${days} days`
      : `${percentage(succeeded, sum)} of ${figure(sum)} completed webhook deliveries arrived`;
  },
  text: `Deliveries that arrived or failed permanently; those being retried are not counted. ${perDay}`,
};

export async function overviewCharts({ req, now }: ViewContext, days: number): Promise<readonly Part[]> {
  const { call } = req;
  const plots = [
    ...(may(call, 'users', 'read') ? [logins, newUsers] : []),
    ...(may(call, 'clients', 'read') ? [tokens] : []),
    ...(may(call, 'webhooks', 'read') ? [deliveries] : []),
  ];
  if (plots.length === 0) return [];
  // Twice as many days: those before are a line.
  const since = new Date(now.getTime() - (2 * days - 1) * dayMs).toISOString().slice(0, 10);
  const [counted, users] = await reported(call, ({ ctx: { scope } }) =>
    Promise.all([listDailyStats(scope, since), plots.includes(newUsers) ? listNewUsersByDay(scope, new Date(since)) : []]),
  );
  // New users are counted from their rows, so that days before the daily counts began are shown too.
  const stats = [...counted, ...users.map(({ day, count }) => ({ day, name: newUsers.name, label: 'new_users', count }))];
  const all = plots.map((plot) => drawn(plot, stats, now, days));
  const items = all.flatMap(({ chart }) => chart ?? []);
  return [{ kind: 'charts', items, empty: all.flatMap(({ chart, title }) => (chart === null ? [title] : [])) }];
}
