import type { ScenarioResult } from './measure.js';

/** Aimed at, against oidc-provider: at least, and better. */
export const goals: Readonly<Record<string, readonly [must: number, goal: number]>> = {
  cc_jwt: [1.1, 1.25],
  cc_opaque: [1.1, 1.3],
  introspect: [1.4, 1.8],
  code_flow: [2, 2.5],
  refresh: [1.6, 2],
  userinfo: [1.8, 2.5],
  jwks: [2, 2.5],
  discovery: [2, 2.5],
};

/** Aimed at, as a share of the ceiling. */
export const shares: Readonly<Record<string, number>> = {
  cc_jwt: 0.8,
  cc_opaque: 0.65,
  introspect: 0.5,
  code_flow: 0.75,
  refresh: 0.75,
  userinfo: 0.45,
  jwks: 0.75,
  discovery: 0.75,
};

/** A Markdown table; the first row is its head. */
export function table(rows: readonly (readonly string[])[]): string {
  const widths = (rows[0] ?? []).map((_, column) => Math.max(...rows.map((row) => (row[column] ?? '').length)));
  const line = (row: readonly string[]) =>
    `| ${row.map((text, i) => (i === 0 ? text.padEnd(widths[i] ?? 0) : text.padStart(widths[i] ?? 0))).join(' | ')} |`;
  const [head = [], ...body] = rows;
  return [line(head), `|${widths.map((width) => '-'.repeat(width + 2)).join('|')}|`, ...body.map(line)].join('\n');
}

const two = (value: number) => value.toFixed(2);

/** Ratios first, then what each target did. Markdown. */
export function reportText(results: readonly ScenarioResult[]): string {
  const hasBefore = results.some(({ ratios }) => ratios.some(({ to }) => to === 'before'));
  const ratioRows = [
    ['scenario', 'vs oidc-provider', 'by processor time', 'goal', 'share of ceiling', 'by processor time', 'aim'].concat(
      hasBefore ? ['vs before', 'by processor time'] : [],
    ),
  ];
  const cellRows = [
    ['scenario', 'target', 'per s', 'p50 ms', 'p99 ms', 'server us', 'event loop us', 'postgres us', 'others', 'spread', 'RSS MiB'],
  ];
  for (const { scenario, ratios, results: cells } of results) {
    const peer = ratios.find(({ to }) => to === 'oidc-provider');
    const ceiling = ratios.find(({ to }) => to === 'ceiling');
    const before = ratios.find(({ to }) => to === 'before');
    ratioRows.push([
      scenario,
      peer ? two(peer.speed) : '-',
      peer ? two(peer.processor) : '-',
      goals[scenario] ? two(goals[scenario][1]) : '-',
      ceiling ? two(ceiling.speed) : '-',
      ceiling ? two(ceiling.processor) : '-',
      shares[scenario] ? two(shares[scenario]) : '-',
      ...(before ? [two(before.speed), two(before.processor)] : []),
    ]);
    for (const cell of cells) {
      cellRows.push([
        scenario,
        cell.target,
        cell.per_second.toFixed(0),
        two(cell.p50_ms),
        two(cell.p99_ms),
        cell.server_us.toFixed(0),
        cell.loop_us.toFixed(0),
        cell.postgres_us.toFixed(0),
        `${(cell.other_share * 100).toFixed(0)} %`,
        `${(cell.spread * 100).toFixed(0)} %`,
        cell.resident_mib.toFixed(0),
      ]);
    }
  }
  const note =
    'More than 1 means faster than the other side. "By processor time" compares what one operation costs the server process; ' +
    'where "others" (load generator and PostgreSQL on the second processor) is near 100 %, the speed is a lower bound and that column tells more.';
  return `${table(ratioRows)}\n\n${note}\n\n${table(cellRows)}\n`;
}
