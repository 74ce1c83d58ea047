import { readdirSync, readFileSync } from 'node:fs';

/** Nanoseconds of processor time that one process has used so far, all its threads together; 0 when it is gone. */
export function processorTime(pid: number): number {
  try {
    let total = 0;
    for (const task of readdirSync(`/proc/${pid}/task`)) {
      total += Number(readFileSync(`/proc/${pid}/task/${task}/schedstat`, 'utf8').split(' ')[0]);
    }
    return total;
  } catch {
    return 0;
  }
}

/** The first thread's own times in nanoseconds: with a processor, and ready to run without one. 0 when the process is gone. */
function firstThread(pid: number, field: 0 | 1): number {
  try {
    return Number(readFileSync(`/proc/${pid}/task/${pid}/schedstat`, 'utf8').split(' ')[field]);
  } catch {
    return 0;
  }
}

/** Nanoseconds for which the event loop of a process (its first thread) has had a processor. */
export const ranOnProcessor = (pid: number) => firstThread(pid, 0);

/** Nanoseconds for which the event loop of a process was ready to run and had no processor. */
export const waitedForProcessor = (pid: number) => firstThread(pid, 1);

/** Process ids whose parent is `pid`. */
export function childrenOf(pid: number): number[] {
  const children: number[] = [];
  for (const name of readdirSync('/proc')) {
    if (!/^\d+$/.test(name)) continue;
    try {
      // The command name may hold spaces; the parent follows the state after the last parenthesis.
      const after = readFileSync(`/proc/${name}/stat`, 'utf8').split(') ').at(-1) ?? '';
      if (Number(after.split(' ')[1]) === pid) children.push(Number(name));
    } catch {
      continue;
    }
  }
  return children;
}

/** The processor time of a process and its children. */
export function familyTime(pid: number): Map<number, number> {
  return new Map([pid, ...childrenOf(pid)].map((member) => [member, processorTime(member)]));
}

/** What a family used between two readings; a member that came in between counts whole. */
export function usedBetween(before: ReadonlyMap<number, number>, after: ReadonlyMap<number, number>): number {
  let total = 0;
  for (const [pid, time] of after) total += Math.max(0, time - (before.get(pid) ?? 0));
  return total;
}

/** Resident memory in MiB; 0 when the process is gone. */
export function residentMiB(pid: number): number {
  try {
    const kib = /VmRSS:\s+(\d+) kB/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1];
    return Number(kib ?? 0) / 1024;
  } catch {
    return 0;
  }
}
