import { groupBy, type History, type Operation } from './history.js';

const percentile = (sorted: readonly number[], share: number) =>
  sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? 0;

function longestOutage(operations: readonly Operation[]): number {
  const ends = operations.filter(({ outcome }) => outcome === 'ok').map(({ end }) => end);
  return ends.reduce((longest, end, index) => Math.max(longest, end - (ends[index - 1] ?? end)), 0);
}

/** What happened in a run, as text: operations by kind and outcome, faults, statuses, times. */
export function summaryOf(history: History): string {
  const faults = history.filter(({ fault }) => fault !== undefined);
  const asked = history.filter(({ replica, fault }) => replica !== '-' && fault === undefined);
  const count = (operations: readonly Operation[], outcome: string) => operations.filter((one) => one.outcome === outcome).length;
  const rows = [...groupBy(history.filter(({ fault }) => fault === undefined), ({ kind }) => kind)].sort(([one], [two]) => one.localeCompare(two)); // prettier-ignore
  const table = rows.map(
    ([kind, all]) => `${kind.padEnd(18)}${['ok', 'refused', 'unknown'].map((outcome) => String(count(all, outcome)).padStart(9)).join('')}`,
  );
  const statuses = [...groupBy(asked, ({ status }) => String(status))].sort().map(([status, all]) => `${status}: ${all.length}`);
  const times = asked.filter(({ outcome }) => outcome === 'ok').map(({ start, end }) => end - start).sort((one, two) => one - two); // prettier-ignore
  const events = new Set(history.flatMap(({ delivers }) => (delivers ? [delivers.event_id] : [])));
  return [
    `${'operation'.padEnd(18)}${['ok', 'refused', 'unknown'].map((outcome) => outcome.padStart(9)).join('')}`,
    ...table,
    `${asked.length} requests; answers by status (0: none): ${statuses.join(', ')}`,
    `ok answers: median ${percentile(times, 0.5).toFixed(0)} ms, p99 ${percentile(times, 0.99).toFixed(0)} ms; longest time without any ${longestOutage(asked).toFixed(0)} ms`,
    `${events.size} events in ${history.filter(({ delivers }) => delivers).length} deliveries`,
    `faults: ${[...groupBy(faults, ({ kind }) => kind)].map(([kind, all]) => `${all.length} ${kind}`).join(', ') || 'none'}`,
  ].join('\n');
}
