/** An import of one folder from another, with the files that it is between. */
export type FolderImport = { readonly from: string; readonly to: string; readonly says: string };

function reachedFrom(folder: string, imports: readonly FolderImport[]): Set<string> {
  const reached = new Set<string>();
  const waiting = [folder];
  for (let next = waiting.pop(); next !== undefined; next = waiting.pop()) {
    for (const { from, to } of imports) {
      if (from !== next || reached.has(to)) continue;
      reached.add(to);
      waiting.push(to);
    }
  }
  return reached;
}

/** The imports between folders that reach each other, of the folder pair with the fewest imports first: what closes a circle is mostly the odd one. */
export function circularImports(imports: readonly FolderImport[]): string[] {
  const reached = new Map([...new Set(imports.map(({ to }) => to))].map((folder) => [folder, reachedFrom(folder, imports)]));
  const circular = imports.filter(({ from, to }) => reached.get(to)?.has(from));
  const weight = (one: FolderImport) => circular.filter(({ from, to }) => from === one.from && to === one.to).length;
  return circular.toSorted((one, other) => weight(one) - weight(other)).map(({ from, to, says }) => `${from} -> ${to}: ${says}`);
}
