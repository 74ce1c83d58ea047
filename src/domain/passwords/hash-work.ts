/** What a hash costs: memory in KiB (8 at least), passes over it. */
export type PasswordCost = { readonly memoryCost: number; readonly timeCost: number };

/** What the hashes that are made here cost. */
export const ownCost = { memoryCost: 19_456, timeCost: 2 } as const;

/** The work of an argon2 hash: KiB of memory times passes. */
export const workOf = ({ memoryCost, timeCost }: PasswordCost): number => memoryCost * timeCost;

const ownWork = workOf(ownCost);
/** The work of bcrypt at cost 0, by which one of cost 10 takes as long as three hashes of ours. */
const bcryptWork = 114;

/**
 * The work of a check of a stored hash, on one scale for both algorithms: KiB times passes. The database's `password_hash_work` says the
 * same of imported hashes. Null for what can't be read.
 */
export function passwordHashWork(phc: string): number | null {
  const cost = /^\$2[aby]\$(\d\d)\$/.exec(phc)?.[1];
  if (cost !== undefined) return bcryptWork * 2 ** Number(cost);
  const [memory, passes] = [/[$,]m=(\d+)/.exec(phc)?.[1], /[$,]t=(\d+)/.exec(phc)?.[1]];
  return memory === undefined || passes === undefined ? null : Number(memory) * Number(passes);
}

/** A check is taken to need no more than so many times what checks of as much work have lately taken. */
const margin = 2;
/** What a hash of ours is taken to need until some have run, in milliseconds. */
const guessMs = 50;

export function createCheckTimes() {
  /** Milliseconds for a unit of work, a moving average of each algorithm: bcrypt runs as JavaScript, argon2 as native code. */
  const rates = { argon2: guessMs / ownWork, bcrypt: guessMs / ownWork };
  let total = 0;
  return {
    /** Notes a check that was made. Of one that is much cheaper than ours the time says more about its start than about its work. */
    note(phc: string, ms: number): void {
      const work = passwordHashWork(phc) ?? 0;
      total += work;
      const algorithm = phc.startsWith('$2') ? 'bcrypt' : 'argon2';
      if (work >= ownWork / 2) rates[algorithm] += (ms / work - rates[algorithm]) / 16;
    },
    /** The work of all checks so far, in hashes of ours. */
    spent: () => total / ownWork,
    /** Until when a check of so much work has ended, in milliseconds from its begin. */
    ceilingMs: (work: number) => margin * work * Math.max(rates.argon2, rates.bcrypt),
  };
}

export type CheckTimes = ReturnType<typeof createCheckTimes>;
