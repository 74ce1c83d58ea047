import { randomBytes } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import type { BenchServer } from './database.js';
import { median } from './measure.js';
import { residentMiB } from './processor-time.js';
import { path, startCommand } from './targets/product.js';
import { endProcess, freePort, startProcess } from './targets/target.js';

/** One start, until /readyz says 200. Milliseconds, and MiB. */
type Start = {
  readonly wall_ms: number;
  readonly processor_ms: number;
  readonly resident_mib: number;
  readonly resident_later_mib: number;
};

/** The starts of one kind, in their order. */
export type StartResult = { readonly database: 'existing' | 'empty directory'; readonly starts: readonly Start[] };

/** How long after it is ready a process is looked at again, in milliseconds: its first loops are over. */
const laterMs = 5_000;

/** Clock ticks of /proc: 100 a second on every Linux that Node runs on. */
const tickMs = 10;

/** Milliseconds of processor time of a process and of what it has waited for (the script's trial of Node, `initdb`). */
function startTime(pid: number): number {
  const fields = (readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ').at(-1) ?? '').split(' ');
  return fields.slice(11, 15).reduce((sum, ticks) => sum + Number(ticks), 0) * tickMs;
}

async function startOnce(env: Record<string, string>, log: number): Promise<Start> {
  const port = await freePort();
  const readyUrl = `http://127.0.0.1:${port}/readyz`;
  const all = { ...env, PATH: path, PORT: String(port), BASE_URL: `http://localhost:${port}` };
  const { process: child, pid, seconds } = await startProcess(startCommand([]), { processors: '', env: all, readyUrl, log });
  const processor_ms = startTime(pid);
  const resident_mib = residentMiB(pid);
  await delay(laterMs);
  const resident_later_mib = residentMiB(pid);
  await endProcess(child);
  return { wall_ms: seconds * 1000, processor_ms, resident_mib, resident_later_mib };
}

/** Starts the built service as `npm start` does, so many times on a database that is there and on an empty directory, in turns. */
export async function measureStarts(server: BenchServer, rounds: number, log: number): Promise<StartResult[]> {
  const existing = { DATABASE_URL: await server.create('bench_start'), SECRET_KEY: randomBytes(32).toString('base64') };
  // Migrates, makes keys, and brings the files into the system's memory: not counted.
  await startOnce(existing, log);
  const starts: { existing: Start[]; empty: Start[] } = { existing: [], empty: [] };
  for (let round = 0; round < rounds; round++) {
    starts.existing.push(await startOnce(existing, log));
    const directory = await mkdtemp(join(tmpdir(), 'identity-provider-bench-start-'));
    starts.empty.push(await startOnce({ DATA_DIR: directory }, log));
    await rm(directory, { recursive: true, force: true });
  }
  return [
    { database: 'existing', starts: starts.existing },
    { database: 'empty directory', starts: starts.empty },
  ];
}

/** The figures in words: medians with the extremes. */
export function startsText(results: readonly StartResult[]): string {
  const lines = results.map(({ database, starts }) => {
    const of = (name: keyof Start) => {
      const values = starts.map((start) => start[name]);
      return `${median(values).toFixed(0)} (${Math.min(...values).toFixed(0)} to ${Math.max(...values).toFixed(0)})`;
    };
    const memory = `resident ${of('resident_mib')} MiB, ${laterMs / 1000} s later ${of('resident_later_mib')} MiB`;
    return `${database}: ready after ${of('wall_ms')} ms, ${of('processor_ms')} ms of processor time; ${memory}`;
  });
  return lines.join('\n');
}
