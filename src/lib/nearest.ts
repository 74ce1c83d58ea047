/**
 * How many characters have to be inserted, left out, replaced or swapped with their neighbour to make one text of the other; Infinity, found out
 * much sooner, where it is more than `most`.
 */
export function distanceBetween(one: string, other: string, most: number): number {
  if (Math.abs(one.length - other.length) > most) return Number.POSITIVE_INFINITY;
  let [before, row] = [[] as number[], Array.from({ length: other.length + 1 }, (_, column) => column)];
  for (let line = 1; line <= one.length; line++) {
    const next = [line];
    for (let column = 1; column <= other.length; column++) {
      const same = one[line - 1] === other[column - 1];
      const [above, left, diagonal] = [row[column] ?? 0, next[column - 1] ?? 0, row[column - 1] ?? 0];
      const swapped = line > 1 && column > 1 && one[line - 1] === other[column - 2] && one[line - 2] === other[column - 1];
      const cost = Math.min(above + 1, left + 1, diagonal + (same ? 0 : 1));
      next.push(swapped ? Math.min(cost, (before[column - 2] ?? 0) + 1) : cost);
    }
    [before, row] = [row, next];
    // Whatever comes goes on from one of these two.
    if (Math.min(...row) > most && Math.min(...before) > most) return Number.POSITIVE_INFINITY;
  }
  const distance = row[other.length] ?? 0;
  return distance > most ? Number.POSITIVE_INFINITY : distance;
}

const longest = 100;

/** The name that somebody probably meant who wrote `text`: the one that differs least, by a third of its characters at most; null when none does. */
export function nearestName(text: string, names: readonly string[]): string | null {
  const written = text.slice(0, longest).toLowerCase();
  const allowed = Math.max(1, Math.floor(written.length / 3));
  const [best] = names
    .map((name) => ({ name, distance: distanceBetween(written, name.toLowerCase(), allowed) }))
    .filter(({ distance }) => distance <= allowed)
    .sort((first, second) => first.distance - second.distance);
  return best?.name ?? null;
}
