import { setTimeout as delay } from 'node:timers/promises';
import pg from 'pg';
import { startPrimaryWithStandby, type PrimaryWithStandby } from '../test/support/standby.js';
import { commitsText, measureCommits, type CommitsResult } from './commits.js';
import { postmasterOf } from './database.js';
import { Connection, type Operation } from './driver.js';
import { familyTime, usedBetween } from './processor-time.js';
import { scenarios, type Scenario } from './scenarios.js';
import { startProduct, type Product } from './targets/product.js';
import type { Target } from './targets/target.js';

/** How many PostgreSQLs have their own environments, how many standbys each of them has, and how many processes serve all of them. */
type Layout = { readonly cells: number; readonly replicas: number; readonly processes: number };

/** What one operation costs all primaries and all standbys together, without what they do when nobody asks. */
type Cost = {
  readonly primary_statements: number;
  readonly primary_us: number;
  readonly replicas_us: number;
  readonly wal_bytes: number;
  /** Rows of refresh tokens that it leaves. */
  readonly refresh_rows: number;
  /** Of the primaries' statements, those of the cell that had most: 1 with one cell. */
  readonly largest_share: number;
};

export type ScaleResult = {
  readonly layouts: readonly (Layout & { readonly costs: Readonly<Record<string, Cost>> })[];
  readonly commits: CommitsResult;
};

/** A PostgreSQL with its standbys, and the service on it. */
type Cell = {
  readonly servers: PrimaryWithStandby;
  readonly product: Product;
  readonly primary: number;
  readonly standbys: readonly number[];
};

const measured: readonly string[] = ['introspect', 'introspect_jwt', 'userinfo', 'cc_opaque', 'code_flow', 'refresh'];
const idleMs = 4000;

type Reading = {
  readonly at: number;
  readonly statements: readonly number[];
  readonly primaries: ReadonlyMap<number, number>;
  readonly standbys: ReadonlyMap<number, number>;
  readonly wal: number;
  readonly rows: number;
};

const sum = (values: readonly number[]): number => values.reduce((total, one) => total + one, 0);
const timeOf = (pids: readonly number[]) => new Map(pids.flatMap((pid) => [...familyTime(pid)]));

async function statementsOf({ port }: Target): Promise<number> {
  const text = await (await fetch(`http://127.0.0.1:${port}/metrics`)).text();
  return sum([...text.matchAll(/^database_primary_statements_total\{\S+\} (\d+)/gm)].map(([, count]) => Number(count)));
}

async function positionOf({ servers }: Cell): Promise<{ wal: number; rows: number }> {
  const client = new pg.Client({ connectionString: servers.url });
  await client.connect();
  const { rows } = await client
    .query<{ wal: string; rows: string }>(
      `select pg_wal_lsn_diff(pg_current_wal_insert_lsn(), '0/0')::text as wal, (select count(*) from refresh_tokens)::text as rows`,
    )
    .finally(() => client.end());
  return { wal: Number(rows[0]?.wal), rows: Number(rows[0]?.rows) };
}

async function read(cells: readonly Cell[], processes: readonly (readonly Target[])[]): Promise<Reading> {
  const positions = await Promise.all(cells.map(positionOf));
  return {
    at: performance.now(),
    statements: await Promise.all(processes.map(async (ofCell) => sum(await Promise.all(ofCell.map(statementsOf))))),
    primaries: timeOf(cells.map(({ primary }) => primary)),
    standbys: timeOf(cells.flatMap(({ standbys }) => standbys)),
    wal: sum(positions.map(({ wal }) => wal)),
    rows: sum(positions.map(({ rows }) => rows)),
  };
}

type Used = { readonly ms: number; readonly statements: readonly number[] } & Record<'primaries' | 'standbys' | 'wal' | 'rows', number>;

const between = (before: Reading, after: Reading): Used => ({
  ms: after.at - before.at,
  statements: after.statements.map((count, n) => count - (before.statements[n] ?? 0)),
  primaries: usedBetween(before.primaries, after.primaries) / 1000,
  standbys: usedBetween(before.standbys, after.standbys) / 1000,
  wal: after.wal - before.wal,
  rows: after.rows - before.rows,
});

/** Runs one operation `times` times, one after the other. */
async function repeat({ port }: Target, operation: Operation, times: number): Promise<void> {
  const connection = new Connection(port);
  for (let n = 0; n < times; n++) await operation(connection);
  connection.close();
}

function costOf(used: Used, idle: Used, operations: number): Cost {
  const share = used.ms / idle.ms;
  const statements = used.statements.map((count, n) => Math.max(0, count - (idle.statements[n] ?? 0) * share));
  const each = (of: 'primaries' | 'standbys' | 'wal') => Math.max(0, used[of] - idle[of] * share) / operations;
  return {
    primary_statements: sum(statements) / operations,
    primary_us: each('primaries'),
    replicas_us: each('standbys'),
    wal_bytes: each('wal'),
    refresh_rows: used.rows / operations,
    largest_share: Math.max(...statements) / (sum(statements) || 1),
  };
}

/** Starts the processes of a layout, and gives every scenario `operations` in all of them together. */
async function measureLayout(cells: readonly Cell[], layout: Layout, operations: number): Promise<Record<string, Cost>> {
  const each = layout.processes / layout.cells;
  const processes = await Promise.all(
    cells.map(async ({ product, servers }) => {
      const started: Target[] = [];
      const env = layout.replicas === 0 ? {} : { DATABASE_REPLICA_URLS: servers.standbyUrls.slice(0, layout.replicas).join(',') };
      while (started.length < each) started.push(await product.replica(env));
      return started;
    }),
  );
  const all = processes.flat();
  const opened = new Map<string, readonly Operation[]>();
  const run = async ({ name }: Scenario, times: number) => {
    const operationsOf = opened.get(name) ?? [];
    await Promise.all(all.map((target, n) => repeat(target, operationsOf[n] as Operation, times)));
  };
  const costs: Record<string, Cost> = {};
  try {
    const asked = scenarios.filter(({ name }) => measured.includes(name));
    for (const one of asked) opened.set(one.name, await Promise.all(all.map((target) => one.open(target))));
    for (const one of asked) await run(one, 5);
    // What was opened and run just now is replayed, and no longer in the way of what idle processes take.
    await delay(1500);
    const rest = await read(cells, processes);
    await delay(idleMs);
    const idle = between(rest, await read(cells, processes));
    for (const one of asked) {
      const before = await read(cells, processes);
      await run(one, Math.ceil(operations / all.length));
      costs[one.name] = costOf(between(before, await read(cells, processes)), idle, Math.ceil(operations / all.length) * all.length);
    }
  } finally {
    await Promise.all(all.map((target) => target.stop()));
  }
  return costs;
}

async function openCells(count: number, log: number, onEnd: (end: () => Promise<void>) => void): Promise<Cell[]> {
  const cells: Cell[] = [];
  while (cells.length < count) {
    const servers = await startPrimaryWithStandby(undefined, 2);
    onEnd(() => servers.stop());
    const product = await startProduct({ databaseUrl: servers.url, processors: '', log });
    onEnd(() => product.stop());
    const [primary, ...standbys] = await Promise.all([servers.url, ...servers.standbyUrls].map(postmasterOf));
    cells.push({ servers, product, primary: primary ?? 0, standbys });
  }
  return cells;
}

/**
 * The same operations by one, two and four cells, each without and with standbys, and by one, four and eight processes in all: counts of what each server does.
 * Then what a standby 20 ms away leaves of commits that notify.
 */
export async function measureScale(quick: boolean, log: number, onEnd: (end: () => Promise<void>) => void): Promise<ScaleResult> {
  const cells: Cell[] = [];
  const layouts: ScaleResult['layouts'][number][] = [];
  for (const count of quick ? [1, 2] : [1, 2, 4]) {
    cells.push(...(await openCells(count - cells.length, log, onEnd)));
    for (const replicas of quick ? [0, 1] : [0, 1, 2]) {
      for (const processes of (quick ? [1, 4] : [1, 4, 8]).filter((one) => one >= count)) {
        const layout = { cells: count, replicas, processes };
        console.error(`... ${JSON.stringify(layout)}`);
        layouts.push({ ...layout, costs: await measureLayout(cells, layout, quick ? 200 : 4000) });
      }
    }
  }
  return { layouts, commits: await measureCommits(quick ? 1 : 3) };
}

/** What has to hold, and what was found. */
function demandsOf({ layouts, commits }: ScaleResult): { demand: string; found: number; met: boolean }[] {
  const withReplicas = layouts.filter(({ replicas }) => replicas > 0);
  const most = (of: (layout: ScaleResult['layouts'][number]) => number, among = layouts) => Math.max(...among.map(of));
  const asked = (name: string) => most(({ costs }) => costs[name]?.primary_statements ?? Infinity, withReplicas);
  const uneven = most(({ cells, costs }) => Math.max(...Object.values(costs).map(({ largest_share }) => largest_share * cells - 1)), layouts.filter(({ replicas }) => replicas === 0)); // prettier-ignore
  const kept = (commits['notified after']?.synchronous ?? 0) / (commits['plain']?.synchronous ?? 1);
  const rows = most(({ costs }) => costs['refresh']?.refresh_rows ?? Infinity);
  return [
    ...['introspect', 'introspect_jwt', 'userinfo'].map((name) => ({ demand: `primary's statements for ${name}, with replicas: at most 0.02`, found: asked(name), met: asked(name) <= 0.02 })), // prettier-ignore
    { demand: "largest cell's share of the statements beyond its part: at most 0.05", found: uneven, met: uneven <= 0.05 },
    { demand: 'commits that notify, of plain ones, with a standby 20 ms away: at least 0.7', found: kept, met: kept >= 0.7 },
    { demand: 'rows that a refresh leaves: 0', found: rows, met: rows === 0 },
  ];
}

/** The figures as a table, and which demands they meet. */
export function scaleText(result: ScaleResult): string {
  const cell = (value: number, digits: number) => value.toFixed(digits).padStart(10);
  const rows = result.layouts.flatMap(({ cells, replicas, processes, costs }) =>
    Object.entries(costs).map(
      ([name, cost]) =>
        `${String(cells).padStart(5)}${String(replicas).padStart(9)}${String(processes).padStart(10)}  ${name.padEnd(15)}` +
        cell(cost.primary_statements, 3) +
        cell(cost.primary_us, 0) +
        cell(cost.replicas_us, 0) +
        cell(cost.wal_bytes, 0) +
        cell(cost.largest_share, 3),
    ),
  );
  return [
    `${'cells replicas processes  an operation'.padEnd(41)}statements primary us replica us WAL bytes largest share`,
    ...rows,
    commitsText(result.commits),
    ...demandsOf(result).map(({ demand, found, met }) => `${met ? 'met' : 'MISSED'}  ${demand}: ${found.toFixed(3)}`),
  ].join('\n');
}
