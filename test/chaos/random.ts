/** A stream of choices that a seed repeats. */
export type Random = {
  /** A number from 0 to below 1. */
  next(): number;
  chance(share: number): boolean;
  /** A whole number from `least` to `most`, both included. */
  between(least: number, most: number): number;
  pick<T>(items: readonly T[]): T;
};

/** The stream of a seed and a name (mulberry32, started by an FNV-1a hash): each user of a run's seed has its own. */
export function randomOf(seed: number, name: string): Random {
  let state = 2166136261;
  for (const character of `${seed} ${name}`) state = Math.imul(state ^ (character.codePointAt(0) ?? 0), 16777619);
  const next = () => {
    state = (state + 0x6d2b79f5) | 0;
    let t = Math.imul(state ^ (state >>> 15), 1 | state);
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
    return ((t ^ (t >>> 14)) >>> 0) / 4294967296;
  };
  const between = (least: number, most: number) => least + Math.floor(next() * (most - least + 1));
  return {
    next,
    chance: (share) => next() < share,
    between,
    pick<T>(items: readonly T[]): T {
      if (items.length === 0) throw new Error('nothing to pick from');
      return items[between(0, items.length - 1)] as T;
    },
  };
}
