import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { packageRoot } from '../lib/package-root.js';
import { originIn, type CompactMap } from '../lib/source-map.js';

type Place = { readonly file: string; readonly line: number; readonly column: number };

/** What the service was built to, as an address that ends with a slash. */
const built = pathToFileURL(join(packageRoot, 'dist/')).href;

/** The maps of the files that have been in a stack. */
const maps = new Map<string, CompactMap | null>();

/** Where places of built files were written, as far as they have been asked for: the code has so many that can throw, and no more. */
const origins = new Map<string, Place | null>();

function mapOf(file: string): CompactMap | null {
  const known = maps.get(file);
  if (known !== undefined) return known;
  const path = `${fileURLToPath(file)}.map`;
  const { sources, mappings } = existsSync(path) ? (JSON.parse(readFileSync(path, 'utf8')) as CompactMap) : {};
  const map = sources && mappings ? { sources, mappings } : null;
  maps.set(file, map);
  return map;
}

function lookUp({ file, line, column }: Place): Place | null {
  const map = mapOf(file);
  const origin = map && originIn(map, line, column);
  return origin && { ...origin, file: new URL(origin.file, file).href };
}

/** Where a place in a built file was written; null where no map tells. Lines and columns are counted from 1. */
function originOf(place: Place): Place | null {
  if (!place.file.startsWith(built)) return null;
  const key = `${place.file}:${place.line}:${place.column}`;
  let origin = origins.get(key);
  if (origin === undefined) {
    origin = lookUp(place);
    origins.set(key, origin);
  }
  return origin;
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
 * From now on stacks name the TypeScript that was written, as with Node's `--enable-source-maps`, which reads the map of every file that it loads and
 * makes an object of each piece of it (a place in each line of the file has several). Here the map of a file is read when the first stack with it is,
 * kept as text, and looked through for the places that stacks name.
 */
export function mapStacks(): void {
  Error.prepareStackTrace = (error, sites: CallSite[]) => [String(error), ...sites.map((site) => `    at ${textOf(site)}`)].join('\n');
}
