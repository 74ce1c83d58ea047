import { randomOf } from './random.js';

/** Whom a fault hits: a replica or the database. */
export type Target = 'A' | 'B' | 'postgres';
/** `kill` and `suspend` are SIGKILL and SIGSTOP of a replica, undone after `forMs`; `immediate` and `fast` are PostgreSQL's shutdown modes, after which it starts again. */
export type FaultKind = 'kill' | 'suspend' | 'immediate' | 'fast';
export type Fault = { readonly at: number; readonly kind: FaultKind; readonly target: Target; readonly forMs: number };

/** Whoever was hit gets this long to come back before the next blow. */
const recoveryMs = { A: 8000, B: 8000, postgres: 12_000 } as const;
/** Longer than processes remember changes that they were not told of (40 s). */
const longMs = 43_000;

const kinds: readonly FaultKind[] = ['kill', 'kill', 'kill', 'suspend', 'suspend', 'suspend', 'suspend', 'immediate', 'fast'];

/** The faults of a run of `durationMs`: the same seed gives the same ones. The first comes after 2 s, the last is undone before the end. */
export function scheduleOf(seed: number, durationMs: number): Fault[] {
  const random = randomOf(seed, 'faults');
  const busy = new Map<Target, number>();
  const faults: Fault[] = [];
  for (let at = 2000; ; at += random.between(2000, 9000)) {
    const kind = random.pick(kinds);
    const target = kind === 'immediate' || kind === 'fast' ? 'postgres' : random.pick(['A', 'B'] as const);
    const long = kind === 'suspend' && durationMs >= 180_000 && random.chance(0.06);
    const forMs = target === 'postgres' ? 0 : long ? longMs + random.between(0, 4000) : random.between(100, kind === 'kill' ? 3000 : 9000);
    if (at + forMs + 1000 > durationMs) return faults;
    if (at < (busy.get(target) ?? 0)) continue;
    busy.set(target, at + forMs + recoveryMs[target]);
    faults.push({ at, kind, target, forMs });
  }
}
