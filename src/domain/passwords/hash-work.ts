/** What computes a hash: each takes its own time for a unit of work. */
export type HashEngine = 'argon2' | 'bcrypt' | 'pbkdf2' | 'scrypt';

/** What a hash costs: memory in KiB (8 at least), passes over it. */
export type PasswordCost = { readonly memoryCost: number; readonly timeCost: number };

/** What hashes that are made here cost, unless the operator chose otherwise (PASSWORD_HASH). */
export const ownCost = { memoryCost: 19_456, timeCost: 2 } as const;

/** The work of an argon2 hash: KiB of memory times passes. */
export const workOf = ({ memoryCost, timeCost }: PasswordCost): number => memoryCost * timeCost;

const ownWork = workOf(ownCost);

/** A check is taken to need no more than so many times what checks of as much work have lately taken. */
const margin = 2;
/** What a hash of ours is taken to need until some have run, in milliseconds. */
const guessMs = 50;

export function createCheckTimes() {
  const guess = guessMs / ownWork;
  /** Milliseconds for a unit of work, a moving average of each engine: bcrypt runs as JavaScript, the others as native code. */
  const rates: Record<HashEngine, number> = { argon2: guess, bcrypt: guess, pbkdf2: guess, scrypt: guess };
  let total = 0;
  return {
    /** Notes a check that was made. Of one that is much cheaper than ours the time says more about its start than about its work. */
    note({ engine, work }: { readonly engine: HashEngine; readonly work: number }, ms: number): void {
      total += work;
      if (work >= ownWork / 2) rates[engine] += (ms / work - rates[engine]) / 16;
    },
    /** The work of all checks so far, in hashes of ours. */
    spent: () => total / ownWork,
    /** Until when a check of so much work has ended, in milliseconds from its begin. */
    ceilingMs: (work: number) => margin * work * Math.max(...Object.values(rates)),
  };
}

export type CheckTimes = ReturnType<typeof createCheckTimes>;
