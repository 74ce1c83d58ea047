import { setTimeout as delay } from 'node:timers/promises';
import { closedLoop, type Operation } from './driver.js';
import { median, type Plan } from './measure.js';
import { familyTime, processorTime, usedBetween } from './processor-time.js';
import { scenarios } from './scenarios.js';
import type { Target } from './targets/target.js';

/** How many replicas are asked, and how many requests each has on its way. */
type Layout = { readonly replicas: number; readonly each: number };

/** Microseconds of processor time an operation, without what idle replicas take: medians of the rounds. */
export type LayoutCost = Layout & { readonly per_second: number; readonly service_us: number; readonly postgres_us: number };

export type ReplicasResult = {
  /** Microseconds of processor time a second that a replica takes which nobody asks for anything: its own, and PostgreSQL's. */
  readonly idle: { readonly service_us: number; readonly postgres_us: number };
  readonly scenarios: readonly { readonly scenario: string; readonly title: string; readonly layouts: readonly LayoutCost[] }[];
};

const measured: readonly string[] = ['cc_jwt', 'cc_opaque', 'introspect', 'introspect_jwt', 'userinfo', 'code_flow', 'refresh'];
const idleSeconds = 6;

type Reading = { readonly at: number; readonly service: number; readonly postgres: ReadonlyMap<number, number> };

/** What all replicas and PostgreSQL have used so far. */
const read = (replicas: readonly Target[], postgres: number): Reading => ({
  at: performance.now(),
  service: replicas.reduce((sum, { pid }) => sum + processorTime(pid), 0),
  postgres: familyTime(postgres),
});

/** Microseconds between two readings. */
const used = (before: Reading, after: Reading) => ({
  seconds: (after.at - before.at) / 1000,
  service: (after.service - before.service) / 1000,
  postgres: usedBetween(before.postgres, after.postgres) / 1000,
});

async function measureIdle(replicas: readonly Target[], postgres: number): Promise<ReplicasResult['idle']> {
  await delay(1000);
  const before = read(replicas, postgres);
  await delay(idleSeconds * 1000);
  const { seconds, service, postgres: database } = used(before, read(replicas, postgres));
  return { service_us: service / seconds / replicas.length, postgres_us: database / seconds / replicas.length };
}

/**
 * What an operation costs the service and PostgreSQL with one replica and with all of them, on one database: the layouts take turns, and the replicas that aren't asked
 * stay idle, so what idle ones take is taken off. One replica has `connections` requests on its way; all of them share as many, and then each has so many.
 */
export async function measureReplicas(replicas: readonly Target[], plan: Plan, postgres: number): Promise<ReplicasResult> {
  const idle = await measureIdle(replicas, postgres);
  const layouts: Layout[] = [
    { replicas: 1, each: plan.connections },
    { replicas: replicas.length, each: Math.max(1, Math.round(plan.connections / replicas.length)) },
    { replicas: replicas.length, each: plan.connections },
  ];
  const found: ReplicasResult['scenarios'][number][] = [];
  for (const { name, title, open } of scenarios.filter((one) => measured.includes(one.name))) {
    console.error(`... ${title}`);
    const opened = await Promise.all(
      replicas.map(async (target) => Promise.all(Array.from({ length: plan.connections }, () => open(target)))),
    );
    const load = async ({ replicas: asked, each }: Layout, seconds: number): Promise<number> => {
      const loads = replicas.slice(0, asked).map(({ port }, n) => closedLoop(port, (opened[n] as Operation[]).slice(0, each), seconds));
      return (await Promise.all(loads)).reduce((sum, { operations }) => sum + operations, 0);
    };
    await load(layouts.at(-1) as Layout, plan.warmUp);
    const cells = layouts.map(() => [] as Omit<LayoutCost, keyof Layout>[]);
    for (let round = 0; round < plan.rounds; round++) {
      for (const n of round % 2 === 0 ? layouts.keys() : [...layouts.keys()].reverse()) {
        const before = read(replicas, postgres);
        const operations = await load(layouts[n] as Layout, plan.seconds);
        const { seconds, service, postgres: database } = used(before, read(replicas, postgres));
        const ofIdle = (us: number) => us * seconds * replicas.length;
        cells[n]?.push({
          per_second: operations / seconds,
          service_us: (service - ofIdle(idle.service_us)) / operations,
          postgres_us: (database - ofIdle(idle.postgres_us)) / operations,
        });
      }
    }
    const of = (n: number, key: 'per_second' | 'service_us' | 'postgres_us') => median((cells[n] ?? []).map((cell) => cell[key]));
    const costs = layouts.map((layout, n) => ({
      ...layout,
      per_second: of(n, 'per_second'),
      service_us: of(n, 'service_us'),
      postgres_us: of(n, 'postgres_us'),
    }));
    found.push({ scenario: name, title, layouts: costs });
  }
  return { idle, scenarios: found };
}

const us = (value: number) => value.toFixed(0).padStart(8);

/** Below this a cost can't be told from what idle replicas take. */
const leastUs = 5;

/** The figures in words, and what follows: how much one processor of PostgreSQL carries, and how many of the service do that. */
export function replicasText({ idle, scenarios: found }: ReplicasResult): string {
  return [
    `an idle replica takes ${(idle.service_us / 10_000).toFixed(2)} % of a processor, and ${(idle.postgres_us / 10_000).toFixed(2)} % of one of PostgreSQL's`,
    `${''.padEnd(34)}   per s  service us  postgres us  a second on one processor of PostgreSQL  processors of service for that`,
    ...found.flatMap(({ title, layouts }) => [
      title,
      ...layouts.map(
        ({ replicas, each, per_second, service_us, postgres_us }) =>
          `  ${`${replicas} of them, ${each} requests each`.padEnd(32)}${us(per_second)}${us(service_us).padStart(12)}` +
          (postgres_us < leastUs
            ? `below ${leastUs}`.padStart(13)
            : `${us(postgres_us).padStart(13)}${us(1e6 / postgres_us).padStart(41)}${(service_us / postgres_us).toFixed(1).padStart(31)}`),
      ),
    ]),
  ].join('\n');
}
