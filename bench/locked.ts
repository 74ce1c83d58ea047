import pg from 'pg';
import { Connection, type Operation } from './driver.js';
import { median, percentile } from './measure.js';
import { scenarios } from './scenarios.js';
import type { Product } from './targets/product.js';

/** What requests that don't touch a locked table notice of the lock. Milliseconds, medians of the rounds. */
export type LockedResult = {
  readonly beside: Readonly<Record<string, { readonly quiet_p99: number; readonly locked_p99: number; readonly ratio: number }>>;
  /** Answers to them that weren't right while the table was locked, of all rounds. */
  readonly failed: number;
  /** Requests that need the table, of all rounds: answers, those that came while it was locked with 503, and the slowest. */
  readonly touching: { readonly answers: number; readonly refused: number; readonly slowest: number };
};

/** Clients' own requests: people's tables are not theirs. */
const untouched = ['cc_jwt', 'cc_opaque', 'introspect', 'introspect_jwt'];
const connectionsEach = 4;
const touchingConnections = 32;
/** Longer than a statement may take: what waits for the lock has been ended by then, and waits again. */
const lockedSeconds = 8;

type Answers = { readonly times: number[]; failed: number; readonly texts: Map<string, number> };

/** Repeats an operation on so many connections until `isOver`; a wrong answer is counted, and its connection replaced. */
async function repeat(port: number, operations: readonly Operation[], isOver: () => boolean): Promise<Answers> {
  const answers: Answers = { times: [], failed: 0, texts: new Map() };
  const run = async (operation: Operation) => {
    let connection = new Connection(port);
    while (!isOver()) {
      const began = performance.now();
      try {
        await operation(connection);
      } catch (error) {
        const text = String(error).slice(0, 100);
        answers.texts.set(text, (answers.texts.get(text) ?? 0) + 1);
        answers.failed += 1;
        connection.close();
        connection = new Connection(port);
      }
      answers.times.push(performance.now() - began);
    }
    connection.close();
  };
  await Promise.all(operations.map(run));
  return answers;
}

async function besideFor(
  port: number,
  operations: ReadonlyMap<string, readonly Operation[]>,
  seconds: number,
): Promise<Map<string, Answers>> {
  const end = performance.now() + seconds * 1000;
  const isOver = () => performance.now() >= end;
  return new Map(await Promise.all([...operations].map(async ([name, list]) => [name, await repeat(port, list, isOver)] as const)));
}

const opened = async (target: Product, name: string, count: number): Promise<Operation[]> => {
  const scenario = scenarios.find((one) => one.name === name);
  if (!scenario) throw new Error(`${name} is missing`);
  return Promise.all(Array.from({ length: count }, () => scenario.open(target)));
};

/** Clients' requests alone, then beside 32 connections that ask for userinfo while `users` is locked: in rounds. */
export async function measureLocked(target: Product, databaseUrl: string, plan: { rounds: number; warmUp: number }): Promise<LockedResult> {
  const operations = new Map(
    await Promise.all(untouched.map(async (name) => [name, await opened(target, name, connectionsEach)] as const)),
  );
  const touchingOperations = await opened(target, 'userinfo', touchingConnections);
  const locking = new pg.Client({ connectionString: databaseUrl });
  await locking.connect();
  await besideFor(target.port, operations, plan.warmUp);
  const rounds: Record<string, { quiet: number; locked: number }>[] = [];
  const touching = { answers: 0, refused: 0, slowest: 0 };
  let failed = 0;
  for (let round = 0; round < plan.rounds; round++) {
    const quiet = await besideFor(target.port, operations, lockedSeconds);
    await locking.query('begin; lock table users in access exclusive mode');
    let over = false;
    const asking = repeat(target.port, touchingOperations, () => over);
    const locked = await besideFor(target.port, operations, lockedSeconds);
    over = true;
    await locking.query('rollback');
    const asked = await asking;
    touching.answers += asked.times.length;
    touching.refused += asked.failed;
    touching.slowest = Math.max(touching.slowest, ...asked.times);
    for (const answers of locked.values()) {
      failed += answers.failed;
      for (const [text, count] of answers.texts) console.error(`  ${count} x ${text}`);
    }
    const p99 = (found: Map<string, Answers>, name: string) => percentile(found.get(name)?.times ?? [], 0.99);
    rounds.push(Object.fromEntries(untouched.map((name) => [name, { quiet: p99(quiet, name), locked: p99(locked, name) }])));
  }
  await locking.end();
  const summed = (name: string) => {
    const cells = rounds.map((round) => round[name] ?? { quiet: 0, locked: 0 });
    const of = (value: (cell: { quiet: number; locked: number }) => number) => median(cells.map(value));
    return {
      quiet_p99: of(({ quiet }) => quiet),
      locked_p99: of(({ locked }) => locked),
      ratio: of(({ quiet, locked }) => locked / quiet),
    };
  };
  return { beside: Object.fromEntries(untouched.map((name) => [name, summed(name)])), failed, touching };
}

/** The figures in words. */
export function lockedText({ beside, failed, touching }: LockedResult): string {
  return [
    `users locked, ${touchingConnections} connections that need it: ${touching.answers} answers, ${touching.refused} of them refused, the slowest after ${touching.slowest.toFixed(0)} ms`,
    ...Object.entries(beside).map(
      ([name, { quiet_p99, locked_p99, ratio }]) =>
        `  ${name} p99 quiet ${quiet_p99.toFixed(1)} ms, beside the lock ${locked_p99.toFixed(1)} ms: ${ratio.toFixed(2)} times (aim 2)`,
    ),
    `${failed} wrong answers to those that don't need it`,
  ].join('\n');
}
