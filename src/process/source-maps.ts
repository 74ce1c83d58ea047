import { existsSync, readFileSync } from 'node:fs';
import { SourceMap, type SourceMapPayload } from 'node:module';
import { fileURLToPath } from 'node:url';

type Place = { readonly file: string; readonly line: number; readonly column: number };

/** What the service was compiled to, as an address that ends with a slash. */
const compiled = new URL('../', import.meta.url).href;

/** The maps of the files that have been in a stack. */
const maps = new Map<string, SourceMap | null>();

function mapOf(file: string): SourceMap | null {
  const known = maps.get(file);
  if (known !== undefined) return known;
  const path = `${fileURLToPath(file)}.map`;
  const map = existsSync(path) ? new SourceMap(JSON.parse(readFileSync(path, 'utf8')) as SourceMapPayload) : null;
  maps.set(file, map);
  return map;
}

/** Where a place in a compiled file was written; null where no map tells. Lines and columns are counted from 1. */
function originOf({ file, line, column }: Place): Place | null {
  if (!file.startsWith(compiled)) return null;
  const entry = mapOf(file)?.findEntry(line - 1, column - 1);
  if (!entry || !('originalSource' in entry)) return null;
  return { file: new URL(entry.originalSource, file).href, line: entry.originalLine + 1, column: entry.originalColumn + 1 };
}

/** V8 writes a call site as a line of a stack. */
type CallSite = NodeJS.CallSite & { toString(): string };

function textOf(site: CallSite): string {
  const place = { file: site.getFileName() ?? '', line: site.getLineNumber() ?? 1, column: site.getColumnNumber() ?? 1 };
  const origin = originOf(place);
  const text = site.toString();
  return origin === null
    ? text
    : text.replace(`${place.file}:${place.line}:${place.column}`, `${origin.file}:${origin.line}:${origin.column}`);
}

/**
 * From now on stacks name the TypeScript that was written, as with Node's `--enable-source-maps`, which reads the map of every file that it loads: a
 * tenth of a start, and 5 MiB. Here a file's map is read when the first stack with it is.
 */
export function mapStacks(): void {
  Error.prepareStackTrace = (error, sites: CallSite[]) => [String(error), ...sites.map((site) => `    at ${textOf(site)}`)].join('\n');
}
