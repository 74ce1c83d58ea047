// A run of mixed load and random faults, judged by its history: `npm run test:chaos -- --minutes 10 --seed 1`. What it shows: docs/faults.md.
// Options: --minutes N --seed N --plant RULE --history FILE (writes every operation) --judge FILE (only judges one).
import { readFileSync, writeFileSync } from 'node:fs';
import { parseArgs } from 'node:util';
import { endAll } from '../faults/harness.js';
import { check, reportOf } from './check.js';
import type { History, Operation } from './history.js';
import { play } from './play.js';
import { isPlantName, plants } from './plants.js';
import { summaryOf } from './summary.js';

const usage = `npm run test:chaos -- [--minutes N] [--seed N] [--plant RULE] [--history FILE] [--judge FILE]
  --minutes  how long load and faults last (10)
  --seed     chooses the faults and the load's choices; told at the start when left out
  --plant    puts a defect in from outside, which must be found: ${Object.keys(plants).join(', ')}
  --history  writes every operation there, one JSON object a line
  --judge    judges a file that --history wrote, and plays nothing
Exit code: 0 when every rule holds, 1 when one is broken, 2 for arguments that mean nothing.`;

type Arguments = ReturnType<typeof readArguments>;

function readArguments() {
  const text = { type: 'string' } as const;
  const { values } = parseArgs({ options: { minutes: text, seed: text, plant: text, history: text, judge: text } });
  const minutes = Number(values.minutes ?? 10);
  const seed = Number(values.seed ?? Math.floor(Math.random() * 1_000_000));
  const plant = values.plant ?? null;
  if (!(minutes > 0) || !Number.isSafeInteger(seed) || (plant !== null && !isPlantName(plant))) throw new Error('not understood');
  return { durationMs: minutes * 60_000, seed, plant, history: values.history ?? null, judge: values.judge ?? null };
}

function readHistory(file: string): History {
  const lines = readFileSync(file, 'utf8').trimEnd().split('\n');
  return lines.map((line) => JSON.parse(line) as Operation);
}

/** Plays what was asked for, and keeps the history if that was asked for too. */
async function record({ durationMs, seed, plant, history: file }: Arguments): Promise<History> {
  console.log(`seed ${seed}, ${durationMs / 60_000} minutes${plant === null ? '' : `, ${plant} planted`}`);
  const history = await play({ durationMs, seed, plant });
  if (file !== null) writeFileSync(file, history.map((operation) => `${JSON.stringify(operation)}\n`).join(''));
  return history;
}

/** How many broken rules are told in full. */
const shown = 10;

async function main(): Promise<number> {
  let asked: Arguments;
  try {
    asked = readArguments();
  } catch {
    console.error(usage);
    return 2;
  }
  const history = asked.judge === null ? await record(asked) : readHistory(asked.judge);
  console.log(summaryOf(history));
  const violations = check(history);
  for (const violation of violations.slice(0, shown)) console.log(reportOf(violation));
  if (violations.length > shown) console.log(`and ${violations.length - shown} more`);
  console.log(violations.length === 0 ? 'every rule holds' : `broken: ${[...new Set(violations.map(({ rule }) => rule))].join('; ')}`);
  return violations.length === 0 ? 0 : 1;
}

for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.once(signal, () => void endAll().then(() => process.exit(130)));
const code = await main()
  .catch((error: unknown) => {
    console.error(error);
    return 3;
  })
  .finally(endAll);
process.exit(code);
