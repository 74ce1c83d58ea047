import { setTimeout as delay } from 'node:timers/promises';
import { payloadText } from '../../src/domain/events/emit.js';
import { samples } from '../../src/domain/events/samples.js';
import type { BenchServer } from '../database.js';
import { median, type Plan } from '../measure.js';
import { installPeers } from '../peers.js';
import { familyTime, processorTime, residentMiB, usedBetween } from '../processor-time.js';
import type { Courier, Message } from './courier.js';
import { startBenchReceiver, type BenchReceiver } from './receiver.js';
import { startService } from './service.js';
import { startWorker, workerNames } from './worker.js';
import { uuidv7 } from '../../src/lib/random.js';

const destinations = 10;
const environment_id = '0195e8a2-6f00-7000-8000-000000000001';

/** One backlog, delivered and written down. Processor times in microseconds per delivery. */
export type WebhookCell = { per_second: number; server_us: number; postgres_us: number; other_share: number };

/** What one courier did: medians of the rounds. */
export type WebhookResult = WebhookCell & { target: string; spread: number; resident_mib: number; rounds: readonly WebhookCell[] };

/** The service against another courier: medians of the ratios within each round. */
export type WebhookRatio = { to: string; speed: number; processor: number; speeds: readonly number[] };

export type WebhookReport = { events: number; destinations: number; results: readonly WebhookResult[]; ratios: readonly WebhookRatio[] };

function backlog(count: number): Message[] {
  return Array.from({ length: count }, (_, i) => {
    const event_id = uuidv7(Date.now());
    const event = { id: event_id, type: 'user.created' as const, at: new Date(), environment_id };
    return { destination: i % destinations, event_id, event_type: 'user.created', body: payloadText(event, samples['user.created']) };
  });
}

async function measureCell(courier: Courier, receiver: BenchReceiver, count: number, postgres: number): Promise<WebhookCell> {
  await courier.load(backlog(count));
  const secrets = new Map(courier.destinations.map(({ url, secret }) => [new URL(url).pathname, secret]));
  const before = { server: processorTime(courier.pid), postgres: familyTime(postgres), own: processorTime(process.pid) };
  const started = performance.now();
  const all = receiver.expect(count, (path) => secrets.get(path) ?? '');
  const limit = setTimeout(() => receiver.giveUp(`${courier.name} has not delivered ${count} messages in two minutes`), 120_000);
  await Promise.all([courier.go(), all]).finally(() => clearTimeout(limit));
  while (!(await courier.isDone())) await delay(5);
  const seconds = (performance.now() - started) / 1000;
  const database = usedBetween(before.postgres, familyTime(postgres));
  const own = processorTime(process.pid) - before.own;
  return {
    per_second: count / seconds,
    server_us: (processorTime(courier.pid) - before.server) / 1000 / count,
    postgres_us: database / 1000 / count,
    other_share: (database + own) / 1e9 / seconds,
  };
}

function summed(courier: Courier, rounds: readonly WebhookCell[]): WebhookResult {
  const of = (name: keyof WebhookCell) => median(rounds.map((cell) => cell[name]));
  const speeds = rounds.map((cell) => cell.per_second);
  return {
    target: courier.name,
    per_second: of('per_second'),
    server_us: of('server_us'),
    postgres_us: of('postgres_us'),
    other_share: of('other_share'),
    spread: (Math.max(...speeds) - Math.min(...speeds)) / of('per_second'),
    resident_mib: residentMiB(courier.pid),
    rounds,
  };
}

/** Couriers that are compared, and how each is started. */
export type WebhookPlan = Pick<Plan, 'rounds'> & {
  /** Which of the others run beside the product. */
  only: readonly string[];
  events: number;
  processors: string;
  log: number;
  nodeArguments?: readonly string[];
};

/**
 * The same backlog of messages, delivered by the service and by others to one receiver: each warms up on one, then they take turns.
 * Everything that was started is handed to `atEnd`.
 */
export async function measureWebhooks(
  server: BenchServer,
  plan: WebhookPlan,
  atEnd: (end: () => Promise<void>) => void,
): Promise<WebhookReport> {
  const receiver = await startBenchReceiver();
  atEnd(() => receiver.close());
  const urls = Array.from({ length: destinations }, (_, i) => `http://127.0.0.1:${receiver.port}/${i}`);
  const { processors, log } = plan;
  const databaseUrl = await server.create('bench_webhook');
  const service = await startService({
    databaseUrl,
    processors,
    log,
    urls,
    ...(plan.nodeArguments && { nodeArguments: plan.nodeArguments }),
  });
  atEnd(() => service.stop());
  const couriers: Courier[] = [service];
  const asked = workerNames.filter((name) => plan.only.includes(name));
  const peersAreThere = asked.every((name) => name === 'ceiling') || installPeers();
  if (!peersAreThere) console.error('... the peers could not be installed: without them');
  for (const name of asked.filter((one) => peersAreThere || one === 'ceiling')) {
    const own = name === 'ceiling' ? '' : await server.create(`bench_${name.replaceAll('-', '_')}`);
    const worker = await startWorker(name, { databaseUrl: own, destinations: service.destinations, processors, log });
    atEnd(() => worker.stop());
    couriers.push(worker);
  }
  const cells = new Map<Courier, WebhookCell[]>();
  for (const courier of couriers) {
    await measureCell(courier, receiver, plan.events, server.pid);
    cells.set(courier, []);
  }
  for (let round = 0; round < plan.rounds; round++) {
    for (const courier of round % 2 === 0 ? couriers : couriers.toReversed()) {
      cells.get(courier)?.push(await measureCell(courier, receiver, plan.events, server.pid));
    }
  }
  const own = cells.get(service) ?? [];
  const ratios = couriers.slice(1).map((courier): WebhookRatio => {
    const pairs = own.map((cell, round) => [cell, cells.get(courier)?.[round] as WebhookCell] as const);
    const speeds = pairs.map(([mine, other]) => mine.per_second / other.per_second);
    return {
      to: courier.name,
      speed: median(speeds),
      processor: median(pairs.map(([mine, other]) => other.server_us / mine.server_us)),
      speeds,
    };
  });
  return { events: plan.events, destinations, ratios, results: couriers.map((courier) => summed(courier, cells.get(courier) ?? [])) };
}
