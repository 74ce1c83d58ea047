import { readFileSync } from 'node:fs';
import { setTimeout as delay } from 'node:timers/promises';
import { Connection, requestText, type Operation } from './driver.js';
import { signIn } from './logins.js';
import { percentile, type Plan } from './measure.js';
import { openConnections, peakOf } from './overload.js';
import { scenarios } from './scenarios.js';
import { signInScenarios } from './sign-in-scenarios.js';
import { causeOf, type Interval, type Seen } from './tail-causes.js';
import { startBackground, watchProcessor } from './tail-background.js';
import type { Product } from './targets/product.js';

/** What one kind of request took at 70 % of what the process carries. Milliseconds, from when it was due. */
export type TailKind = {
  readonly kind: string;
  readonly requests: number;
  readonly p50: number;
  readonly p99: number;
  readonly p999: number;
  readonly slowest: number;
  /** What the slowest thousandth met, by how often. */
  readonly causes: Readonly<Record<string, number>>;
};

export type TailResult = {
  readonly peak: number;
  readonly offered: number;
  readonly sign_ins: number;
  /** What failed, and how often: `userinfo: expected 200, got 503 temporarily_unavailable`. Nothing should. */
  readonly failed: Readonly<Record<string, number>>;
  readonly kinds: readonly TailKind[];
  /** How often garbage was collected, and for how long at most, by kind; how many turns of the event loop were long. */
  readonly collections: Readonly<Record<string, { readonly count: number; readonly longest: number }>>;
  readonly turns: { readonly count: number; readonly longest: number };
};

type Sample = Interval & { readonly kind: string };

const share = 0.7;
const kinds: Readonly<Record<string, string>> = {
  cc_jwt: 'token',
  introspect: 'introspection',
  userinfo: 'userinfo',
  session: 'authorize',
};

const epoch = () => performance.timeOrigin + performance.now();

async function openKinds(target: Product): Promise<[string, Operation][]> {
  const chosen = [...scenarios, ...signInScenarios].filter(({ name }) => Object.hasOwn(kinds, name));
  return Promise.all(chosen.map(async ({ name, open }) => [kinds[name] ?? name, await open(target)] as [string, Operation]));
}

/** A sign-in with a password every 50 ms, and a look at the metrics every second, until `signal` says stop. @returns how many were answered */
async function signInSteadily(target: Product, signal: AbortSignal): Promise<number> {
  const counted = { logins: 0 };
  const idle: Connection[] = [];
  const metrics = new Connection(target.port);
  const running = new Set<Promise<void>>();
  for (let turn = 0; !signal.aborted; turn++) {
    const connection = idle.pop() ?? new Connection(target.port);
    const one = signIn(target, counted)(connection)
      .then(() => void idle.push(connection), () => connection.close())
      .finally(() => running.delete(one)); // prettier-ignore
    running.add(one);
    if (turn % 20 === 0) await metrics.send(requestText('GET', '/metrics', { Host: `localhost:${target.port}` }));
    await delay(50);
  }
  await Promise.all(running);
  for (const connection of [...idle, metrics]) connection.close();
  return counted.logins;
}

/** What went wrong with a request, in words that are the same for all that went wrong alike. */
function failureOf(kind: string, error: unknown): string {
  const text = error instanceof Error ? error.message : String(error);
  const told = /"error": ?"([^"]+)"/.exec(text)?.[1] ?? /"code": ?"([^"]+)"/.exec(text)?.[1];
  const [first = ''] = text.split(/[\r\n]/);
  return `${kind}: ${first.slice(0, 80)}${told === undefined ? '' : ` ${told}`}`;
}

/** Begins operations at a steady rate, whatever becomes of those before. Late ones are begun at once, and count from when they were due. */
async function arrive(target: Product, operations: readonly [string, Operation][], perSecond: number, seconds: number) {
  const free = await openConnections(target);
  const samples: Sample[] = [];
  const late: Interval[] = [];
  const failed: Record<string, number> = {};
  const begin = async (due: number, [kind, operation]: [string, Operation]) => {
    // In turn, so that none is left alone for long: the server closes one on which no request comes for 8 s, and a load that asks on it at that moment fails by itself.
    const connection = free.shift() ?? new Connection(target.port);
    try {
      await operation(connection);
      samples.push({ kind, from: due, to: epoch() });
      free.push(connection);
    } catch (error) {
      const failure = failureOf(kind, error);
      failed[failure] = (failed[failure] ?? 0) + 1;
      connection.close();
    }
  };
  const started = epoch();
  const running = new Set<Promise<void>>();
  let came = 0;
  for (let now = started; now < started + seconds * 1000; now = epoch()) {
    for (; came < ((now - started) / 1000) * perSecond; came++) {
      const one = begin(started + (came / perSecond) * 1000, operations[came % operations.length] as [string, Operation]).finally(() =>
        running.delete(one),
      );
      running.add(one);
    }
    await delay(2);
    if (epoch() - now > 10) late.push({ from: now + 2, to: epoch() });
  }
  await Promise.all(running);
  for (const connection of free) connection.close();
  return { samples, late, failed, offered: came / seconds };
}

function tailOf(kind: string, samples: readonly Sample[], seen: Seen): TailKind {
  const own = samples.filter((sample) => sample.kind === kind);
  const times = own.map(({ from, to }) => to - from);
  const p999 = percentile(times, 0.999);
  const causes: Record<string, number> = {};
  for (const sample of own.filter(({ from, to }) => to - from >= p999)) {
    const cause = causeOf(sample, seen);
    causes[cause] = (causes[cause] ?? 0) + 1;
  }
  const requests = own.length;
  return { kind, requests, p50: percentile(times, 0.5), p99: percentile(times, 0.99), p999, slowest: percentile(times, 1), causes };
}

const longest = (list: readonly Interval[]) => Math.max(0, ...list.map(({ from, to }) => to - from));

/**
 * 70 % of what the process carries, as arrivals at a steady rate, with sign-ins, deliveries, expired rows for the janitor and looks at the metrics beside them.
 * Stops the target, which tells on its way out what went on in it.
 * @param rate arrivals a second in place of 70 % of the peak, which differs from run to run
 */
export async function measureTail(
  target: Product,
  databaseUrl: string,
  probeFile: string,
  plan: Plan,
  rate: number | null,
): Promise<TailResult> {
  const operations = await openKinds(target);
  const background = await startBackground(target, databaseUrl);
  const ending = new AbortController();
  const signIns = signInSteadily(target, ending.signal);
  const only = operations.map(([, operation]) => operation);
  await peakOf(target, only, 32, plan.warmUp);
  const { perSecond: peak } = await peakOf(target, only, 32, plan.seconds * 4);
  const perSecond = rate ?? share * peak;
  await arrive(target, operations, perSecond, plan.warmUp);
  const waits = watchProcessor(target.pid);
  const began = performance.now();
  // Long enough for a pass of the janitor and a checkpoint or two.
  const arrived = await arrive(target, operations, perSecond, plan.seconds * 30);
  const seconds = (performance.now() - began) / 1000;
  const processor = waits.stop();
  ending.abort();
  const logins = await signIns;
  const database = await background.stop();
  await target.stop();
  type Collection = Interval & { readonly kind: string };
  const probe = JSON.parse(readFileSync(probeFile, 'utf8')) as { collections: Collection[]; turns: Interval[] };
  const first = arrived.samples[0]?.from ?? 0;
  const during = <T extends Interval>(list: readonly T[]) => list.filter(({ to }) => to >= first);
  const collections = during(probe.collections);
  const turns = during(probe.turns);
  const seen: Seen = { collections, turns, late: arrived.late, processor, ...database };
  return {
    peak,
    offered: arrived.offered,
    sign_ins: logins / seconds,
    failed: arrived.failed,
    kinds: operations.map(([kind]) => tailOf(kind, arrived.samples, seen)),
    collections: Object.fromEntries(
      [...new Set(collections.map(({ kind }) => kind))].map((kind) => {
        const own = collections.filter((one) => one.kind === kind);
        return [kind, { count: own.length, longest: longest(own) }];
      }),
    ),
    turns: { count: turns.length, longest: longest(turns) },
  };
}

const ms = (value: number) => value.toFixed(1);

/** The figures in words. */
export function tailText({ peak, offered, sign_ins, failed, kinds: found, collections, turns }: TailResult): string {
  return [
    `peak ${peak.toFixed(0)}/s; at ${offered.toFixed(0)}/s (${((offered / peak) * 100).toFixed(0)} %) beside ${sign_ins.toFixed(0)} sign-ins/s, ${Object.values(failed).reduce((sum, count) => sum + count, 0)} failed:`,
    ...Object.entries(failed).map(([failure, count]) => `  ${count} x ${failure}`),
    ...found.flatMap(({ kind, requests, p50, p99, p999, slowest, causes }) => [
      `${kind.padEnd(14)} p50 ${ms(p50)} ms, p99 ${ms(p99)} (${(p99 / p50).toFixed(1)} times, aim 4), p99.9 ${ms(p999)} (${(p999 / p50).toFixed(1)} times, aim 20), slowest ${ms(slowest)}, of ${requests}`,
      ...Object.entries(causes)
        .sort(([, one], [, other]) => other - one)
        .map(([cause, count]) => `  ${count} of the slowest thousandth: ${cause}`),
    ]),
    `garbage collections: ${Object.entries(collections).map(([kind, { count, longest: most }]) => `${count} ${kind}, the longest ${ms(most)} ms`).join('; ')}`, // prettier-ignore
    `turns of the event loop beyond 8 ms: ${turns.count}, the longest ${ms(turns.longest)} ms`,
  ].join('\n');
}
