/** From when to when, in milliseconds since the epoch. */
export type Interval = { readonly from: number; readonly to: number };

/** What was seen while requests were on their way. */
export type Seen = {
  /** The service's garbage collections, and turns of its event loop that took long. */
  readonly collections: readonly (Interval & { readonly kind: string })[];
  readonly turns: readonly Interval[];
  /** When the process that makes the load was itself late. */
  readonly late: readonly Interval[];
  /** For how many milliseconds of each interval the service's event loop was ready to run and had no processor. */
  readonly processor: readonly (Interval & { readonly waited: number })[];
  /** When PostgreSQL was writing a checkpoint or vacuuming, and when the janitor's statements ran. */
  readonly checkpoints: readonly Interval[];
  readonly vacuums: readonly Interval[];
  readonly janitor: readonly Interval[];
};

/** For how much of `one` any of the others went on, in milliseconds. */
const within = (one: Interval, others: readonly Interval[]): number =>
  others.reduce((sum, { from, to }) => sum + Math.max(0, Math.min(one.to, to) - Math.max(one.from, from)), 0);

/**
 * What a slow request met. What took half of its time is named, the first of these that did: whatever holds a processor comes before what then holds the
 * event loop, and that before what PostgreSQL did.
 */
export function causeOf(one: Interval, seen: Seen): string {
  const half = (one.to - one.from) / 2;
  const collected = seen.collections.find((collection) => within(one, [collection]) >= half);
  if (collected) return `a ${collected.kind} garbage collection`;
  if (within(one, seen.collections) >= half) return 'several garbage collections';
  if (within(one, seen.late) >= half) return 'the load itself was late';
  const waited = seen.processor.reduce((sum, slice) => {
    const overlap = within(one, [slice]);
    return overlap === 0 ? sum : sum + (slice.waited * overlap) / (slice.to - slice.from);
  }, 0);
  if (waited >= half) return 'the event loop waited for a processor';
  const beside = [
    ...(within(one, seen.janitor) > 0 ? ['the janitor'] : []),
    ...(within(one, seen.checkpoints) > 0 ? ['a checkpoint'] : []),
    ...(within(one, seen.vacuums) > 0 ? ['a vacuum'] : []),
  ];
  if (within(one, seen.turns) >= half)
    return beside.length > 0 ? `long turns of the event loop, beside ${beside.join(' and ')}` : 'long turns of the event loop';
  if (beside.length > 0) return beside.join(' and ');
  return 'none of these: a queue behind others, or the database';
}
