/** Of a source map (ECMA-426, version 3) what tells the lines that were written: names are left out. */
export type CompactMap = { readonly sources: readonly string[]; readonly mappings: string };

/** Lines and columns are counted from 1; `file` as the map names it. */
export type Origin = { readonly file: string; readonly line: number; readonly column: number };

const digits = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/';
const valueOf = new Int8Array(128);
for (let value = 0; value < digits.length; value++) valueOf[digits.charCodeAt(value)] = value;

const [comma, semicolon] = [','.charCodeAt(0), ';'.charCodeAt(0)];

/**
 * Where a place in the generated file was written: what the last mapping before it on its line says, or null without one. The mappings are read up to
 * the place and nothing is made of them, since each is told by its difference from the one before: milliseconds at the end of a large file.
 */
export function originIn({ sources, mappings }: CompactMap, line: number, column: number): Origin | null {
  // The fields of a mapping: generated column, source, line and column there, name. All but the first go on from line to line.
  const fields = new Int32Array(5);
  let found: Origin | null = null;
  let generatedLine = 1;
  let field = 0;
  let number = 0;
  let shift = 0;
  for (let at = 0; at <= mappings.length; at++) {
    const code = at < mappings.length ? mappings.charCodeAt(at) : semicolon;
    if (code === comma || code === semicolon) {
      if (generatedLine === line && field > 0) {
        if ((fields[0] as number) > column - 1) return found;
        const file = sources[fields[1] as number];
        found = field > 1 && file !== undefined ? { file, line: (fields[2] as number) + 1, column: (fields[3] as number) + 1 } : null;
      }
      field = 0;
      if (code === semicolon) {
        if (generatedLine === line) return found;
        generatedLine++;
        fields[0] = 0;
      }
      continue;
    }
    const value = valueOf[code] as number;
    // Five bits of each digit are the number's, the lowest first; the sixth says that it goes on.
    number |= (value & 31) << shift;
    shift += 5;
    if ((value & 32) !== 0) continue;
    // The lowest bit of a number is its sign.
    fields[field] = (fields[field] as number) + ((number & 1) === 1 ? -(number >>> 1) : number >>> 1);
    field++;
    number = 0;
    shift = 0;
  }
  return null;
}
