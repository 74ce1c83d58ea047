import { table } from '../report.js';
import type { WebhookReport } from './measure.js';

const two = (value: number) => value.toFixed(2);

/** Ratios first, then what each courier did. Markdown. */
export function webhookText({ events, destinations, results, ratios }: WebhookReport): string {
  const ratioRows = ratios.map(({ to, speed, processor, speeds }) => [
    to,
    two(speed),
    `${two(Math.min(...speeds))} to ${two(Math.max(...speeds))}`,
    two(processor),
  ]);
  const rows = results.map((one) => [
    one.target,
    one.per_second.toFixed(0),
    one.server_us.toFixed(0),
    one.postgres_us.toFixed(0),
    `${(one.other_share * 100).toFixed(0)} %`,
    `${(one.spread * 100).toFixed(0)} %`,
    one.resident_mib.toFixed(0),
  ]);
  const head = ['webhook', 'per s', 'server us', 'postgres us', 'others', 'spread', 'RSS MiB'];
  return [
    `webhook: ${events} signed deliveries to ${destinations} destinations on one receiver, from the commit to the last record`,
    table([['product vs', 'speed', 'of the rounds', 'by processor time'], ...ratioRows]),
    table([head, ...rows]),
  ].join('\n\n');
}
